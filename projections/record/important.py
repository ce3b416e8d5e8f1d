"""Says which events a reader should not miss, and in what colour they are shown. A list shows these first. No failure,
block, refusal or denial is ever among the others."""

from typing import Final

from domain.delivery.events import BaselineRecorded, PhaseCompleted
from domain.orchestration.events import RunBaselineRecorded, VerdictRefused, WorkReported
from domain.session.activity import ActivityRecorded
from domain.session.forge import PushRequested
from domain.session.workspace import ResultPublished, WorkspacePrepared
from domain.values.base import DomainEvent

_TALKS: Final = (
    *("session_started", "round_added", "synthesized", "converged", "stalled", "limit_reached", "agent_failed"),
    *("decision_requested", "decided", "expired", "cancelled", "retried"),
)
IMPORTANT: Final = frozenset(
    {
        *(
            f"delivery.{name}"
            for name in (
                *(
                    "session_started",
                    "attempt_started",
                    "tests_passed",
                    "flaky_seen",
                    "validation_failed",
                    "phase_failed",
                ),
                *("no_progress", "review_approved", "review_blocking_detected", "review_held", "fix_requested"),
                *("scope_requested", "scope_decided", "scope_exceeded", "budget_exhausted", "budget_extended"),
                *("comments_unchanged", "retried", "revision_begun", "session_finished"),
            )
        ),
        *(
            f"orchestration.{name}"
            for name in (
                *("session_started", "plan_made", "plan_refused", "plan_returned", "round_start", "verdict_given"),
                "validated",
                *("verdict_unreadable", "verdict_overturned", "checkpoint_reached"),
                *("partial_reached", "completed", "continued", "retried", "rounds_added", "revision_begun", "reset"),
            )
        ),
        *(f"{kind}.{name}" for kind in ("review", "debate") for name in _TALKS),
        *("turn.failed", "turn.attempt_failed", "turn.cancelled", "turn.retried"),
        *("turn.permission_requested", "turn.permission_decided", "turn.permission_withdrawn"),
        *("session.child_closed", "session.forked", "session.diverged", "session.landed", "session.sent_back"),
        *("session.landing_not_tried", "session.revision_requested", "session.commented", "session.comment_changed"),
        *(
            "session.comment_answered",
            "session.text_redacted",
            "session.unattended",
            "decision.voted",
            "session.commits_taken",
        ),
        *(
            f"forge.{name}"
            for name in (
                *("pull_request_requested", "pull_request_opened", "issue_linked", "checks_ended", "review_commented"),
                "follow_begun",
                *("pushed", "conflicted", "merged", "closed", "reopened", "rested", "unavailable", "available"),
            )
        ),
        *("channel.message_rejected", "channel.message_unclear"),
    }
)
"""By topic; of others, what they say decides."""


REPEATED: Final = "has completed its phases"
"""The reason to ignore a verdict that says once more what is known: judges repeat themselves."""


def is_important(event: DomainEvent) -> bool:
    """Returns whether it belongs into the short list."""
    if event.TOPIC in IMPORTANT:
        return True
    match event:
        case VerdictRefused(reason=reason):
            return reason != REPEATED
        case (
            BaselineRecorded(commands=commands, escapes=escapes, setup=setup)
            | RunBaselineRecorded(commands=commands, escapes=escapes, setup=setup)
        ):
            passed = all(run.passed for run in commands) and all(run.passed for run in setup)
            return bool(escapes) or not passed
        case PhaseCompleted(problem=problem):
            return problem is not None
        case ActivityRecorded(denied=denied):
            return denied > 0
        case WorkReported(result=result):
            return result != "done"
        case WorkspacePrepared(dirty=dirty):
            return dirty
        case PushRequested(hold=hold):
            return hold is not None
        case ResultPublished(branch=branch):
            return branch is None
        case _:
            return False


_BAD: Final = frozenset(
    {
        *("review_blocking_detected", "validation_failed", "no_progress", "scope_exceeded", "phase_failed"),
        *("budget_exhausted", "partial_reached", "agent_failed", "attempt_failed", "failed", "plan_refused"),
        *("verdict_refused", "verdict_unreadable", "verdict_overturned", "sent_back", "activity_recorded"),
        *("landing_not_tried", "comments_unchanged", "conflicted", "closed", "unavailable"),
        *("flaky_seen", "baseline_recorded", "work_reported", "phase_completed", "result_published"),
    }
)
_GOOD: Final = frozenset({"review_approved", "tests_passed", "completed", "landed", "merged"})
_ASK: Final = frozenset(
    {
        *("decided", "decision_requested", "voted", "checkpoint_reached", "expired", "continued", "plan_returned"),
        *("fix_requested", "review_held", "scope_requested", "scope_decided", "diverged"),
        *("permission_requested", "permission_decided", "commented", "comment_changed"),
        *("review_commented", "rested", "push_requested"),
    }
)
_ENDS: Final = {"success": "good", "failed": "bad", "exhausted": "bad"}


def tone_of(event: DomainEvent) -> str:
    """The colour of an event: good or bad news, something that a person is asked or has said, or none of these. A
    verdict's and an end's own news takes precedence over that of its kind."""
    if not is_important(event):
        return "note"
    passed, last = event.__dict__.get("passed"), event.TOPIC.rpartition(".")[2]
    if passed is not None:
        return "good" if passed else "bad"
    if last == "checks_ended":
        return "good" if event.__dict__.get("conclusion") == "success" else "bad"
    if last == "session_finished":
        return _ENDS.get(str(event.__dict__.get("state")), "note")
    if last == "permission_decided" and event.__dict__.get("decision") == "deny":
        return "bad"
    for tone, names in (("bad", _BAD), ("good", _GOOD), ("ask", _ASK)):
        if last in names:
            return tone
    return "note"
