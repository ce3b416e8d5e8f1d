"""Shares on PostgreSQL between processes and machines: which ones use the log, news of what others write, and
workspaces.

The database's clock decides which processes are alive. Notifications are hints: polling works without them.
Packs of workspaces lie in parts: each is one short statement, however large the pack.
"""

import secrets
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import psycopg

from adapters.store.errors import StoreError
from adapters.store.port import NODE_SECONDS
from adapters.store.postgres.connection import Connections, PostgresConnection
from adapters.store.postgres.presence import NOW
from adapters.store.shares import ShareForm, StoredState, WorkspaceKeeper
from domain.values.sentences import Sentence

SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS places (
  name text COLLATE "C" PRIMARY KEY, machine text NOT NULL, last_seen bigint NOT NULL
);
CREATE TABLE IF NOT EXISTS workspaces (
  name text COLLATE "C" PRIMARY KEY, place text NOT NULL, form text NOT NULL, facts text NOT NULL
);
CREATE TABLE IF NOT EXISTS packs (
  name text COLLATE "C" NOT NULL, number bigint NOT NULL, state text NOT NULL, upload text NOT NULL,
  PRIMARY KEY (name, number)
);
CREATE TABLE IF NOT EXISTS pack_parts (
  upload text COLLATE "C" NOT NULL, part bigint NOT NULL, content bytea NOT NULL,
  made timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (upload, part)
);
ALTER TABLE pack_parts ALTER COLUMN content SET STORAGE EXTERNAL;
"""
"""A base is number 0 of its commit; the states of a workspace begin with 1."""
_TRIES: Final = 20


class PostgresShares:
    """The tables `places`, `workspaces`, `packs` and `pack_parts`."""

    def __init__(self, readers: Connections, writers: Connections) -> None:
        self._readers, self._writers = readers, writers

    # -- machines --------------------------------------------------------------------------------------------------

    def attend(self, place: str, machine: str) -> None:
        with self._writers.lent() as connection:
            connection.execute(
                f"INSERT INTO places VALUES (?, ?, {NOW}) ON CONFLICT (name)"
                " DO UPDATE SET machine = excluded.machine, last_seen = excluded.last_seen",
                (place, machine),
            )

    def leave(self, place: str) -> None:
        with self._writers.lent() as connection:
            connection.execute("UPDATE places SET last_seen = 0 WHERE name = ?", [place])

    def keeper(self, workspace: str) -> WorkspaceKeeper | None:
        with self._readers.lent() as connection:
            row = connection.execute(
                f"SELECT w.place, coalesce(p.machine, ''), w.form, w.facts, coalesce(p.last_seen, 0) > {NOW} - ?"
                " FROM workspaces w LEFT JOIN places p ON p.name = w.place WHERE w.name = ?",
                (round(NODE_SECONDS * 1000), workspace),
            ).fetchone()
        return None if row is None else WorkspaceKeeper(*row)

    def away(self, workspaces: Sequence[str]) -> set[str]:
        with self._readers.lent() as connection:
            rows = connection.execute(
                "SELECT w.name FROM workspaces w LEFT JOIN places p ON p.name = w.place"
                f" WHERE w.name = ANY(?) AND w.form <> 'git' AND coalesce(p.last_seen, 0) <= {NOW} - ?",
                (list(workspaces), round(NODE_SECONDS * 1000)),
            ).fetchall()
        return {str(name) for [name] in rows}

    def keep(self, workspace: str, *, place: str, form: ShareForm, facts: str) -> None:
        with self._writers.lent() as connection:
            connection.execute(
                "INSERT INTO workspaces VALUES (?, ?, ?, ?) ON CONFLICT (name)"
                " DO UPDATE SET place = excluded.place, form = excluded.form, facts = excluded.facts",
                (workspace, place, form, facts),
            )

    # -- packs -----------------------------------------------------------------------------------------------------

    def has_base(self, commit: str) -> bool:
        return self._upload(commit, 0) is not None

    def put_base(self, commit: str, parts: Iterable[bytes]) -> None:
        self._tidy()
        self._put(commit, commit, parts, number=0)

    def base(self, commit: str) -> Iterator[bytes]:
        return self._parts(commit, 0)

    def states(self, workspace: str) -> list[StoredState]:
        with self._readers.lent() as connection:
            rows = connection.execute(
                "SELECT number, state FROM packs WHERE name = ? AND number > 0 ORDER BY number", [workspace]
            ).fetchall()
        return [StoredState(*row) for row in rows]

    def put_state(self, workspace: str, commit: str, parts: Iterable[bytes]) -> int:
        return self._put(workspace, commit, parts)

    def state(self, workspace: str, number: int) -> Iterator[bytes]:
        return self._parts(workspace, number)

    def _put(self, name: str, commit: str, parts: Iterable[bytes], *, number: int | None = None) -> int:
        """Each part by itself, then the line that makes them a pack. Without a number it gets the next one."""
        upload = secrets.token_hex(16)
        for part, content in enumerate(parts):
            with self._writers.lent() as connection:
                connection.execute(
                    "INSERT INTO pack_parts (upload, part, content) VALUES (?, ?, ?)", (upload, part, content)
                )
        for _ in range(_TRIES):
            try:
                with self._writers.transaction() as connection:
                    taken_number = _next(connection, name) if number is None else number
                    connection.execute("INSERT INTO packs VALUES (?, ?, ?, ?)", (name, taken_number, commit, upload))
                return taken_number
            except psycopg.IntegrityError:
                if number is not None:  # another machine has stored the same
                    return number
        raise StoreError(Sentence("state_not_shared", commit=commit, name=name))

    def _upload(self, name: str, number: int) -> str | None:
        with self._readers.lent() as connection:
            row = connection.execute(
                "SELECT upload FROM packs WHERE name = ? AND number = ?", (name, number)
            ).fetchone()
        return None if row is None else str(row[0])

    def _parts(self, name: str, number: int) -> Iterator[bytes]:
        upload, part = self._upload(name, number), 0
        while upload is not None:
            with self._readers.lent() as connection:
                row = connection.execute(
                    "SELECT content FROM pack_parts WHERE upload = ? AND part = ?", (upload, part)
                ).fetchone()
            if row is None:
                return
            yield bytes(row[0])
            part += 1

    # -- removing --------------------------------------------------------------------------------------------------

    def drop(self, workspace: str, *, place: str) -> int:
        with self._writers.transaction() as connection:
            held = connection.execute(
                "UPDATE workspaces SET form = 'kept' WHERE name = ? AND place = ? AND form = 'git'", (workspace, place)
            )
            return _remove(connection, "name = ? AND number > 0", [workspace]) if held.rowcount else 0

    def drop_bases(self) -> int:
        with self._writers.transaction() as connection:
            connection.execute("LOCK TABLE workspaces IN SHARE MODE")  # no session starts with one meanwhile
            unused = (
                "number = 0 AND NOT EXISTS (SELECT 1 FROM workspaces w"
                " WHERE w.form = 'git' AND w.facts::json ->> 'start' = packs.name)"
            )
            return _remove(connection, unused)

    def _tidy(self) -> None:
        """Remove the remains of uploads that never ended."""
        with self._writers.lent() as connection:
            connection.execute(
                "DELETE FROM pack_parts WHERE made < now() - interval '1 day'"
                " AND NOT EXISTS (SELECT 1 FROM packs WHERE packs.upload = pack_parts.upload)"
            )


def _next(connection: PostgresConnection, name: str) -> int:
    [last] = connection.execute("SELECT coalesce(max(number), 0) FROM packs WHERE name = ?", [name]).fetchone() or (0,)
    return int(last) + 1


def _remove(connection: PostgresConnection, which: str, values: Sequence[object] = ()) -> int:
    """Remove packs with their parts; how many bytes they had."""
    [size] = connection.execute(
        f"WITH gone AS (DELETE FROM packs WHERE {which} RETURNING upload), parts AS"
        " (DELETE FROM pack_parts USING gone WHERE pack_parts.upload = gone.upload RETURNING length(content) AS size)"
        " SELECT coalesce(sum(size), 0) FROM parts",
        tuple(values),
    ).fetchone() or (0,)
    return int(size)
