"""Views across sessions, kept in tables: the list, the inbox, and the runs of an origin."""
