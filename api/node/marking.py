"""Marks outstanding turns with what the log does not know: external workers, and machines that are gone."""

from adapters.agents.team import Team
from adapters.turns.routing import place_of
from domain.session.state import Session
from projections.views.session import SessionView, TurnView


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
