"""What one process has: settings, paths, keys, presence, caches. `api.system` puts these parts together."""
