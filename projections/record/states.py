"""Folded sessions, kept by version."""

import threading
from collections import OrderedDict
from collections.abc import Iterable

from domain.kinds import fold
from domain.session.record import Recorded, kind_of
from domain.session.state import Session
from projections.engine.ports import Histories
from projections.engine.snapshots import Snapshots

STRIDE = 64
"""A state is kept at every multiple of this version, so that stepping through the history folds fewer events."""
KEPT = 500
"""Number of sessions whose states are kept."""


class Sessions:
    """Folded sessions by id and version. Caches states and continues from the nearest one; safe for many threads."""

    def __init__(self, log: Histories, snapshots: Snapshots | None = None, *, capacity: int = KEPT) -> None:
        self._log, self._snapshots, self._size = log, snapshots, capacity
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, dict[int, Session]] = OrderedDict()

    def get(self, session_id: str, version: int | None = None) -> Session | None:
        """The session now, or after its event `version`; None if there is no such session or event.

        Raises what the log raises for an unreadable event.
        """
        if version is not None and version < 1:
            return None
        session = self._nearest(session_id, version)
        if session is not None and session.version == version:
            return session
        after = session.version if session else 0
        seen: list[Session] = []
        for recorded in self._log.history(session_id, after=after, upto=version):
            session = _next(session, recorded)
            if session.version % STRIDE == 0:
                seen.append(session)
        if session is None or (version is not None and session.version != version):
            return None
        self._keep(session_id, [*seen, session])
        return session

    def _nearest(self, session_id: str, version: int | None) -> Session | None:
        """A cached state, or a snapshot if more events would have to be folded than lie between two snapshots."""
        cached = self._remembered(session_id, version)
        if self._snapshots is None:
            return cached
        if cached is not None and (version is None or version - cached.version < self._snapshots.every):
            return cached
        stored = self._snapshots.nearest(session_id, version)
        return cached if stored is None or (cached is not None and cached.version >= stored.version) else stored

    def _remembered(self, session_id: str, version: int | None) -> Session | None:
        with self._lock:
            states = self._kept.get(session_id)
            if states is None:
                return None
            self._kept.move_to_end(session_id)
            newest = max((number for number in states if version is None or number <= version), default=None)
            return None if newest is None else states[newest]

    def _keep(self, session_id: str, states: Iterable[Session]) -> None:
        """States at every stride, and the newest one seen."""
        with self._lock:
            cached = self._kept.setdefault(session_id, {})
            cached |= {state.version: state for state in states}
            newest = max(cached)
            for number in [number for number in cached if number % STRIDE and number != newest]:
                del cached[number]
            self._kept.move_to_end(session_id)
            while len(self._kept) > self._size:
                self._kept.popitem(last=False)


def _next(session: Session | None, recorded: Recorded) -> Session:
    folded = fold(kind_of(recorded.session_id), [(recorded.event, recorded.metadata)], session)
    assert folded is not None, "a session that had an event exists"
    return folded
