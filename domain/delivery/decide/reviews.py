"""Reviews: by the delivery's own reviewer, and the one that a person decides before packaging (S4 §5, S2)."""

import json
from collections.abc import Sequence

from domain.delivery.decide.ends import fail
from domain.delivery.decide.parts import DeliveryDraft, about, artifact, artifact_id, next_phase, next_state
from domain.delivery.decide.phases import again, enter
from domain.delivery.events import FixRequested, PhaseCompleted, ReviewApproved, ReviewBlockingDetected, ReviewHeld
from domain.delivery.state import Delivery
from domain.replies.reviewer import ReviewArtifact, review_artifact
from domain.session.children import CloseChild, fix_feedback
from domain.session.parents import close_child, headline, request_child
from domain.session.turns import Failure
from domain.values.base import Text, Unreadable
from domain.values.time import iso

# -- the delivery's own reviewer -----------------------------------------------------------------------------------


def record_review(draft: DeliveryDraft, words: str) -> None:
    """Only blocking issues send back, never the score; what cannot be read is never a pass (S4 §5.2, K-36)."""
    try:
        review = review_artifact(words)
    except Unreadable as problem:
        return fail(draft, "review", Failure(code="bad_output", detail=str(problem)))
    name = _keep(draft, review)
    draft.record(PhaseCompleted(message="Phase review completed.", **about(draft, "review")))
    return _blocked(draft, review, name) if review.blocking_issues else _approved(draft, review, name)


def _keep(draft: DeliveryDraft, review: ReviewArtifact) -> str:
    """The reviewer's answer as S4 §5.1 keeps it; all are kept, `artifactRefs.review` is the latest."""
    delivery = draft.session
    report = {
        "id": artifact_id(delivery),
        "sessionId": delivery.id,
        "phase": "review",
        "iteration": delivery.iteration,
        **review.model_dump(mode="json", by_alias=True),
        "createdAt": iso(draft.at),
    }
    return artifact(draft, "review", "application/json", draft.text(json.dumps(report, ensure_ascii=False)))


def _approved(draft: DeliveryDraft, review: ReviewArtifact, name: str) -> None:
    """On to packaging; where the delivery asked for one, a review and a person's decision come first (S2)."""
    draft.record(
        ReviewApproved(
            message=f"Review approved at iteration {draft.session.iteration}.",
            artifact_id=name,
            score=review.score,
            non_blocking=len(review.non_blocking_issues),
            **about(draft, "review"),
        )
    )
    if draft.session.review is not None:
        return _hold(draft)
    return enter(draft, next_phase(draft, "complete", sentence="Only a review approves."))


def _blocked(draft: DeliveryDraft, review: ReviewArtifact, name: str) -> None:
    feedback = draft.text(blocking_feedback(draft.session.iteration, review))
    draft.record(
        ReviewBlockingDetected(
            message=f"Review blocked at iteration {draft.session.iteration}.",
            artifact_id=name,
            blocking_issues=tuple(issue.model_dump() for issue in review.blocking_issues),
            fix_plan=review.fix_plan,
            score=review.score,
            feedback=feedback,
            **about(draft, "review"),
        )
    )
    again(draft)


def blocking_feedback(iteration: int, review: ReviewArtifact) -> str:
    """What the next iteration is told (behaviour §3.2)."""
    return "\n".join(
        [
            f"Review blocked at iteration {iteration}.",
            "Blocking issues:",
            *_numbered([f"{issue.title}: {issue.detail}" for issue in review.blocking_issues]),
            *(["Fix plan:", *_numbered(review.fix_plan)] if review.fix_plan else []),
        ]
    )


def _numbered(lines: Sequence[str]) -> list[str]:
    return [f"{number}. {line}" for number, line in enumerate(lines, start=1)]


# -- the review that a person decides ------------------------------------------------------------------------------


def _hold(draft: DeliveryDraft) -> None:
    delivery = draft.session
    assert delivery.review is not None, "a delivery that asked for a review"
    state = next_state(draft, "hold", sentence="Only approved work is held for a review.")
    draft.record(ReviewHeld(message="Held for a review.", state=state, **about(draft, "review")))
    request_child(
        draft,
        kind="review",
        about="delivery",
        title=f"Iteration {delivery.iteration}: {delivery.title or headline(delivery.task)}",
        subject=_subject(delivery),
        wish=delivery.review,
        max_rounds=delivery.review.max_rounds,
    )


def _subject(delivery: Delivery) -> str:
    """Step, action and result (behaviour §2.4): what the developer says, what has changed, what the tests say."""
    said = delivery.contents.get("implementation", Text())
    parts = {
        "Step": f"iteration {delivery.iteration} of the implementation",
        "Action": delivery.task,
        "Result": said.shown(),
        "Validation": delivery.validation_summary,
        "Changes in this iteration": delivery.patch.shown() if delivery.patch else "",
    }
    return "\n\n".join(f"{name}:\n{words}" for name, words in parts.items() if words)


def close_review(draft: DeliveryDraft, command: CloseChild) -> None:
    """The review is decided: the work is handed over, or what it found is mended in the next iteration (K-25).

    A delivery that has ended only takes down how its review was closed (K-33).
    """
    if close_child(draft, command) is None or draft.session.ended:
        return None
    if command.choice != "apply_fix":
        return enter(draft, next_phase(draft, "complete", sentence="Only held work is released."))
    draft.record(
        FixRequested(
            message=f"Review asks for a fix at iteration {draft.session.iteration}.",
            child_id=command.child_id,
            feedback=draft.text(fix_feedback(command.feedback, command.synthesis)),
            **about(draft, "review"),
        )
    )
    return again(draft)
