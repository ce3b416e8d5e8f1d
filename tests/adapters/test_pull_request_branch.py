"""The branch of a session at its forge: what is pushed and taken over, and when a person has to act first."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from adapters.forge.errors import ForgeAway
from adapters.forge.port import ForgeAccount, ForgeCommit
from adapters.pull_requests.branch import BranchAtForge
from adapters.workspace import WorkspaceError
from adapters.workspace.merges import MergeConflict
from adapters.workspace.remote_branches import PushEnd
from domain.delivery.state import Delivery
from domain.session.forge import CiPaths, CommitsTaken, Pushed, PushRequested
from domain.session.pull_request import OwnPullRequest
from domain.session.state import Session
from domain.session.workspace import WorkspaceChanges
from domain.values.sentences import Sentence
from tests.domain.test_forge import fact, opened, packaged, wanted
from tests.domain.test_landing import BASE, HEAD

THEIRS, MERGED = "e" * 40, "f" * 40
CHANGES = WorkspaceChanges(head=MERGED)


class Branches:
    """The branches of a repository; each may fail."""

    def __init__(self, **answers: Any) -> None:
        self.answers = {"fetch": THEIRS, "descends": True, "between": (THEIRS,)} | answers
        self.pushed: list[str] = []

    def _answer(self, name: str) -> Any:
        answer = self.answers[name]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def push(self, commit: str, branch: str) -> PushEnd:
        self.pushed.append(f"{commit}:{branch}")
        return PushEnd(*self._answer("push"))

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda *_: self._answer(name)


class Record:
    """What is recorded, and the branches that are there or not."""

    def __init__(self, branches: Branches | None) -> None:
        self.there, self.done, self.shared = branches, list[Any](), list[str]()

    async def branches(self, _: Session) -> Branches | None:
        return self.there

    async def do(self, command: Any) -> bool:
        self.done.append(command)
        return True

    async def rest(self, why: str, detail: str = "") -> bool:
        return await self.do((why, detail))

    async def keep(self, _: Session, tree: str) -> None:
        self.shared.append(tree)


class Forge:
    """A forge whose branch is there or not, one answer after another."""

    def __init__(self, *heads: str | None) -> None:
        self.heads = list(heads)

    async def branch_head(self, _: str) -> str | None:
        return self.heads.pop(0)

    async def commits(self, _: int) -> list[Any]:
        bob = ForgeAccount("bob", 7, "person")
        return [ForgeCommit(THEIRS, "Say hi", "Bob <bob@x>", bob), ForgeCommit(BASE, "Begin", "Ann <ann@x>", None)]


def at_work(record: Record) -> BranchAtForge:
    twin: Any = record
    return BranchAtForge(twin)


def pull_request(delivery: Delivery) -> OwnPullRequest:
    assert delivery.forge is not None
    return delivery.forge


def forced(record: Record) -> bool:
    [command] = record.done
    assert isinstance(command.fact, Pushed)
    return command.fact.forced


# -- a push --------------------------------------------------------------------------------------------------------


def pushing(record: Record, *heads: str | None) -> None:
    """Push a commit of an open pull request."""
    delivery = opened().delivery
    pull = pull_request(delivery)
    push = PushRequested(push_id="p9", branch=pull.branch, commit=MERGED, before=pull.head, by="person:ann")
    forge: Any = Forge(*heads)
    assert asyncio.run(at_work(record).push(forge, delivery, pull, push))


@pytest.mark.parametrize(
    ("heads", "end", "recorded", "tried"),
    [
        ([MERGED], None, "forge:github", False),
        ([None], None, ("branch_gone", ""), False),
        ([THEIRS], None, "github:bob", False),
        ([HEAD], ("pushed",), "forge:github", True),
        ([HEAD], ("refused", "a hook"), ("refused", "a hook"), True),
        ([HEAD, HEAD], ("overtaken", "stale"), ("refused", "stale"), True),
        ([HEAD, None], ("overtaken", "gone"), ("refused", "gone"), True),
        ([HEAD, THEIRS], ("overtaken", "theirs"), "github:bob", True),
    ],
    ids=["there", "gone", "theirs", "pushed", "refused", "no-fast-forward", "overtaken-and-gone", "overtaken"],
)
def test_a_push_ends_with_what_is_at_the_forge(heads: list[str | None], end: Any, recorded: Any, tried: bool) -> None:
    branches = Branches(push=end)
    record = Record(branches)
    pushing(record, *heads)
    assert branches.pushed == ([f"{MERGED}:hansard/delivery-1"] if tried else [])
    [done] = record.done
    if isinstance(recorded, tuple):
        assert done == recorded
    else:
        assert (done.fact.by, done.fact.head) == (recorded, THEIRS if recorded == "github:bob" else MERGED)


def test_without_the_workspace_nothing_is_pushed() -> None:
    record = Record(None)
    pushing(record)
    assert record.done == [("no_workspace", "")]


def test_a_push_that_got_no_answer_is_tried_again_later() -> None:
    record = Record(Branches(push=("away", "timed out")))
    with pytest.raises(ForgeAway, match="timed out"):
        pushing(record, HEAD)
    assert record.done == []


@pytest.mark.parametrize("descends", [True, False])
def test_what_others_pushed_is_a_forced_push_where_it_lacks_what_was_there(descends: bool) -> None:
    record = Record(Branches(descends=descends))
    pushing(record, THEIRS)
    assert forced(record) is not descends


def test_before_there_is_a_pull_request_nobody_knows_who_pushed() -> None:
    story = packaged()
    story.when(wanted())
    pull, branches = pull_request(story.delivery), Branches(descends=False)
    record = Record(branches)
    forge: Any = Forge()
    twin: Any = branches
    assert asyncio.run(at_work(record).note_push(forge, story.delivery, pull, twin))
    assert (record.done[0].fact.by, forced(record)) == ("github:somebody", False)


# -- what others have pushed ---------------------------------------------------------------------------------------


def taking(record: Record, delivery: Delivery) -> None:
    forge: Any = Forge()
    assert asyncio.run(at_work(record).take_theirs(forge, delivery, pull_request(delivery)))


def with_theirs() -> Delivery:
    story = opened()
    fact(story, Pushed(by="github:bob", commits=(THEIRS,), head=THEIRS))
    return story.delivery


def test_commits_of_others_are_merged_with_the_work_and_shared_before_they_are_recorded() -> None:
    record = Record(Branches(merged=(MERGED, CHANGES)))
    taking(record, with_theirs())
    taken = CommitsTaken(commits=(THEIRS,), by="github:bob", head=MERGED, published=MERGED, changes=CHANGES)
    assert ([command.taken for command in record.done], record.shared) == ([taken], [MERGED])


@pytest.mark.parametrize(
    ("problem", "detail"),
    [
        (MergeConflict(Sentence("in_the_way_uncommitted", paths="a"), ("a", "b")), "a, b"),
        (WorkspaceError("The branch cannot be moved."), "The branch cannot be moved."),
    ],
    ids=["conflict", "branch"],
)
def test_what_cannot_be_merged_waits_for_a_person(problem: Exception, detail: str) -> None:
    record = Record(Branches(merged=problem))
    taking(record, with_theirs())
    assert (record.done, record.shared) == ([("cannot_merge", detail)], [])


def test_what_they_pushed_since_then_is_recorded_first() -> None:
    record = Record(Branches(fetch=MERGED, between=(THEIRS, MERGED)))
    taking(record, with_theirs())
    [command] = record.done
    assert (command.fact.head, command.fact.commits, command.fact.by) == (MERGED, (THEIRS, MERGED), "github:somebody")


@pytest.mark.parametrize(
    ("delivery", "branches", "why"),
    [
        (with_theirs, None, "no_workspace"),
        (lambda: opened().delivery, Branches(), "cannot_merge"),
        (lambda: replace(with_theirs(), made_of=BASE), Branches(), "cannot_merge"),
    ],
    ids=["no-workspace", "nothing-of-theirs", "stored-in-another-form"],
)
def test_what_is_not_here_or_in_another_form_is_not_merged(
    delivery: Callable[[], Delivery], branches: Branches | None, why: str
) -> None:
    record = Record(branches)
    taking(record, delivery())
    assert record.done == [(why, "")]


# -- the base branch -----------------------------------------------------------------------------------------------


def taking_base(record: Record, delivery: Delivery) -> None:
    assert asyncio.run(at_work(record).take_base(delivery, pull_request(delivery)))


def test_the_base_branch_is_merged_with_what_both_changed_marked() -> None:
    record = Record(Branches(with_base=(MERGED, ("a",)), based_on=CHANGES))
    taking_base(record, opened().delivery)
    taken = CommitsTaken(commits=(THEIRS,), by="main", head=MERGED, base=THEIRS, paths=("a",), changes=CHANGES)
    assert ([command.taken for command in record.done], record.shared) == ([taken], [MERGED])


@pytest.mark.parametrize(
    ("branches", "made_of", "recorded"),
    [
        (None, None, ("no_workspace", "")),
        (Branches(), BASE, ("cannot_merge", "")),
        (Branches(with_base=WorkspaceError("Gone.")), None, ("cannot_merge", "Gone.")),
    ],
    ids=["no-workspace", "stored-in-another-form", "failed"],
)
def test_a_base_branch_that_cannot_be_merged_waits_for_a_person(
    branches: Branches | None, made_of: str | None, recorded: tuple[str, str]
) -> None:
    record = Record(branches)
    taking_base(record, replace(opened().delivery, made_of=made_of))
    assert record.done == [recorded]


@pytest.mark.parametrize(
    "problem",
    [WorkspaceError(Sentence("git_failed", command="fetch", detail="timed out")), WorkspaceError("timed out")],
    ids=["sentence", "words"],
)
def test_a_branch_that_cannot_be_fetched_is_a_forge_that_is_away(problem: Exception) -> None:
    with pytest.raises(ForgeAway, match=r"fetch.*timed out"):
        taking_base(Record(Branches(fetch=problem)), opened().delivery)


# -- the settings of the CI ----------------------------------------------------------------------------------------


def test_the_settings_that_a_push_changes_are_those_that_the_forge_does_not_have() -> None:
    delivery = replace(opened().delivery, published=MERGED)
    record = Record(Branches(changed_settings=(".gitlab-ci.yml",)))
    assert asyncio.run(at_work(record).ci(delivery)) == CiPaths(commit=MERGED, paths=(".gitlab-ci.yml",))


@pytest.mark.parametrize(
    ("published", "branches"),
    [
        (None, Branches(changed_settings=())),
        (HEAD, Branches(changed_settings=())),
        (MERGED, None),
        (MERGED, Branches(changed_settings=WorkspaceError("Gone."))),
    ],
    ids=["nothing", "nothing-new", "no-workspace", "failed"],
)
def test_what_a_push_would_change_is_not_said_where_it_is_not_known(
    published: str | None, branches: Branches | None
) -> None:
    """All of the work is looked at then."""
    assert asyncio.run(at_work(Record(branches)).ci(replace(opened().delivery, published=published))) is None
