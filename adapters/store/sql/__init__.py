"""SQL that both SQLite and PostgreSQL understand: reading the log, and the lease table."""
