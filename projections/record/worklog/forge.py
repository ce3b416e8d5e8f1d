"""The entries of a worklog about the session's pull request."""

from collections.abc import Iterator

from domain.session.forge import (
    ChecksEnded,
    CommitsTaken,
    Conflicted,
    FollowBegun,
    ForgeFound,
    ForgeLost,
    PullRequestClosed,
    PullRequestMerged,
    PullRequestOpened,
    PullRequestReopened,
    PullRequestRequested,
    PullRequestRested,
    Pushed,
    PushRequested,
    ReviewCommented,
)
from domain.values.base import DomainEvent
from projections.record.markdown import cell, code, mark
from projections.record.worklog.parts import Row, point, who_did


def at_forge(event: DomainEvent) -> Iterator[Row]:
    """Yields what has happened to the pull request."""
    if head := _head(event):
        yield "log", "\n\n".join([f"### {head}", *_points(event)])


def _head(event: DomainEvent) -> str:
    match event:
        case PullRequestRequested(by=by):
            return mark("forge_wanted", who_did(by))
        case FollowBegun():
            return mark("forge_follow_begun")
        case PullRequestOpened(number=number):
            return mark("forge_opened", number)
        case PushRequested(hold=str() as hold):
            return mark(f"forge_rested_{hold}")
        case Pushed(push_id=str(), head=head):
            return mark("forge_pushed", code(head[:10]))
        case Pushed(by=by, forced=True):
            return mark("forge_forced", who_did(by))
        case Pushed(by=by, head=head):
            return mark("forge_pushed_by", who_did(by), code(head[:10]))
        case ChecksEnded(conclusion="success"):
            return mark("forge_passed")
        case ChecksEnded(checks=checks):
            return mark("forge_failed", cell(", ".join(each.name for each in checks if each.conclusion == "failure")))
        case ReviewCommented(by=by):
            return mark("forge_comment", who_did(by))
        case Conflicted():
            return mark("forge_conflict")
        case CommitsTaken(by=by):
            return mark("forge_taken", who_did(by))
        case PullRequestMerged(by=by):
            return mark("forge_merged", who_did(by))
        case PullRequestClosed(by=by):
            return mark("forge_closed", who_did(by))
        case PullRequestReopened(by=by):
            return mark("forge_reopened", who_did(by))
        case PullRequestRested(why=why):
            return mark(f"forge_rested_{why}")
        case ForgeLost():
            return mark("forge_lost")
        case ForgeFound():
            return mark("forge_found")
        case _:
            return ""


def _points(event: DomainEvent) -> Iterator[str]:
    match event:
        case ReviewCommented() as comment:
            if comment.path:
                line = f":{comment.line}" if comment.line else ""
                yield f"- {mark('about')}: {code(f'{comment.path}{line}')}"
            yield point(mark("words"), comment.text)
        case CommitsTaken(validated=commands) if commands:
            yield f"- {mark('validated_together')}: {', '.join(map(code, commands))}"
        case CommitsTaken(paths=paths) | PushRequested(paths=paths):
            yield from (f"- {code(path)}" for path in paths)
        case PullRequestRested(detail=detail) if detail:
            yield point(mark("reason"), detail)
        case ForgeLost(why=why):
            yield point(mark("reason"), why)
