"""Landing: only what was handed over, one at a time, and every step is an event."""

from typing import Any

import pytest

from domain.replay import first_difference
from domain.session.attempts import Failure
from domain.session.landing import LandSession, RecordLanding, SentBackReason, WorkSentBack, why_sent_back
from domain.session.state import Session
from domain.session.turns import RecordPackage
from domain.session.workspace import ChangedFile, WorkspaceChanges, WorkspacePrepared
from domain.values.sentences import Sentence
from projections.record.session import view
from tests.domain.test_replay import recorded
from tests.kit.stories import DeliveryStory, topics

BASE, HEAD, MERGE = "a" * 40, "b" * 40, "c" * 40


def packaged() -> DeliveryStory:
    """A delivery with a branch."""
    story = DeliveryStory(repository=True, workspace="/shop")
    prepared = WorkspacePrepared(repository="/shop", base_branch="main", base_commit=BASE)
    story.answer("the plan", after=1, prepared=prepared)
    for words in ("the architecture", "the design"):
        story.answer(words, after=1)
    changes = WorkspaceChanges(head=HEAD, files=(ChangedFile(path="a", status="modified"),))
    story.answer("the code", after=1, changes=changes, tree=HEAD, base=story.delivery.tree, files=("a",))
    story.passes(after=1)
    story.approves(after=1)
    package = RecordPackage(turn_id=story.turn.turn_id, attempt=1, branch="hansard/delivery-1", commit=HEAD)
    story.when(package, after=1)
    return story


def lands(story: DeliveryStory, **fields: Any) -> list[str]:
    story.when(LandSession(onto="main", steps=story.delivery.steps, actor="person:ann"), after=1)
    assert story.turn.work == "land"
    return topics(story.when(RecordLanding(turn_id=story.turn.turn_id, attempt=1, before=BASE, **fields), after=1))


def session(story: DeliveryStory) -> Session:
    assert story.now is not None
    return story.now


def test_a_result_lands() -> None:
    story = packaged()
    assert lands(story, commit=MERGE) == ["turn.answered", "session.landed"]
    assert view(story.delivery).wire()["result"]["landed"] == {"branch": "main", "commit": MERGE}
    assert story.delivery.status == "success"
    assert first_difference(recorded(story), story.whole) is None


def test_a_result_is_sent_back_and_may_land_later() -> None:
    story = packaged()
    fields: dict[str, Any] = {
        "reason": "validation",
        "author": "Grace",
        "reasons": ("FAILED a",),
        "detail": "It failed.",
    }
    assert lands(story, **fields) == ["turn.answered", "session.sent_back"]
    assert story.delivery.landed is None
    assert lands(story, commit=MERGE)[-1] == "session.landed"
    assert first_difference(recorded(story), story.whole) is None


def test_a_landing_is_not_tried_where_the_persons_repository_is_not_ready() -> None:
    """Nothing goes back to the author, who is not to blame."""
    story = packaged()
    why = Sentence("in_the_way_uncommitted", paths="a")
    fields: dict[str, Any] = {"not_tried": "uncommitted", "paths": ("a",), "detail": str(why), "sentence": why}
    assert lands(story, **fields) == ["turn.answered", "session.landing_not_tried"]
    assert (story.delivery.landed, story.delivery.sent_back) == (None, None)
    seen = view(story.delivery).wire()["result"]["landing"]
    assert (seen["onto"], seen["status"], seen["commit"], seen["paths"]) == ("main", "not_tried", None, ["a"])
    assert (seen["reason"], seen["detail"]) == ("uncommitted", str(why))
    assert lands(story, commit=MERGE)[-1] == "session.landed"
    landed = {"onto": "main", "status": "landed", "commit": MERGE, "reason": None, "paths": []}
    assert view(story.delivery).wire()["result"]["landing"] == landed
    assert first_difference(recorded(story), story.whole) is None


def test_the_reason_of_a_landing_that_was_sent_back_is_shown_with_the_result() -> None:
    story = packaged()
    lands(story, reason="conflict", paths=("a",), detail="Both sides changed the same lines: a")
    seen = view(story.delivery).wire()["result"]["landing"]
    assert (seen["status"], seen["reason"], seen["paths"]) == ("sent_back", "conflict", ["a"])


def test_a_landing_that_fails_changes_nothing() -> None:
    story = packaged()
    failure = Failure(code="workspace", detail="There is no branch main.")
    assert lands(story, failure=failure) == ["turn.failed"]
    assert (story.delivery.status, story.delivery.failed_turn) == ("success", None)
    assert first_difference(recorded(story), story.whole) is None


def test_only_a_branch_lands_and_only_once_at_a_time() -> None:
    command = LandSession(onto="main")
    assert "has no branch to land" in str(DeliveryStory().refused(command))
    story = packaged()
    story.when(command)
    assert "is still at work" in str(story.refused(command))


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("conflict", "both sides changed the same lines of these files.\n- a\nIt failed."),
        ("validation", "the validation failed on the merge.\n- FAILED a\nIt failed."),
        ("checkout", ""),
    ],
)
def test_the_author_reads_why_the_work_was_sent_back(reason: SentBackReason, words: str) -> None:
    """Of a checkout in the way, which old logs have here, the author is not to blame."""
    more = {"paths": ("a",)} if reason == "conflict" else {"reasons": ("FAILED a",)}
    event = WorkSentBack(onto="main", before=BASE, reason=reason, author="Grace", detail="It failed.", **more)
    assert why_sent_back(event) == (f"The work could not be merged into main: {words}" if words else "")
