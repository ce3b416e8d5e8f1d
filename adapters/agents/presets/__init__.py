"""Presets: how to call well-known agents, one TOML file each."""
