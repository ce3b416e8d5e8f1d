"""The tables of the log on SQLite."""

import re
from typing import Final

SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS events (
  position INTEGER PRIMARY KEY AUTOINCREMENT,
  stream TEXT NOT NULL,
  version INTEGER NOT NULL CHECK (version > 0),
  topic TEXT NOT NULL,
  state BLOB NOT NULL,
  hash BLOB NOT NULL,
  form INTEGER NOT NULL DEFAULT 1,
  UNIQUE (stream, version)
) STRICT;
CREATE TABLE IF NOT EXISTS texts (digest TEXT PRIMARY KEY, content TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS receipts (
  key TEXT NOT NULL UNIQUE, fingerprint TEXT NOT NULL, status INTEGER NOT NULL, body BLOB NOT NULL, at INTEGER NOT NULL,
  digest BLOB
) STRICT;
CREATE TABLE IF NOT EXISTS turns (
  turn_id TEXT PRIMARY KEY, stream TEXT NOT NULL, version INTEGER NOT NULL, work TEXT NOT NULL, agent TEXT NOT NULL,
  role TEXT NOT NULL, state TEXT NOT NULL, attempt INTEGER NOT NULL, worker TEXT, lease_until INTEGER,
  deadline INTEGER, requested_at INTEGER NOT NULL, owner TEXT NOT NULL DEFAULT '', rank INTEGER NOT NULL DEFAULT 0,
  used TEXT
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS keys (
  name TEXT PRIMARY KEY, digest TEXT NOT NULL, scope TEXT NOT NULL, expires INTEGER
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS secrets (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS links (
  digest TEXT PRIMARY KEY, name TEXT NOT NULL, made INTEGER NOT NULL DEFAULT (CAST(strftime('%s', 'now') AS INTEGER))
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS epochs (number INTEGER PRIMARY KEY, head INTEGER NOT NULL) STRICT;
CREATE INDEX IF NOT EXISTS turns_ranked ON turns (state, rank) WHERE state IN ('queued', 'running');
CREATE INDEX IF NOT EXISTS turns_owned ON turns (owner, stream) WHERE state IN ('queued', 'running');
CREATE INDEX IF NOT EXISTS turns_due ON turns (deadline) WHERE state IN ('queued', 'running');
"""
OBJECTS: Final = "SELECT type, name FROM sqlite_schema WHERE name NOT LIKE 'sqlite~_%' ESCAPE '~'"
OURS: Final = {(kind.lower(), name) for kind, name in re.findall(r"CREATE (TABLE|INDEX) IF NOT EXISTS (\w+)", SCHEMA)}
NEEDED: Final = {("table", name) for name in ("events", "texts", "receipts", "turns")}
OF_BEFORE: Final = {("index", "turns_open")}
"""The objects of a log that no newer version has opened yet."""
