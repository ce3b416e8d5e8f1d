"""Rebuilding the views of a long log in several processes: each folds some of the sessions into a file of its own.

A session's rows may depend on its parent's, so families stay together. Anything unusual, such as an event that cannot
be read, is left to a rebuild in one process, which reports it.
"""

from collections.abc import Sequence
from typing import Final, Protocol

from domain.discussion.chart import TABLES as DISCUSSIONS
from domain.discussion.events import DiscussionStarted
from domain.session.record import Omitted, Recorded, Sight, kind_of
from projections.catalogue import PROJECTIONS
from projections.engine.fold import UNREADABLE, Folding
from projections.engine.ports import EventLog, Views
from projections.engine.rebuild import refold

MOST: Final = 8
"""Parts of one log: further processes would only read the same file."""
WORTH: Final = 50_000
"""Events that a process should have at least: its start takes as long as some thousands of them."""
_PAGE: Final = 10_000
"""Events that are read at once: each time, all sessions are looked up."""


class Undivided(Exception):
    """The log has to be folded in one process."""


class Streams(Protocol):
    def streams(self) -> list[str]:
        """Every session and channel, oldest first."""

    def count(self, upto: int) -> int:
        """Returns how many events there are up to a position, whatever the indexes of the log say."""
        ...


class DividedLog(EventLog, Protocol):
    """A log that can be read in parts."""

    @property
    def rows(self) -> Streams: ...

    def beginnings(self, sessions: Sequence[str]) -> Sequence[Recorded]:
        """The first event of each of these sessions."""
        ...

    def log(
        self, *, after: int = 0, limit: int = ..., sessions: Sequence[str] | None = None, omitted: Omitted | None = None
    ) -> Sequence[Recorded]: ...


def divided(log: DividedLog, count: int) -> list[list[str]]:
    """All sessions and channels in so many parts, each family in one. Raises Undivided if a session cannot be read."""
    names = log.rows.streams()
    parents = _parents(log, [name for name in names if kind_of(name) in DISCUSSIONS])
    parts: list[list[str]] = [[] for _ in range(count)]
    places: dict[str, int] = {}
    families = 0
    for name in names:
        parent = parents.get(name)
        if parent is None or parent not in places:  # a view finds no parent that begins later, either
            place, families = families % count, families + 1
        else:
            place = places[parent]
        places[name] = place
        parts[place].append(name)
    return parts


def _parents(log: DividedLog, discussions: Sequence[str]) -> dict[str, str]:
    """The parent of each review and debate that has one; nothing else has parents."""
    try:
        firsts = log.beginnings(discussions)
    except UNREADABLE as error:
        raise Undivided from error
    return {
        first.session_id: link.session_id
        for first in firsts
        if isinstance(first.event, DiscussionStarted) and (link := first.event.topic.parent) is not None
    }


class LogPart:
    """The events of some sessions up to a position, as a log that is read once from its beginning."""

    def __init__(self, log: DividedLog, sessions: Sequence[str], head: int) -> None:
        self._log, self._sessions, self._head = log, sessions, head
        self._ahead: Sequence[Recorded] = ()
        self.count = 0
        """How many events it has had so far."""

    def head(self) -> int:
        return self._head

    def sight(self, *positions: int) -> Sight:
        """Without marks: what is folded from a part is noted with the whole."""
        return Sight(self._head, 0, tuple(None for _ in positions))

    def gone_back(self, since: int) -> int:
        """The epoch `since`: a part is only read."""
        return since

    def log(self, *, after: int = 0, limit: int = _PAGE, omitted: Omitted | None = None) -> Sequence[Recorded]:
        """Raises Undivided for events that cannot be read."""
        if not self._ahead:
            self._ahead = self._read(after, omitted)
        page, self._ahead = self._ahead[:limit], self._ahead[limit:]
        return page

    def _read(self, after: int, omitted: Omitted | None) -> Sequence[Recorded]:
        try:
            events = self._log.log(after=after, limit=_PAGE, sessions=self._sessions, omitted=omitted)
        except UNREADABLE as error:
            raise Undivided from error
        page = [recorded for recorded in events if recorded.position <= self._head]
        self.count += len(page)
        return page


def fold_part(log: DividedLog, views: Views, sessions: Sequence[str], head: int) -> int:
    """Fold these sessions' events up to `head` into empty views; how many events there were. Raises Undivided if a view
    fails."""
    folding, part = Folding(PROJECTIONS), LogPart(log, sessions, head)
    with views.transaction() as db:
        folding.prepare(db, part)
        refold(folding, db, part)
        if folding.problems(db):
            raise Undivided
    return part.count
