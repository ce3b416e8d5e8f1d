"""Telling which outstanding turns wait for, or are with, an external worker: the log itself does not know the team."""

from typing import Any

from adapters.agents.team import Team
from adapters.turns.routing import place_of
from domain.session.state import Session


def told(view: dict[str, Any], session: Session, team: Team) -> dict[str, Any]:
    """The view of a session, with `external` at the turns that external agents fetch, and `elsewhere` at those of
    agents that this service does not have."""
    turns = [turn | _mark(turn, session, team) for turn in view["outstandingTurns"]]
    return view | {"outstandingTurns": turns}


def _mark(turn: dict[str, Any], session: Session, team: Team) -> dict[str, bool]:
    if turn["work"] != "ask":
        return {}
    place = place_of(session, turn["agent"], turn["role"], team)
    return {"outside": {"external": True}, "elsewhere": {"elsewhere": True}, "here": {}}[place]
