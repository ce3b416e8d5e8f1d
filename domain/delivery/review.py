"""Decides who looks at the work of a delivery: its reviewer, then the review that a person decides (S4 §5, S2)."""

import json
from collections.abc import Sequence

from domain.delivery.chart import Phase
from domain.delivery.events import (
    CommentsUnchanged,
    FixRequested,
    PhaseCompleted,
    ReviewApproved,
    ReviewBlockingDetected,
    ReviewHeld,
)
from domain.delivery.state import Delivery
from domain.delivery.steps import about, answered, artifact, next_iteration, proceed, repeated, send_back
from domain.delivery.validation import blocking, left_as_they_were
from domain.replies.artifact import ReviewArtifact, review_artifact
from domain.session.attempts import Failure
from domain.session.children import CloseChild, ReviewSettings, fix_feedback
from domain.session.comment_answers import left_words, object_to_answers, unchanged_comments
from domain.session.decision import Events, Now, read
from domain.session.shared_steps import close_child, headline, request_child
from domain.session.turns import RecordReply
from domain.values.base import Text, iso


def review(now: Now[Delivery], command: RecordReply) -> Events:
    """Only blocking issues cause another iteration, never the score. An unreadable review is never a pass (S4 §5.2,
    K-36)."""
    answer = read(command, review_artifact)
    failure = answer if isinstance(answer, Failure) else None
    if not (yield from answered(now, command, failure, barred=(now.state.author,))) or isinstance(answer, Failure):
        return
    objections = [(issue.id.strip(), f"{issue.title}: {issue.detail}") for issue in answer.blocking_issues]
    yield from object_to_answers(now, command.turn_id, objections)
    report = artifact(now, "review", "application/json", now.text(_report(now, answer)))
    yield report
    fields = about(now, "review")
    yield PhaseCompleted(message="Phase review completed.", **fields)
    if answer.blocking_issues:
        same = repeated(now.state, blocking(issue.title for issue in answer.blocking_issues))
        yield ReviewBlockingDetected(
            message=f"Review blocked at iteration {now.state.iteration}.",
            artifact_id=report.artifact_id,
            blocking_issues=tuple(issue.model_dump() for issue in answer.blocking_issues),
            fix_plan=answer.fix_plan,
            score=answer.score,
            feedback=now.text(blocking_feedback(now.state.iteration, answer)),
            **fields,
        )
        return (yield from send_back(now, same))
    if unchanged_comments(now.state):
        return (yield from unsettled(now, "review"))
    yield ReviewApproved(
        message=f"Review approved at iteration {now.state.iteration}.",
        artifact_id=report.artifact_id,
        score=answer.score,
        non_blocking=len(answer.non_blocking_issues),
        **fields,
    )
    yield from (hold(now, now.state.review) if now.state.review else proceed(now))


def unsettled(now: Now[Delivery], phase: Phase) -> Events:
    """Begin another iteration for comments that were left as they were, whatever else is in order."""
    comments = unchanged_comments(now.state)
    names = tuple(comment.comment_id for comment in comments)
    same = repeated(now.state, left_as_they_were(names))
    yield CommentsUnchanged(
        message=f"Comments left as they were at iteration {now.state.iteration}.",
        comments=names,
        feedback=now.text(left_words(comments)),
        **about(now, phase),
    )
    yield from send_back(now, same)


def _report(now: Now[Delivery], review: ReviewArtifact) -> str:
    """The reviewer's answer as S4 §5.1 stores it. All are kept; `artifactRefs.review` is the latest."""
    state = now.state
    report = {
        "id": state.next_artifact,
        "sessionId": state.id,
        "phase": "review",
        "iteration": state.iteration,
        **review.model_dump(mode="json", by_alias=True),
        "createdAt": iso(now.at),
    }
    return json.dumps(report, ensure_ascii=False)


def hold(now: Now[Delivery], settings: ReviewSettings) -> Events:
    """Before packaging, approved work waits for a review and a person's decision (S2)."""
    yield now.move("hold", ReviewHeld, message="Held for a review.", **about(now, "review"))
    state = now.state
    yield request_child(
        now,
        kind="review",
        about="delivery",
        title=f"Iteration {state.iteration}: {state.title or headline(state.task)}",
        subject=review_subject(state),
        settings=settings,
        max_rounds=settings.max_rounds,
        authors=(state.author,) if state.author else (),
    )


def close_review(now: Now[Delivery], command: CloseChild) -> Events:
    """The review is decided: the work is packaged, or the findings go into the next iteration (K-25).

    A delivery that has already ended only records the outcome of its review (K-33).
    """
    child = now.state.open_children.get(command.child_id)
    if child is None:
        return
    yield close_child(child, command)
    if now.state.ended:
        return
    if command.choice != "apply_fix":
        return (yield from proceed(now))
    yield FixRequested(
        message=f"Review asks for a fix at iteration {now.state.iteration}.",
        child_id=command.child_id,
        feedback=now.text(fix_feedback(command.feedback, command.synthesis)),
        **about(now, "review"),
    )
    yield from next_iteration(now)


def blocking_feedback(iteration: int, review: ReviewArtifact) -> str:
    """The feedback for the next iteration (behaviour §3.2)."""
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


def review_subject(delivery: Delivery) -> str:
    """Step, action and result (behaviour §2.4): the developer's text, the changes, the test report."""
    text = delivery.contents.get("implementation", Text())
    parts = {
        "Step": f"iteration {delivery.iteration} of the implementation",
        "Action": delivery.task,
        "Result": text.shown(),
        "Validation": delivery.validation_summary,
        "Changes in this iteration": delivery.patch.shown() if delivery.patch else "",
    }
    return "\n\n".join(f"{name}:\n{words}" for name, words in parts.items() if words)
