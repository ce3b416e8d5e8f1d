"""What agents say to a person's comments, and what holds of it (contract-3 §18)."""

import json
from typing import Any

import pytest

from domain.delivery.chart import NEEDED
from domain.replay import first_difference
from domain.session.attempts import RetryPolicy
from domain.session.comments import AddComment, ChangeComment, Comment
from domain.session.revisions import ReviseSession
from domain.session.turns import TurnAttemptFailed
from domain.session.workspace import ChangedFile, WorkspaceChanges
from domain.values.base import Text
from tests.domain.test_landing import HEAD, packaged
from tests.domain.test_replay import recorded
from tests.kit.replies import plan, review, subtask, verdicts
from tests.kit.stories import DeliveryStory, OrchestrationStory, Story, topics

ANN = "person:ann"
LINES: dict[str, Any] = {"path": "a", "line": 1, "end_line": 1, "quote": ("x = 1",)}
ON_LINES, ON_FILE, ON_WHOLE = LINES, {"path": "a"}, dict[str, Any]()
OBJECTS = {"id": "c1", "title": "Not done", "detail": "The line is the same."}


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """No two commands at the same time: each story is replayed."""
    monkeypatch.setattr(Story, "pace", 1)


def says(*answers: dict[str, Any], words: str = "Done.") -> str:
    return f"{words}\n```json\n{json.dumps({'comments': answers})}\n```"


def said(answer: str, name: str = "c1", **more: Any) -> dict[str, Any]:
    return {"id": name, "answer": answer, "words": "Because.", **more}


def asked(*places: dict[str, Any]) -> DeliveryStory:
    """A delivery whose developer works on comments of a person."""
    story = packaged()
    revised(story, *(places or (ON_LINES,)))
    return story


def revised(story: Story, *places: dict[str, Any], head: str | None = HEAD) -> None:
    for place in places:
        story.when(AddComment(text="Name this.", head=head, actor=ANN, **place))
    story.when(ReviseSession(text=Text(), actor=ANN))


def only(story: Story, name: str = "c1") -> Comment:
    assert story.now is not None
    return story.now.comments.by_id[name]


def replays(story: Story) -> None:
    assert first_difference(recorded(story), story.whole) is None


@pytest.mark.parametrize(
    ("place", "answer", "fields", "status"),
    [
        (ON_LINES, said("fixed"), {"touched_comments": ("c1",)}, "fixed"),
        (ON_LINES, said("FIXED", words=""), {"touched_comments": ("c1",)}, "fixed"),
        (ON_LINES, said("fixed", changed=["b"]), {"files": ("b",)}, "fixed"),
        (ON_LINES, said("fixed", changed=["./b"]), {"files": ("b",)}, "fixed"),
        (ON_LINES, said("fixed", changed=["c"]), {"files": ("b",)}, "unchanged"),
        (ON_LINES, said("fixed"), {"files": ("a",)}, "unchanged"),
        (ON_LINES, said("fixed"), {}, "unchanged"),
        (ON_FILE, said("fixed"), {}, "unchanged"),
        (ON_WHOLE, said("fixed"), {}, "fixed"),
        (ON_LINES, said("declined"), {}, "declined"),
        (ON_LINES, said("answered"), {"touched_comments": ("c1",)}, "answered"),
        (ON_LINES, None, {"touched_comments": ("c1",)}, "fixed"),
        (ON_LINES, None, {"files": ("a",)}, "unchanged"),
        (ON_WHOLE, None, {}, "unchanged"),
    ],
)
def test_what_holds_of_an_answer_follows_from_what_changed(
    place: dict[str, Any], answer: dict[str, Any] | None, fields: dict[str, Any], status: str
) -> None:
    story = asked(place)
    turn = story.turn.turn_id
    story.answer(says(answer) if answer else "Done.", **fields)
    comment = only(story)
    assert comment.status == status
    [kept] = comment.answers
    assert (kept.turn_id, kept.answer) == (turn, status)
    assert kept.words == (answer["words"] if answer else "")
    replays(story)


@pytest.mark.parametrize(
    "reply",
    [
        says(said("fixed", "c2")),
        says(said("done")),
        says(said("declined", words="")),
        says(said("answered", words=" \n")),
        says({"id": "c1"}),
        says(said("fixed"), said("declined")),
        says(said("fixed", changed="a")),
        says(said("fixed", changed=[""])),
        'Done. {"comments": "all of them"}',
        'Done. {"comments": [{"id": "c1",',
    ],
)
def test_a_malformed_answer_is_asked_for_once_more(reply: str) -> None:
    story = DeliveryStory(retry=RetryPolicy()).in_review()
    story.approves()
    revised(story, ON_WHOLE, head=None)
    failed, *rest = story.answer(reply)
    assert isinstance(failed, TurnAttemptFailed) and not rest
    assert (failed.failure.code, failed.next, only(story).status) == ("unreadable", "repair", "open")
    assert "turn.answered" in topics(story.answer(reply, attempt=2)), "only once: then the work counts without it"
    assert (story.delivery.status, only(story).status) == ("running", "unchanged")
    replays(story)


def test_of_an_illegible_reply_the_answers_count_that_can_be_read() -> None:
    story = DeliveryStory(retry=RetryPolicy()).in_review()
    story.approves()
    revised(story, ON_WHOLE, ON_WHOLE, head=None)
    reply = says(said("declined", words="It is fine."), said("answered", "c2", words=""), said("fixed", "c9"))
    story.answer(reply)
    story.answer(reply, attempt=2)
    first, second = story.delivery.comments.all
    assert (first.status, first.answers[0].words, second.status) == ("declined", "It is fine.", "unchanged")
    replays(story)


def test_a_reply_that_nobody_asked_about_comments_may_say_anything() -> None:
    story = DeliveryStory().designed()
    assert "turn.answered" in topics(story.answer(says(said("fixed"))))


def test_nothing_approves_over_a_comment_that_was_left_as_it_was() -> None:
    story = asked()
    assert "session.comment_answered" in topics(story.answer("Done."))
    story.passes()
    assert "delivery.comments_unchanged" in topics(story.approves())
    assert (story.delivery.state, story.delivery.iteration) == ("implementation", 3)
    assert "- c1: Name this." in story.prompt_part("feedback")
    story.answer(says(said("declined")))
    story.passes()
    assert "delivery.review_approved" in topics(story.approves())
    assert only(story).status == "declined"
    replays(story)


def test_without_a_review_nothing_is_delivered_over_it_either() -> None:
    story = DeliveryStory(phases=NEEDED)
    story.answer("the code", changes=WorkspaceChanges(head=HEAD, files=(ChangedFile(path="a", status="modified"),)))
    story.passes()
    assert story.delivery.status == "success"
    revised(story, ON_WHOLE)
    story.answer("Done.")
    assert topics(story.passes())[-1] == "turn.requested"
    assert (story.delivery.status, story.delivery.iteration) == ("running", 3)
    story.answer(says(said("answered")))
    story.passes()
    assert (story.delivery.status, only(story).status) == ("success", "answered")
    replays(story)


def test_the_iterations_end_when_the_budget_does() -> None:
    story = asked()
    for _ in range(7):
        if story.delivery.ended:
            break
        story.answer("Done.", files=("a",))
        story.passes()
        story.approves()
    assert (story.delivery.status, only(story).status) == ("failed", "unchanged")
    replays(story)


def test_a_reviewer_may_object_to_an_answer() -> None:
    story = asked()
    story.answer(says(said("fixed")), touched_comments=("c1",))
    story.passes()
    objection = json.loads(review("Slow")) | {"blockingIssues": [OBJECTS]}
    story.answer(json.dumps(objection))
    comment = only(story)
    assert (comment.status, comment.answers[-1].words) == ("unchanged", "Not done: The line is the same.")
    story.answer(says(said("fixed")))
    assert only(story).status == "unchanged", "saying it again changes nothing"
    story.passes()
    story.approves()
    story.answer(says(said("fixed")), touched_comments=("c1",))
    story.passes()
    story.approves()
    assert only(story).status == "fixed"
    replays(story)


def test_what_was_dealt_with_stays_so_while_something_else_fails() -> None:
    story = asked(ON_LINES, ON_WHOLE)
    story.answer(says(said("answered", "c2")), touched_comments=("c1",))
    story.breaks()
    story.answer(says(said("fixed")))
    assert (only(story).status, only(story, "c2").status) == ("fixed", "answered")
    replays(story)


def test_what_a_person_settles_meanwhile_stays_settled() -> None:
    story = asked(ON_LINES, ON_WHOLE)
    story.when(ChangeComment(comment_id="c1", status="resolved", actor=ANN))
    story.when(ChangeComment(comment_id="c2", status="withdrawn", actor=ANN))
    story.answer(says(said("fixed")))
    assert (only(story).status, only(story).answers, only(story, "c2").status) == ("resolved", (), "withdrawn")
    story.passes()
    assert "delivery.review_approved" in topics(story.approves())
    replays(story)


def test_a_comment_that_is_asked_for_again_needs_another_answer() -> None:
    story = DeliveryStory().in_review()
    story.approves()
    revised(story, ON_WHOLE, head=None)
    story.answer(says(said("answered")))
    story.passes()
    story.approves()
    assert (story.delivery.status, only(story).status) == ("success", "answered")
    story.when(ReviseSession(text=Text(), comments=("c1",), actor=ANN))
    assert (only(story).status, len(only(story).answers), only(story).newest_answers) == ("open", 1, ())
    story.answer("Done.")
    assert only(story).status == "unchanged"
    replays(story)


def test_who_insists_is_answered_again() -> None:
    story = asked(ON_LINES, ON_WHOLE)
    story.answer(says(said("fixed"), said("answered", "c2")), touched_comments=("c1",))
    story.when(ChangeComment(comment_id="c1", status="open", reason="It is not.", actor=ANN))
    story.breaks()
    story.answer("Done.")
    assert (only(story).status, only(story, "c2").status) == ("unchanged", "answered")
    replays(story)


# -- orchestrations ----------------------------------------------------------------------------------------------------

WROTE: dict[str, Any] = {
    "tree": HEAD,
    "files": ("a",),
    "changes": WorkspaceChanges(head=HEAD, files=(ChangedFile(path="a", status="modified"),)),
}


def team(*places: dict[str, Any]) -> OrchestrationStory:
    """A run that is done, and that a person wants changed: on lines and as a whole, unless it is said."""
    story = OrchestrationStory(max_rounds=3)
    story.answer(plan(subtask("Backend"), subtask("Docs")))
    story.works("Backend", **WROTE)
    story.works("Docs", files=("b",))
    story.answer(verdicts(Backend=True, Docs=True, all_done=True))
    assert story.run.status == "done"
    revised(story, *(places or (ON_LINES, ON_WHOLE)))
    return story


def test_agents_of_a_run_share_the_comments() -> None:
    story = team()
    story.works("Backend", says(said("fixed")), touched_comments=("c1",))
    assert (only(story).status, only(story, "c2").status) == ("fixed", "open"), "another one may still deal with it"
    story.works("Docs", says(said("answered", "c2")))
    story.answer(verdicts(Backend=True, Docs=True, all_done=True))
    assert (story.run.status, only(story, "c2").status) == ("done", "answered")
    replays(story)


@pytest.mark.parametrize("answer", ["answered", "declined"])
@pytest.mark.parametrize("place", [ON_LINES, ON_FILE])
def test_what_one_agent_of_a_run_has_fixed_stays_fixed_when_another_speaks_of_it(
    place: dict[str, Any], answer: str
) -> None:
    story = team(place, {"path": "b"})
    story.works("Backend", says(said("fixed", changed=["a"])), touched_comments=("c1",), files=("a",))
    story.works("Docs", says(said(answer)), files=("b",), touched_comments=("c2",))
    assert (only(story).status, len(only(story).answers)) == ("fixed", 1)
    story.answer(verdicts(Backend=True, Docs=True, all_done=True))
    assert (story.run.status, only(story).status) == ("done", "fixed")
    replays(story)


@pytest.mark.parametrize("again", [{"touched_comments": ("c1",)}, {"files": ("names",)}])
def test_what_was_fixed_may_be_taken_back(again: dict[str, Any]) -> None:
    story = team(ON_LINES, {"path": "b"})
    story.works("Backend", says(said("fixed", changed=["names"])), files=("names",))
    story.works("Docs", says(said("declined")), **again)
    assert only(story).status == "declined"
    replays(story)


def test_no_agent_of_a_run_passes_over_a_comment_that_was_left_as_it_was() -> None:
    story = team()
    story.works("Backend")
    story.works("Docs", says(said("answered", "c2")))
    assert only(story).status == "unchanged"
    assert "orchestration.verdict_refused" in topics(story.answer(verdicts(Backend=True, Docs=True, all_done=True)))
    assert (story.run.status, story.run.round) == ("active", 3)
    assert "- c1: Name this." in story.prompt_part("feedback")
    story.works("Backend", says(said("declined")))
    story.works("Docs")
    story.answer(verdicts(Backend=True, Docs=True))
    assert story.run.status == "done"
    replays(story)


def test_a_judge_may_object_to_an_answer() -> None:
    story = team()
    story.works("Backend", says(said("fixed"), said("answered", "c2")), touched_comments=("c1",))
    story.works("Docs")
    answer = json.loads(verdicts(Backend=True, Docs=True).strip())
    story.answer(json.dumps(answer | {"openComments": [{"comment": "c1", "why": "It is not."}]}))
    assert (only(story).status, only(story).answers[-1].words) == ("unchanged", "It is not.")
    assert story.run.status == "active"
    replays(story)


def direct() -> OrchestrationStory:
    story = OrchestrationStory(triage="direct")
    story.answer("It is done.", **WROTE)
    assert story.run.status == "done"
    revised(story, ON_LINES)
    return story


def test_a_direct_answer_deals_with_comments_and_shows_people_no_json() -> None:
    story = direct()
    story.answer(says(said("declined"), words="I would not."))
    assert (story.run.status, only(story).status) == ("done", "declined")
    assert story.run.summary is not None and story.run.summary.head == "I would not."
    replays(story)


def test_a_direct_answer_that_leaves_comments_is_asked_for_once_more() -> None:
    story = direct()
    story.answer("Done.")
    assert (story.run.status, only(story).status) == ("active", "unchanged")
    story.answer("Done.")
    assert (story.run.status, story.run.reason) == ("partial", "comments_unchanged")
    replays(story)
