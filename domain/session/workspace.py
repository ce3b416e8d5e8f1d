"""Records what a session's workspace started from, what has changed in it since, and where the result was published."""

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import ClassVar, Final, Literal

from pydantic import Field

from domain.values.base import Count, DomainEvent, Text, Value, absent
from domain.values.sentences import Sentence

FileStatus = Literal["added", "modified", "deleted", "renamed"]


class ChangedFile(Value):
    """A file that differs from the base. Lines are null for a binary file."""

    path: str
    status: FileStatus
    added: Count | None = None
    removed: Count | None = None
    renamed_from: str | None = Field(default=None, description="the old path of a renamed file")
    ignored: bool = Field(
        default=False,
        exclude_if=lambda ignored: not ignored,
        description="a new file that is ignored; it is part of the work because an agent's git tracks it",
    )


class WorkspaceChanges(Value):
    """Everything that differs from the base: the state now, its commits, oldest first, and the files."""

    head: str
    commits: tuple[str, ...] = ()
    files: tuple[ChangedFile, ...] = ()
    more_files: Count = Field(default=0, description="how many changed files are left out")


class ReviewedLines(Value):
    """How much of the changes a reviewer or a judge was shown, in added and removed lines, and which files decide what
    the validation checks."""

    shown: Count
    of: Count
    deciding: tuple[str, ...] = Field(default=(), description="at most 300 changed paths, tests among them")

    @property
    def percent(self) -> int:
        """Rounded down, so that less than everything is never 100."""
        return 100 if self.shown >= self.of else self.shown * 100 // self.of

    def beside(self, changes: WorkspaceChanges) -> "ReviewedLines":
        """The same, once others have added to the changes what nobody was shown."""
        lines = sum((file.added or 0) + (file.removed or 0) for file in changes.files)
        return self if lines <= self.of else self.model_copy(update={"of": lines})


class ReviewedDiff(Value):
    """The uncommitted changes of a checkout that a review was about."""

    commit: str = Field(description="the commit that was checked out")
    patch: Text = Field(description="what the checkout had beyond it, as a diff")


class WorkspacePrepared(DomainEvent):
    """The workspace was made. `dirty`: the repository had uncommitted changes, which are not part of the base."""

    TOPIC: ClassVar[str] = "session.workspace_prepared"
    repository: str | None = Field(default=None, description="the top of the git repository; null without git")
    base_branch: str | None = Field(
        default=None, description="the branch that was checked out; null where there was none"
    )
    base_commit: str = Field(description="the commit that the work began with")
    dirty: bool = Field(default=False, description="whether there were uncommitted changes; they are not included")
    reviewed_on: str | None = Field(
        default=None,
        exclude_if=absent,
        description="the commit below the base, where the base has uncommitted changes that were reviewed",
    )


BranchWas = Literal["new", "here", "gone", "set_back"]
"""How a publication found its branch: not made yet, as the last one left it, or with people's commits on top, deleted,
or set back."""


class ResultPublished(DomainEvent):
    """The result was published as a branch in the repository; if not, `problem` says why."""

    TOPIC: ClassVar[str] = "session.result_published"
    branch: str | None = Field(default=None, description="null if none could be created")
    commit: str = Field(description="the commit that was published")
    made_of: str | None = Field(
        default=None,
        exclude_if=absent,
        description="the recorded state, where filters or encodings of the repository store it in another form",
    )
    branch_was: BranchWas | None = Field(
        default=None, exclude_if=absent, description="how the branch was found; null in old logs"
    )
    problem: str | None = Field(default=None, description="why there is no branch")
    sentence: Sentence | None = Field(default=None, exclude_if=absent, description="`problem` as data")


UNCONVERTED: Final = (
    "filtered_files_edited",
    *("filter_not_configured", "filter_relative", "filter_not_found", "filter_failed", "filter_too_slow"),
)
"""The codes of the sentences that say why the result cannot be stored as the person's git would have stored it."""

EVENTS: tuple[type[DomainEvent], ...] = (WorkspacePrepared, ResultPublished)


def prepared_in(events: Sequence[DomainEvent]) -> WorkspacePrepared | None:
    """The workspace that was made by this command, if any."""
    return next((event for event in events if isinstance(event, WorkspacePrepared)), None)


class PeopleCommits(Value):
    """Commits that a turn has found on the branch, whose they are, and the state of the work with them."""

    commits: tuple[str, ...]
    by: str
    tree: str
    changes: WorkspaceChanges | None = None
    validated: tuple[str, ...] = Field(default=(), description="the commands that pass on them and the work together")


# Scope: the paths that agents are meant to change, as the repository's settings say (contract-2 §8).


class PathScope(Value):
    """Globs: `**` crosses folders, `*` and `?` do not; the name of a folder covers everything below it."""

    allow: tuple[str, ...] = ("**",)
    deny: tuple[str, ...] = ()
    outside: Literal["record", "ask", "fail"] = "record"

    def outside_of(self, paths: Iterable[str]) -> tuple[str, ...]:
        """The paths that the scope does not cover, without duplicates."""
        each = dict.fromkeys(paths)
        return tuple(path for path in each if not _matches(path, self.allow) or _matches(path, self.deny))


EVERYTHING = PathScope()
_NAMED: Final = 50
"""How many paths are listed by name."""


def touched(changes: WorkspaceChanges | None) -> tuple[str, ...]:
    """The paths that differ from the base; a renamed file is both its old path and its new one."""
    files = changes.files if changes else ()
    return tuple(path for file in files for path in (file.path, file.renamed_from) if path)


def named(paths: Sequence[str]) -> list[str]:
    """The paths as a list; if there are very many, the others are only counted."""
    more = [f"- and {len(paths) - _NAMED} more"] if len(paths) > _NAMED else []
    return [*(f"- {path}" for path in paths[:_NAMED]), *more]


def undo(paths: Sequence[str]) -> str:
    """Returns what an agent reads that changed these paths outside the scope."""
    first, last = "You may not change these paths:", "Undo every change to them, and do the task without them."
    return "\n".join([first, *named(paths), last])


def _matches(path: str, patterns: tuple[str, ...]) -> bool:
    return any(_pattern(pattern).fullmatch(path) for pattern in patterns)


@cache
def _pattern(glob: str) -> re.Pattern[str]:
    parts = re.split(r"(\*\*/?|\*|\?)", glob.removeprefix("./").rstrip("/"))
    spelled = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(spelled.get(part, re.escape(part)) for part in parts) + "(?:/.*)?", re.DOTALL)
