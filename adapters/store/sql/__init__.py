"""SQL that both SQLite and PostgreSQL understand: reading the log, the lease table, and keys."""
