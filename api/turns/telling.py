"""Telling which outstanding turns wait for, or are with, an external worker: the log itself does not know the team."""

from typing import Any

from adapters.team import Team
from domain.session import Session


def told(view: dict[str, Any], session: Session, team: Team) -> dict[str, Any]:
    """The view of a session, with `external` at the turns that no worker of this service asks."""
    if session.scenario is not None or session.reuse is not None:
        return view
    turns = [turn | _mark(turn, team) for turn in view["outstandingTurns"]]
    return view | {"outstandingTurns": turns}


def _mark(turn: dict[str, Any], team: Team) -> dict[str, bool]:
    member = team.asked(turn["agent"], turn["role"]) if turn["work"] == "ask" else None
    return {"external": True} if member is not None and member.adapter == "external" else {}
