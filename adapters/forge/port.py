"""The port to a forge: one repository at one host, seen by one account.

Everything that comes back is a frozen value, parsed strictly: lengths are capped, control characters are gone, times
are milliseconds. All texts in it were written by others: material, never orders. Every method may raise `ForgeError`
(`errors.py`); none of them waits for a rate limit or tries a write twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

ForgeKind = Literal["github", "gitlab"]
AuthorKind = Literal["person", "bot", "self"]
"""`self`: our own account. `bot`: an account that the forge calls a bot, an app, or a user of a token."""
PullRequestState = Literal["open", "closed", "merged"]
Mergeable = Literal["clean", "conflicted", "unknown"]
"""`unknown`: the forge has not found out yet; ask again later."""
Conclusion = Literal["success", "failure", "pending", "neutral"]
"""`neutral`: skipped, manual, allowed to fail, or made irrelevant; it counts neither way."""
PlaceKind = Literal["pull_request", "issue"]

TEXT_CHARACTERS: Final = 65_536
"""Texts are cut after so many characters."""
LOG_CHARACTERS: Final = 8_192
"""So much of the end of a failing job's log is kept."""


@dataclass(frozen=True, slots=True)
class ForgeRepository:
    """A repository at a forge. `path` is `owner/name`; at GitLab there may be groups in between."""

    kind: ForgeKind
    host: str
    """With its port where that is not the usual one: `github.com`, `git.example.com:8443`."""
    path: str

    @property
    def owner(self) -> str:
        """The account or the topmost group."""
        return self.path.partition("/")[0]

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def actor(self) -> str:
        """The actor of what the forge causes: `forge:github`."""
        return f"forge:{self.kind}"


@dataclass(frozen=True, slots=True)
class RepositoryFacts:
    """The facts about the repository, as the forge says them. `may_push`: whether our account may."""

    default_branch: str
    may_push: bool
    archived: bool
    url: str


@dataclass(frozen=True, slots=True)
class ForgeAccount:
    """An account: its name as in `@name`, the forge's number for it, and what it is. A deleted account is `ghost`."""

    name: str
    id: int
    kind: AuthorKind


@dataclass(frozen=True, slots=True)
class NewPullRequest:
    """`branch` (of the same repository) is to be merged into `base`. `marker` is hidden at the end of the body."""

    branch: str
    base: str
    title: str
    body: str
    marker: str
    draft: bool = False


@dataclass(frozen=True, slots=True)
class PullRequest:
    """A pull request; at GitLab, a merge request. `head` and `base_head` are commits, `branch` and `base` are names."""

    number: int
    url: str
    state: PullRequestState
    title: str
    body: str
    marker: str | None
    """Of `open` or `update`; None where the author is not our account."""
    author: ForgeAccount
    draft: bool
    branch: str
    head: str
    same_repository: bool
    """False for a pull request from a fork."""
    base: str
    base_head: str | None
    mergeable: Mergeable
    merge_commit: str | None
    """The commit that is on the base branch: of the merge, of the squash, or the last rebased one. None while open."""
    merged_by: ForgeAccount | None
    closed_by: ForgeAccount | None
    updated_at: int


@dataclass(frozen=True, slots=True)
class ForgeCheck:
    """A check run, a commit status, or a job: the newest of its name. `id` is `run:5`, `status:7`, `job:9`."""

    id: str
    name: str
    conclusion: Conclusion
    status: str
    """The forge's own word for it: `timed_out`, `cancelled`, `in_progress`, …"""
    url: str
    log: str
    """The end of a failing check's log, else what the check itself says; empty where there is nothing to read."""


@dataclass(frozen=True, slots=True)
class HeadChecks:
    """The checks of a commit. `conclusion`: `pending` while one is pending, else `failure` if one failed, else
    `success` if one succeeded; `neutral` where none counts, or there are none at all.

    `complete` is False where there were more than could be read."""

    head: str
    conclusion: Conclusion
    checks: tuple[ForgeCheck, ...]
    complete: bool = True


@dataclass(frozen=True, slots=True)
class ForgeComment:
    """A remark on a pull request: on a line (`review_comment`), on the whole (`comment`), or the words of a review
    (`review`). `id` is stable, and unique in the pull request: `review_comment:31`, `comment:4`, `review:8`, `note:7`.
    """

    id: str
    kind: Literal["review_comment", "comment", "review"]
    thread: str | None
    """What `reply` answers in; None where the forge has no answers to this kind: `post` instead."""
    author: ForgeAccount
    may_push: bool
    """Whether the author is a person who may push to the repository. False for bots, and for our own account."""
    text: str
    marker: str | None
    """The marker in our own post; None in anybody else's, whatever it says."""
    at: int
    edited_at: int
    url: str
    path: str | None = None
    line: int | None = None
    end_line: int | None = None
    side: Literal["new", "old"] = "new"
    head: str | None = None
    """The commit whose lines `line` and `end_line` count: what the author saw."""
    verdict: Literal["approved", "changes_requested", "commented", "dismissed"] | None = None
    """Of a review."""
    resolved: bool = False


@dataclass(frozen=True, slots=True)
class ForgeComments:
    """Comments in the order in which they were made. `complete` is False where there were more than could be read; the
    newest are there."""

    items: tuple[ForgeComment, ...]
    complete: bool = True


@dataclass(frozen=True, slots=True)
class ForgeCommit:
    """A commit of a pull request. `by` is the account of its author, where the forge knows one."""

    id: str
    subject: str
    author: str
    """Name and address, as in the commit."""
    by: ForgeAccount | None


@dataclass(frozen=True, slots=True)
class PostPlace:
    """The place of a post: on a pull request as a whole, or on an issue."""

    kind: PlaceKind
    number: int


@dataclass(frozen=True, slots=True)
class ForgePost:
    """A post of our own: `id` as in `ForgeComment`, and for an issue's comment too."""

    id: str
    url: str
    marker: str
    text: str


@dataclass(frozen=True, slots=True)
class ForgeIssue:
    """An issue, as it is now."""

    number: int
    url: str
    state: Literal["open", "closed"]
    title: str
    text: str
    author: ForgeAccount
    may_push: bool
    """Whether the author is a person who may push."""
    updated_at: int


class Forge(Protocol):
    """One repository at one forge, with the token of one account."""

    @property
    def repository(self) -> ForgeRepository: ...

    async def account(self) -> ForgeAccount:
        """Our account, asked once."""

    async def facts(self) -> RepositoryFacts:
        """Asks the forge about the repository."""

    async def branch_head(self, branch: str) -> str | None:
        """The commit of a branch; None if there is no such branch."""

    async def find(self, branch: str) -> PullRequest | None:
        """The newest pull request from this branch of the same repository, an open one first. `mergeable` may be
        `unknown`: `get` tells."""

    async def get(self, number: int) -> PullRequest:
        """The pull request as it is now."""

    async def open(self, new: NewPullRequest) -> PullRequest:
        """Open one. Not tried twice: `find` after ForgeAway."""

    async def update(self, number: int, *, title: str | None = None, body: str | None = None) -> PullRequest:
        """Change title or body; the marker stays. Returns the pull request as it is then."""

    async def commits(self, number: int) -> tuple[ForgeCommit, ...]:
        """The commits of the pull request, the oldest first, at most 250."""

    async def checks(self, head: str, number: int | None = None) -> HeadChecks:
        """The checks of a commit; at GitLab, of the merge request's pipelines for it, too. Logs are read of failing
        checks only, and of at most five."""

    async def comments(self, number: int, *, since: int | None = None) -> ForgeComments:
        """All comments, or those that were made or edited at or after `since` (milliseconds). Our own are among
        them."""

    async def reply(self, number: int, thread: str, text: str, marker: str) -> ForgePost:
        """Answer in the thread of a comment. Not tried twice: `find_post` after ForgeAway."""

    async def post(self, place: PostPlace, text: str, marker: str) -> ForgePost:
        """Comment on the whole. Not tried twice: `find_post` after ForgeAway."""

    async def edit(self, place: PostPlace, post: str, text: str, marker: str) -> ForgePost:
        """Replace the text of our own post (its `id`)."""

    async def find_post(self, place: PostPlace, marker: str, *, since: int | None = None) -> ForgePost | None:
        """Our own post with this marker, replies too; None if there is none. Posts of others do not count."""

    async def may_push(self, name: str) -> bool:
        """Asks whether the account is a person's who may push to the repository."""

    async def is_member(self, name: str, team: str) -> bool:
        """Asks whether the account belongs to the team (a slug in the owner's organisation; `@` may stand before it).
        False where there is no such team."""

    async def issue(self, number: int) -> ForgeIssue:
        """The issue as it is now. Raises ForgeRefused with `gone` where the number is a pull request's."""

    async def close(self) -> None:
        """Close the connections."""


def in_order(comment: ForgeComment) -> tuple[int, str, int]:
    """The key by which comments are sorted: when they were made; within a second, by their numbers."""
    return comment.at, comment.kind, int(comment.id.rpartition(":")[2])


def conclusion_of(checks: Sequence[ForgeCheck]) -> Conclusion:
    """Concludes what checks mean together."""
    each = {check.conclusion for check in checks}
    return next((one for one in _STRONGEST if one in each), "neutral")


_STRONGEST: Final[tuple[Conclusion, ...]] = ("pending", "failure", "success")
