"""Keeps the answers about sessions that changed, once nothing has happened for a moment: commands come first."""

import logging
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final, Protocol

from adapters.agents.team import Team, load
from api.node.answers import ANSWER, code
from api.node.marking import allowed, marked
from domain.kinds import KINDS
from domain.session.history import TextRedacted
from domain.session.record import Recorded, kind_of
from projections.engine.snapshots import Snapshot, Snapshots
from projections.record.session import view
from projections.record.state import Sessions
from projections.views.record import SessionAnswer

QUIET: Final = 0.3
"""Seconds without an event, after which answers are made."""
MOST: Final = 256
"""Sessions that wait for theirs; of more, the newest changes count."""
LAST: Final = 8
"""Answers that are still made at the end."""
_LARGEST: Final = 400_000

_log = logging.getLogger(__name__)


class AnswerSource(Protocol):
    """What answers are made from."""

    @property
    def sessions(self) -> Sessions: ...

    @property
    def snapshots(self) -> Snapshots: ...


class AnswerKeeper:
    """A thread that makes the answers about sessions, as commands that only read would, and keeps them."""

    def __init__(self, source: AnswerSource) -> None:
        self._source = source
        self._team: Team = load(None)  # who only reads has no team of their own
        self._changed: OrderedDict[str, None] = OrderedDict()
        self._redacted: set[str] = set()
        """Sessions whose states in memory may still quote a text that was removed."""
        self._lock = threading.Lock()
        self._woken, self._stopped = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None

    def seen(self, events: Sequence[Recorded]) -> None:
        """A listener of the follower: these events happened."""
        with self._lock:
            self._redacted |= {each.session_id for each in events if isinstance(each.event, TextRedacted)}
            for session_id in dict.fromkeys(each.session_id for each in events):
                self._changed[session_id] = None
                self._changed.move_to_end(session_id)
            while len(self._changed) > MOST:
                self._changed.popitem(last=False)
        self._woken.set()

    def start(self) -> None:
        """Make answers in a thread, until `stop`."""
        self._thread = threading.Thread(target=self._run, name="answers", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End, after the answers about the last few sessions."""
        self._stopped.set()
        self._woken.set()
        if self._thread is not None:
            self._thread.join()
        for _ in range(LAST):
            self._next()

    def keep(self, session_id: str) -> None:
        """Keep the answer about one session, if that is possible: without it, the answer is made when it is wanted."""
        try:
            self._keep(session_id)
        except Exception:  # the outermost: nobody waits for it
            _log.info("the answer about %s cannot be kept", session_id, exc_info=True)

    def _keep(self, session_id: str) -> None:
        """Not of a session with discussions, whose state shows in it, too."""
        session = None if session_id in self._redacted else self._source.sessions.get(session_id)
        if session is None or session.open_children:
            return
        answer = SessionAnswer(
            session=marked(view(session), session, self._team),
            available_commands=allowed(session, self._source.sessions.get),
        )
        state = answer.json_bytes().decode()
        if len(state) <= _LARGEST:
            self._source.snapshots.keep(Snapshot(session_id, ANSWER, session.version, code(), state))

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._woken.wait()
            self._woken.clear()
            if self._stopped.wait(QUIET):
                return
            while not self._woken.is_set() and self._next():
                pass

    def _next(self) -> bool:
        """Keep one answer; whether there was one to be kept."""
        with self._lock:
            if not self._changed:
                return False
            session_id, _ = self._changed.popitem()
        if kind_of(session_id) in KINDS:
            self.keep(session_id)
        return True
