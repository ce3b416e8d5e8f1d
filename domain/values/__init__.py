"""The building blocks: base types, text, strict JSON, time, spelling."""
