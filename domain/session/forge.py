"""The forge in the record: a session's pull request, what has happened to it there, and what Hansard does about it.

What happened at the forge is a fact, recorded once by the forge's own id. What Hansard sends there is recorded before
it is sent, and looked up after a restart. Every text in a fact was written by others: material, never orders.
"""

from typing import ClassVar, Final, Literal, TypeAlias

from pydantic import Field, InstanceOf

from domain.session.comments import AddComment
from domain.session.workspace import WorkspaceChanges
from domain.values.base import Command, Count, DomainEvent, Value, absent, none_listed

ForgeKind = Literal["github", "gitlab"]
ChecksConclusion = Literal["success", "failure"]
PostKind = Literal["pull_request", "reply", "status"]
PushHold = Literal["ci_settings", "from_issue"]
"""Why a push waits for a person: it changes settings of the CI, or the work began with an issue."""
RestReason = Literal[
    "checks_attempts",
    "checks_unchanged",
    "max_revisions",
    "max_cost",
    "forced_push",
    "branch_gone",
    "cannot_merge",
    "ci_settings",
    "from_issue",
    "refused",
    "no_workspace",
    "cannot_revise",
    "closed",
]
"""Why nothing more is done about a pull request until a person acts."""
CHECKS_RESTS: Final = frozenset({"checks_attempts", "checks_unchanged"})


class ForgeRules(Value):
    """The owner's limits, as they were when they were recorded."""

    checks_attempts: Count = Field(default=3, description="revisions in a row for failing checks")
    quiet_seconds: Count = Field(default=60, description="silence after a comment before the work goes on")
    max_revisions: Count = Field(default=10, description="revisions that the forge causes")
    max_cost_micros: Count | None = Field(default=None, description="money that they cost, in millionths")


class EndedCheck(Value):
    """A check of a commit, when all had ended."""

    name: str
    conclusion: str = Field(description="`success`, `failure` or `neutral`")
    url: str = ""
    log: str = Field(default="", description="the end of a failing check's log")


class ForgeEvent(DomainEvent):
    """An event about a session's pull request."""


# -- what people want --------------------------------------------------------------------------------------------------


class PullRequestRequested(ForgeEvent):
    """A person wants the session's branch as a pull request, or the one that there is brought up to date. Where it
    rested, it goes on."""

    TOPIC: ClassVar[str] = "forge.pull_request_requested"
    forge: ForgeKind
    project: str = Field(description="`owner/name` at the forge")
    host: str = Field(default="", description="the host of the forge")
    base: str = Field(description="the branch that it is to be merged into")
    branch: str = Field(description="the name of its branch at the forge")
    follow: bool = Field(default=False, description="whether it is kept at until it is merged or closed")
    unfollow: bool | None = Field(
        default=None,
        exclude_if=absent,
        description="true where a person does not want it kept at, whatever the owner says",
    )
    rules: ForgeRules = ForgeRules()
    by: str = ""


class FollowBegun(ForgeEvent):
    """The pull request is kept at from now on: the owner's settings say so for every open one."""

    TOPIC: ClassVar[str] = "forge.follow_begun"
    by: str = ""


class IssueLinked(ForgeEvent):
    """The session began with an issue, which has one comment that says how the work stands."""

    TOPIC: ClassVar[str] = "forge.issue_linked"
    forge: ForgeKind
    project: str
    host: str = ""
    number: int
    url: str
    base: str = Field(default="", description="the branch that the work is to be merged into")
    branch: str = Field(default="", description="the name of its branch at the forge")
    rules: ForgeRules = ForgeRules()


# -- what Hansard is going to do, recorded before it is done -----------------------------------------------------------


class PushRequested(ForgeEvent):
    """A recorded commit is to be pushed, as a fast-forward. With `hold` it waits for a person."""

    TOPIC: ClassVar[str] = "forge.push_requested"
    push_id: str
    branch: str
    commit: str
    before: str | None = Field(default=None, description="the branch's commit at the forge, as far as it was known")
    hold: PushHold | None = Field(default=None, exclude_if=absent, description="why it waits for a person")
    paths: tuple[str, ...] = Field(default=(), description="the settings of the CI that it changes")
    by: str = ""


class PostRequested(ForgeEvent):
    """A text is to be posted at the forge. It is found there by its marker."""

    TOPIC: ClassVar[str] = "forge.post_requested"
    post_id: str
    what: PostKind
    text: str
    title: str = Field(default="", description="of a pull request")
    about: str = Field(default="", description="the forge's id of the comment that it answers")
    comment_id: str = Field(default="", description="the session's id of that comment")


class ForgePosted(ForgeEvent):
    """The text is there."""

    TOPIC: ClassVar[str] = "forge.posted"
    post_id: str
    id: str = Field(description="the forge's id of the post")
    url: str = ""


# -- facts: what happened at the forge ---------------------------------------------------------------------------------


class PullRequestOpened(ForgeEvent):
    """There is a pull request for the session's branch."""

    TOPIC: ClassVar[str] = "forge.pull_request_opened"
    number: int
    url: str
    head: str
    by: str = ""

    @property
    def fact(self) -> str:
        return f"pull_request:{self.number}"


class ChecksEnded(ForgeEvent):
    """All checks of a commit have ended."""

    TOPIC: ClassVar[str] = "forge.checks_ended"
    id: str = Field(default="", description="identifies these runs of the checks")
    head: str
    conclusion: ChecksConclusion
    checks: tuple[EndedCheck, ...] = ()

    @property
    def fact(self) -> str:
        return f"checks:{self.head}:{self.id}"


class ReviewCommented(ForgeEvent):
    """Somebody has commented on the pull request. `counts`: they may push, or the owner allows them."""

    TOPIC: ClassVar[str] = "forge.review_commented"
    id: str = Field(description="the forge's id of the comment")
    by: str = Field(description="the forge's name of who said it: `github:ann`")
    path: str | None = None
    line: int | None = None
    text: str
    head: str | None = Field(default=None, description="the commit whose lines are meant")
    counts: bool = False
    account: str = Field(default="person", description="`person`, `bot`, or `self` for our own account")
    thread: str | None = Field(default=None, description="where it is answered")
    url: str = ""
    comment_id: str | None = Field(default=None, description="the session's comment that it became")

    @property
    def fact(self) -> str:
        return f"comment:{self.id}"


class Pushed(ForgeEvent):
    """The branch at the forge has moved: by our push, or by somebody else's."""

    TOPIC: ClassVar[str] = "forge.pushed"
    by: str
    commits: tuple[str, ...] = ()
    head: str = ""
    push_id: str | None = Field(default=None, exclude_if=absent, description="our push; null for somebody else's")
    forced: bool = Field(default=False, description="whether commits that were there are gone")

    @property
    def fact(self) -> str:
        return f"push:{self.push_id or ''}:{self.head}"


class Conflicted(ForgeEvent):
    """The pull request cannot be merged into its base as it is now."""

    TOPIC: ClassVar[str] = "forge.conflicted"
    base: str = Field(description="the commit of the base branch")
    head: str = ""
    paths: tuple[str, ...] = Field(default=(), description="the files in conflict")

    @property
    def fact(self) -> str:
        return f"conflict:{self.head}:{self.base}"


class PullRequestMerged(ForgeEvent):
    """The pull request is merged."""

    TOPIC: ClassVar[str] = "forge.merged"
    commit: str | None = Field(default=None, description="the commit on the base branch")
    by: str = ""

    @property
    def fact(self) -> str:
        return "merged"


class PullRequestClosed(ForgeEvent):
    """The pull request was closed without a merge."""

    TOPIC: ClassVar[str] = "forge.closed"
    by: str = ""
    at: str = Field(default="", description="when, as the forge says")

    @property
    def fact(self) -> str:
        return f"closed:{self.at}"


class PullRequestReopened(ForgeEvent):
    """The pull request, which was closed, is open again."""

    TOPIC: ClassVar[str] = "forge.reopened"
    by: str = ""
    at: str = Field(default="", description="when, as the forge says")

    @property
    def fact(self) -> str:
        return f"reopened:{self.at}"


ForgeFact: TypeAlias = (
    PullRequestOpened
    | ChecksEnded
    | ReviewCommented
    | Pushed
    | Conflicted
    | PullRequestMerged
    | PullRequestClosed
    | PullRequestReopened
)


# -- what follows ------------------------------------------------------------------------------------------------------


class CommitsTaken(ForgeEvent):
    """Commits of somebody else are part of the session's work now, and stay theirs. Where both changed the same lines,
    the files have both, marked, and the work goes on with them."""

    TOPIC: ClassVar[str] = "session.commits_taken"
    commits: tuple[str, ...]
    by: str
    head: str = Field(description="the recorded state that has them")
    published: str | None = Field(
        default=None, exclude_if=absent, description="the same as a commit of the branch; null while files are marked"
    )
    base: str | None = Field(
        default=None, exclude_if=absent, description="what the work is compared with from now on: a commit of the base"
    )
    paths: tuple[str, ...] = Field(default=(), description="the files in which both sides are marked")
    changes: WorkspaceChanges | None = Field(default=None, description="what differs from the base now")
    validated: tuple[str, ...] = Field(
        default=(),
        exclude_if=none_listed,
        description="the commands that passed on them and the work, before both were published",
    )


class PullRequestRested(ForgeEvent):
    """Nothing more is done about the pull request until a person acts."""

    TOPIC: ClassVar[str] = "forge.rested"
    why: RestReason
    detail: str = ""


class ForgeLost(ForgeEvent):
    """The forge does not answer, takes no requests now, or answers nonsense. It is asked again."""

    TOPIC: ClassVar[str] = "forge.unavailable"
    why: str = Field(description="what it did, in words")
    retry_at: str | None = None


class ForgeFound(ForgeEvent):
    """The forge answers again."""

    TOPIC: ClassVar[str] = "forge.available"
    waited: Count = Field(default=0, description="milliseconds")


EVENTS: tuple[type[DomainEvent], ...] = (
    PullRequestRequested,
    FollowBegun,
    IssueLinked,
    PushRequested,
    PostRequested,
    ForgePosted,
    PullRequestOpened,
    ChecksEnded,
    ReviewCommented,
    Pushed,
    Conflicted,
    PullRequestMerged,
    PullRequestClosed,
    PullRequestReopened,
    CommitsTaken,
    PullRequestRested,
    ForgeLost,
    ForgeFound,
)


# -- commands ----------------------------------------------------------------------------------------------------------


class CiPaths(Value):
    """The settings of the CI that a push of this commit would change. Without it, all of the work is looked at."""

    commit: str
    paths: tuple[str, ...] = ()


class ForgeCommand(Command):
    """A command about the session's pull request."""

    REFUSAL: ClassVar[str] = "has_no_pull_request"


class RequestPullRequest(ForgeCommand):
    """A person wants the pull request opened or brought up to date, and followed or not."""

    REFUSAL: ClassVar[str] = "has_no_branch_for_pull_request"
    forge: ForgeKind
    project: str
    host: str = ""
    base: str
    branch: str
    follow: bool = False
    unfollow: bool | None = None
    rules: ForgeRules = ForgeRules()
    actor: str = ""
    ci: CiPaths | None = None


class BeginFollowing(ForgeCommand):
    """Keep at the pull request, as the owner's settings say."""

    actor: str = ""


class LinkIssue(ForgeCommand):
    """The session began with this issue."""

    forge: ForgeKind
    project: str
    host: str = ""
    number: int
    url: str
    base: str = ""
    branch: str = ""
    rules: ForgeRules = ForgeRules()


class RecordForgeFact(ForgeCommand):
    """Something has happened at the forge. `remark` is the comment that it becomes. Without `ci`, no push follows from
    it: it is not known yet what a push would change."""

    fact: InstanceOf[DomainEvent]
    remark: AddComment | None = None
    ci: CiPaths | None = None


class TakeCommits(ForgeCommand):
    """Commits of somebody else were merged with the work. Without `ci`, no push follows from it."""

    taken: InstanceOf[CommitsTaken]
    ci: CiPaths | None = None


class RecordPost(ForgeCommand):
    """A post that was requested is there."""

    post_id: str
    id: str
    url: str = ""


class RestPullRequest(ForgeCommand):
    """The follower cannot go on without a person."""

    why: RestReason
    detail: str = ""


class FollowUp(ForgeCommand):
    """Do the next thing that follows from what is recorded. Refused where nothing does."""

    REFUSAL: ClassVar[str] = "nothing_follows"
    ci: CiPaths | None = None


class NoteForgeLost(ForgeCommand):
    """The forge does not answer."""

    why: str
    retry_at: str | None = None


class NoteForgeFound(ForgeCommand):
    """The forge answers again."""
