"""Change requests (contract-3 §18): a person looks at a result, and the same session goes on."""

from typing import Any

import pytest

from domain.delivery.commands import CancelDelivery, DecideScope
from domain.delivery.decide import allowed_actions
from domain.kinds import kind
from domain.orchestration.decide import allowed_actions as allowed_for_run
from domain.orchestration.events import RoundsAdded
from domain.replay import first_difference
from domain.session.comments import AddComment, ChangeComment
from domain.session.landing import LandSession, RecordLanding
from domain.session.revisions import ReviseSession
from domain.session.rules import carry_out
from domain.session.state import EventMetadata
from domain.session.turns import RecordPackage
from domain.session.workspace import ChangedFile, PathScope, WorkspaceChanges, WorkspacePrepared
from domain.values.base import Refused, Text, Usage
from tests.domain.test_landing import BASE, HEAD, packaged
from tests.domain.test_orchestration_ends import paused, ran_out
from tests.domain.test_replay import recorded
from tests.kit.discussing import DiscussionStory
from tests.kit.replies import subtask, verdicts
from tests.kit.stories import MINUTE, DeliveryStory, OrchestrationStory, Story, topics

TAKEN_UP = ["delivery.revision_begun", "delivery.attempt_started", "delivery.phase_started", "turn.requested"]
ROUND = ["orchestration.revision_begun", "orchestration.round_start", "turn.requested"]


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """No two commands at the same time: each story is replayed."""
    monkeypatch.setattr(Story, "pace", 1)


def wants(words: str = "Say hello, too.", **fields: Any) -> ReviseSession:
    text, blobs = Text.of(words)
    return ReviseSession(text=text, actor="person:ann", blobs=blobs, **fields)


def succeeded(**fields: Any) -> DeliveryStory:
    story = DeliveryStory(**fields).in_review()
    story.approves(after=1)
    assert story.delivery.status == "success"
    return story


def statuses(story: Story) -> list[str]:
    assert story.now is not None
    return [revision.status for revision in story.now.revisions]


def named(story: Story) -> str:
    """The revisions that the newest turn request names."""
    revision = story.request.context.get("revision")
    return revision.head if revision is not None else ""


def replays(story: Story) -> None:
    assert first_difference(recorded(story), story.whole) is None


# -- deliveries ----------------------------------------------------------------------------------------------------


def test_a_delivery_that_succeeded_goes_on_with_another_iteration() -> None:
    story = succeeded(iterations=1, minutes=45)
    before = story.delivery.budget.elapsed(story.delivery.budget_time(story.at))
    assert "revise" in allowed_actions(story.delivery)
    events = story.when(wants(), after=999 * MINUTE)
    assert topics(events) == ["session.revision_requested", *TAKEN_UP]
    assert (story.delivery.state, story.delivery.iteration) == ("implementation", 2)
    limits = story.delivery.budget.limits
    assert (limits.max_iterations, limits.max_minutes) == (1 + 2, 45 + 15)
    assert story.delivery.budget.elapsed(story.at) == before, "the clock stood still in between"
    assert (named(story), statuses(story)) == ("delivery-1.r1", ["delivered"])
    story.answer("changed")
    story.passes()
    assert (story.request.role, named(story)) == ("reviewer", "delivery-1.r1")
    story.approves()
    assert (story.delivery.status, statuses(story)) == ("success", ["done"])
    replays(story)


@pytest.mark.parametrize(("more", "limits"), [((1, 1), (7, 46)), ((20, 180), (26, 225)), ((None, 30), (8, 75))])
def test_a_person_may_say_how_much_more_a_revision_gets(
    more: tuple[int | None, int | None], limits: tuple[int, int]
) -> None:
    story = succeeded()
    story.when(wants(add_iterations=more[0], add_minutes=more[1]))
    now = story.delivery.budget.limits
    assert (now.max_iterations, now.max_minutes) == limits
    replays(story)


def failed_in_implementation() -> DeliveryStory:
    story = DeliveryStory().designed()
    story.fail("refused", "no")
    return story


def failed_in_review() -> DeliveryStory:
    story = DeliveryStory().in_review()
    story.fail("refused", "no")
    return story


def out_of_iterations() -> DeliveryStory:
    story = DeliveryStory(iterations=1).in_review()
    story.blocks("No rate limit")
    return story


def out_of_minutes() -> DeliveryStory:
    story = DeliveryStory(minutes=1).designed()
    story.answer("late", after=5 * MINUTE)
    return story


def out_of_progress() -> DeliveryStory:
    story = DeliveryStory(no_progress_limit=1).implemented()
    story.breaks("FAILED a")
    story.answer("again")
    story.breaks("FAILED a")
    return story


STOPPED = (failed_in_implementation, failed_in_review, out_of_iterations, out_of_minutes, out_of_progress)


@pytest.mark.parametrize("stopped", STOPPED)
def test_a_delivery_that_failed_after_it_had_begun_to_implement_goes_on(stopped: Any) -> None:
    story = stopped()
    iteration = story.delivery.iteration
    assert (story.delivery.status, "revise" in allowed_actions(story.delivery)) == ("failed", True)
    assert topics(story.when(wants(), after=60 * MINUTE)) == ["session.revision_requested", *TAKEN_UP]
    assert (story.delivery.iteration, story.delivery.failed_turn, story.delivery.code) == (iteration + 1, None, None)
    story.answer("changed")
    story.passes()
    story.approves()
    assert (story.delivery.status, statuses(story)) == ("success", ["done"])
    replays(story)


def test_what_rejected_the_work_stays_the_developers_feedback() -> None:
    story = out_of_iterations()
    story.when(wants())
    assert "No rate limit" in story.prompt_part("feedback")


def test_what_was_fixed_is_no_feedback_any_more() -> None:
    story = DeliveryStory().in_review()
    story.blocks("No rate limit")
    story.answer("fixed")
    story.passes()
    story.approves()
    story.when(wants())
    assert story.prompt_part("feedback") == ""


@pytest.mark.parametrize("answers", [0, 1, 2])
def test_a_delivery_that_failed_before_is_retried_instead(answers: int) -> None:
    story = DeliveryStory()
    for _ in range(answers):
        story.answer("ok")
    story.fail("refused", "no")
    refusal = story.refused(wants())
    assert "revise" not in refusal.allowed and "retry" in refusal.allowed


def test_a_cancelled_delivery_has_ended() -> None:
    story = DeliveryStory().implemented()
    story.when(CancelDelivery(reason="no"))
    assert story.refused(wants()).allowed == ()


def test_a_revision_says_something() -> None:
    story = succeeded()
    refusal = story.refused(wants(""))
    assert str(refusal) == "Say what has to change."
    assert "revise" in refusal.allowed


def test_every_revision_has_its_own_turn_and_the_old_ones_are_not_repeated() -> None:
    story = succeeded()
    for number in (1, 2, 3):
        story.when(wants(f"Change {number}"))
        assert named(story) == f"delivery-1.r{number}"
        story.answer("changed")
        story.passes()
        story.approves()
    assert statuses(story) == ["done"] * 3
    assert story.delivery.iteration == 4
    replays(story)


def test_a_revision_that_fails_its_validation_stays_until_it_is_right() -> None:
    story = succeeded()
    story.when(wants())
    story.answer("changed")
    story.breaks()
    assert (named(story), statuses(story)) == ("delivery-1.r1", ["delivered"])
    story.answer("again")
    story.passes()
    story.approves()
    assert statuses(story) == ["done"]


def test_used_up_tokens_wait_for_more_and_the_words_are_kept() -> None:
    story = DeliveryStory(tokens=10).designed()
    story.answer("the code", usage=Usage(input_tokens=20, output_tokens=0))
    assert story.delivery.state == "exhausted"
    story.when(wants())
    assert (story.delivery.state, story.delivery.exhausted_by, statuses(story)) == ("exhausted", "tokens", ["queued"])
    story.extend(add_tokens=1_000)
    assert (story.delivery.state, named(story)) == ("implementation", "delivery-1.r1")
    replays(story)


def test_a_landed_result_that_is_revised_has_to_land_again() -> None:
    story = packaged()
    story.when(LandSession(onto="main", steps=(), actor="person:ann"))
    assert "revise" not in story.refused(wants()).args[0] and story.turn.work == "land"
    story.when(RecordLanding(turn_id=story.turn.turn_id, attempt=1, before=BASE, commit="c" * 40))
    story.when(wants())
    assert story.delivery.landed is None
    replays(story)


def test_the_reasons_of_a_landing_that_sent_back_reach_the_developer() -> None:
    story = packaged()
    story.when(LandSession(onto="main", steps=(), actor="person:ann"))
    story.when(
        RecordLanding(turn_id=story.turn.turn_id, attempt=1, before=BASE, reason="conflict", paths=("shop/cart.py",))
    )
    story.when(wants())
    assert "- shop/cart.py" in story.prompt_part("feedback")
    assert "main" in story.prompt_part("feedback")
    replays(story)


# -- deliveries that are at work -----------------------------------------------------------------------------------


def test_a_revision_of_a_running_delivery_waits_for_the_next_turn_that_writes() -> None:
    story = DeliveryStory().implemented()
    limits = story.delivery.budget.limits
    assert topics(story.when(wants())) == ["session.revision_requested"]
    assert (story.delivery.state, statuses(story)) == ("validation", ["queued"])
    story.passes()
    assert (story.request.role, named(story)) == ("reviewer", ""), "the reviewer judges what the developer was told"
    assert topics(story.approves())[-4:] == TAKEN_UP
    assert story.delivery.budget.limits == limits, "no budget is added unasked"
    assert (story.request.role, named(story), statuses(story)) == ("dev", "delivery-1.r1", ["delivered"])
    story.answer("changed")
    story.passes()
    assert (story.request.role, named(story)) == ("reviewer", "delivery-1.r1")
    story.approves()
    assert (story.delivery.status, statuses(story)) == ("success", ["done"])
    replays(story)


def test_approved_work_does_not_fail_because_somebody_asked_for_more_in_its_last_iteration() -> None:
    story = DeliveryStory(iterations=1).implemented()
    limits = story.delivery.budget.limits
    story.when(wants())
    story.passes()
    assert story.delivery.budget.limits == limits, "no budget is added as long as none is needed"
    assert topics(story.approves())[-4:] == TAKEN_UP
    after = story.delivery.budget.limits
    assert (after.max_iterations, after.max_minutes) == (limits.max_iterations + 2, limits.max_minutes + 15)
    assert statuses(story) == ["delivered"]
    story.answer("changed")
    story.passes()
    story.approves()
    assert (story.delivery.status, statuses(story)) == ("success", ["done"])
    replays(story)


def test_rejected_work_without_an_iteration_left_keeps_what_was_asked_for() -> None:
    story = DeliveryStory(iterations=1).implemented()
    story.when(wants())
    story.passes()
    story.blocks()
    assert (story.delivery.status, story.delivery.exhausted_by, statuses(story)) == ("failed", "iterations", ["queued"])
    story.extend(add_iterations=1)
    assert (named(story), statuses(story)) == ("delivery-1.r1", ["delivered"])
    replays(story)


def test_a_revision_that_comes_with_a_plan_reaches_the_first_implementation() -> None:
    story = DeliveryStory()
    story.when(wants())
    story.designed()
    assert (named(story), statuses(story)) == ("delivery-1.r1", ["delivered"])
    story.answer("ok")
    story.passes()
    story.approves()
    assert (story.delivery.status, story.delivery.iteration) == ("success", 1)
    replays(story)


def test_a_revision_that_comes_while_the_branch_is_made_is_not_too_late() -> None:
    story = packaged_but_for_the_branch()
    story.when(wants(add_iterations=1, add_minutes=2))
    package = RecordPackage(turn_id=story.turn.turn_id, attempt=1, branch="hansard/delivery-1", commit=HEAD)
    events = topics(story.when(package))
    assert events[-4:] == TAKEN_UP and "delivery.branch_published" in events
    assert "delivery.session_finished" not in events
    limits = story.delivery.budget.limits
    assert (limits.max_iterations, limits.max_minutes) == (7, 47)
    replays(story)


def packaged_but_for_the_branch() -> DeliveryStory:
    story = DeliveryStory(repository=True, workspace="/shop")
    story.answer("plan", prepared=WorkspacePrepared(repository="/shop", base_branch="main", base_commit=BASE))
    story.answer("architecture")
    story.answer("design")
    changes = WorkspaceChanges(head=HEAD, files=(ChangedFile(path="a", status="modified"),))
    story.answer("code", changes=changes, tree=HEAD, base=story.delivery.tree, files=("a",))
    story.passes()
    story.approves()
    assert story.turn.work == "package"
    return story


def test_a_delivery_that_waits_for_a_person_takes_a_revision() -> None:
    story = DeliveryStory(scope=PathScope(allow=("src/**",), outside="ask"), workspace="/shop").designed()
    changes = WorkspaceChanges(head=HEAD, files=(ChangedFile(path="a", status="modified"),))
    story.answer("code", changes=changes, tree=HEAD, files=("a",))
    assert story.delivery.state == "awaiting_scope"
    story.when(wants())
    story.when(DecideScope(request_id="delivery-1.s1", decision="deny", actor="person:ann"))
    assert (story.request.role, named(story)) == ("dev", "delivery-1.r1")
    replays(story)


@pytest.mark.parametrize("phases", [("implementation", "validation"), ("implementation", "validation", "packaging")])
def test_a_short_way_takes_revisions_too(phases: tuple[str, ...]) -> None:
    story = DeliveryStory(phases=phases)
    story.answer("code")
    story.when(wants("one"))
    story.passes()
    assert (named(story), story.delivery.iteration) == ("delivery-1.r1", 2)
    story.answer("code")
    story.passes()
    assert story.delivery.status == "success"
    story.when(wants("two"))
    assert (named(story), story.delivery.iteration) == ("delivery-1.r2", 3)
    assert story.phases()["review"] == "skipped", "it still goes without"
    replays(story)


# -- orchestrations ------------------------------------------------------------------------------------------------


def done(*agents: str) -> OrchestrationStory:
    story = OrchestrationStory().planned(*(subtask(agent) for agent in agents or ("Backend",)))
    while story.run.state == "working":
        story.works(story.asked[0], agent_session=f"{story.asked[0]}-1")
    story.answer(verdicts(all_done=True, **dict.fromkeys(agents or ("Backend",), True)))
    assert story.run.status == "done"
    return story


def test_a_run_that_is_done_goes_on_in_a_new_round() -> None:
    story = done()
    assert "revise" in allowed_for_run(story.run)
    assert topics(story.when(wants())) == ["session.revision_requested", *ROUND]
    assert (story.run.round, story.run.last_round, story.asked) == (2, 1 + 3, ["Backend"])
    assert (named(story), statuses(story)) == ("orchestration-1.r1", ["delivered"])
    story.works("Backend")
    assert (story.request.role, named(story)) == ("judge", "orchestration-1.r1")
    story.answer(verdicts(all_done=True, Backend=True))
    assert (story.run.status, statuses(story)) == ("done", ["done"])
    replays(story)


def test_only_the_agents_who_changed_files_work_on_it() -> None:
    story = OrchestrationStory().planned(subtask("Backend"), subtask("Docs"))
    story.works("Backend", files=("a.py",))
    story.works("Docs")
    story.answer(verdicts(all_done=True, Backend=True, Docs=True))
    story.when(wants(add_rounds=2))
    assert (story.asked, story.run.last_round) == (["Backend"], 3)
    story.works("Backend")
    story.answer(verdicts(all_done=True, Backend=True))
    assert story.run.status == "done"
    replays(story)


@pytest.mark.parametrize(
    ("places", "words", "asked"),
    [
        ([{"path": "a.py", "line": 1}], "", ["Backend"]),
        ([{"path": "b.md"}], "", ["Docs"]),
        ([{"path": "a.py"}, {"path": "b.md"}], "", ["Backend", "Docs"]),
        ([{"path": "a.py"}], "And be brief.", ["Backend", "Docs"]),
        ([{"path": "a.py"}, {}], "", ["Backend", "Docs"]),
        ([{"path": "a.py"}, {"path": "old.py"}], "", ["Backend", "Docs"]),
    ],
)
def test_comments_on_files_concern_the_agents_who_changed_them(
    places: list[dict[str, Any]], words: str, asked: list[str]
) -> None:
    story = OrchestrationStory().planned(subtask("Backend"), subtask("Docs"))
    story.works("Backend", files=("a.py",))
    story.works("Docs", files=("b.md",))
    story.answer(verdicts(all_done=True, Backend=True, Docs=True))
    for place in places:
        story.when(AddComment(text="Name this.", actor="person:ann", **place))
    story.when(ReviseSession(text=Text.of(words)[0], actor="person:ann"))
    worked = []
    while story.run.state == "working":
        worked.append(story.asked[0])
        story.works(story.asked[0])
    assert worked == asked
    replays(story)


def test_a_run_at_a_checkpoint_comes_back_to_it() -> None:
    story = paused()
    phases = story.agent("Backend")["phaseProfile"]
    story.when(wants())
    assert (story.asked, story.agent("Backend")["currentPhase"]) == (["Backend"], phases[-1])
    story.works("Backend")
    story.answer(verdicts(Backend=True))
    assert (story.run.status, statuses(story)) == ("checkpoint", ["done"])
    story.resumes()
    assert story.agent("Backend")["phaseProfile"] == [4, 5], "the rest of its phases is still there"
    replays(story)


def test_a_run_that_is_out_of_rounds_goes_on_with_all_that_is_left() -> None:
    story = ran_out()
    assert story.run.status == "partial"
    story.when(wants())
    assert story.run.round == 2 and set(story.asked) <= {"Backend", "Docs"}
    replays(story)


def test_a_reset_run_has_ended_and_one_without_work_is_continued_instead() -> None:
    story = done()
    story.when(wants())
    story.resets()
    assert story.refused(wants()).allowed == ()
    planless = OrchestrationStory(max_rounds=1)
    planless.answer("no plan")
    planless.answer("no plan")
    assert planless.run.status == "partial"
    refusal = planless.refused(wants())
    assert "continue" in refusal.allowed and "revise" not in refusal.allowed


def test_a_run_with_a_queued_revision_does_not_finish() -> None:
    story = OrchestrationStory().planned(subtask("Backend"))
    story.works("Backend", files=("a.py",))
    assert topics(story.when(wants())) == ["session.revision_requested"]
    assert story.request.role == "judge"
    events = topics(story.answer(verdicts(all_done=True, Backend=True)))
    assert events[-3:] == ROUND and "orchestration.completed" not in events
    assert (story.run.last_round, statuses(story)) == (3, ["delivered"])
    story.works("Backend")
    assert named(story) == "orchestration-1.r1"
    story.answer(verdicts(all_done=True, Backend=True))
    assert (story.run.status, statuses(story)) == ("done", ["done"])
    replays(story)


def test_a_queued_revision_in_the_last_round_waits_for_more_rounds() -> None:
    story = OrchestrationStory(max_rounds=1).planned(subtask("Backend"))
    story.works("Backend", files=("a.py",))
    story.when(wants())
    story.answer(verdicts(all_done=True, Backend=True))
    assert (story.run.status, story.run.partial_reason, statuses(story)) == ("partial", "rounds", ["queued"])
    story.resumes()
    assert (story.asked, named(story)) == (["Backend"], "orchestration-1.r1")
    replays(story)


def test_a_running_run_gets_more_rounds_only_if_asked() -> None:
    story = OrchestrationStory().planned(subtask("Backend"))
    events = story.when(wants(add_rounds=2))
    [added] = [event for event in events if isinstance(event, RoundsAdded)]
    assert (added.add_rounds, story.run.last_round) == (2, 5)
    replays(story)


CHANGED: dict[str, Any] = {
    "changes": WorkspaceChanges(head=HEAD, files=(ChangedFile(path="a", status="modified"),)),
    "tree": HEAD,
    "files": ("a",),
}


def test_a_direct_answer_that_changed_files_is_given_anew() -> None:
    story = OrchestrationStory("fix the typo", employees=(), triage="direct")
    story.answer("I fixed it.", prepared=WorkspacePrepared(base_commit=BASE), **CHANGED)
    assert story.run.status == "done"
    assert topics(story.when(wants())) == ["session.revision_requested", *ROUND[:1], "turn.requested"]
    assert (story.request.role, named(story)) == ("assistant", "orchestration-1.r1")
    assert story.prompt_part("so_far") == "I fixed it."
    story.answer("And said hello.")
    assert (story.run.status, statuses(story)) == ("done", ["done"])
    replays(story)


def test_a_direct_answer_without_changes_has_no_result() -> None:
    story = OrchestrationStory("what is it", employees=(), triage="direct")
    story.answer("It is a shop.")
    assert story.run.status == "done"
    assert story.refused(wants()).allowed == ()


def test_a_direct_answer_with_a_queued_revision_is_asked_again() -> None:
    story = OrchestrationStory("fix the typo", employees=(), triage="direct")
    story.when(wants())
    story.answer("I fixed it.")
    assert (story.request.role, named(story), story.prompt_part("so_far")) == (
        "assistant",
        "orchestration-1.r1",
        "I fixed it.",
    )
    story.answer("Both.")
    assert (story.run.status, statuses(story)) == ("done", ["done"])
    replays(story)


def test_a_review_has_no_result_to_revise() -> None:
    story = DiscussionStory()
    with pytest.raises(Refused):
        carry_out(kind(story.kind), story.now, wants(), EventMetadata(story.id, story.at))


# -- comments ------------------------------------------------------------------------------------------------------


def remarks(story: Story, *words: str) -> None:
    for each in words:
        story.when(AddComment(text=each, actor="person:ann"))


def last_revision(story: Story) -> tuple[str, ...]:
    assert story.now is not None
    return story.now.revisions[-1].comments


def test_a_revision_takes_the_open_comments_unless_it_names_some() -> None:
    story = packaged()
    remarks(story, "one", "two", "three")
    story.when(ChangeComment(comment_id="c2", status="resolved", actor="person:ann"))
    story.when(wants(""))
    assert last_revision(story) == ("c1", "c3"), "the comments are words enough"
    story.when(wants("More.", comments=("c3",)))
    story.when(wants("Only this.", comments=()))
    assert [revision.comments for revision in story.delivery.revisions] == [("c1", "c3"), ("c3",), ()]
    replays(story)


def test_comments_that_come_with_a_revision_are_made_with_it() -> None:
    story = packaged()
    remarks(story, "one")
    made = (AddComment(text="two", actor="person:bob"), AddComment(text="three", actor="person:bob"))
    events = story.when(wants("", comments=("c1",), remarks=made))
    assert topics(events)[:3] == ["session.commented", "session.commented", "session.revision_requested"]
    assert last_revision(story) == ("c1", "c2", "c3")
    story.answer("changed")
    replays(story)


@pytest.mark.parametrize("status", ["withdrawn", "resolved", None])
def test_a_comment_that_asks_for_nothing_is_not_part_of_a_revision(status: Any) -> None:
    story = packaged()
    remarks(story, "one")
    if status is not None:
        story.when(ChangeComment(comment_id="c1", status=status, actor="person:ann"))
    refusal = story.refused(wants("", comments=("c1" if status else "c2",)))
    assert ("c1" if status else "c2") in str(refusal) and "revise" in refusal.allowed
