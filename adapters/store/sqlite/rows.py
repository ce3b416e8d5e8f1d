"""The tables of the log on SQLite, its rows without decoding, and a log that is only read.

Evidence must not change, not even by a byte. The ordinary store creates missing tables and switches the file to WAL; a
sealed log does neither.
"""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any, Final

from adapters.files import private_file
from adapters.store.errors import StoreError
from adapters.store.port import SqlConnection
from adapters.store.sql.rows import SqlRows
from adapters.store.sqlite.columns import columns_of
from adapters.store.sqlite.schema import NEEDED, OBJECTS, OF_BEFORE, OURS
from domain.values.sentences import Sentence, sentence_of

_RECEIPT: Final = "key, fingerprint, status, body, at"
Access = Callable[[], AbstractContextManager[sqlite3.Connection]]


class SqliteRows(SqlRows):
    """The rows of a store."""

    engine = "SQLite"
    elements = "SELECT value FROM json_each(?)"
    made = "made"

    def __init__(self, path: Path, reading: Access) -> None:
        super().__init__(reading)
        self._path, self._connection = path, reading

    @contextmanager
    def frozen(self) -> Iterator["SqliteRows"]:
        """A consistent snapshot for all reads with these rows, whatever is written meanwhile."""
        with self._connection() as connection:
            connection.execute("BEGIN")

            @contextmanager
            def reading() -> Iterator[sqlite3.Connection]:
                try:
                    yield connection
                except sqlite3.Error as error:
                    raise StoreError(Sentence("log_unreadable", path=self._path, detail=error)) from error

            try:
                yield SqliteRows(self._path, reading)
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    def integrity(self, *, quick: bool = False) -> list[str]:
        """The faults that SQLite itself finds in the file."""
        with self._connection() as connection:
            report = connection.execute(f"PRAGMA {'quick' if quick else 'integrity'}_check").fetchall()
            there = set(connection.execute(OBJECTS).fetchall())
        unknown = (f"it has a {kind} that is not ours: {name}" for kind, name in sorted(there - OURS - OF_BEFORE))
        missing = (f"the {kind} {name} is missing" for kind, name in sorted(NEEDED - there))
        return [*(row[0] for row in report if row[0] != "ok"), *unknown, *missing]

    def _knows_forms(self, connection: SqlConnection) -> bool:
        names = connection.execute("SELECT name FROM pragma_table_info('events')").fetchall()
        return ("form",) in names

    def receipts(self) -> Iterator[Sequence[Any]]:
        with self._connection() as connection:
            has_digests = "digest" in columns_of(connection, "receipts")
        return (
            super().receipts() if has_digests else ((*row, None) for row in self._by_key(_RECEIPT, "receipts", "key"))
        )

    def api_keys(self) -> Iterator[Sequence[Any]]:
        return super().api_keys() if self._has_table("keys") else iter(())

    def links(self) -> Iterator[Sequence[Any]]:
        return super().links() if self._has_table("links") else iter(())

    def secrets(self) -> Iterator[tuple[str, bytes]]:
        return super().secrets() if self._has_table("keys") else iter(())

    def _has_table(self, name: str) -> bool:
        """True if the log has it: older logs had keys in files only."""
        with self._connection() as connection:
            return connection.execute("SELECT 1 FROM sqlite_schema WHERE name = ?", [name]).fetchone() is not None

    def last_given(self) -> int:
        """The newest position that was ever given out, whether or not its event is still there."""
        with self._connection() as connection:
            row = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'events'").fetchone()
        position = row[0] if row else 0
        if not isinstance(position, int):
            raise StoreError(Sentence("newest_position_damaged"))
        return position

    def backup(self, target: Path) -> None:
        """A complete copy of the log while it is in use, with the same positions and the same keys; no one is signed in
        there. Raises StoreError, and then nothing is left at the target."""
        try:
            private_file(target)
            with self._connection() as connection, closing(sqlite3.connect(target)) as copy:
                connection.backup(copy)
                _forget_sign_ins(copy)
                copy.execute("PRAGMA journal_mode=DELETE")  # the mark by which `soundness` knows a copy
        except (StoreError, OSError, sqlite3.Error) as error:
            target.unlink(missing_ok=True)
            raise StoreError(Sentence("backup_not_written", path=target, detail=sentence_of(error))) from error


def _forget_sign_ins(copy: sqlite3.Connection) -> None:
    """With the secret that signs sign-ins, anyone with the copy could sign in. Revoked keys stay revoked."""
    if copy.execute("SELECT 1 FROM sqlite_schema WHERE name = 'secrets'").fetchone():
        copy.execute("PRAGMA secure_delete = ON")
        copy.execute("DELETE FROM secrets WHERE name NOT LIKE 'revoked:%' AND name NOT LIKE 'check:%'")
        copy.execute("DELETE FROM links")
        copy.commit()
