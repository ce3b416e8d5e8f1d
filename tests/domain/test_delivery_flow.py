"""The way of a delivery through its phases: what each answer leads to, and what the next agent gets (S4 §5, §6)."""

import json

import pytest

from domain.delivery.events import (
    ArtifactCreated,
    BranchPublished,
    DeliveryEvent,
    DeliveryStarted,
    PhaseFailed,
    PhaseSkipped,
    ReviewApproved,
    ReviewBlockingDetected,
    SessionFinished,
    ValidationFailed,
)
from domain.session.attempts import FailureCode
from domain.session.turns import RecordPackage, TurnFailed, TurnRequested
from domain.values.base import INLINE_BYTES, Text
from tests.kit.replies import blocking_issue, review
from tests.kit.stories import LINT, START, TEST, DeliveryStory, start, topics

PHASES = ("planning", "architecture", "design", "implementation", "validation", "review", "packaging")

TO_THE_FIRST_IMPLEMENTATION = [
    "delivery.session_started",
    *("delivery.phase_started", "turn.requested"),
    *("turn.answered", "delivery.artifact_created", "delivery.phase_completed"),
    *("delivery.phase_started", "turn.requested"),
    *("turn.answered", "delivery.artifact_created", "delivery.phase_completed"),
    *("delivery.phase_started", "turn.requested"),
    *("turn.answered", "delivery.artifact_created", "delivery.phase_completed"),
    *("delivery.attempt_started", "delivery.phase_started", "turn.requested"),
]
IMPLEMENTED = [
    *("turn.answered", "delivery.artifact_created", "delivery.phase_completed"),
    *("delivery.phase_started", "turn.requested"),
]
VALIDATED = [
    *("turn.answered", "delivery.artifact_created", "delivery.tests_passed", "delivery.phase_completed"),
    *("delivery.phase_started", "turn.requested"),
]
REVIEWED = ["turn.answered", "delivery.artifact_created", "delivery.phase_completed"]
SENT_BACK = [
    *(*REVIEWED, "delivery.review_blocking_detected"),
    *("delivery.attempt_started", "delivery.phase_started", "turn.requested"),
]
APPROVED = [
    *(*REVIEWED, "delivery.review_approved"),
    *("delivery.phase_started", "delivery.phase_completed", "delivery.session_finished"),
]


def the(story: DeliveryStory, kind: type[DeliveryEvent]) -> DeliveryEvent:
    """The one event of its kind."""
    [result] = [event for event in story.events if isinstance(event, kind)]
    return result


# -- the whole way -------------------------------------------------------------------------------------------------


def test_a_delivery_that_is_approved_at_once_succeeds_event_by_event() -> None:
    story = DeliveryStory().in_review()
    story.approves()
    assert topics(story.events) == [*TO_THE_FIRST_IMPLEMENTATION, *IMPLEMENTED, *VALIDATED, *APPROVED]
    delivery = story.delivery
    assert (delivery.state, delivery.status, delivery.final_summary) == ("success", "success", "success")
    assert story.phases() == dict.fromkeys(PHASES, "completed")
    assert story.delivery.iteration == 1
    assert story.delivery.outstanding == {}


def test_one_blocking_review_sends_back_to_the_implementation_once() -> None:
    """S4 §10.2.2."""
    story = DeliveryStory().in_review()
    story.blocks()
    assert story.phases() == {
        **dict.fromkeys(("planning", "architecture", "design"), "completed"),
        "implementation": "running",
        **dict.fromkeys(("validation", "review"), "completed"),
        "packaging": "pending",
    }
    story.answer("better code")
    story.passes()
    story.approves()
    once_more = [*SENT_BACK, *IMPLEMENTED, *VALIDATED, *APPROVED]
    assert topics(story.events) == [*TO_THE_FIRST_IMPLEMENTATION, *IMPLEMENTED, *VALIDATED, *once_more]
    assert (story.delivery.status, story.delivery.iteration) == ("success", 2)


def test_a_failed_validation_goes_back_without_asking_the_reviewer() -> None:
    """S4 §6.2.4, K-40, K-41: it is no failed phase, and the next iteration recovers."""
    story = DeliveryStory().implemented()
    recorded = story.breaks()
    assert topics(recorded) == [
        *("turn.answered", "delivery.artifact_created", "delivery.validation_failed"),
        *("delivery.attempt_started", "delivery.phase_started", "turn.requested"),
    ]
    assert story.phases()["validation"] == "failed"
    assert story.phases()["review"] == "pending"
    story.answer("fixed code")
    story.passes()
    story.approves()
    assert (story.delivery.status, story.delivery.iteration) == ("success", 2)


def test_each_phase_asks_its_role_for_its_work() -> None:
    story = DeliveryStory(repository=True).in_review()
    story.approves()
    asked = [
        (event.phase, event.role, event.agent, event.work, event.prompt, event.reads, event.access, event.iteration)
        for event in story.events
        if isinstance(event, TurnRequested)
    ]
    assert asked == [
        ("planning", "planner", "planner", "ask", "delivery_plan@1", "text", "read", None),
        ("architecture", "architect", "architect", "ask", "architecture@1", "text", "read", None),
        ("design", "designer", "designer", "ask", "design@1", "text", "read", None),
        ("implementation", "dev", "dev", "ask", "implementation@1", "text", "write", 1),
        ("validation", "test", "test", "validate", "", "text", "read", 1),
        ("review", "reviewer", "reviewer", "ask", "review_artifact@1", "review_artifact", "read", 1),
        ("packaging", "supervisor", "supervisor", "package", "", "text", "read", 1),
    ]


def test_a_crew_names_the_agents_of_the_roles_and_keeps_their_conversations() -> None:
    story = DeliveryStory(crew={"dev": "Backend"}).designed()
    assert (story.request.agent, story.request.role, story.request.ordinal) == ("Backend", "dev", 0)
    story.answer("code", agent_session="thread-7")
    story.passes()
    story.blocks()
    request = story.request
    assert (request.agent, request.ordinal, request.role_ordinal, request.agent_session) == (
        "Backend",
        1,
        1,
        "thread-7",
    )


def test_every_turn_but_handing_over_carries_the_deadline() -> None:
    story = DeliveryStory(minutes=45, repository=True).in_review()
    story.approves()
    deadlines = [event.deadline for event in story.events if isinstance(event, TurnRequested)]
    assert deadlines == ["2023-11-14T22:58:20.000Z"] * 6 + [None]


def test_the_start_is_recorded_as_requested() -> None:
    story = DeliveryStory(max_attempts=3, iterations=3, labels=("web",), title="Login", origin="cli")
    started = the(story, DeliveryStarted)
    assert isinstance(started, DeliveryStarted)
    assert (started.task, started.file_paths, started.steps) == ("Add a login page", ("src/login.ts",), (LINT, TEST))
    assert (started.max_attempts, started.limits.max_iterations, started.remaining_iterations) == (3, 3, 3)
    assert (started.labels, started.title, started.origin, started.policy) == (("web",), "Login", "cli", "delivery@2")
    assert story.delivery.created_at == START


# -- the review decides --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("score", [0, 50, 100, None])
@pytest.mark.parametrize(("blocking", "state"), [((), "success"), (("No tests",), "implementation")])
def test_only_blocking_issues_send_back_and_never_the_score(
    score: int | None, blocking: tuple[str, ...], state: str
) -> None:
    """S4 §5.2: 100 with a blocker loops, 0 without one passes."""
    story = DeliveryStory().in_review()
    story.answer(review(*blocking, score=score))
    assert story.delivery.state == state


def test_remarks_that_do_not_block_are_counted_and_pass() -> None:
    story = DeliveryStory().in_review()
    story.answer(review(remarks=("Naming", "Comments"), score=61))
    approved = the(story, ReviewApproved)
    assert isinstance(approved, ReviewApproved)
    assert (approved.non_blocking, approved.score, approved.message) == (2, 61, "Review approved at iteration 1.")


UNREADABLE = {
    "no JSON": "Looks good to me!",
    "nothing": "",
    "blocking issue without detail": json.dumps({"blockingIssues": [{"id": "a", "title": "Leak"}]}),
    "blank title": json.dumps({"blockingIssues": [blocking_issue(" ") | {"title": " "}]}),
    "an issue that is a sentence": json.dumps({"blockingIssues": ["There is a leak."]}),
    "one of two malformed": json.dumps({"blockingIssues": [blocking_issue("Leak"), {"id": "b"}]}),
    "no list of blocking issues": json.dumps({"score": 99, "fixPlan": ["none"]}),
    "null for the list": json.dumps({"blockingIssues": None, "score": 99}),
    "malformed remark": json.dumps({"blockingIssues": [], "nonBlockingIssues": [{}]}),
    "cut off": '{"blockingIssues": [], "score": 9',
}


@pytest.mark.parametrize("words", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_a_review_that_cannot_be_read_fails_its_phase_and_is_never_a_pass(words: str) -> None:
    """S4 §10.2.5, K-36: phase_failed, and what is downstream is skipped."""
    story = DeliveryStory().in_review()
    recorded = story.answer(words)
    assert topics(recorded) == [
        *("turn.failed", "delivery.phase_failed", "delivery.phase_skipped", "delivery.session_finished")
    ]
    failed = the(story, PhaseFailed)
    assert isinstance(failed, PhaseFailed)
    assert (failed.phase, failed.role, failed.error_type) == ("review", "reviewer", "unreadable")
    assert failed.message == f"Phase review failed: {failed.error_message}"
    assert story.phases() == {**dict.fromkeys(PHASES[:5], "completed"), "review": "failed", "packaging": "skipped"}
    assert (story.delivery.state, story.delivery.status) == ("failed", "failed")
    assert story.delivery.final_summary == failed.message


# -- failing agents ------------------------------------------------------------------------------------------------


def story_in(phase: str) -> DeliveryStory:
    """A delivery whose work in that phase is waited for."""
    story = DeliveryStory(repository=True)
    for _ in range(PHASES.index(phase)):
        match story.turn.work, story.delivery.phase:
            case "validate", _:
                story.passes()
            case _, "review":
                story.approves()
            case _:
                story.answer("ok")
    assert story.delivery.phase == phase
    return story


@pytest.mark.parametrize("code", ["timeout", "crash", "refused"])
@pytest.mark.parametrize("phase", PHASES)
def test_a_failing_turn_fails_its_phase_and_skips_what_was_pending(phase: str, code: FailureCode) -> None:
    story = story_in(phase)
    role = story.turn.role
    recorded = story.fail(code, "It broke.")
    pending = PHASES[PHASES.index(phase) + 1 :]
    assert topics(recorded) == [
        *("turn.failed", "delivery.phase_failed"),
        *["delivery.phase_skipped"] * len(pending),
        "delivery.session_finished",
    ]
    turn, failed = recorded[0], recorded[1]
    assert isinstance(turn, TurnFailed) and (turn.failure.code, turn.failure.detail) == (code, "It broke.")
    assert isinstance(failed, PhaseFailed)
    assert (failed.phase, failed.role, failed.error_type, failed.error_message) == (phase, role, code, "It broke.")
    assert [event.phase for event in recorded if isinstance(event, PhaseSkipped)] == list(pending)
    assert story.phases() == {
        **dict.fromkeys(PHASES[: PHASES.index(phase)], "completed"),
        phase: "failed",
        **dict.fromkeys(pending, "skipped"),
    }
    assert (story.delivery.state, story.delivery.final_summary) == ("failed", f"Phase {phase} failed: It broke.")
    assert story.delivery.outstanding == {}


def test_a_failure_without_text_is_described_by_its_code() -> None:
    story = DeliveryStory()
    story.fail("timeout")
    assert story.delivery.final_summary == "Phase planning failed: timeout"
    assert story.delivery.last_error == "timeout"


def test_in_a_later_iteration_only_what_never_ran_is_skipped() -> None:
    """K-43."""
    story = DeliveryStory().in_review()
    story.blocks()
    recorded = story.fail("crash", "It broke.")
    assert [event.phase for event in recorded if isinstance(event, PhaseSkipped)] == ["packaging"]
    assert story.phases() == {
        **dict.fromkeys(PHASES, "completed"),
        "implementation": "failed",
        "packaging": "skipped",
    }


# -- what the next agent gets --------------------------------------------------------------------------------------


def test_the_next_implementation_gets_the_blocking_issues() -> None:
    """S4 §5.2.3, behaviour §3.2."""
    story = DeliveryStory().in_review()
    story.blocks("No rate limit", "No tests", fix_plan=["Limit per address.", "Write tests."])
    assert story.prompt_part("feedback") == (
        "Review blocked at iteration 1.\n"
        "Blocking issues:\n"
        "1. No rate limit: It is missing.\n"
        "2. No tests: It is missing.\n"
        "Fix plan:\n"
        "1. Limit per address.\n"
        "2. Write tests."
    )
    assert (story.prompt_part("iteration"), story.prompt_part("max_iterations")) == ("2", "6")
    assert story.prompt_part("history") == "1. Review blocked at iteration 1."
    blocked = the(story, ReviewBlockingDetected)
    assert isinstance(blocked, ReviewBlockingDetected)
    assert [result.title for result in blocked.blocking_issues] == ["No rate limit", "No tests"]
    assert (blocked.fix_plan, blocked.score, blocked.iteration) == (("Limit per address.", "Write tests."), 80, 1)


def test_a_blocking_review_without_a_fix_plan_passes_on_its_issues() -> None:
    story = DeliveryStory().in_review()
    story.blocks("No tests")
    assert story.prompt_part("feedback") == (
        "Review blocked at iteration 1.\nBlocking issues:\n1. No tests: It is missing."
    )


def test_the_next_implementation_gets_the_validation_output() -> None:
    story = DeliveryStory().implemented()
    story.breaks("src/login.ts(3,1): error TS2304", classification="type")
    words = "Validation failed at iteration 1 (type).\nsrc/login.ts(3,1): error TS2304"
    assert story.prompt_part("feedback") == words
    assert story.prompt_part("validation") == "src/login.ts(3,1): error TS2304"
    assert story.prompt_part("history") == "1. Validation failed (type)."
    failed = the(story, ValidationFailed)
    assert isinstance(failed, ValidationFailed)
    assert (failed.classification, failed.feedback.head) == ("type", words)


def test_a_failed_validation_without_a_class_is_unknown() -> None:
    story = DeliveryStory().implemented()
    story.when(story.validated(passed=False, summary="?"))
    assert story.prompt_part("feedback") == "Validation failed at iteration 1 (unknown).\n?"


def test_the_newest_feedback_replaces_the_older_and_the_history_keeps_both() -> None:
    story = DeliveryStory().implemented()
    story.breaks("red")
    story.answer("code")
    story.passes()
    story.blocks("No tests")
    assert story.prompt_part("feedback").startswith("Review blocked at iteration 2.\n")
    assert story.prompt_part("history") == "1. Validation failed (test).\n2. Review blocked at iteration 2."


def test_a_feedback_of_any_length_reaches_the_next_implementation_whole() -> None:
    detail = "가" * INLINE_BYTES
    story = DeliveryStory().in_review()
    story.answer(json.dumps({"blockingIssues": [blocking_issue("Long", detail)]}))
    assert story.prompt_part("feedback") == f"Review blocked at iteration 1.\nBlocking issues:\n1. Long: {detail}"
    assert len(story.request.context["feedback"].head) < len(detail)


def test_every_prompt_gets_what_the_phases_before_it_made() -> None:
    story = DeliveryStory()
    assert story.prompt_part("task") == "Add a login page"
    assert story.prompt_part("files") == "- src/login.ts"
    assert story.prompt_part("validation") == "npm run lint\nnpm test"
    story.answer('The plan. {"goals": ["Users can log in.", "Nobody else can."]}')
    assert story.prompt_part("plan").startswith("The plan.")
    story.answer("The layers.")
    assert story.prompt_part("architecture") == "The layers."
    story.answer("The classes.")
    assert story.prompt_part("design") == "The classes."
    assert story.prompt_part("goals") == "- Users can log in.\n- Nobody else can."
    assert story.prompt_part("feedback") == ""
    story.answer("The changes.")
    story.passes()
    places = ("task", "plan", "architecture", "design", "changes", "iteration")
    assert {place: story.prompt_part(place) for place in places} == {
        "task": "Add a login page",
        "plan": 'The plan. {"goals": ["Users can log in.", "Nobody else can."]}',
        "architecture": "The layers.",
        "design": "The classes.",
        "changes": "The changes.",
        "iteration": "1",
    }
    assert story.prompt_part("validation") == "Validation passed: 2 commands in 1.0 s."


# -- artifacts -----------------------------------------------------------------------------------------------------


def test_the_references_hold_the_latest_artifact_while_all_are_kept() -> None:
    """S4 §5.1."""
    story = DeliveryStory().in_review()
    story.blocks("No tests")
    story.answer("better code")
    story.passes()
    story.approves()
    kept = [(event.artifact_id, event.phase) for event in story.events if isinstance(event, ArtifactCreated)]
    assert kept == [
        ("delivery-1.a1", "planning"),
        ("delivery-1.a2", "architecture"),
        ("delivery-1.a3", "design"),
        ("delivery-1.a4", "implementation"),
        ("delivery-1.a5", "validation"),
        ("delivery-1.a6", "review"),
        ("delivery-1.a7", "implementation"),
        ("delivery-1.a8", "validation"),
        ("delivery-1.a9", "review"),
    ]
    assert story.delivery.artifact_refs == {
        "planning": "delivery-1.a1",
        "architecture": "delivery-1.a2",
        "design": "delivery-1.a3",
        "implementation": "delivery-1.a7",
        "validation": "delivery-1.a8",
        "review": "delivery-1.a9",
    }


def test_a_review_is_kept_as_the_seed_spells_it() -> None:
    story = DeliveryStory().in_review()
    story.blocks("No tests", score=70, fix_plan=["Write tests."], remarks=("Naming",), after=1_500)
    [kept] = [event for event in story.events if isinstance(event, ArtifactCreated) and event.phase == "review"]
    assert json.loads(kept.content.head) == {
        "id": "delivery-1.a6",
        "sessionId": "delivery-1",
        "phase": "review",
        "iteration": 1,
        "blockingIssues": [{"id": "no-tests", "title": "No tests", "detail": "It is missing."}],
        "nonBlockingIssues": [{"id": "naming", "title": "Naming", "detail": "It is missing."}],
        "score": 70,
        "fixPlan": ["Write tests."],
        "createdAt": "2023-11-14T22:13:21.500Z",
    }


def test_an_implementation_keeps_its_patch() -> None:
    patch, _ = Text.of("--- a\n+++ b\n")
    story = DeliveryStory().designed()
    story.answer("code", patch=patch, tree="4b825dc", files=("src/login.ts",))
    [kept] = [event for event in story.events if isinstance(event, ArtifactCreated) and event.phase == "implementation"]
    assert kept.patch == patch
    assert story.delivery.tree == "4b825dc"


# -- packaging -----------------------------------------------------------------------------------------------------


def test_work_in_a_repository_is_handed_over_on_a_branch() -> None:
    story = story_in("packaging")
    patch, _ = Text.of("diff --git")
    recorded = story.when(
        RecordPackage(turn_id=story.turn.turn_id, attempt=1, branch="hansard/1", commit="4b825dc", patch=patch)
    )
    assert topics(recorded) == [
        *("turn.answered", "delivery.artifact_created", "delivery.branch_published"),
        *("delivery.phase_completed", "delivery.session_finished"),
    ]
    published = the(story, BranchPublished)
    assert isinstance(published, BranchPublished)
    assert (published.branch, published.commit) == ("hansard/1", "4b825dc")
    assert story.delivery.status == "success"


def test_a_failed_handover_is_a_success_with_a_note() -> None:
    """S4 §13.4: packaging is a no-op."""
    story = story_in("packaging")
    recorded = story.when(RecordPackage(turn_id=story.turn.turn_id, attempt=1, problem="Nothing was changed."))
    assert topics(recorded) == ["turn.answered", "delivery.phase_completed", "delivery.session_finished"]
    completed, finished = recorded[1], recorded[2]
    assert (
        isinstance(completed, DeliveryEvent)
        and completed.message == "Nothing was changed. Nothing is packaged (packaging is a no-op)."
    )
    assert isinstance(finished, SessionFinished) and finished.status == "success"


def test_a_delivery_starts_only_once() -> None:
    story = DeliveryStory()
    refusal = story.refused(start())
    assert str(refusal) == "This session has already started."
    assert refusal.allowed == ("cancel", "extend", "revise")
