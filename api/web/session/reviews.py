"""The outcomes of a delivery's reviewer, the newest in full."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from api.web.plain_text import cut
from api.web.session.context import LONG, SENTENCE, PanelContext
from projections.record.trail import ReviewMark

ISSUES: Final = 30


class ReviewOutcome(NamedTuple):
    """The outcome of a review: `artifact` is its id, `remarks` their number."""

    version: int
    iteration: int
    artifact: str
    decision: str
    score: int | None
    blocking: int
    remarks: int | None
    issues: Sequence[tuple[str, str]]
    fixes: Sequence[str]
    more: int


class Reviews(NamedTuple):
    newest: ReviewOutcome | None
    all: Sequence[ReviewOutcome]


def reviews(context: PanelContext) -> Reviews:
    """The newest outcome in full, the earlier ones as a table (S4 §9.3)."""
    outcomes = context.past(context.trail.outcomes)
    return Reviews(_outcome(outcomes[-1]) if outcomes else None, [_outcome(one) for one in outcomes[-20:]])


SHOWN: Final = 5
"""Open findings that the overview shows; their tab has all."""


class OpenFindings(NamedTuple):
    issues: Sequence[tuple[str, str]]
    more: int


def open_findings(context: PanelContext) -> OpenFindings:
    """Returns what the newest review blocks, while it is worked on."""
    outcomes = context.past(context.trail.outcomes)
    blocked = outcomes[-1].issues if outcomes and not outcomes[-1].approved else ()
    return OpenFindings(
        issues=[(cut(title, SENTENCE), cut(detail, SENTENCE)) for title, detail in blocked[:SHOWN]],
        more=max(0, len(blocked) - SHOWN),
    )


def _outcome(review: ReviewMark) -> ReviewOutcome:
    return ReviewOutcome(
        version=review.version,
        iteration=review.iteration,
        artifact=review.artifact,
        decision="approved" if review.approved else "blocked",
        score=review.score,
        blocking=len(review.issues),
        remarks=review.remarks,
        issues=[(cut(title, SENTENCE), cut(detail, LONG)) for title, detail in review.issues[:ISSUES]],
        fixes=[cut(step, SENTENCE) for step in review.fixes[:ISSUES]],
        more=max(0, len(review.issues) - ISSUES),
    )
