"""The parts of one process: settings, paths, keys, presence, caches. `api.system` puts them together."""
