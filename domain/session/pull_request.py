"""The state of a session's pull request, folded from its events."""

from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, NamedTuple

from domain.session.forge import (
    CHECKS_RESTS,
    ChecksEnded,
    CommitsTaken,
    Conflicted,
    FollowBegun,
    ForgeEvent,
    ForgeFound,
    ForgeKind,
    ForgeLost,
    ForgePosted,
    ForgeRules,
    IssueLinked,
    PostRequested,
    PullRequestClosed,
    PullRequestMerged,
    PullRequestOpened,
    PullRequestReopened,
    PullRequestRequested,
    PullRequestRested,
    Pushed,
    PushRequested,
    RestReason,
    ReviewCommented,
)
from domain.session.revisions import RevisionRequested
from domain.values.base import without

PullRequestState = Literal["none", "open", "merged", "closed"]
DEFAULT_RULES: Final = ForgeRules()
FORGE: Final = "forge:"
"""How the actor of what a forge causes begins."""


class LinkedIssue(NamedTuple):
    """The issue that the session began with."""

    number: int
    url: str


@dataclass(frozen=True, kw_only=True)
class OwnPullRequest:
    """The pull request of a session, as far as it is known. Times are milliseconds."""

    forge: ForgeKind
    project: str
    host: str
    base: str
    branch: str
    follow: bool = False
    unfollow: bool = False
    """Whether a person does not want it followed, whatever the owner's settings say."""
    rules: ForgeRules = DEFAULT_RULES
    issue: LinkedIssue | None = None
    wanted: bool = False
    """Whether a person has asked for a pull request."""
    number: int | None = None
    url: str = ""
    state: PullRequestState = "none"
    head: str | None = None
    """The commit of the branch at the forge."""
    push: PushRequested | None = None
    """The push that is requested and not yet done."""
    pushes: int = 0
    push_again: bool = False
    """Whether somebody was faster than a push: theirs is merged, and the push is made once more."""
    posts: dict[str, PostRequested] = field(default_factory=dict)
    """The posts that are requested and not yet done."""
    posted: int = 0
    status_post: str | None = None
    """The forge's id of the status comment."""
    status_text: str = ""
    """What the status comment says, or is going to."""
    checks: ChecksEnded | None = None
    """The newest result of the checks of the newest commit."""
    handled: str = ""
    """The result of checks that a revision was made for last."""
    red: int = 0
    """Revisions for failing checks since the last success."""
    theirs: Pushed | None = None
    """Commits of somebody else that are not part of the work yet."""
    forced: Pushed | None = None
    """The forced push of somebody else because of which it rests."""
    conflict: Conflicted | None = None
    """The base that the work cannot be merged into; None once a revision has begun that merges it."""
    merging: CommitsTaken | None = None
    """The base, as it was made part of the work, until a revision has begun."""
    comments: tuple[ReviewCommented, ...] = ()
    commented_at: int = 0
    """When the newest comment that counts was recorded."""
    answered: dict[str, int] = field(default_factory=dict)
    """How many answers to each comment were posted, or are going to be."""
    revisions: int = 0
    """How many revisions the forge has caused since a person last asked."""
    revised: int = 0
    """How many revisions the forge has caused in all."""
    in_revision: frozenset[str] = frozenset()
    """The session's comments from here that a revision has taken up."""
    cost_before: int = 0
    """What the session had cost when a person last asked, in millionths."""
    rested: RestReason | None = None
    rest_detail: str = ""
    lost: ForgeLost | None = None
    lost_at: int = 0
    merged: PullRequestMerged | None = None
    closed_at: int = 0
    """When it was recorded that it is closed."""
    facts: frozenset[str] = frozenset()

    @property
    def actor(self) -> str:
        """Names who acts in the record where the forge is the cause."""
        return f"{FORGE}{self.forge}"

    @property
    def rest(self) -> RestReason | None:
        """Tells why nothing more is done until a person acts; None where something is."""
        if self.state == "closed":
            return "closed" if self.follow else None
        return self.rested or (self.push.hold if self.push is not None else None)

    @property
    def is_over(self) -> bool:
        return self.state in ("merged", "closed")


def after(pull_request: OwnPullRequest | None, event: ForgeEvent, at: int, cost: int) -> OwnPullRequest | None:
    """The pull request after one more event. `cost`: what the session has cost so far."""
    match event:
        case PullRequestRequested() | IssueLinked():
            return _requested(pull_request, event, cost)
    if pull_request is None:
        return None
    fact = getattr(event, "fact", None)
    return _after(pull_request if fact is None else _with(pull_request, fact), event, at)


def revised(pull_request: OwnPullRequest, event: RevisionRequested) -> OwnPullRequest:
    """A revision begins: one that the forge has caused is counted, and a person's lets the work go on."""
    taken = pull_request.in_revision | {*event.comments}
    red, handled = pull_request.red, pull_request.handled
    checks = pull_request.checks
    over: dict[str, Any] = (
        {"in_revision": taken, "conflict": None, "merging": None} if pull_request.merging else {"in_revision": taken}
    )
    if not event.by.startswith(FORGE):
        handled = checks.fact if checks else ""
        return replace(pull_request, rested=None, red=0, handled=handled, **over)
    if checks is not None and checks.conclusion == "failure" and checks.fact != handled:
        red, handled = red + 1, checks.fact
    counted: dict[str, Any] = {"revisions": pull_request.revisions + 1, "revised": pull_request.revised + 1}
    return replace(pull_request, red=red, handled=handled, **counted, **over)


def _requested(before: OwnPullRequest | None, event: PullRequestRequested | IssueLinked, cost: int) -> OwnPullRequest:
    fields: dict[str, Any] = {"forge": event.forge, "project": event.project, "host": event.host, "rules": event.rules}
    if isinstance(event, IssueLinked):
        issue = LinkedIssue(event.number, event.url)
        return OwnPullRequest(issue=issue, follow=True, base=event.base, branch=event.branch, **fields)
    fields |= {"base": event.base, "branch": event.branch, "follow": event.follow, "unfollow": bool(event.unfollow)}
    fields |= {"wanted": True, "rested": None, "rest_detail": "", "revisions": 0, "red": 0, "cost_before": cost}
    fields["push_again"] = False
    if before is None:
        return OwnPullRequest(**fields)
    if before.rested == "forced_push":  # what they have made of the branch is merged with the work
        fields |= {"theirs": before.forced, "forced": None}
    elif before.rested == "branch_gone":  # it is made again
        fields["head"] = None
    if before.push is not None and before.push.hold is not None:
        fields["push"] = None
    return replace(before, **fields)


def _with(pull_request: OwnPullRequest, fact: str) -> OwnPullRequest:
    return replace(pull_request, facts=pull_request.facts | {fact})


def _after(now: OwnPullRequest, event: ForgeEvent, at: int) -> OwnPullRequest:
    match event:
        case FollowBegun():
            return replace(now, follow=True)
        case PushRequested():
            return replace(now, push=event, pushes=now.pushes + 1, push_again=False)
        case PostRequested():
            return _to_post(now, event)
        case ForgePosted():
            return _posted(now, event)
        case PullRequestOpened():
            posts = {name: post for name, post in now.posts.items() if post.what != "pull_request"}
            return replace(
                now, number=event.number, url=event.url, state="open", head=event.head, posts=posts, wanted=True
            )
        case ChecksEnded():
            return _checked(now, event)
        case ReviewCommented():
            when = at if event.counts else now.commented_at
            return replace(now, comments=(*now.comments, event), commented_at=when)
        case Pushed():
            return _pushed(now, event)
        case CommitsTaken():
            push = now.push if now.push is not None and event.published == now.push.commit else None
            merging = event if event.base is not None else now.merging
            dropped = now.push is not None and now.push.hold is None and push is None
            again = (now.push_again or dropped) and event.published not in (None, now.head)
            return replace(now, push=push, push_again=again, theirs=None, merging=merging)
        case Conflicted():
            return replace(now, conflict=event)
        case PullRequestMerged():
            return replace(now, state="merged", merged=event, rested=None, push=None)
        case PullRequestClosed():
            return replace(now, state="closed", rested=None, push=None, closed_at=at)
        case PullRequestReopened():
            return replace(now, state="open")
        case PullRequestRested():
            return replace(now, rested=event.why, rest_detail=event.detail, push=None, push_again=False)
        case ForgeLost():
            return replace(now, lost=event, lost_at=now.lost_at if now.lost else at)
        case ForgeFound():
            return replace(now, lost=None, lost_at=0)
    return now


def _pushed(now: OwnPullRequest, event: Pushed) -> OwnPullRequest:
    ours = event.push_id is not None
    push = None if now.push is not None and event.push_id == now.push.push_id else now.push
    theirs = None if ours or event.forced else _with_earlier(event, now.theirs)
    moved = replace(now, push=push, head=event.head or now.head, theirs=theirs, checks=None, conflict=None)
    return replace(moved, rested="forced_push", forced=event, push=None) if event.forced else moved


def _with_earlier(event: Pushed, earlier: Pushed | None) -> Pushed:
    """The push with the commits of an earlier one that is not part of the work yet."""
    return event if earlier is None else event.model_copy(update={"commits": (*earlier.commits, *event.commits)})


def _to_post(now: OwnPullRequest, event: PostRequested) -> OwnPullRequest:
    answered = now.answered
    if event.comment_id:
        answered = {**answered, event.comment_id: answered.get(event.comment_id, 0) + 1}
    text = event.text if event.what == "status" else now.status_text
    posts = {**now.posts, event.post_id: event}
    return replace(now, posts=posts, posted=now.posted + 1, answered=answered, status_text=text)


def _posted(now: OwnPullRequest, event: ForgePosted) -> OwnPullRequest:
    post = now.posts.get(event.post_id)
    posts = without(now.posts, event.post_id)
    status = event.id if post is not None and post.what == "status" else now.status_post
    return replace(now, posts=posts, status_post=status)


def _checked(now: OwnPullRequest, event: ChecksEnded) -> OwnPullRequest:
    """Only the newest commit counts. A success ends a row of failures, and a rest because of them."""
    if event.head != now.head:
        return now
    if event.conclusion == "failure":
        return replace(now, checks=event)
    rested = None if now.rested in CHECKS_RESTS else now.rested
    return replace(now, checks=event, red=0, rested=rested)
