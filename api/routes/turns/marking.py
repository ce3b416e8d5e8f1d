"""Marks the outstanding turns of external workers: the log itself does not know the team."""

from adapters.agents.team import Team
from adapters.turns.routing import place_of
from domain.session.state import Session
from projections.views.session import SessionView, TurnView


def marked(view: SessionView, session: Session, team: Team, machine: str | None = None) -> SessionView:
    """The view of a session, with `external` at the turns that external agents claim, and `elsewhere` at those of
    agents that this service does not have. `machine`: all of them wait for it, as it alone has the workspace."""
    turns = tuple(_with_place(turn, session, team) for turn in view.outstanding_turns)
    if machine is not None:
        waits = {"waiting_for": "machine", "machine": machine}
        turns = tuple(turn if turn.work == "wait" else turn.model_copy(update=waits) for turn in turns)
    return view.model_copy(update={"outstanding_turns": turns})


def _with_place(turn: TurnView, session: Session, team: Team) -> TurnView:
    if turn.work != "ask":
        return turn
    place = place_of(session, turn.agent, turn.role, team)
    marks = {"outside": {"external": True}, "elsewhere": {"elsewhere": True}, "here": {}}
    return turn.model_copy(update=marks[place])
