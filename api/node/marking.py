"""What the log alone does not say about a session: what a person may do now, and which turns wait for external workers
or absent machines."""

from collections.abc import Callable
from contextlib import suppress

from adapters.agents.team import Team
from adapters.store import StoreError
from adapters.turns.routing import place_of
from api.system import System
from domain.discussion.state import Discussion
from domain.kinds import allowed_actions
from domain.session.state import Session
from projections.views.session import SessionView, TurnView
from projections.views.sessions import SessionItem

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


# -- outstanding turns: external workers, and machines that are gone ---------------------------------------------------


def marked(view: SessionView, session: Session, team: Team, machine: str | None = None) -> SessionView:
    """The view of a session, with `external` at the turns that external agents claim, and `elsewhere` at those of
    agents that this service does not have. `machine`: all of them wait for it, as it alone has the workspace."""
    turns = tuple(_with_place(turn, session, team) for turn in view.outstanding_turns)
    return view.model_copy(update={"outstanding_turns": waiting_for_machine(turns, machine)})


def waiting_for_machine(turns: tuple[TurnView, ...], machine: str | None) -> tuple[TurnView, ...]:
    if machine is None:
        return turns
    waits = {"waiting_for": "machine", "machine": machine}
    return tuple(turn if turn.work == "wait" else turn.model_copy(update=waits) for turn in turns)


def _with_place(turn: TurnView, session: Session, team: Team) -> TurnView:
    if turn.work != "ask":
        return turn
    place = place_of(session, turn.agent, turn.role, team)
    marks = {"outside": {"external": True}, "elsewhere": {"elsewhere": True}, "here": {}}
    return turn.model_copy(update=marks[place])


# -- the rows of a list ------------------------------------------------------------------------------------------------


def marked_list(system: System, items: tuple[SessionItem, ...]) -> tuple[SessionItem, ...]:
    """The rows of a list, with the machines that sessions wait for."""
    machines = _missing_machines(system, items)
    if not machines:
        return items
    return tuple(
        item.model_copy(
            update={"outstanding_turns": waiting_for_machine(item.outstanding_turns, machines.get(item.id))}
        )
        for item in items
    )


def _missing_machines(system: System, items: tuple[SessionItem, ...]) -> dict[str, str]:
    """By session, the machine that it cannot continue without. One query, unless workspaces are out of reach."""
    waiting = [item for item in items if item.outstanding_turns]
    machines: dict[str, str] = {}
    if system.sharing is None or not waiting:
        return machines
    with suppress(StoreError):  # the database is away, and then everything waits
        away = system.sharing.away([name for item in waiting for name in _workspaces_of(item)])
        for item in waiting:
            session = system.sessions.get(item.id) if away.intersection(_workspaces_of(item)) else None
            if session is not None and (machine := system.missing_machine(session)) is not None:
                machines[item.id] = machine
    return machines


def _workspaces_of(item: SessionItem) -> tuple[str, ...]:
    """Where its work may begin: its own workspace, that of its parent, or that of the source of a fork."""
    return tuple(filter(None, (item.id, item.parent, item.forked_from)))
