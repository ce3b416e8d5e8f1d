"""Remembers which events the views were made from, so that a log that is rewritten later is found out.

Whoever can write the log can also compute new hashes. The views are in another file and know the old ones, one for each
event. They outlive the rows of the views: neither a rebuild nor another version of a view forgets them. A log that goes
back, as after a restore, is not rewritten: it has other events from some position on, recorded at other times.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple, Protocol

from domain.session.record import Fingerprint
from projections.engine.ports import Cursor, Database

SCHEMA: Final = (
    "CREATE TABLE IF NOT EXISTS witness (position INTEGER PRIMARY KEY, hash TEXT NOT NULL, at BIGINT NOT NULL)"
)
PAGE: Final = 1_000
_KEPT: Final = 16
"""Characters of a hash that are kept: enough to tell two events apart."""


class Fingerprints(Protocol):
    """The log, as far as it identifies its events."""

    def fingerprints(self, *, after: int = 0, upto: int, limit: int) -> Sequence[Fingerprint]:
        """Returns what identifies the events after a position, at most `limit`."""
        ...


def prepare(db: Database, log: Fingerprints, head: int) -> None:
    """Create the table, forget the events of a log that has gone back since, and keep the views of one that was
    rewritten."""
    db.execute(SCHEMA)
    forget_lost(db, log, head)
    _keep_views(db, log)


def _keep_views(db: Database, log: Fingerprints) -> None:
    """Let views whose last event was rewritten go on from the event that is there now: they still show what it was,
    and would be emptied as those of another log."""
    reached = db.execute("SELECT DISTINCT position, event_id FROM progress WHERE event_id IS NOT NULL").fetchall()
    for position, mark in reached:
        page = log.fingerprints(after=position - 1, upto=position, limit=1)
        remembered = _memory_of(db, page).get(position)
        if page and page[0].hash != mark and remembered and remembered.hash == mark[:_KEPT]:
            db.execute("UPDATE progress SET event_id = ? WHERE position = ?", (page[0].hash, position))


def follow(db: Database, log: Fingerprints, upto: int) -> None:
    """Remember the events up to a position that are not remembered yet."""
    while page := log.fingerprints(after=_newest(db), upto=upto, limit=PAGE):
        db.insert(
            "INSERT INTO witness VALUES (?, ?, ?) ON CONFLICT (position) DO NOTHING",
            [(each.position, each.hash[:_KEPT], each.at) for each in page],
        )


def _newest(db: Database) -> int:
    return int(db.execute("SELECT coalesce(max(position), 0) FROM witness").fetchone()[0])


def forget_lost(db: Database, log: Fingerprints, head: int) -> int:
    """Forget the last events where the log has none any more, or others that were recorded at other times; the last
    position that is remembered then."""
    end = min(head, _newest(db))
    while end and (lost := _lost(db, log.fingerprints(after=max(0, end - PAGE), upto=end, limit=PAGE))) is not None:
        end = lost - 1
    db.execute("DELETE FROM witness WHERE position > ?", (end,))
    return end


def _lost(db: Database, page: Sequence[Fingerprint]) -> int | None:
    """The position from which on the log has other events up to the end of the page; None if it ends with the event
    that is remembered, or with a rewritten one."""
    memory, first = _memory_of(db, page), None
    for each in reversed(page):
        if each.position in memory and each.at == memory[each.position].at:
            break
        first = each.position
    return first


class WitnessReader(Protocol):
    """A connection that is only read."""

    def execute(self, sql: str, params: Sequence[Any] = ..., /) -> Cursor: ...


def rewritten(db: WitnessReader, log: Fingerprints, head: int) -> Iterator[Fingerprint]:
    """The first event of each session that is not the one that is remembered."""
    sessions: set[str] = set()
    after = 0
    while page := log.fingerprints(after=after, upto=head, limit=PAGE):
        after, memory = page[-1].position, _memory_of(db, page)
        for each in page:
            remembered = memory.get(each.position)
            if remembered and remembered.hash != each.hash[:_KEPT] and each.session_id not in sessions:
                sessions.add(each.session_id)
                yield each


class _Remembered(NamedTuple):
    """The part of an event that is kept."""

    hash: str
    at: int


def _memory_of(db: WitnessReader, page: Sequence[Fingerprint]) -> dict[int, _Remembered]:
    """Returns what is remembered of these events, by position."""
    if not page:
        return {}
    between = (page[0].position, page[-1].position)
    rows = db.execute("SELECT position, hash, at FROM witness WHERE position BETWEEN ? AND ?", between).fetchall()
    return {position: _Remembered(digest, at) for position, digest, at in rows}
