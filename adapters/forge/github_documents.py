"""Documents of GitHub, as far as they are needed (github/rest-api-description)."""

from typing import Annotated, Literal

from pydantic import Field

from adapters.forge.documents import (
    AccountName,
    CommitId,
    ForgeDocument,
    InnerPath,
    LineNumber,
    Link,
    Moment,
    Number,
    OneLine,
    OneLineOrEmpty,
    RefName,
    WordingOrEmpty,
    cleaned,
)

_State = Literal["open", "closed"]
_Word = Annotated[str, Field(pattern=r"^[A-Za-z_]{1,40}$")]


class GithubUser(ForgeDocument):
    login: AccountName
    id: Number
    type: _Word


class GithubPermissions(ForgeDocument):
    push: bool = False


class GithubRepository(ForgeDocument):
    default_branch: RefName
    html_url: Link
    archived: bool = False
    permissions: GithubPermissions = GithubPermissions()


class GithubObject(ForgeDocument):
    sha: CommitId


class GithubRef(ForgeDocument):
    object: GithubObject


class GithubOwned(ForgeDocument):
    id: Number


class GithubSide(ForgeDocument):
    ref: RefName
    sha: CommitId
    repo: GithubOwned | None = None


class GithubPull(ForgeDocument):
    number: Number
    html_url: Link
    state: _State
    title: OneLine
    body: WordingOrEmpty = ""
    user: GithubUser | None
    draft: bool = False
    head: GithubSide
    base: GithubSide
    merged: bool = False
    merged_at: Moment | None = None
    mergeable: bool | None = None
    merge_commit_sha: CommitId | None = None
    merged_by: GithubUser | None = None
    updated_at: Moment

    @property
    def same_repository(self) -> bool:
        return self.head.repo is not None and self.base.repo is not None and self.head.repo.id == self.base.repo.id


class GithubSignature(ForgeDocument):
    name: OneLineOrEmpty = ""
    email: OneLineOrEmpty = ""


class GithubGitCommit(ForgeDocument):
    message: WordingOrEmpty = ""
    author: GithubSignature | None = None

    @property
    def subject(self) -> str:
        return self.message.partition("\n")[0][:500]

    @property
    def written_by(self) -> str:
        return f"{self.author.name} <{self.author.email}>" if self.author else ""


class GithubCommit(ForgeDocument):
    sha: CommitId
    commit: GithubGitCommit
    author: GithubUser | None = None


class GithubApp(ForgeDocument):
    slug: OneLineOrEmpty = ""


class GithubOutput(ForgeDocument):
    title: OneLineOrEmpty = ""
    summary: WordingOrEmpty = ""
    text: WordingOrEmpty = ""
    annotations_count: Annotated[int, Field(ge=0)] = 0

    @property
    def words(self) -> str:
        return cleaned("\n".join(filter(None, (self.title, self.summary, self.text))))


class GithubRun(ForgeDocument):
    id: Number
    name: OneLine
    status: _Word
    conclusion: _Word | None = None
    html_url: Link = ""
    details_url: Link = ""
    app: GithubApp | None = None
    output: GithubOutput = GithubOutput()


class GithubStatus(ForgeDocument):
    id: Number
    context: OneLine
    state: _Word
    description: OneLineOrEmpty = ""
    target_url: Link = ""


class GithubAnnotation(ForgeDocument):
    path: OneLine
    start_line: Annotated[int, Field(ge=0)]
    message: WordingOrEmpty = ""


class GithubIssueComment(ForgeDocument):
    id: Number
    body: WordingOrEmpty = ""
    user: GithubUser | None
    created_at: Moment
    updated_at: Moment
    html_url: Link


class GithubReviewComment(GithubIssueComment):
    path: InnerPath
    line: LineNumber | None = None
    original_line: LineNumber | None = None
    start_line: LineNumber | None = None
    original_start_line: LineNumber | None = None
    side: Literal["LEFT", "RIGHT"] | None = None
    original_commit_id: CommitId
    in_reply_to_id: Number | None = None


class GithubReview(ForgeDocument):
    id: Number
    body: WordingOrEmpty = ""
    user: GithubUser | None
    state: _Word
    html_url: Link
    commit_id: CommitId | None = None
    submitted_at: Moment | None = None

    @property
    def counts(self) -> bool:
        """Returns whether it is sent, and says something."""
        return self.state != "PENDING" and bool(self.body.strip())


class GithubPermission(ForgeDocument):
    permission: _Word
    role_name: OneLineOrEmpty = ""
    user: GithubUser | None = None


class GithubMembership(ForgeDocument):
    state: _Word


class GithubLinked(ForgeDocument):
    """That an issue is a pull request."""


class GithubIssue(ForgeDocument):
    number: Number
    html_url: Link
    state: _State
    title: OneLine
    body: WordingOrEmpty = ""
    user: GithubUser | None
    closed_by: GithubUser | None = None
    pull_request: GithubLinked | None = None
    updated_at: Moment
