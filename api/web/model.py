"""Values in the templates of several pages, without clock or request: how a person answers what waits, amounts,
times and badges.

Every text is cut here, so that the size of a page is bounded whatever agents write.
"""

from typing import Any, Final

from domain.values.budget import dollars
from projections.engine.ports import Database
from projections.sessions import overview
from projections.views.base import ApprovalView
from projections.views.inbox import WaitingItem
from projections.views.session import IMPORTED, is_imported
from projections.views.sessions import SessionItem

REASON = 200
"""How many characters of the reason for a wait are shown."""

ICONS: Final = {
    "pending": "○",
    "running": "▸",
    "paused": "‖",
    "success": "✓",
    "completed": "✓",
    "unchanged": "=",
    "failed": "✕",
    "cancelled": "–",
    "skipped": "–",
    "exhausted": "!",
    "held": "‖",
    "imported": "‖",
    "active": "▸",
    "reviewing": "▸",
    "debating": "▸",
    "synthesizing": "▸",
    "checkpoint": "?",
    "waiting_for_decision": "?",
    "asking": "?",
    "unlanded": "!",
    "checks_failed": "!",
    "pull_waits": "!",
    "partial": "!",
    "done": "✓",
    "decided": "✓",
    "reset": "–",
}


def feedback_words(db: Database, item: WaitingItem) -> str:
    """Why a discussion was interrupted, else what its last judgement says."""
    if item.feedback is None:
        return ""
    if not item.feedback.error:
        return item.feedback.summary
    session = overview.item(db, item.session_id)
    return (session and session.last_error_sentence) or item.feedback.error


def reason_of(db: Database, item: WaitingItem) -> str:
    """Why it waits, in words: a run that stopped says what failed, and one out of rounds nothing but that. The rest is
    what was recorded."""
    failed = overview.item(db, item.session_id) if item.waits_for == "partial" else None
    words = feedback_words(db, item) or (failed and (failed.last_error_sentence or failed.last_error))
    if words or (item.waits_for == "budget" and item.kind == "orchestration"):
        return words or ""
    return item.summary_sentence or item.summary or ""


def approval_for(actor: str, approval: ApprovalView | None) -> dict[str, Any] | None:
    """The team's rules for a decision as a person sees them: with `mine`, the choice they have voted for ("": none),
    and `may`, whether they may vote."""
    if approval is None:
        return None
    mine = next((vote.choice for vote in approval.votes if vote.actor == actor), "")
    is_excluded = approval.not_author and actor in approval.authors
    may = not is_excluded and (not approval.who or actor.removeprefix("person:") in approval.who)
    return approval.wire() | {"mine": mine, "may": may}


def waits_for_others(actor: str, approval: ApprovalView | None) -> bool:
    """True for a decision that this person has voted on, or may not vote on."""
    theirs = approval_for(actor, approval)
    return theirs is not None and (bool(theirs["mine"]) or not theirs["may"])


BADGES: Final = {
    "checkpoint": "checkpoint",
    "budget": "exhausted",
    "partial": "partial",
    "failed": "failed",
    "landing": "unlanded",
    "checks": "checks_failed",
    "forge": "pull_waits",
}
"""The state of what waits for something other than a decision."""


def owner(actor: str) -> str:
    """The name of the key; empty without keys."""
    kind, colon, name = actor.partition(":")
    return name if colon and kind in ("person", "key") else ""


def money(micros: int | None) -> str:
    """`$1.84`; "" if not reported."""
    return "" if micros is None else dollars(micros)


def badge(item: SessionItem) -> str:
    """The state as people see it: what waits for a person does not run, a delivery that ran out of budget has failed
    but waits (K-46), and work that has changed nothing is not a success to be merged."""
    if item.waiting == "budget" and item.status == "failed":
        return "exhausted"
    if item.waiting in ("decision", "permission", "scope"):
        return "asking" if item.waiting == "permission" else "waiting_for_decision"
    if is_imported(item.outstanding_turns):
        return IMPORTED
    return "unchanged" if item.outcome is not None and item.outcome.reason == "no_change" else item.status


_ICON_STATES: Final = {
    "waits": ("waiting_for_decision", "asking", "checkpoint", "held", "exhausted", "partial"),
    "failed": ("failed", "cancelled", "reset"),
    "done": ("success", "done", "decided", "unchanged"),
    "running": ("running", "active", "reviewing", "debating", "synthesizing", "pending"),
}


def icon_of(state: str) -> str:
    """The address of the small picture in the browser's tab for a session in this state."""
    name = next((name for name, states in _ICON_STATES.items() if state in states), "idle")
    return f"/assets/icon-{name}.svg"


def clock(milliseconds: int) -> str:
    """`5:58`, `1:02:03`."""
    seconds = max(0, milliseconds) // 1000
    minutes, hours = seconds // 60, seconds // 3600
    return f"{hours}:{minutes % 60:02d}:{seconds % 60:02d}" if hours else f"{minutes}:{seconds % 60:02d}"


_SHORT_MS: Final = 10_000


def seconds_or_clock(milliseconds: int) -> str:
    """A duration in words: `0.2 s` below ten seconds, then as `clock` says it."""
    return f"{max(0, milliseconds) / 1000:.1f} s" if milliseconds < _SHORT_MS else clock(milliseconds)


AMOUNTS: Final = {
    "iterations": ("addIterations", 2, 20),
    "no_progress": ("addIterations", 2, 20),
    "rounds": ("addRounds", 3, 50),
    "minutes": ("addMinutes", 15, 180),
    "tokens": ("addTokens", 100_000, 2**53),
    "cost": ("addCost", 2, 1_000),
}
"""By what has run out: the field that gives more of it, how much it suggests, and the most."""

_SAID: Final = ("budget", "partial", "failed", "landing", "checks", "forge")
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
    """ "" for what has to be looked at first: no one should approve what they have not seen."""
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
    """The cost so far of an iteration or a round of this session; "" where nothing was reported."""
    session = overview.item(db, item.session_id)
    count = (session.iteration or session.round or 0) if session else 0
    return dollars(item.cost_micros // count) if item.cost_micros and count else ""
