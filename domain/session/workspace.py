"""What a session's workspace began with, what has changed in it since, and where the result was handed over."""

from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import Field

from domain.values.base import Count, DomainEvent, Value

FileStatus = Literal["added", "modified", "deleted", "renamed"]


class ChangedFile(Value):
    """A file that differs from the base. Lines are null for a binary file."""

    path: str
    status: FileStatus
    added: Count | None = None
    removed: Count | None = None
    renamed_from: str | None = Field(default=None, description="the old path of a renamed file")


class WorkspaceChanges(Value):
    """Everything that differs from the base: the state now, its commits, oldest first, and the files."""

    head: str
    commits: tuple[str, ...] = ()
    files: tuple[ChangedFile, ...] = ()
    more_files: Count = Field(default=0, description="how many changed files are left out")


class WorkspacePrepared(DomainEvent):
    """The workspace was made. `dirty`: the repository had uncommitted changes, which are not part of the base."""

    TOPIC: ClassVar[str] = "session.workspace_prepared"
    repository: str | None = Field(default=None, description="the top of the git repository; null without git")
    base_branch: str | None = Field(
        default=None, description="the branch that was checked out; null where there was none"
    )
    base_commit: str = Field(description="the commit that the work began with")
    dirty: bool = Field(default=False, description="whether there were uncommitted changes; they are not included")


class ResultPublished(DomainEvent):
    """The result was published as a branch in the repository; if not, `problem` says why."""

    TOPIC: ClassVar[str] = "session.result_published"
    branch: str | None = Field(default=None, description="null if none could be created")
    commit: str = Field(description="the commit that was published")
    problem: str | None = Field(default=None, description="why there is no branch")


EVENTS: tuple[type[DomainEvent], ...] = (WorkspacePrepared, ResultPublished)


def prepared_in(events: Sequence[DomainEvent]) -> WorkspacePrepared | None:
    """The workspace that was made in this decision, if one was."""
    return next((event for event in events if isinstance(event, WorkspacePrepared)), None)
