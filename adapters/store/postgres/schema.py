"""The tables of the log on PostgreSQL, and what a database has to promise before it may hold one."""

import os
import re
from typing import Final

from adapters.store.errors import Broken
from adapters.store.port import SqlConnection
from adapters.store.postgres import presence, shares
from adapters.store.postgres.connection import Connections, PostgresConnection
from domain.values.sentences import Sentence

FORMAT: Final = 2
"""Of the tables. A newer one is refused, whatever else would fit."""
_OLDEST: Final = 150_000
_MAKING_SECONDS: Final = 27.0
"""Seconds that each statement that makes tables may take beyond the usual: on a busy disk that is slow, and no one
waits for an answer yet."""
_UNSAFE: Final = {"synchronous_commit": "off", "fsync": "off"}
_TURNED_ON: Final = ("1", "y", "yes", "t", "true", "on")

SCHEMA: Final = f"""
CREATE SCHEMA IF NOT EXISTS hansard;
CREATE TABLE log (
  single boolean PRIMARY KEY DEFAULT true CHECK (single), format integer NOT NULL, position bigint NOT NULL
) WITH (fillfactor = 10);
INSERT INTO log (format, position) VALUES ({FORMAT}, 0);
CREATE TABLE events (
  position bigint PRIMARY KEY,
  stream text COLLATE "C" NOT NULL,
  version bigint NOT NULL CHECK (version > 0),
  topic text COLLATE "C" NOT NULL,
  state bytea NOT NULL,
  hash bytea NOT NULL,
  form integer NOT NULL DEFAULT 1,
  UNIQUE (stream, version)
);
CREATE TABLE texts (digest text COLLATE "C" PRIMARY KEY, content bytea NOT NULL);
CREATE TABLE receipts (
  key text COLLATE "C" PRIMARY KEY, fingerprint text NOT NULL, status integer NOT NULL, body bytea NOT NULL,
  at bigint NOT NULL, digest bytea
);
CREATE TABLE turns (
  turn_id text COLLATE "C" PRIMARY KEY, stream text COLLATE "C" NOT NULL, version bigint NOT NULL, work text NOT NULL,
  agent text NOT NULL, role text NOT NULL, state text NOT NULL, attempt bigint NOT NULL, worker text,
  lease_until bigint, deadline bigint, requested_at bigint NOT NULL, owner text COLLATE "C" NOT NULL DEFAULT '',
  rank bigint NOT NULL DEFAULT 0, used text
);
CREATE TABLE nodes (name text COLLATE "C" PRIMARY KEY, role text NOT NULL, last_seen bigint NOT NULL);
CREATE TABLE keys (name text COLLATE "C" PRIMARY KEY, digest text NOT NULL, scope text NOT NULL, expires bigint);
CREATE TABLE secrets (name text COLLATE "C" PRIMARY KEY, value bytea NOT NULL);
CREATE TABLE links (digest text PRIMARY KEY, name text NOT NULL, made timestamptz NOT NULL DEFAULT now());
CREATE INDEX turns_ranked ON turns (state, rank, turn_id) WHERE state IN ('queued', 'running');
CREATE INDEX turns_owned ON turns (owner, stream) WHERE state IN ('queued', 'running');
CREATE INDEX turns_due ON turns (deadline) WHERE state IN ('queued', 'running');
"""
_RANKS: Final = """
ALTER TABLE turns ADD COLUMN IF NOT EXISTS owner text COLLATE "C" NOT NULL DEFAULT '',
  ADD COLUMN IF NOT EXISTS rank bigint NOT NULL DEFAULT 0;
UPDATE turns SET rank = requested_at WHERE rank = 0;
DROP INDEX IF EXISTS turns_open;
CREATE INDEX IF NOT EXISTS turns_ranked ON turns (state, rank, turn_id) WHERE state IN ('queued', 'running');
CREATE INDEX IF NOT EXISTS turns_owned ON turns (owner, stream) WHERE state IN ('queued', 'running');
"""
_DIGESTS: Final = "ALTER TABLE receipts ADD COLUMN IF NOT EXISTS digest bytea"
_USED: Final = "ALTER TABLE turns ADD COLUMN IF NOT EXISTS used text"
_FORMS: Final = f"""
ALTER TABLE events ADD COLUMN IF NOT EXISTS form integer NOT NULL DEFAULT 1;
UPDATE log SET format = {FORMAT};
"""
_COLUMNS: Final = (("receipts", "digest", _DIGESTS), ("events", "form", _FORMS), ("turns", "used", _USED))
_NOTIFICATIONS: Final = """
CREATE TABLE IF NOT EXISTS bookmark (one integer PRIMARY KEY CHECK (one = 1), position bigint NOT NULL);
CREATE TABLE IF NOT EXISTS notifications (
  id text NOT NULL, position bigint NOT NULL, receiver text NOT NULL, body bytea NOT NULL, since bigint NOT NULL,
  tries bigint NOT NULL DEFAULT 0, due bigint NOT NULL, PRIMARY KEY (id, receiver)
);
"""
_EPOCHS: Final = "CREATE TABLE IF NOT EXISTS epochs (number bigint PRIMARY KEY, head bigint NOT NULL)"
_LATER: Final = {
    "pack_parts": shares.SCHEMA,
    "notifications": _NOTIFICATIONS,
    "epochs": _EPOCHS,
    "announcements": presence.ANNOUNCEMENTS,
    "attended": presence.ATTENDED,
}
_MADE: Final = re.compile(r"CREATE TABLE (?:IF NOT EXISTS )?(\w+)")
_OURS: Final = {("table", name) for schema in (SCHEMA, *_LATER.values()) for name in _MADE.findall(schema)}
_NEEDED: Final = {("table", name) for name in ("log", "events", "texts", "receipts", "turns")}
_OBJECTS: Final = """
WITH ours AS (SELECT oid, relname, relkind FROM pg_catalog.pg_class
  WHERE relnamespace = (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = 'hansard'))
SELECT CASE relkind WHEN 'r' THEN 'table' WHEN 'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table'
  ELSE 'view' END, relname FROM ours WHERE relkind IN ('r', 'p', 'v', 'm', 'f')
UNION SELECT 'trigger', tgname FROM pg_catalog.pg_trigger JOIN ours ON ours.oid = tgrelid WHERE NOT tgisinternal
UNION SELECT 'rule', rulename FROM pg_catalog.pg_rewrite JOIN ours ON ours.oid = ev_class WHERE relkind = 'r'
UNION SELECT 'policy', polname FROM pg_catalog.pg_policy JOIN ours ON ours.oid = polrelid
"""
"""The objects that could change or hide rows."""


def prepare(connections: Connections) -> None:
    """Make the tables where the database has none. Raises Broken (the database must not be used, and was not changed)
    or StoreError."""
    if os.environ.get("POSTGRES_ENABLE_DB_FUNCTIONS", "").lower() in _TURNED_ON:
        raise Broken(Sentence("database_functions"))
    with connections.transaction(longer=_MAKING_SECONDS) as connection:
        check_promises(connection, connections.name)
        if not has_log(connection):
            # Replicas that start together wait here for the first, and then find its tables.
            connection.execute("SELECT pg_advisory_xact_lock(hashtextextended('hansard', 0))")
            if not has_log(connection):
                _make(connection, connections.name)
        _check_place(connection, connections.name)
    check_format(connections)
    _add(connections)


def _add(connections: Connections) -> None:
    """Make the tables and columns that came later, of which the first versions know nothing."""
    with connections.transaction(longer=_MAKING_SECONDS) as connection:
        for table, schema in _LATER.items():
            if table not in _tables(connection):
                connection.execute("SELECT pg_advisory_xact_lock(hashtextextended('hansard', 0))")
                connection.raw.execute(schema.encode())
        ranked = "SELECT 1 FROM pg_catalog.pg_indexes WHERE schemaname = 'hansard' AND indexname = 'turns_ranked'"
        if connection.execute(ranked).fetchone() is None:
            connection.execute("SELECT pg_advisory_xact_lock(hashtextextended('hansard', 0))")
            connection.raw.execute(_RANKS.encode())
        for table, column, statement in _COLUMNS:
            if not _has_column(connection, table, column):
                connection.execute("SELECT pg_advisory_xact_lock(hashtextextended('hansard', 0))")
                connection.raw.execute(statement.encode())


def check_format(connections: Connections) -> None:
    """Raise Broken for the log of a newer Hansard, and for no log at all."""
    with connections.lent() as connection:
        if not has_log(connection):
            raise Broken(Sentence("database_empty", database=connections.name))
        [version] = connection.execute("SELECT format FROM log").fetchone() or (0,)
    refuse_newer(version, connections.name)


def refuse_newer(version: int, name: str) -> None:
    """Raise Broken where the tables are not those of this version."""
    if not 0 < version <= FORMAT:
        raise Broken(Sentence("database_newer", database=name, found=version, known=FORMAT))


def check_promises(connection: PostgresConnection, name: str) -> None:
    """Raise Broken for a server that is too old, or may lose what it confirmed."""
    [version] = connection.execute("SELECT current_setting('server_version_num')::int").fetchone() or (0,)
    if version < _OLDEST:
        raise Broken(Sentence("database_old", database=name, version=version // 10_000))
    for setting, bad in _UNSAFE.items():
        [value] = connection.execute("SELECT current_setting(?)", [setting]).fetchone() or ("",)
        if value == bad:
            raise Broken(Sentence("database_unsafe", database=name, setting=setting))
    [encoding] = connection.execute("SELECT current_setting('server_encoding')").fetchone() or ("",)
    if encoding != "UTF8":
        raise Broken(Sentence("database_encoding", database=name, encoding=encoding))


def has_log(connection: PostgresConnection) -> bool:
    """True if the tables of a log are there."""
    return "log" in _tables(connection)


def has_forms(connection: SqlConnection) -> bool:
    """Tell whether the rows of events say how they are hashed: those of the first version do not."""
    return _has_column(connection, "events", "form")


def _has_column(connection: SqlConnection, table: str, column: str) -> bool:
    there = "SELECT 1 FROM information_schema.columns WHERE table_schema = 'hansard' AND table_name = ?"
    return connection.execute(f"{there} AND column_name = ?", (table, column)).fetchone() is not None


def faults(connection: SqlConnection) -> list[str]:
    """The objects in our schema that are not ours, and those that are missing."""
    there = {(str(kind), str(name)) for kind, name in connection.execute(_OBJECTS).fetchall()}
    strange = (f"it has a {kind} that is not ours: {name}" for kind, name in sorted(there - _OURS))
    missing = (f"the {kind} {name} is missing" for kind, name in sorted(_NEEDED - there))
    return [*strange, *missing]


def _make(connection: PostgresConnection, name: str) -> None:
    if _tables(connection):
        raise Broken(Sentence("database_foreign", database=name))
    connection.raw.execute(SCHEMA.encode())


def _check_place(connection: PostgresConnection, name: str) -> None:
    """Raise Broken where the names of our tables would not mean ours."""
    if connection.execute("SELECT current_schema()").fetchone() != ("hansard",):
        raise Broken(Sentence("database_options", database=name, setting="search_path"))


def _tables(connection: PostgresConnection) -> set[str]:
    """The tables of our schema, as committed now: `to_regclass` may answer what it knew before a wait for a lock."""
    names = connection.execute("SELECT tablename FROM pg_catalog.pg_tables WHERE schemaname = 'hansard'")
    return {name for [name] in names}
