"""Waiting items as pages show them: the reason, the decision of the team, and the command that answers."""

from typing import Final, NamedTuple

from api.web.model import BADGES
from domain.session import waits
from domain.values.budget import dollars
from projections.engine.ports import Database
from projections.sessions import overview
from projections.views.base import ApprovalView
from projections.views.inbox import WaitingItem


def feedback_words(db: Database, item: WaitingItem) -> str:
    """Says why a discussion was interrupted, else what its last judgement says."""
    if item.feedback is None:
        return ""
    if not item.feedback.error:
        return item.feedback.summary
    session = overview.item(db, item.session_id)
    return (session and session.last_error_sentence) or item.feedback.error


def reason_of(db: Database, item: WaitingItem) -> str:
    """Says why it waits: a run that stopped says what failed, and one out of rounds nothing but that. The rest is what
    was recorded."""
    failed = overview.item(db, item.session_id) if item.waits_for == "partial" else None
    words = feedback_words(db, item) or (failed and (failed.last_error_sentence or failed.last_error))
    if words or (item.waits_for == "budget" and item.kind == "orchestration"):
        return words or ""
    return item.summary_sentence or item.summary or ""


def badge_of_item(item: WaitingItem) -> str:
    """The state of what waits, as its badge shows it."""
    match item.cause:
        case "held":
            return "held"
        case "no_progress":
            return "no_progress"
        case waits.BRANCH_IN_USE:
            return "waits_for_you"
        case _:
            return BADGES.get(item.waits_for, "waiting_for_decision")


class ApprovalCard(NamedTuple):
    """The team's rules for a decision as a person sees them: with `mine`, the choice they have voted for ("": none),
    and `may`, whether they may vote."""

    of: ApprovalView
    mine: str
    may: bool


def approval_for(actor: str, approval: ApprovalView | None) -> ApprovalCard | None:
    """The rules as this person sees them; None where the team has none."""
    if approval is None:
        return None
    mine = next((vote.choice for vote in approval.votes if vote.actor == actor), "")
    is_excluded = approval.not_author and actor in approval.authors
    may = not is_excluded and (not approval.who or actor.removeprefix("person:") in approval.who)
    return ApprovalCard(approval, mine, may)


def waits_for_others(actor: str, approval: ApprovalView | None) -> bool:
    """True for a decision that this person has voted on, or may not vote on."""
    theirs = approval_for(actor, approval)
    return theirs is not None and (bool(theirs.mine) or not theirs.may)


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
"""The waits that a row explains by their cause."""


class Answering(NamedTuple):
    """The command that answers an item, and what its form shows: `amount` is the field that gives more, how much it
    suggests, and the most. In a row of home also
    whether something is to be allowed, with which tool, and what the reader has chosen already."""

    place: str
    session: str
    version: int
    request: str | None
    title: str
    verb: str
    cause: str
    amount: tuple[str, int, int] | None
    each: str
    asks: bool = False
    tool: str = ""
    mine: str = ""


def answering(db: Database, item: WaitingItem) -> Answering:
    """The form that answers an item."""
    amount = AMOUNTS.get(item.cause) if item.waits_for == "budget" else None
    return Answering(
        place=(item.request_id or "") if item.waits_for == "permission" else item.session_id,
        session=item.session_id,
        version=item.version,
        request=item.request_id,
        title=item.title,
        verb=_verb(item),
        cause=item.cause if item.waits_for in _SAID or item.cause in ("scope_checkpoint", "held") else "",
        amount=amount,
        each=_each(db, item) if amount and amount[0] in _COUNTED else "",
    )


_COUNTED: Final = frozenset({"addIterations", "addRounds"})


def _verb(item: WaitingItem) -> str:
    """ "" for what has to be looked at first: no one should approve what they have not seen."""
    match item.waits_for:
        case "checkpoint":
            return "continue"
        case "failed":
            return "retry"
        case "landing":
            return "retry" if "retry" in item.choices else ""
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
