"""The forge (contract-3 §19): what happened there is recorded once, and what follows from it."""

import json
from typing import Any

import pytest

from domain.replay import first_difference
from domain.session.comments import AddComment
from domain.session.forge import (
    BeginFollowing,
    ChecksEnded,
    CiPaths,
    CommitsTaken,
    Conflicted,
    EndedCheck,
    FollowUp,
    ForgeCommand,
    ForgeRules,
    LinkIssue,
    NoteForgeFound,
    NoteForgeLost,
    PostRequested,
    PullRequestClosed,
    PullRequestMerged,
    PullRequestOpened,
    PullRequestReopened,
    Pushed,
    PushRequested,
    RecordForgeFact,
    RecordPost,
    RequestPullRequest,
    RestPullRequest,
    ReviewCommented,
    TakeCommits,
)
from domain.session.pull_request import OwnPullRequest
from domain.session.revisions import ReviseSession
from domain.session.summary import summary_of
from domain.session.turns import RecordPackage
from domain.session.workspace import ChangedFile, WorkspaceChanges
from domain.values.base import DomainEvent, Text, Usage
from projections.record.session import view
from tests.domain.test_landing import BASE, HEAD, packaged
from tests.domain.test_replay import recorded
from tests.kit.stories import DeliveryStory, Story, topics

NEXT, THEIRS = "d" * 40, "e" * 40
FIRST = {"forge": "github", "project": "ann/shop", "base": "main", "branch": "hansard/delivery-1"}
REVISED = ["session.revision_requested", "delivery.revision_begun"]


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """No two commands at the same time: each story is replayed."""
    monkeypatch.setattr(Story, "pace", 1)


def wanted(**fields: Any) -> RequestPullRequest:
    return RequestPullRequest(**FIRST, actor="person:ann", **{"follow": True, **fields})


def pull_request(story: DeliveryStory) -> OwnPullRequest:
    assert story.delivery.forge is not None
    return story.delivery.forge


def fact(story: DeliveryStory, event: DomainEvent, **fields: Any) -> list[DomainEvent]:
    return story.when(RecordForgeFact(fact=event, **fields))


def pushed(story: DeliveryStory) -> list[DomainEvent]:
    """The push that is requested is done."""
    push = pull_request(story).push
    assert push is not None
    assert push.hold is None
    return fact(story, Pushed(by="forge:github", commits=(push.commit,), head=push.commit, push_id=push.push_id))


def opened(**fields: Any) -> DeliveryStory:
    """A delivery with an open pull request."""
    story = packaged()
    story.when(wanted(**fields))
    pushed(story)
    fact(story, PullRequestOpened(number=7, url="https://github.com/ann/shop/pull/7", head=HEAD))
    return story


def red(story: DeliveryStory, run: str = "1", head: str = "") -> list[DomainEvent]:
    check = EndedCheck(name="test", conclusion="failure", url="https://x", log="E   assert 1 == 2")
    at = head or pull_request(story).head or ""
    return fact(story, ChecksEnded(id=run, head=at, conclusion="failure", checks=(check,)))


def green(story: DeliveryStory, run: str = "1") -> list[DomainEvent]:
    return fact(story, ChecksEnded(id=run, head=pull_request(story).head or "", conclusion="success"))


def revised(story: DeliveryStory, commit: str, **answer: Any) -> None:
    """The developer changes something, and the branch is handed over and pushed."""
    changes = WorkspaceChanges(head=commit, files=(ChangedFile(path="a", status="modified"),))
    asked = story.delivery.revisions[-1].comments
    said_of = [{"id": name, "answer": "fixed", "words": "Done.", "changed": ["a"]} for name in asked]
    words = f"```json\n{json.dumps({'comments': said_of})}\n```"
    story.answer(words, changes=changes, tree=commit, base=story.delivery.tree, files=("a",), **answer)
    story.passes()
    story.approves()
    story.when(RecordPackage(turn_id=story.turn.turn_id, attempt=1, branch="hansard/delivery-1", commit=commit))
    assert topics(story.when(FollowUp())) == ["forge.push_requested"]
    pushed(story)


def said(number: int, by: str = "github:ann", *, counts: bool = True, **fields: Any) -> RecordForgeFact:
    words = fields.pop("text", "Say hello, too.")
    event = ReviewCommented(id=f"comment:{number}", by=by, text=words, path="a", line=1, counts=counts, **fields)
    return RecordForgeFact(fact=event, remark=AddComment(text=words, path="a", line=1, end_line=1, actor=by))


def replied(story: DeliveryStory) -> PostRequested:
    """The answer that is to be posted is there."""
    post: PostRequested = last(story.events, PostRequested)
    assert post.what == "reply"
    story.when(RecordPost(post_id=post.post_id, id=f"comment:{post.post_id}"))
    return post


def nothing_follows(story: DeliveryStory) -> None:
    assert story.refused(FollowUp()).args[0].code == "nothing_follows"


def waits(story: DeliveryStory) -> tuple[str | None, str | None]:
    summary = summary_of(story.delivery)
    return summary.waits_for, summary.cause


def replays(story: DeliveryStory) -> None:
    assert first_difference(recorded(story), story.whole) is None


def last(events: list[DomainEvent], kind: type[Any]) -> Any:
    return next(event for event in reversed(events) if isinstance(event, kind))


# -- a push, and the pull request ----------------------------------------------------------------------------------


def test_a_person_has_the_branch_pushed_and_then_a_pull_request_opened() -> None:
    """Each step is recorded before it is done."""
    story = packaged()
    assert topics(story.when(wanted())) == ["forge.pull_request_requested", "forge.push_requested"]
    push = last(story.events, PushRequested)
    assert (push.push_id, push.commit, push.before, push.hold) == ("delivery-1.p1", HEAD, None, None)
    assert topics(pushed(story)) == ["forge.pushed", "forge.post_requested"]
    post = last(story.events, PostRequested)
    assert (post.what, post.title) == ("pull_request", "Add a login page")
    fact(story, PullRequestOpened(number=7, url="https://github.com/ann/shop/pull/7", head=HEAD))
    now = pull_request(story)
    assert (now.number, now.state, now.head, now.posts) == (7, "open", HEAD, {})
    nothing_follows(story)
    replays(story)


def test_a_session_without_a_branch_has_nothing_to_open() -> None:
    story = DeliveryStory()
    assert story.refused(wanted()).args[0].code == "has_no_branch_for_pull_request"


def _name(command: ForgeCommand) -> str:
    return type(command).__name__


ISSUE = LinkIssue(**FIRST, number=3, url="https://github.com/ann/shop/issues/3")
TAKEN = TakeCommits(taken=CommitsTaken(commits=(THEIRS,), by="github:bob", head=NEXT, published=NEXT))


@pytest.mark.parametrize(
    "command",
    [
        RecordForgeFact(fact=PullRequestOpened(number=7, url="https://github.com/ann/shop/pull/7", head=HEAD)),
        ISSUE,
        RecordPost(post_id="delivery-1.w9", id="comment:1"),
        RestPullRequest(why="branch_gone"),
        NoteForgeFound(),
    ],
    ids=_name,
)
def test_what_is_known_or_was_not_asked_for_is_not_recorded(command: ForgeCommand) -> None:
    story = opened()
    if isinstance(command, RestPullRequest):
        story.when(command)
    assert story.refused(command).args[0].code == "forge_fact_known"


@pytest.mark.parametrize("command", [TAKEN, FollowUp(), RestPullRequest(why="branch_gone"), ForgeCommand()], ids=_name)
def test_without_a_pull_request_nothing_is_recorded_of_one(command: ForgeCommand) -> None:
    assert packaged().refused(command).args[0].code == type(command).REFUSAL


def test_while_an_agent_works_no_commits_are_taken_over_and_no_first_push_is_asked_for() -> None:
    story = opened()
    red(story)
    assert story.refused(TAKEN).args[0].code == "is_at_work"
    assert story.when(wanted())[0].TOPIC == "forge.pull_request_requested", "of an open one it is the person's leave"
    story = packaged()
    text, blobs = Text.of("Say hello, too.")
    story.when(ReviseSession(text=text, blobs=blobs, actor="person:ann"))
    assert story.refused(wanted()).args[0].code == "is_at_work"


def test_a_push_that_changes_the_settings_of_the_ci_waits_for_a_person() -> None:
    story = packaged()
    story.when(wanted(ci=CiPaths(commit=HEAD, paths=(".github/workflows/test.yml",))))
    assert waits(story) == ("forge", "ci_settings")
    assert last(story.events, PushRequested).paths == (".github/workflows/test.yml",)
    nothing_follows(story)
    assert topics(story.when(wanted())) == ["forge.pull_request_requested", "forge.push_requested"]
    assert last(story.events, PushRequested).hold is None
    assert waits(story) == (None, None)
    pushed(story)
    replays(story)


def test_without_a_comparison_all_of_the_work_is_looked_at_for_settings_of_the_ci() -> None:
    story = opened()
    red(story)
    changes = WorkspaceChanges(head=NEXT, files=(ChangedFile(path=".gitlab-ci.yml", status="added"),))
    story.answer("changed", changes=changes, tree=NEXT, base=story.delivery.tree, files=("a",))
    story.passes()
    story.approves()
    story.when(RecordPackage(turn_id=story.turn.turn_id, attempt=1, branch="hansard/delivery-1", commit=NEXT))
    story.when(FollowUp(ci=CiPaths(commit=HEAD, paths=())))
    assert waits(story) == ("forge", "ci_settings")
    replays(story)


# -- checks --------------------------------------------------------------------------------------------------------


def test_failed_checks_of_the_newest_commit_begin_a_revision_with_the_end_of_the_log() -> None:
    story = opened()
    assert topics(red(story))[:3] == ["forge.checks_ended", *REVISED]
    words = story.delivery.revisions[-1]
    assert words.by == "forge:github"
    assert "Check 'test' failed." in words.text.head
    assert "> E   assert 1 == 2" in words.text.head
    revised(story, NEXT)
    green(story, "2")
    nothing_follows(story)
    assert pull_request(story).red == 0
    replays(story)


def test_checks_of_an_older_commit_begin_nothing() -> None:
    story = opened()
    assert topics(red(story, head=THEIRS)) == ["forge.checks_ended"]
    nothing_follows(story)


def test_after_some_attempts_in_a_row_without_a_green_one_a_person_is_asked() -> None:
    story = opened(rules=ForgeRules(checks_attempts=2))
    for number, commit in enumerate((NEXT, THEIRS), start=1):
        assert "session.revision_requested" in topics(red(story, str(number)))
        revised(story, commit)
    assert topics(red(story, "3")) == ["forge.checks_ended", "forge.rested"]
    assert waits(story) == ("checks", "checks_attempts")
    nothing_follows(story)
    green(story, "4")
    assert waits(story) == (None, None)
    replays(story)


def test_checks_that_stay_red_because_nothing_was_changed_wait_for_a_person() -> None:
    story = opened()
    red(story)
    story.answer("nothing to do")
    story.passes()
    story.approves()
    if story.delivery.outstanding:
        story.when(RecordPackage(turn_id=story.turn.turn_id, attempt=1, branch="hansard/delivery-1", commit=HEAD))
    assert topics(story.when(FollowUp())) == ["forge.rested"]
    assert waits(story) == ("checks", "checks_unchanged")
    story.when(wanted())
    assert waits(story) == (None, None)


# -- comments ------------------------------------------------------------------------------------------------------


def test_comments_that_count_are_gathered_until_it_is_quiet_then_one_revision_begins() -> None:
    story = opened()
    assert topics(story.when(said(1))) == ["forge.review_commented", "session.commented"]
    assert topics(story.when(said(2, by="github:bob"), after=59_000)) == ["forge.review_commented", "session.commented"]
    nothing_follows(story)
    assert topics(story.when(FollowUp(), after=60_000))[:2] == REVISED
    assert story.delivery.revisions[-1].comments == ("c1", "c2")
    assert [each.by for each in story.delivery.comments.all] == ["github:ann", "github:bob"]
    revised(story, NEXT)
    replays(story)


def test_each_comment_is_answered_once_there() -> None:
    story = opened()
    story.when(said(1))
    story.when(FollowUp(), after=60_000)
    reply = '{"comments": [{"id": "c1", "answer": "fixed", "words": "It says hello now.", "changed": ["a"]}]}'
    changes = WorkspaceChanges(head=NEXT, files=(ChangedFile(path="a", status="modified"),))
    story.answer(reply, changes=changes, tree=NEXT, base=story.delivery.tree, files=("a",))
    story.passes()
    story.approves()
    story.when(RecordPackage(turn_id=story.turn.turn_id, attempt=1, branch="hansard/delivery-1", commit=NEXT))
    story.when(FollowUp())
    assert topics(pushed(story)) == ["forge.pushed", "forge.post_requested"]
    post = replied(story)
    assert (post.about, post.comment_id) == ("comment:1", "c1")
    nothing_follows(story)
    replays(story)


@pytest.mark.parametrize("account", ["person", "bot", "self"])
def test_what_strangers_bots_and_we_ourselves_say_is_listed_and_starts_nothing(account: str) -> None:
    story = opened()
    assert topics(story.when(said(1, counts=False, account=account))) == ["forge.review_commented"]
    assert len(pull_request(story).comments) == 1
    assert len(story.delivery.comments) == 0
    story.at += 999_000
    nothing_follows(story)
    replays(story)


def test_after_some_revisions_it_rests() -> None:
    """Two that answer each other without an end."""
    story = opened(rules=ForgeRules(max_revisions=1))
    story.when(said(1))
    story.when(FollowUp(), after=60_000)
    revised(story, NEXT)
    replied(story)
    story.when(said(2))
    assert topics(story.when(FollowUp(), after=60_000)) == ["forge.rested"]
    assert waits(story) == ("forge", "max_revisions")
    story.when(wanted(rules=ForgeRules(max_revisions=1)))
    assert topics(story.when(FollowUp()))[:2] == REVISED
    replays(story)


def test_after_some_money_it_rests() -> None:
    story = opened(rules=ForgeRules(max_cost_micros=500))
    red(story)
    revised(story, NEXT, usage=Usage(cost_micros=500))
    assert topics(red(story, "2")) == ["forge.checks_ended", "forge.rested"]
    assert waits(story) == ("forge", "max_cost")


def test_a_persons_own_change_request_lets_it_go_on() -> None:
    story = opened(rules=ForgeRules(checks_attempts=0))
    red(story)
    assert waits(story) == ("checks", "checks_attempts")
    text, blobs = Text.of("Try once more.")
    story.when(ReviseSession(text=text, blobs=blobs, actor="person:ann"))
    assert pull_request(story).rest is None
    revised(story, NEXT)
    replays(story)


# -- other people's commits ----------------------------------------------------------------------------------------


def test_a_persons_commits_are_taken_over_and_pushed_again_with_ours() -> None:
    story = opened()
    fact(story, Pushed(by="github:bob", commits=(THEIRS,), head=THEIRS))
    nothing_follows(story)
    taken = CommitsTaken(commits=(THEIRS,), by="github:bob", head=NEXT, published=NEXT)
    assert topics(story.when(TakeCommits(taken=taken))) == ["session.commits_taken"], "what it changes is not known yet"
    assert topics(story.when(FollowUp(ci=CiPaths(commit=NEXT)))) == ["forge.push_requested"]
    assert (story.delivery.tree, story.delivery.published) == (NEXT, NEXT)
    assert last(story.events, PushRequested).before == THEIRS
    pushed(story)
    nothing_follows(story)
    replays(story)


def test_somebody_who_was_faster_is_merged_and_the_push_is_made_once_more() -> None:
    story = packaged()
    story.when(wanted())
    fact(story, Pushed(by="github:bob", commits=(THEIRS,), head=THEIRS))
    taken = CommitsTaken(commits=(THEIRS,), by="github:bob", head=NEXT, published=NEXT)
    story.when(TakeCommits(taken=taken))
    assert pull_request(story).push is None
    assert topics(story.when(FollowUp(ci=CiPaths(commit=NEXT)))) == ["forge.push_requested"]
    push = last(story.events, PushRequested)
    assert (push.commit, push.hold) == (NEXT, None)
    replays(story)


def test_a_push_is_made_once_more_also_where_the_pull_request_is_not_followed() -> None:
    story = packaged()
    story.when(wanted(follow=False))
    fact(story, Pushed(by="github:bob", commits=(THEIRS,), head=THEIRS))
    fact(story, Pushed(by="github:eve", commits=("1" * 40,), head="1" * 40))
    taken = CommitsTaken(commits=(THEIRS, "1" * 40), by="github:eve", head=NEXT, published=NEXT)
    theirs = pull_request(story).theirs
    assert theirs is not None
    assert (theirs.commits, theirs.by) == (taken.commits, "github:eve")
    story.when(TakeCommits(taken=taken))
    assert topics(story.when(FollowUp(ci=CiPaths(commit=NEXT)))) == ["forge.push_requested"]
    assert topics(pushed(story)) == ["forge.pushed", "forge.post_requested"]
    replays(story)


def test_after_a_forced_push_of_somebody_it_rests() -> None:
    story = opened()
    assert topics(fact(story, Pushed(by="github:bob", head=THEIRS, forced=True))) == ["forge.pushed"]
    assert waits(story) == ("forge", "forced_push")
    nothing_follows(story)
    replays(story)


def test_a_person_may_have_a_forced_push_merged_with_the_work() -> None:
    story = opened()
    fact(story, Pushed(by="github:bob", head=THEIRS, forced=True))
    story.when(wanted())
    theirs = pull_request(story).theirs
    assert theirs is not None
    assert theirs.head == THEIRS
    taken = CommitsTaken(commits=(), by="github:bob", head=NEXT, published=NEXT)
    story.when(TakeCommits(taken=taken))
    assert topics(story.when(FollowUp(ci=CiPaths(commit=NEXT)))) == ["forge.push_requested"]
    replays(story)


def test_a_branch_that_is_gone_is_made_again_when_a_person_asks() -> None:
    story = opened()
    story.when(RestPullRequest(why="branch_gone"))
    assert waits(story) == ("forge", "branch_gone")
    assert topics(story.when(wanted())) == ["forge.pull_request_requested", "forge.push_requested"]
    assert last(story.events, PushRequested).before is None
    replays(story)


def test_the_owner_keeps_at_every_open_one_but_for_those_that_a_person_does_not_want_kept_at() -> None:
    story = opened(follow=False)
    red(story)
    nothing_follows(story)
    assert topics(story.when(BeginFollowing(actor="forge:github"))) == ["forge.follow_begun"]
    assert topics(story.when(FollowUp()))[:2] == REVISED
    replays(story)
    other = opened(follow=False, unfollow=True)
    assert other.refused(BeginFollowing(actor="forge:github")).args[0].code == "forge_fact_known"


def test_a_conflict_with_the_base_begins_one_revision_that_merges_it() -> None:
    story = opened()
    assert topics(fact(story, Conflicted(base=THEIRS, head=HEAD))) == ["forge.conflicted"]
    changes = WorkspaceChanges(head=NEXT, files=(ChangedFile(path="a", status="modified"),))
    taken = CommitsTaken(commits=(THEIRS,), by="main", head=NEXT, base=THEIRS, paths=("a",), changes=changes)
    assert topics(story.when(TakeCommits(taken=taken)))[:3] == ["session.commits_taken", *REVISED]
    assert story.delivery.base is not None
    assert (story.delivery.base.base_commit, story.delivery.published) == (THEIRS, HEAD)
    assert "- a" in story.delivery.revisions[-1].text.head
    revised(story, "f" * 40)
    nothing_follows(story)
    replays(story)


# -- the end, and the forge away -----------------------------------------------------------------------------------


def test_a_merged_pull_request_has_landed() -> None:
    story = opened()
    fact(story, PullRequestMerged(commit=BASE, by="github:ann"))
    assert pull_request(story).state == "merged"
    nothing_follows(story)
    assert story.refused(wanted()).args[0].code == "pull_request_merged"
    replays(story)


def test_a_closed_pull_request_rests_until_it_is_opened_again() -> None:
    story = opened()
    fact(story, PullRequestClosed(by="github:ann", at="1"))
    assert waits(story) == ("forge", "closed")
    red(story)
    nothing_follows(story)
    assert topics(fact(story, PullRequestReopened(by="github:ann", at="2")))[1:3] == REVISED
    replays(story)


def test_a_person_may_leave_a_closed_pull_request_at_that() -> None:
    story = opened()
    fact(story, PullRequestClosed(by="github:ann", at="1"))
    assert story.refused(wanted()).args[0].code == "pull_request_closed"
    assert topics(story.when(wanted(follow=False, unfollow=True))) == ["forge.pull_request_requested"]
    assert waits(story) == (None, None)
    assert story.refused(wanted(follow=False, unfollow=True)).args[0].code == "pull_request_closed"
    replays(story)


def test_a_forge_that_is_away_is_noted_once_until_it_is_back() -> None:
    story = opened()
    story.when(NoteForgeLost(why="github.com did not answer."))
    assert story.refused(NoteForgeLost(why="github.com did not answer.")).args[0].code == "forge_fact_known"
    [back] = story.when(NoteForgeFound(), after=5_000)
    assert back.model_dump() == {"waited": 5_000}
    replays(story)


# -- from an issue -------------------------------------------------------------------------------------------------


def test_a_session_from_an_issue_says_there_how_it_stands_in_one_comment() -> None:
    story = packaged()
    story.when(ISSUE)
    assert topics(story.when(FollowUp())) == ["forge.post_requested"]
    post = last(story.events, PostRequested)
    assert post.what == "status"
    story.when(RecordPost(post_id=post.post_id, id="comment:1"))
    assert topics(story.when(FollowUp())) == ["forge.push_requested"]
    assert waits(story) == ("forge", "from_issue"), "the first push waits for a person"
    assert topics(story.when(FollowUp())) == ["forge.post_requested"]
    assert "waits for you" in last(story.events, PostRequested).text
    story.when(RecordPost(post_id=last(story.events, PostRequested).post_id, id="comment:1"))
    story.when(wanted())
    assert last(story.events, PushRequested).hold is None
    replays(story)


def says_at_the_issue(story: DeliveryStory) -> str:
    """The status that is to be posted, and then is."""
    if not pull_request(story).posts:
        story.when(FollowUp())
    post = last(story.events, PostRequested)
    assert post.what == "status"
    story.when(RecordPost(post_id=post.post_id, id="comment:1"))
    return str(post.text)


def test_the_issue_is_told_of_the_pull_request_and_that_it_was_merged() -> None:
    story = packaged()
    story.when(ISSUE)
    assert says_at_the_issue(story).startswith("Hansard: running")
    story.when(wanted())
    pushed(story)
    fact(story, PullRequestOpened(number=7, url="https://github.com/ann/shop/pull/7", head=HEAD))
    assert says_at_the_issue(story).startswith("Hansard: pull request https://github.com/ann/shop/pull/7")
    fact(story, PullRequestMerged(commit=BASE, by="github:ann"))
    assert says_at_the_issue(story).startswith("Hansard: merged")
    nothing_follows(story)
    replays(story)


def test_work_without_a_result_says_so_at_the_issue_and_pushes_nothing() -> None:
    story = DeliveryStory()
    story.when(ISSUE)
    assert says_at_the_issue(story).startswith("Hansard: running")
    for words in ("the plan", "the architecture", "the design", "the code"):
        story.answer(words)
    story.passes()
    story.approves()
    if story.delivery.outstanding:
        story.when(RecordPackage(turn_id=story.turn.turn_id, attempt=1))
    assert story.delivery.status == "success"
    assert "iterations: 1" in says_at_the_issue(story)
    nothing_follows(story)
    replays(story)


def test_the_view_shows_the_pull_request_with_checks_and_comments() -> None:
    story = opened()
    green(story)
    story.when(said(1, counts=False))
    shown = view(story.delivery).wire()["result"]["pullRequest"]
    assert (shown["number"], shown["state"], shown["head"], shown["mergeable"]) == (7, "open", HEAD, True)
    assert shown["checks"] == {"head": HEAD, "conclusion": "success", "items": []}
    assert [(each["by"], each["counts"], each["commentId"]) for each in shown["comments"]] == [
        ("github:ann", False, None)
    ]
    fact(story, PullRequestMerged(commit=BASE, by="github:ann"))
    assert view(story.delivery).wire()["result"]["landing"]["status"] == "landed"
