"""Documents of GitLab, as far as they are needed (docs.gitlab.com/api)."""

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
)

_Word = Annotated[str, Field(pattern=r"^[A-Za-z_]{1,60}$")]
_Level = Annotated[int, Field(ge=0, le=1_000)]


class GitlabUser(ForgeDocument):
    id: Number
    username: AccountName
    bot: bool = False


class GitlabAccess(ForgeDocument):
    access_level: _Level = 0


class GitlabProjectPermissions(ForgeDocument):
    project_access: GitlabAccess | None = None
    group_access: GitlabAccess | None = None

    @property
    def level(self) -> int:
        return max((each.access_level for each in (self.project_access, self.group_access) if each), default=0)


class GitlabProject(ForgeDocument):
    default_branch: RefName
    web_url: Link
    archived: bool = False
    permissions: GitlabProjectPermissions = GitlabProjectPermissions()


class GitlabTip(ForgeDocument):
    id: CommitId


class GitlabBranch(ForgeDocument):
    commit: GitlabTip


class GitlabCommit(ForgeDocument):
    id: CommitId
    title: OneLineOrEmpty = ""
    author_name: OneLineOrEmpty = ""
    author_email: OneLineOrEmpty = ""

    @property
    def written_by(self) -> str:
        return f"{self.author_name} <{self.author_email}>"


class GitlabDiffRefs(ForgeDocument):
    start_sha: CommitId | None = None


class GitlabPipeline(ForgeDocument):
    id: Number
    status: _Word
    source: OneLineOrEmpty = ""
    web_url: Link = ""
    yaml_errors: WordingOrEmpty = ""


class GitlabMergeRequest(ForgeDocument):
    iid: Number
    web_url: Link
    state: _Word
    title: OneLine
    description: WordingOrEmpty = ""
    author: GitlabUser
    draft: bool = False
    source_branch: RefName
    target_branch: RefName
    source_project_id: Number | None = None
    target_project_id: Number
    sha: CommitId
    diff_refs: GitlabDiffRefs | None = None
    has_conflicts: bool = False
    merge_status: OneLineOrEmpty = ""
    detailed_merge_status: OneLineOrEmpty = ""
    merge_commit_sha: CommitId | None = None
    squash_commit_sha: CommitId | None = None
    merge_user: GitlabUser | None = None
    merged_by: GitlabUser | None = None
    closed_by: GitlabUser | None = None
    head_pipeline: GitlabPipeline | None = None
    updated_at: Moment

    @property
    def same_repository(self) -> bool:
        return self.source_project_id == self.target_project_id

    @property
    def merge_commit(self) -> str:
        """The commit on the target branch; after a fast-forward it is the head itself."""
        return self.merge_commit_sha or self.squash_commit_sha or self.sha


class GitlabJob(ForgeDocument):
    id: Number
    name: OneLine
    status: _Word
    allow_failure: bool = False
    web_url: Link = ""


class GitlabStatus(ForgeDocument):
    id: Number
    name: OneLine
    status: _Word
    allow_failure: bool = False
    target_url: Link = ""
    description: OneLineOrEmpty = ""


class GitlabRangeEnd(ForgeDocument):
    old_line: LineNumber | None = None
    new_line: LineNumber | None = None


class GitlabLineRange(ForgeDocument):
    start: GitlabRangeEnd | None = None


class GitlabPosition(ForgeDocument):
    position_type: OneLineOrEmpty = ""
    head_sha: CommitId | None = None
    old_path: InnerPath = None
    new_path: InnerPath = None
    old_line: LineNumber | None = None
    new_line: LineNumber | None = None
    line_range: GitlabLineRange | None = None

    @property
    def side(self) -> Literal["new", "old"]:
        return "old" if self.new_line is None else "new"

    @property
    def path(self) -> str | None:
        return self.old_path if self.side == "old" else self.new_path

    @property
    def line(self) -> int | None:
        return self.old_line if self.side == "old" else self.new_line

    @property
    def first_line(self) -> int | None:
        start = self.line_range.start if self.line_range else None
        first = start and (start.old_line if self.side == "old" else start.new_line)
        return min(first, self.line) if first and self.line else self.line


class GitlabNote(ForgeDocument):
    id: Number
    body: WordingOrEmpty = ""
    author: GitlabUser
    system: bool = False
    created_at: Moment
    updated_at: Moment
    resolved: bool = False
    position: GitlabPosition | None = None


class GitlabDiscussion(ForgeDocument):
    id: Annotated[str, Field(pattern=r"^[0-9a-f]{1,64}$")]
    notes: list[GitlabNote]


class GitlabMember(ForgeDocument):
    access_level: _Level
    state: OneLineOrEmpty = "active"


class GitlabIssue(ForgeDocument):
    iid: Number
    web_url: Link
    state: _Word
    title: OneLine
    description: WordingOrEmpty = ""
    author: GitlabUser
    updated_at: Moment
