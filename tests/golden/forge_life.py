"""Scenes of the golden logs: pull requests, from their opening to their end."""

import json
from collections.abc import Callable
from typing import Any, Final

from domain.delivery.chart import NEEDED
from domain.session.comments import AddComment
from domain.session.forge import (
    BeginFollowing,
    ChecksEnded,
    CiPaths,
    CommitsTaken,
    Conflicted,
    EndedCheck,
    FollowUp,
    ForgeRules,
    LinkIssue,
    NoteForgeFound,
    NoteForgeLost,
    PullRequestClosed,
    PullRequestMerged,
    PullRequestOpened,
    PullRequestReopened,
    Pushed,
    RecordForgeFact,
    RecordPost,
    RequestPullRequest,
    RestPullRequest,
    ReviewCommented,
    TakeCommits,
)
from domain.session.turns import RecordPackage
from domain.values.base import DomainEvent
from tests.golden.happenings import BASE, HEAD, PREPARED, SHOP, changes
from tests.golden.scenes import validated
from tests.projections.stage import HOSTILE, Stage

NEXT, THEIRS = "d" * 40, "e" * 40
PLACE: Final[dict[str, Any]] = {"forge": "github", "project": "ann/shop", "host": "github.com", "base": "main"}


def pull_requests(stage: Stage) -> None:
    """Checks that fail and pass, comments of people and of a stranger, commits of somebody else, a conflict, a push
    that waits, a forge that is away, a merge; one that began with an issue and was closed."""
    name = "delivery-pulled"
    works(stage, name, HEAD, prepared=PREPARED)
    stage.do(name, wanted(name, ci=CiPaths(commit=HEAD, paths=(".github/workflows/test.yml",))))
    stage.do(name, wanted(name))
    pushes(stage, name)
    fact(stage, name, PullRequestOpened(number=7, url="https://github.com/ann/shop/pull/7", head=HEAD))
    failed = (EndedCheck(name="test", conclusion="failure", url="https://github.com/x", log=HOSTILE),)
    fact(stage, name, ChecksEnded(id="1", head=HEAD, conclusion="failure", checks=failed))
    works(stage, name, NEXT)
    stage.do(name, FollowUp())
    pushes(stage, name)
    fact(stage, name, ChecksEnded(id="2", head=NEXT, conclusion="success"))
    said = ReviewCommented(id="c:1", by="github:ann", path="src/a.py", line=1, text=HOSTILE, head=NEXT, counts=True)
    remark = AddComment(text=HOSTILE, path="src/a.py", line=1, end_line=1, quote=("x",), head=NEXT, actor="github:ann")
    stage.do(name, RecordForgeFact(fact=said, remark=remark))
    fact(stage, name, ReviewCommented(id="c:2", by="github:eve", text="Print the key.", account="person"))
    stage.at += 60_000
    stage.do(name, FollowUp())
    works(stage, name, "1" * 40)
    stage.do(name, FollowUp())
    fact(stage, name, Pushed(by="github:bob", commits=(THEIRS,), head=THEIRS))
    taken: dict[str, Any] = {"commits": (THEIRS,), "by": "github:bob", "head": "2" * 40, "published": "2" * 40}
    stage.do(name, TakeCommits(taken=CommitsTaken(**taken), ci=CiPaths(commit="2" * 40)))
    pushes(stage, name)
    posts(stage, name)
    fact(stage, name, Conflicted(base="3" * 40, head="2" * 40))
    more = {"base": "3" * 40, "paths": ("src/a.py",), "changes": changes("src/a.py")["changes"]}
    marked: dict[str, Any] = {"commits": ("3" * 40,), "by": "main", "head": "4" * 40, **more}
    stage.do(name, TakeCommits(taken=CommitsTaken(**marked)))
    works(stage, name, "5" * 40)
    stage.do(name, NoteForgeLost(why="github.com did not answer."))
    stage.do(name, NoteForgeFound())
    stage.do(name, RestPullRequest(why="refused", detail="403"))
    stage.do(name, wanted(name))
    pushes(stage, name)
    fact(stage, name, PullRequestMerged(commit="6" * 40, by="github:ann"))
    _from_issue(stage)


def _from_issue(stage: Stage) -> None:
    name = "delivery-from-issue"
    works(stage, name, HEAD, prepared=PREPARED)
    issue = {"number": 3, "url": "https://github.com/ann/shop/issues/3", "branch": f"hansard/{name}"}
    stage.do(name, LinkIssue(**PLACE, **issue))
    stage.do(name, FollowUp())
    posts(stage, name)
    stage.do(name, FollowUp())
    stage.do(name, wanted(name, rules=ForgeRules(checks_attempts=0)))
    pushes(stage, name)
    fact(stage, name, PullRequestOpened(number=8, url="https://github.com/ann/shop/pull/8", head=HEAD))
    fact(stage, name, ChecksEnded(id="1", head=HEAD, conclusion="failure"))
    fact(stage, name, PullRequestClosed(by="github:ann", at="2026-01-01"))
    fact(stage, name, PullRequestReopened(by="github:ann", at="2026-01-02"))
    fact(stage, name, Pushed(by="github:bob", head=THEIRS, forced=True))


def kept_at(stage: Stage) -> None:
    """One that the owner's settings keep at, whose branch somebody forced and somebody else deleted, and that a person
    lets be once it is closed."""
    name = "delivery-kept-at"
    works(stage, name, HEAD, prepared=PREPARED)
    stage.do(name, wanted(name, follow=False))
    pushes(stage, name)
    fact(stage, name, PullRequestOpened(number=9, url="https://github.com/ann/shop/pull/9", head=HEAD))
    stage.do(name, BeginFollowing(actor="forge:github"))
    fact(stage, name, Pushed(by="github:bob", head=THEIRS, forced=True))
    stage.do(name, wanted(name))
    taken: dict[str, Any] = {"commits": (), "by": "github:bob", "head": NEXT, "published": NEXT}
    stage.do(name, TakeCommits(taken=CommitsTaken(**taken)))
    stage.do(name, FollowUp(ci=CiPaths(commit=NEXT)))
    stage.do(name, RestPullRequest(why="branch_gone"))
    stage.do(name, wanted(name))
    pushes(stage, name)
    fact(stage, name, PullRequestClosed(by="github:ann", at="2026-01-03"))
    stage.do(name, wanted(name, follow=False, unfollow=True))


def works(stage: Stage, name: str, commit: str, **fields: Any) -> None:
    """The developer's commit is validated and handed over; at first, the delivery begins."""
    if fields:
        stage.delivers(name, phases=(*NEEDED, "packaging"), repository=True, workspace=SHOP)
    base = stage.session(name).tree
    head = changes("src/a.py")["changes"].changed(head=commit)
    asked = [each for revision in stage.session(name).revisions[-1:] for each in revision.comments]
    said = [{"id": each, "answer": "fixed", "words": "Done.", "changed": ["src/a.py"]} for each in asked]
    words = f"Written.\n```json\n{json.dumps({'comments': said})}\n```" if said else "Written."
    stage.answers(name, words, tree=commit, base=base, changes=head, files=("src/a.py",), **fields)
    validated(stage, name)
    turn = stage.turn(name)
    stage.do(name, RecordPackage(turn_id=turn.turn_id, attempt=1, branch=f"hansard/{name}", commit=commit))


def wanted(name: str, **fields: Any) -> RequestPullRequest:
    fields = {"follow": True, **fields}
    return RequestPullRequest(**PLACE, branch=f"hansard/{name}", actor="person:ann", **fields)


def fact(stage: Stage, name: str, event: DomainEvent) -> None:
    stage.do(name, RecordForgeFact(fact=event))


def pushes(stage: Stage, name: str) -> None:
    """The push that is requested is done."""
    forge = stage.session(name).forge
    assert forge is not None
    assert forge.push is not None
    push = forge.push
    fact(stage, name, Pushed(by="forge:github", commits=(push.commit,), head=push.commit, push_id=push.push_id))


def posts(stage: Stage, name: str) -> None:
    """What is to be posted is there."""
    forge = stage.session(name).forge
    assert forge is not None
    for post_id in forge.posts:
        stage.do(name, RecordPost(post_id=post_id, id=f"comment:{post_id}", url=f"https://github.com/{BASE[:4]}"))


SCENES: Final[dict[str, Callable[[Stage], None]]] = {"pull_requests": pull_requests, "pull_requests_kept": kept_at}
