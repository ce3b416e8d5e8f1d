"""Folds a page of the log into the views: all views in one transaction with their position; a failing view is
parked."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import compress
from operator import attrgetter
from typing import Final

from domain.session.record import Omitted, Recorded, Sight
from domain.values.base import DomainEvent, Unknown
from projections.engine import snapshots
from projections.engine.ports import OMITTED, Database, EventLog, Projection

SCHEMA = (
    "CREATE TABLE IF NOT EXISTS progress (view TEXT PRIMARY KEY, shape TEXT NOT NULL, position BIGINT NOT NULL,"
    " event_id TEXT, failed_at BIGINT, error TEXT)",
    "CREATE TABLE IF NOT EXISTS unreadable (position BIGINT PRIMARY KEY, error TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS epoch (one BIGINT PRIMARY KEY, number BIGINT NOT NULL)",
    snapshots.SCHEMA,
)
PAGE = 500
_EVENT = attrgetter("event")
UNREADABLE = (Unknown, ValueError, LookupError, TypeError)
"""The errors of a row that cannot become an event: a topic of another version, or data that does not fit its class."""
LONGEST_ERROR = 500


@dataclass(frozen=True, slots=True)
class LogPage:
    """A stretch of the log, decoded once: the events after one position, up to and including `end`, where the log has
    an event with this mark."""

    end: int
    events: Sequence[Recorded] = ()
    unreadable: dict[int, str] = field(default_factory=dict)
    mark: str | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a view. `event_id` is the mark of the event at its position, None where that is not known. A view
    with an `error` is parked before the event at `failed_at`."""

    shape: str
    position: int
    event_id: str | None
    failed_at: int | None
    error: str | None


@dataclass(frozen=True, slots=True)
class ViewProblem:
    """The reason for which the views stop. `subject` is the name of a parked view, `log` for an event that cannot be
    read, or `follower` for the loop itself."""

    subject: str
    position: int
    error: str


def read(log: EventLog, *, after: int, limit: int, omitted: Omitted | None = None) -> LogPage:
    """The next page. If an event cannot be read, the events of its page are read one by one; the loop never fails."""
    try:
        events = log.log(after=after, limit=limit, omitted=omitted)
    except UNREADABLE:
        return _read_singly(log, after=after, limit=limit)
    return LogPage(end=events[-1].position if events else after, events=events)


def _read_singly(log: EventLog, *, after: int, limit: int) -> LogPage:
    """Assume that an unreadable event has the next position: the log only says that there is a later one."""
    events: list[Recorded] = []
    unreadable: dict[int, str] = {}
    end, head = after, log.head()
    while end < head and len(events) + len(unreadable) < limit:
        try:
            entries = log.log(after=end, limit=1)
        except UNREADABLE as error:
            end += 1
            unreadable[end] = _words(error)
            continue
        if not entries:
            break
        events.extend(entries)
        end = entries[-1].position
    return LogPage(end=end, events=events, unreadable=unreadable)


class Folding:
    """All views together, and how far each has got."""

    def __init__(self, projections: Iterable[Projection], omitted: Omitted = OMITTED) -> None:
        self.projections, self.omitted = tuple(projections), omitted

    def prepare(self, db: Database, log: EventLog) -> bool:
        """Create the tables. Views with another schema, or of another log, are emptied; following folds them again.
        Returns whether they were of another log, or of what this one was before it went back."""
        self.lay_out(db)
        progress = self.progress(db)
        for projection in self.projections:
            if projection.name in progress and progress[projection.name].shape != shape(projection):
                _drop(db, projection)
            create(db, projection)
        for gone in progress.keys() - {projection.name for projection in self.projections}:
            db.execute("DELETE FROM progress WHERE view = ?", (gone,))
        noted = [(each, progress[each.name]) for each in self.projections if each.name in progress]
        of_another = not _are_of([stored for view, stored in noted if stored.shape == shape(view)], log)
        if of_another or any(stored.shape != shape(view) for view, stored in noted):
            self.empty(db)
        return of_another

    @staticmethod
    def lay_out(db: Database) -> None:
        """Create the tables that say how far the views have got."""
        for statement in SCHEMA:
            db.execute(statement)

    def rewind(self, db: Database, log: EventLog, epoch: int) -> None:
        """Empty the views if they were folded from what the log was before it went back, and note its epoch. Another
        process may already have done so."""
        if not _are_of(self.progress(db).values(), log):
            self.empty(db)
        db.execute("INSERT INTO epoch VALUES (1, ?) ON CONFLICT (one) DO UPDATE SET number = excluded.number", (epoch,))

    def epoch(self, db: Database) -> int:
        """The epoch of the log that was last noted, 0 for one that has never gone back."""
        row = db.execute("SELECT number FROM epoch").fetchone()
        return int(row[0]) if row else 0

    def progress(self, db: Database) -> dict[str, Progress]:
        rows = db.execute("SELECT view, shape, position, event_id, failed_at, error FROM progress").fetchall()
        return {row[0]: Progress(*row[1:]) for row in rows}

    def lowest(self, db: Database) -> Progress | None:
        """Says how far every active view has got; None if all views are parked."""
        progress = self.progress(db)
        running = [progress[each.name] for each in self.projections if progress[each.name].error is None]
        return min(running, key=attrgetter("position"), default=None)

    def problems(self, db: Database) -> list[ViewProblem]:
        parked = [
            ViewProblem(name, progress.failed_at or progress.position, progress.error)
            for name, progress in sorted(self.progress(db).items())
            if progress.error is not None
        ]
        rows = db.execute("SELECT position, error FROM unreadable ORDER BY position LIMIT 100").fetchall()
        return [*parked, *(ViewProblem("log", position, error) for position, error in rows)]

    def fold(self, db: Database, page: LogPage) -> None:
        """Each view gets the events that are new to it: another process may already have folded some of them."""
        for position, error in page.unreadable.items():
            db.execute("INSERT INTO unreadable VALUES (?, ?) ON CONFLICT (position) DO NOTHING", (position, error))
        progress = self.progress(db)
        behind = [
            projection
            for projection in self.projections
            if progress[projection.name].error is None and progress[projection.name].position < page.end
        ]
        places = {progress[projection.name].position for projection in behind}
        if len(places) == 1 and _all_at_once(db, behind, _behind(page, places.pop()), page):
            return
        for projection in behind:
            self._advance(db, projection, _behind(page, progress[projection.name].position), page)

    def _advance(self, db: Database, projection: Projection, events: Sequence[Recorded], page: LogPage) -> None:
        about = _about(projection, events, [type(recorded.event) for recorded in events])
        error = _apply(db, projection, about)
        if error is None:
            return note(db, [projection], page.end, page.mark)
        for recorded in about:
            alone = _apply(db, projection, [recorded])
            if alone is not None:
                return _park(db, projection, recorded, alone)
        raise RuntimeError(f"The view {projection.name} is no pure fold: {error}, but not event by event.")

    def empty(self, db: Database) -> None:
        """No rows, no snapshots, and every view before the first event."""
        db.execute("DELETE FROM unreadable")
        db.execute("DELETE FROM snapshots")
        for projection in self.projections:
            _drop(db, projection)
            create(db, projection)
            db.execute(
                "UPDATE progress SET position = 0, event_id = NULL, failed_at = NULL, error = NULL, shape = ?"
                " WHERE view = ?",
                (shape(projection), projection.name),
            )


def shape(projection: Projection) -> str:
    """Returns what distinguishes a view from an earlier version of itself."""
    words = "\n".join((_MARKED, str(projection.version), *projection.tables, *projection.schema))
    return hashlib.sha256(words.encode()).hexdigest()[:16]


_MARKED: Final = "by hash"
"""The way in which a view notes the event at its position: one that noted it otherwise is folded again."""


def _behind(page: LogPage, position: int) -> Sequence[Recorded]:
    return [recorded for recorded in page.events if recorded.position > position]


def _all_at_once(db: Database, projections: Sequence[Projection], events: Sequence[Recorded], page: LogPage) -> bool:
    """The fast path, which nearly always works and takes a quarter of the statements. If it fails, nothing has changed,
    and each view is folded separately."""
    db.execute("SAVEPOINT fold")
    try:
        kinds = list(map(type, map(_EVENT, events)))
        for projection in projections:
            about = _about(projection, events, kinds)
            if about:
                projection.apply(db, about)
    except OSError:
        raise
    except Exception:  # folding one by one then finds the view and the event
        db.execute("ROLLBACK TO SAVEPOINT fold")
        db.execute("RELEASE SAVEPOINT fold")
        return False
    db.execute("RELEASE SAVEPOINT fold")
    note(db, projections, page.end, page.mark)
    return True


def _about(projection: Projection, events: Sequence[Recorded], kinds: Sequence[type]) -> Sequence[Recorded]:
    """The events that the view is about; `kinds` are their classes."""
    if projection.about == (DomainEvent,):
        return events
    wanted = {kind for kind in set(kinds) if issubclass(kind, projection.about)}
    return list(compress(events, map(wanted.__contains__, kinds)))


def _apply(db: Database, projection: Projection, events: Sequence[Recorded]) -> str | None:
    """Returns why the view failed on these events; in that case it is unchanged."""
    if not events:
        return None
    db.execute("SAVEPOINT fold")
    try:
        projection.apply(db, events)
    except OSError:  # the database failed, not the view: the whole page is tried again
        raise
    except Exception as error:  # the failure must only stop this view; reported by `problems`
        db.execute("ROLLBACK TO SAVEPOINT fold")
        db.execute("RELEASE SAVEPOINT fold")
        return _words(error)
    db.execute("RELEASE SAVEPOINT fold")
    return None


def note(db: Database, projections: Sequence[Projection], position: int, mark: str | None) -> None:
    """Note the views' position, and the mark of the event there, which identifies their log."""
    names = [projection.name for projection in projections]
    db.execute(
        f"UPDATE progress SET position = ?, event_id = ? WHERE view IN ({', '.join('?' * len(names))})",
        (position, mark, *names),
    )


def _park(db: Database, projection: Projection, poison: Recorded, error: str) -> None:
    """Park the view before that event until it is rebuilt."""
    note(db, [projection], poison.position - 1, None)
    values = (poison.position, error, projection.name)
    db.execute("UPDATE progress SET failed_at = ?, error = ? WHERE view = ?", values)


def _are_of(views: Iterable[Progress], log: EventLog) -> bool:
    """Returns whether the views were folded from this log: one that was restored from a backup has other events."""
    noted = {(view.position, view.event_id) for view in views}
    return are_there(log.sight(*(position for position, _ in noted)), noted)


def are_there(sight: Sight, noted: Iterable[tuple[int, str | None]]) -> bool:
    """Returns whether a log still has the events with these positions and marks (None: any), by what it has there
    now."""
    return all(
        position <= sight.head and mark in (None, now)
        for (position, mark), now in zip(noted, sight.marks, strict=False)
    )


def create(db: Database, projection: Projection) -> None:
    """Its tables and indexes, where they are missing."""
    for statement in projection.schema:
        db.execute(statement)
    db.execute(
        "INSERT INTO progress (view, shape, position) VALUES (?, ?, 0) ON CONFLICT (view) DO NOTHING",
        (projection.name, shape(projection)),
    )


def _drop(db: Database, projection: Projection) -> None:
    for table in projection.tables:
        db.execute(f"DROP TABLE IF EXISTS {table}")


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:LONGEST_ERROR]
