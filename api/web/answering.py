"""How a person answers what waits, in the row of a list: by which command, and what that costs where it is recorded."""

from typing import Any, Final

from domain.values.budget import dollars
from projections.engine.ports import Database
from projections.sessions import overview
from projections.views.sessions import WaitingItem

AMOUNTS: Final = {
    "iterations": ("addIterations", 2, 20),
    "no_progress": ("addIterations", 2, 20),
    "rounds": ("addRounds", 3, 50),
    "minutes": ("addMinutes", 15, 180),
    "tokens": ("addTokens", 100_000, 2**53),
    "cost": ("addCost", 2, 1_000),
}
"""By what has run out: the field that gives more of it, how much it suggests, and the most."""

_SAID: Final = ("budget", "partial", "failed")
"""What a row explains by its cause."""


def answering(db: Database, item: WaitingItem) -> dict[str, Any]:
    """The command that answers an item, and what its form shows."""
    amount = AMOUNTS.get(item.cause) if item.waits_for == "budget" else None
    return {
        "place": item.request_id if item.waits_for == "permission" else item.session_id,
        "verb": _verb(item),
        "cause": item.cause if item.waits_for in _SAID or item.cause == "scope_checkpoint" else "",
        "amount": amount,
        "each": _each(db, item) if amount and amount[0] in _COUNTED else "",
    }


_COUNTED: Final = frozenset({"addIterations", "addRounds"})


def _verb(item: WaitingItem) -> str:
    """ "" for what has to be looked at first: nobody approves what they have not seen."""
    match item.waits_for:
        case "checkpoint":
            return "continue"
        case "failed":
            return "retry"
        case "partial":
            return next((verb for verb in ("retry", "continue") if verb in item.choices), "")
        case "permission" | "scope" | "budget":
            return str(item.waits_for)
        case _:
            return ""


def _each(db: Database, item: WaitingItem) -> str:
    """What an iteration or a round of this session has cost so far; "" where nothing was reported."""
    session = overview.item(db, item.session_id)
    count = (session.iteration or session.round or 0) if session else 0
    return dollars(item.cost_micros // count) if item.cost_micros and count else ""
