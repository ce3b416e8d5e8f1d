"""The short list of events: what it must never leave out, over every event that there is."""

import pytest

from domain.delivery.events import BaselineRecorded, PhaseCompleted
from domain.delivery.validation import BaselineCommand, Escape
from domain.kinds import TOPICS
from domain.orchestration.events import WorkReported
from domain.session.activity import ActivityRecorded
from domain.session.workspace import ResultPublished, WorkspacePrepared
from domain.values.base import DomainEvent, Text
from projections.record.explain import CAUSES
from projections.record.important import IMPORTANT, is_important, tone_of

HARMLESS = {
    "channel.continue_wanted", "channel.message_queued", "channel.message_started", "channel.reset_wanted",
    "channel.session_noted",
    "debate.assessed", "review.assessed",
    "delivery.artifact_created", "delivery.branch_published", "delivery.budget_held", "delivery.budget_resumed",
    "delivery.phase_skipped", "delivery.phase_started",
    "orchestration.judging_started", "orchestration.orchestrate_done", "orchestration.review_started",
    "orchestration.round_done",
    "forge.post_requested", "forge.posted",
    "session.agent_sessions_cleared", "session.child_requested", "session.landing_requested", "session.released",
    "turn.answered", "turn.requested",
}  # fmt: skip
"""Topics that say nothing about a failure, a block, a refusal or a denial, whatever their fields hold."""
IT_DEPENDS = {
    "delivery.baseline_recorded", "delivery.phase_completed", "orchestration.work_reported",
    "orchestration.baseline_recorded", "orchestration.verdict_refused",
    "forge.push_requested", "session.result_published", "session.workspace_prepared", "turn.activity_recorded",
}  # fmt: skip


def test_every_event_is_important_or_known_to_be_harmless() -> None:
    """A new event has to be put into one of the lists."""
    assert set(TOPICS) - IMPORTANT == HARMLESS | IT_DEPENDS
    assert set(TOPICS) >= IMPORTANT
    assert IMPORTANT >= CAUSES


def test_no_name_of_a_failure_is_among_the_harmless() -> None:
    words = ("fail", "block", "refus", "reject", "den", "exhaust", "exceed", "stall", "cancel", "unread", "overturn")
    words = (*words, "sent_back", "returned", "held", "limit", "partial", "no_progress", "error", "expired", "diverged")
    stands_still = {"delivery.budget_held"}  # a clock is held, not the work
    topics = sorted(HARMLESS - stands_still)
    assert [topic for topic in topics for word in words if word in topic.partition(".")[2]] == []


RED = BaselineCommand(stage="test", command="pytest", startable=True, exit_code=1, passed=False)
GREEN = BaselineCommand(stage="test", command="pytest", startable=True, exit_code=0, passed=True)
PLACE = {"iteration": 0, "elapsed_ms": 0}


@pytest.mark.parametrize(
    ("event", "important"),
    [
        (BaselineRecorded(commands=(GREEN,), **PLACE), False),
        (BaselineRecorded(commands=(GREEN, RED), **PLACE), True),
        (BaselineRecorded(escapes=(Escape(what="app", path="/src/app"),), **PLACE), True),
        (PhaseCompleted(phase="design", **PLACE), False),
        (PhaseCompleted(phase="design", problem="No JSON.", **PLACE), True),
        (ActivityRecorded(turn_id="t1", attempt=1, tools_total=4), False),
        (ActivityRecorded(turn_id="t1", attempt=1, tools_total=4, denied=1), True),
        (WorkReported(index=0, agent="A", phase=1, round=1, result="done", report=Text()), False),
        (WorkReported(index=0, agent="A", phase=1, round=1, result="error", report=Text()), True),
        (ResultPublished(branch="hansard/x", commit="a"), False),
        (ResultPublished(commit="a", problem="The repository is gone."), True),
        (WorkspacePrepared(base_commit="a"), False),
        (WorkspacePrepared(base_commit="a", dirty=True), True),
    ],
)
def test_some_events_are_important_for_what_they_say(event: DomainEvent, important: bool) -> None:
    assert is_important(event) == important
    assert important or tone_of(event) == "note"
