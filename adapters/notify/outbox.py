"""Unsent notifications, which survive restarts and unreachable receivers."""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from adapters.store.port import Access, SqlConnection, Store

_TABLES: Final = """
CREATE TABLE IF NOT EXISTS bookmark (one INTEGER PRIMARY KEY CHECK (one = 1), position INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS notifications (
    id TEXT NOT NULL, position INTEGER NOT NULL, receiver TEXT NOT NULL, body BLOB NOT NULL,
    since INTEGER NOT NULL, tries INTEGER NOT NULL DEFAULT 0, due INTEGER NOT NULL, PRIMARY KEY (id, receiver)
);
CREATE INDEX IF NOT EXISTS notifications_due ON notifications (due);
"""
_BUSY_SECONDS: Final = 30.0


class Notification(NamedTuple):
    """One item for one receiver. `position` is where the log says that it waits; `since` is in milliseconds."""

    id: str
    position: int
    receiver: str
    body: bytes
    since: int
    tries: int
    due: int = 0
    """When it is first sent; immediately if that time has passed."""


class Outbox:
    """The tables `bookmark` and `notifications`. `alone` provides a connection in a transaction that excludes any other
    process changes them. Raises what it raises."""

    def __init__(self, alone: Access, *, with_log: bool) -> None:
        """`with_log`: the tables are in the log's database and go back with it, so that they always fit it."""
        self._alone, self._with_log = alone, with_log

    def begin(self, head: int) -> int:
        """Up to which position of the log this is complete; on first use, everything so far counts as done. A log that
        ends before that has gone back."""
        with self._alone() as db:
            db.execute("INSERT INTO bookmark VALUES (1, ?) ON CONFLICT DO NOTHING", [head])
        return self.rewind(head)

    def rewind(self, position: int) -> int:
        """Drop what waits for events after this position, up to which the log that has gone back is the same: the next
        ones there are new. Returns up to which position this is complete now."""
        with self._alone() as db:
            if not self._with_log:
                db.execute("DELETE FROM notifications WHERE position > ?", [position])
                db.execute("UPDATE bookmark SET position = ? WHERE position > ?", [position, position])
            return _bookmark(db)

    def add(self, notifications: Iterable[Notification], *, upto: int, now: int) -> None:
        """Add new items, only once even with several processes, and remember how far the log was read."""
        with self._alone() as db:
            bookmark = _bookmark(db)
            for one in notifications:
                if one.position > bookmark:
                    row = (*one[:-1], max(one.due, now))
                    db.execute("INSERT INTO notifications VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", row)
            db.execute("UPDATE bookmark SET position = ? WHERE position < ?", [upto, upto])

    def take(self, receiver: str, now: int, *, lease: int) -> Notification | None:
        """The receiver's next due item; no other process gets it for `lease` milliseconds."""
        with self._alone() as db:
            row = db.execute(
                f"SELECT {', '.join(Notification._fields)} FROM notifications"
                " WHERE receiver = ? AND due <= ? ORDER BY due, position LIMIT 1",
                [receiver, now],
            ).fetchone()
            if row is None:
                return None
            one = Notification(*row)
            db.execute(
                "UPDATE notifications SET tries = tries + 1, due = ? WHERE id = ? AND receiver = ?",
                [now + lease, one.id, one.receiver],
            )
        return one

    def done(self, one: Notification) -> None:
        """It was delivered, or given up."""
        with self._alone() as db:
            db.execute("DELETE FROM notifications WHERE id = ? AND receiver = ?", [one.id, one.receiver])

    def later(self, one: Notification, due: int) -> None:
        with self._alone() as db:
            db.execute("UPDATE notifications SET due = ? WHERE id = ? AND receiver = ?", [due, one.id, one.receiver])

    def hurry(self, receiver: str, now: int, *, lease: int) -> None:
        """The receiver is back: items that failed before are due now, except those being sent."""
        with self._alone() as db:
            db.execute(
                "UPDATE notifications SET due = ? WHERE receiver = ? AND tries > 0 AND due > ?",
                [now, receiver, now + lease],
            )

    def next_due(self, receiver: str) -> int | None:
        """Returns when the receiver's next item is due; None if everything has been sent."""
        with self._alone() as db:
            [due] = db.execute("SELECT min(due) FROM notifications WHERE receiver = ?", [receiver]).fetchone()
        return None if due is None else int(due)


def _bookmark(db: SqlConnection) -> int:
    row = db.execute("SELECT position FROM bookmark").fetchone()
    return 0 if row is None else int(row[0])


def open_outbox(store: Store, path: Path) -> Outbox:
    """The outbox in the database that machines share; without one in this file, which processes of the machine may
    share. Raises sqlite3.Error or StoreError."""
    if store.outbox is not None:
        return Outbox(store.outbox, with_log=True)
    return Outbox(_in_file(path), with_log=False)


def rewind_file(path: Path, head: int) -> None:
    """Have the outbox in this file, if there is one, go back with its log, which another one has replaced: the next
    process that looks may find it beyond where it was before. Raises sqlite3.Error."""
    if path.is_file():
        Outbox(_in_file(path), with_log=False).rewind(head)


def _in_file(path: Path) -> Access:
    @contextmanager
    def alone() -> Iterator[sqlite3.Connection]:
        connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
        try:
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            if connection.in_transaction:
                connection.execute("COMMIT")
        finally:
            connection.close()

    with alone() as connection:
        connection.executescript(_TABLES)
    return alone
