"""The log in SQL that SQLite and PostgreSQL both understand: reading it, and the lease table."""
