"""The way back from recorded events of a pull request to the commands that led to them."""

from collections.abc import Sequence

from domain.session.comments import CommentMade, comment_command
from domain.session.forge import (
    BeginFollowing,
    CiPaths,
    CommitsTaken,
    FollowBegun,
    FollowUp,
    ForgeFact,
    ForgeFound,
    ForgeLost,
    ForgePosted,
    IssueLinked,
    LinkIssue,
    NoteForgeFound,
    NoteForgeLost,
    PostRequested,
    PullRequestRequested,
    PullRequestRested,
    PushRequested,
    RecordForgeFact,
    RecordPost,
    RequestPullRequest,
    RestPullRequest,
    TakeCommits,
)
from domain.session.workspace import PeopleCommits
from domain.values.base import Command, DomainEvent


def forge_command(events: Sequence[DomainEvent]) -> Command | None:
    """The command about a pull request that led to these events, if it was one."""
    match events[0]:
        case PullRequestRequested() as event:
            fields = _fields(event, RequestPullRequest, "ci", "actor")
            return RequestPullRequest(ci=_ci(events[1:]), actor=event.by, **fields)
        case FollowBegun() as event:
            return BeginFollowing(actor=event.by)
        case IssueLinked() as event:
            return link_of(event)
        case PushRequested() | PostRequested():
            return FollowUp(ci=_ci(events))
        case ForgePosted() as event:
            return RecordPost(post_id=event.post_id, id=event.id, url=event.url)
        case CommitsTaken() as event:
            return TakeCommits(taken=event, ci=_ci(events[1:]))
        case PullRequestRested() as event:
            return RestPullRequest(why=event.why, detail=event.detail)
        case ForgeLost() as event:
            return NoteForgeLost(why=event.why, retry_at=event.retry_at)
        case ForgeFound():
            return NoteForgeFound()
        case event if isinstance(event, ForgeFact):
            made = events[1] if len(events) > 1 else None
            remark = comment_command(made) if isinstance(made, CommentMade) else None
            return RecordForgeFact(fact=event, remark=remark, ci=_ci(events[1:]))
        case _:
            return None


def link_of(event: IssueLinked) -> LinkIssue:
    """The link to the issue that a session began with."""
    return LinkIssue(**_fields(event, LinkIssue))


def _fields(event: DomainEvent, command: type[Command], *others: str) -> dict[str, object]:
    """Returns the fields that the command had in common with the event."""
    return {name: getattr(event, name) for name in command.model_fields.keys() - {"blobs", *others}}


def _ci(events: Sequence[DomainEvent]) -> CiPaths | None:
    push = next((event for event in events if isinstance(event, PushRequested)), None)
    return CiPaths(commit=push.commit, paths=push.paths) if push is not None else None


def people_in(events: Sequence[DomainEvent]) -> PeopleCommits | None:
    """Returns what a turn has taken over from the branch, if these events end one that has."""
    event = next((event for event in events if isinstance(event, CommitsTaken)), None)
    if event is None:
        return None
    return PeopleCommits(
        commits=event.commits, by=event.by, tree=event.head, changes=event.changes, validated=event.validated
    )
