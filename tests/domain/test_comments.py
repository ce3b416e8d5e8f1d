"""Comments: who may remark what on a result, and who may say what has become of it."""

from typing import Any

import pytest

from domain.kinds import KINDS, fold
from domain.replay import first_difference
from domain.session.comments import MOST_COMMENTS, AddComment, ChangeComment, CommentMade, Comments
from domain.session.rules import carry_out
from domain.session.state import EventMetadata
from domain.values.base import Forbidden, Unknown, iso
from tests.domain.test_landing import BASE, HEAD, packaged
from tests.domain.test_replay import recorded
from tests.kit.stories import DeliveryStory, OrchestrationStory

ANN, BOB = "person:ann", "person:bob"
LINES: dict[str, Any] = {"path": "a", "line": 3, "end_line": 4, "quote": ("x = 1", "y = 2")}


def remark(text: str = "Name this after what it returns.", *, actor: str = ANN, **fields: Any) -> AddComment:
    return AddComment(**({"text": text, "head": HEAD, "actor": actor} | fields))


def says(status: str, comment: str = "c1", *, actor: str = ANN, reason: str = "") -> ChangeComment:
    return ChangeComment.model_validate({"commentId": comment, "status": status, "actor": actor, "reason": reason})


def commented() -> DeliveryStory:
    """A delivery with a result, and a comment by Ann."""
    story = packaged()
    story.when(remark(**LINES), after=1)
    return story


def test_a_comment_keeps_what_was_said_where_and_by_whom() -> None:
    story = packaged()
    [event] = story.when(remark(**LINES), after=1)
    assert isinstance(event, CommentMade)
    [comment] = story.delivery.comments.all
    assert (comment.comment_id, comment.text, comment.by) == ("c1", "Name this after what it returns.", ANN)
    assert (comment.path, comment.line, comment.end_line, comment.side) == ("a", 3, 4, "new")
    assert (comment.quote, comment.head, comment.at) == (("x = 1", "y = 2"), HEAD, iso(story.at))
    assert (comment.status, comment.answers) == ("open", ())


def test_comments_are_numbered_in_the_order_in_which_they_are_made() -> None:
    story = commented()
    story.when(remark("And this.", actor=BOB), after=1)
    assert [(each.comment_id, each.by) for each in story.delivery.comments.all] == [("c1", ANN), ("c2", BOB)]


@pytest.mark.parametrize("head", [HEAD, BASE])
def test_a_person_may_have_seen_any_commit_of_the_session(head: str) -> None:
    story = packaged()
    story.when(remark(head=head))
    assert story.delivery.comments.all[0].head == head


def test_a_commit_of_another_session_is_refused() -> None:
    assert packaged().refused(remark(head="d" * 40)).args[0].code == "comment_on_another_commit"


def test_the_status_of_the_session_stays_as_it_was() -> None:
    story = packaged()
    before = (story.delivery.status, story.delivery.budget, story.delivery.result_head)
    story.when(remark(), after=60_000)
    assert (story.delivery.status, story.delivery.budget, story.delivery.result_head) == before


def test_a_session_without_a_result_takes_words_about_the_whole() -> None:
    story = DeliveryStory()
    story.when(remark(head=None), after=1)
    assert story.delivery.comments.all[0].head is None


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_with_a_result_of_its_own_takes_comments(kind: str) -> None:
    assert KINDS[kind].state.takes_comments == (kind in ("delivery", "orchestration"))


def test_an_orchestration_takes_comments() -> None:
    story = OrchestrationStory()
    story.when(remark(head=None), after=1)
    assert len(story.run.comments) == 1


def test_a_comment_more_than_a_session_takes_is_refused() -> None:
    story = packaged()
    comment = commented().delivery.comments.by_id["c1"]
    full = Comments(by_id={f"c{n}": comment for n in range(1, MOST_COMMENTS + 1)})
    assert story.now is not None
    story.now.comments = full
    assert story.refused(remark()).args[0].code == "too_many_comments"


# -- what becomes of it ------------------------------------------------------------------------------------------------


def test_anyone_may_resolve_a_comment() -> None:
    story = commented()
    story.when(says("resolved", actor=BOB, reason="It is fine."), after=1)
    [comment] = story.delivery.comments.all
    assert comment.status == "resolved"
    assert comment.newest_change is not None
    assert (comment.newest_change.by, comment.newest_change.reason) == (BOB, "It is fine.")
    assert (comment.by, comment.text) == (ANN, "Name this after what it returns."), "the words stay hers"


def test_only_its_author_withdraws_a_comment() -> None:
    story = commented()
    refusal = story.refused(says("withdrawn", actor=BOB))
    assert isinstance(refusal, Forbidden)
    story.when(says("withdrawn"))
    assert story.delivery.comments.all[0].status == "withdrawn"
    assert story.delivery.comments.open == ()


@pytest.mark.parametrize("status", ["open", "resolved", "withdrawn"])
def test_what_was_withdrawn_stays_withdrawn(status: str) -> None:
    story = commented()
    story.when(says("withdrawn"))
    assert story.refused(says(status, reason="Still.")).args[0].code == "comment_was_withdrawn"


def test_who_insists_gives_a_reason() -> None:
    story = commented()
    story.when(says("resolved"))
    assert story.refused(says("open", reason=" ")).args[0].code == "insists_without_reason"
    story.when(says("open", reason="It is not."))
    assert [each.comment_id for each in story.delivery.comments.open] == ["c1"]


@pytest.mark.parametrize("status", ["open", "resolved"])
def test_a_status_is_not_given_twice(status: str) -> None:
    story = commented()
    if status == "resolved":
        story.when(says("resolved"))
    assert story.refused(says(status, reason="Again.")).args[0].code == f"comment_already_{status}"


def test_a_comment_that_is_not_there_cannot_be_settled() -> None:
    story = commented()
    with pytest.raises(Unknown):
        carry_out(KINDS["delivery"], story.now, says("resolved", "c2"), EventMetadata(story.id, story.at))


def test_comments_are_decided_again_as_they_were() -> None:
    story = commented()
    story.when(remark("Why?", actor=BOB, path="a"), after=1)
    story.when(says("resolved"), after=1)
    story.when(says("open", reason="It is not."), after=1)
    story.when(says("withdrawn", "c2", actor=BOB), after=1)
    assert first_difference(recorded(story), story.whole) is None
    again = fold("delivery", story.history)
    assert again is not None and again.comments == story.delivery.comments
