"""Views across sessions, kept in tables: the list, the inbox, and what an origin is busy with."""
