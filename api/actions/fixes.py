"""The task of a delivery that fixes what a review found, or does again what was sent back."""

from domain.delivery.state import Delivery
from domain.discussion.state import Discussion
from domain.session.children import fix_feedback
from domain.session.landing import WorkSentBack
from domain.session.state import Session
from domain.session.validation import ValidationStep
from domain.session.workspace import ReviewedDiff
from domain.values.base import Invalid, Text
from domain.values.sentences import Sentence


def fix_task(review: Session | None) -> str:
    """The task of a delivery that fixes the findings of a standalone review, or redoes work that was sent back. Raises
    Invalid."""
    if isinstance(review, Delivery) and review.sent_back is not None:
        return _again(review, review.sent_back)
    if not isinstance(review, Discussion) or review.kind != "review":
        raise Invalid({"/fixes": Sentence("fixes_no_review")})
    if review.decision is None or review.decision.choice != "apply_fix":
        raise Invalid({"/fixes": Sentence("fixes_undecided")})
    feedback = fix_feedback(review.feedback or {}, review.synthesis or Text())
    return f"Fix what the review found.\n\n{feedback}\n\nWhat was reviewed:\n\n{review.subject.shown()}"


def steps_to_pass_again(fixed: Session | None) -> tuple[ValidationStep, ...]:
    """The validation of work that was sent back: what is done instead of it has to pass the same."""
    return fixed.steps if isinstance(fixed, Delivery) and fixed.sent_back is not None else ()


def reviewed_diff(fixed: Session | None) -> ReviewedDiff | None:
    """Return the uncommitted changes that the review was about: what fixes them starts with them."""
    return fixed.uncommitted if isinstance(fixed, Discussion) else None


def _again(delivery: Delivery, sent_back: WorkSentBack) -> str:
    """The text for the author about work that no longer fits its branch."""
    why = "\n".join([sent_back.detail, *(f"- {line}" for line in sent_back.reasons)]).strip()
    parts = [
        f"This task was done once, but the result does not fit {sent_back.onto} as it is now. Do it again from here.",
        f"The task:\n\n{delivery.task}",
        f"Why it was sent back:\n\n{why}",
        f"What was changed the first time:\n\n{delivery.patch.shown()}" if delivery.patch else "",
    ]
    return "\n\n".join(filter(None, parts))
