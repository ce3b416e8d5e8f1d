"""The states of sessions at any version, folded from the log and cached."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable

from domain.kinds import fold
from domain.session.record import Recorded, kind_of, redacted_sessions
from domain.session.state import Session
from projections.engine.ports import Histories
from projections.engine.snapshots import Snapshots

STRIDE = 64
"""A state is kept at every multiple of this version on the way to an earlier one: the next step through the history
folds fewer events."""

KEPT = 500
"""Number of sessions whose states are kept."""

Memory = Callable[[str], Session | None]
"""A session as this process has it in memory, perhaps without its last events."""


class Sessions:
    """Folded sessions by id and version. Caches states and continues from the nearest one; safe for many threads."""

    def __init__(
        self,
        log: Histories,
        snapshots: Snapshots | None = None,
        *,
        memory: Memory = lambda _: None,
        capacity: int = KEPT,
    ) -> None:
        """`memory` saves folding what this process has just decided itself."""
        self._log, self._snapshots, self._memory, self._size = log, snapshots, memory, capacity
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, dict[int, Session]] = OrderedDict()
        self._forgotten = 0
        """How often something was forgotten: nothing that was read before is kept."""

    def forget(self, session_id: str | None) -> None:
        """Drop what is cached of a session from which a text was taken out: earlier states may quote it, too. None: of
        all."""
        with self._lock:
            self._forgotten += 1
            for each in list(self._kept) if session_id is None else [session_id]:
                self._kept.pop(each, None)

    def get(self, session_id: str, version: int | None = None) -> Session | None:
        """The session now, or after its event `version`; None if there is no such session or event.

        Raises what the log raises for an unreadable event.
        """
        if version is not None and version < 1:
            return None
        forgotten = self._forgotten
        session = self._nearest(session_id, version)
        if session is not None and session.version == version:
            return session
        after = session.version if session else 0
        seen: list[Session] = []
        history = self._log.history(session_id, after=after, upto=version)
        if session is not None and redacted_sessions(history):
            session, history = None, self._log.history(session_id, upto=version)  # it may quote the text
        for recorded in history:
            session = _next(session, recorded)
            if version is not None and session.version % STRIDE == 0:
                seen.append(session)
        if session is None or (version is not None and session.version != version):
            return None
        if forgotten == self._forgotten:
            self._keep(session_id, [*seen, session])
        return session

    def _nearest(self, session_id: str, version: int | None) -> Session | None:
        """A cached state, or a snapshot if more events would have to be folded than lie between two snapshots."""
        cached, newest = self._remembered(session_id, version), self._memory(session_id)
        if newest is not None and (cached is None or newest.version > cached.version):
            cached = newest if version is None or newest.version <= version else cached
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
