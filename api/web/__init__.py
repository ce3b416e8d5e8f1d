"""The page: server-rendered HTML as a pure function of a session and a version, and one script made of modules."""
