"""What the log alone does not say about a session: what a person may do now, and which turns wait for external workers
or absent machines."""

from collections.abc import Callable

from adapters.agents.team import Team
from adapters.turns.routing import place_of
from domain.discussion.state import Discussion
from domain.kinds import allowed_actions
from domain.session.state import Session
from projections.views.session import SessionView, TurnView

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


# Marks outstanding turns with what the log does not know: external workers, and machines that are gone.


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
