"""Adds what the log alone does not say about a session: what a person may do now, and which turns wait for external
workers or absent machines, or came with another log. The answers about sessions that changed are kept, once nothing has
happened for a moment: commands come first."""

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING, Final, Protocol

from adapters.agents.team import Team
from adapters.store.errors import StoreError
from adapters.store.port import Store
from adapters.turns.lease.routing import place_of
from api.node.local_files import ANSWER, code
from domain.discussion.state import Discussion
from domain.kinds import KINDS, allowed_actions
from domain.session.record import Recorded, kind_of
from domain.session.state import Session
from projections.engine.ports import Database
from projections.engine.snapshots import Snapshot, Snapshots
from projections.record.session import view
from projections.record.sessions import Sessions
from projections.sessions.row import ROWS
from projections.views.record import SessionAnswer
from projections.views.session import IMPORTED, SessionView, TurnView
from projections.views.sessions import SessionItem

if TYPE_CHECKING:
    from adapters.turns.result.shared_workspaces import Sharing

Read = Callable[[str], Session | None]


def waiting_child(session: Session, load: Read) -> str | None:
    """The only review or debate of the session that waits for a person; None if there is none, or if there are
    several."""
    children = (load(child) for child in session.open_children)
    waiting = [child.id for child in children if isinstance(child, Discussion) and child.choices]
    return waiting[0] if len(waiting) == 1 else None


def allowed(session: Session, load: Read) -> tuple[str, ...]:
    """The allowed actions. A parent allows `decision`, too, if that would reach the only child that waits."""
    endpoints = allowed_actions(session)
    if "decision" in endpoints or waiting_child(session, load) is None:
        return endpoints
    return ("decision", *endpoints)


def marked(
    view: SessionView,
    session: Session,
    team: Team | None,
    machine: str | None = None,
    *,
    imported: Collection[str] = (),
) -> SessionView:
    """The view of a session, with `external` at the turns that external agents claim, and `elsewhere` at those of
    agents that this service does not have; neither where a process has no team, as it runs no turns. `machine`: all of
    them wait for it, as it alone has the workspace. `imported`: the turns that came with another log."""
    turns = view.outstanding_turns
    if team is not None:
        turns = tuple(_with_place(turn, session, team) for turn in turns)
    turns = not_run_here(waiting_for_machine(turns, machine), imported)
    return view.model_copy(update={"outstanding_turns": turns})


class OwnerSource(Protocol):
    """The place where it is recorded who started a session."""

    @property
    def store(self) -> Store: ...

    def reading(self) -> AbstractContextManager[Database]: ...


def owned(view: SessionView, session: Session, source: OwnerSource) -> SessionView:
    """The view with who started the session and where, as lists have it; while they lag, as its first event has it."""
    row = None
    with suppress(StoreError), source.reading() as db:
        row = ROWS.get(db, [session.id]).get(session.id)
    if row is not None:
        return view.model_copy(update={"owner": row.owner, "repository": row.repository})
    first = source.store.history(session.id, limit=1)[0]
    return view.model_copy(update={"owner": first.causation.actor, "repository": session.workspace})


def waiting_for_machine(turns: tuple[TurnView, ...], machine: str | None) -> tuple[TurnView, ...]:
    if machine is None:
        return turns
    waits = {"waiting_for": "machine", "machine": machine}
    return tuple(turn if turn.work == "wait" else turn.model_copy(update=waits) for turn in turns)


def not_run_here(turns: tuple[TurnView, ...], imported: Collection[str]) -> tuple[TurnView, ...]:
    if not imported:
        return turns
    rests = {"waiting_for": IMPORTED, "waiting_until": None, "elsewhere": None, "external": None}
    return tuple(
        turn.model_copy(update=rests) if turn.work != "wait" and turn.turn_id in imported else turn for turn in turns
    )


class MachineSource(Protocol):
    """The place where it is known which workspaces only an absent machine has, and which turns came with another
    log."""

    @property
    def sharing(self) -> "Sharing | None": ...

    @property
    def sessions(self) -> Sessions: ...

    def missing_machine(self, session: Session) -> str | None: ...

    def imported_turns(self, turns: Sequence[TurnView]) -> frozenset[str]: ...


def marked_list(source: MachineSource, items: tuple[SessionItem, ...]) -> tuple[SessionItem, ...]:
    """The rows of a list, with the machines that sessions wait for, and the turns that nothing here runs."""
    machines = _missing_machines(source, items)
    imported = source.imported_turns([turn for item in items for turn in item.outstanding_turns])
    if not machines and not imported:
        return items

    def turns_of(item: SessionItem) -> tuple[TurnView, ...]:
        return not_run_here(waiting_for_machine(item.outstanding_turns, machines.get(item.id)), imported)

    return tuple(item.model_copy(update={"outstanding_turns": turns_of(item)}) for item in items)


QUIET: Final = 0.3
"""Seconds without an event, after which answers are made."""
MOST: Final = 256
"""Sessions that wait for theirs; of more, the newest changes count."""
LAST: Final = 8
"""Answers that are still made at the end."""
_LARGEST: Final = 400_000

_log = logging.getLogger(__name__)


class AnswerSource(OwnerSource, Protocol):
    """The parts that answers are made from."""

    @property
    def sessions(self) -> Sessions: ...

    @property
    def snapshots(self) -> Snapshots: ...


class AnswerKeeper:
    """A thread that makes the answers about sessions, as commands that only read would, and keeps them."""

    def __init__(self, source: AnswerSource) -> None:
        self._source = source
        self._changed: OrderedDict[str, None] = OrderedDict()
        self._lock = threading.Lock()
        self._woken, self._stopped = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None

    def seen(self, events: Sequence[Recorded]) -> None:
        """A listener of the follower: these events happened."""
        with self._lock:
            for session_id in dict.fromkeys(each.session_id for each in events):
                self._changed[session_id] = None
                self._changed.move_to_end(session_id)
            while len(self._changed) > MOST:
                self._changed.popitem(last=False)
        self._woken.set()

    def rewound(self, _: int) -> None:
        """Drop what was to be answered, since the log has gone back."""
        with self._lock:
            self._changed.clear()

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
        except Exception:  # the outermost loop: no caller waits for it
            _log.info("the answer about %s cannot be kept", session_id, exc_info=True)

    def _keep(self, session_id: str) -> None:
        """Not of a session with discussions, whose state shows in it, too."""
        session = self._source.sessions.get(session_id)
        if session is None or session.open_children:
            return
        shown = view(session)
        imported = self._source.store.turns.imported([turn.turn_id for turn in shown.outstanding_turns])
        answer = SessionAnswer(
            session=owned(marked(shown, session, None, imported=imported), session, self._source),
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


def _with_place(turn: TurnView, session: Session, team: Team) -> TurnView:
    if turn.work != "ask":
        return turn
    place = place_of(session, turn.agent, turn.role, team)
    marks = {"outside": {"external": True}, "elsewhere": {"elsewhere": True}, "here": {}}
    return turn.model_copy(update=marks[place])


def _missing_machines(source: MachineSource, items: tuple[SessionItem, ...]) -> dict[str, str]:
    """By session, the machine that it cannot continue without. One query, unless workspaces are out of reach."""
    waiting = [item for item in items if item.outstanding_turns]
    machines: dict[str, str] = {}
    if source.sharing is None or not waiting:
        return machines
    with suppress(StoreError):  # the database is away, and then everything waits
        away = source.sharing.away([name for item in waiting for name in _workspaces_of(item)])
        for item in waiting:
            session = source.sessions.get(item.id) if away.intersection(_workspaces_of(item)) else None
            if session is not None and (machine := source.missing_machine(session)) is not None:
                machines[item.id] = machine
    return machines


def _workspaces_of(item: SessionItem) -> tuple[str, ...]:
    """The workspaces where its work may begin: its own, that of its parent, or that of the source of a fork."""
    return tuple(filter(None, (item.id, item.parent, item.forked_from)))
