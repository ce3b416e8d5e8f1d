"""What a reviewer or a judge reads about the changes: a list of all files, and the diff.

A prompt has room for a part of a large diff only. Files that decide what validation checks come first in both: a
weakened test or check is what a judge must not miss.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple, Self

from adapters.turns.folder import workspace_of
from adapters.turns.job import Job
from adapters.workspace import Workspaces
from domain.delivery.state import Delivery
from domain.session.state import Session
from domain.session.workspace import ChangedFile, is_test
from domain.values.base import HansardError

DIFF_CHARACTERS: Final = 100_000
"""How much of the diff a reviewer or a judge reads."""
LISTED: Final = 300
"""How many files are listed; the others are only counted."""
_LONGEST: Final = 200
_MARK: Final = "[validation]"
_HEAD: Final = "All files that differ from the start, with the lines added and removed."
_WARNING: Final = (
    f"Those marked {_MARK} are tests, or decide what the validation runs. Check that each of them still verifies what "
    "it did: if one was weakened, a passing validation proves nothing."
)
_SETTINGS: Final = re.compile(
    r"(?:.*/)?(?:(?:GNU)?[Mm]akefile|.*\.mk|[Jj]ustfile|[Tt]askfile\.ya?ml|Rakefile|CMakeLists\.txt|Jenkinsfile|Dockerfile"
    r"|package\.json|pyproject\.toml|\.?pytest\.ini|tox\.ini|setup\.(?:cfg|py)|noxfile\.py|\.coveragerc"
    r"|(?:site|user)customize\.py|.*\.pth|Cargo\.toml|go\.mod|pom\.xml|build\.gradle(?:\.kts)?|hansard\.toml"
    r"|[^/]*\.config\.[^/]*|tsconfig[^/]*\.json|\.[^/]*rc(?:\.[^/]*)?|\.gitattributes"
    r"|\.gitlab-ci\.ya?ml|\.travis\.ya?ml|azure-pipelines\.ya?ml|\.pre-commit-config\.ya?ml)"
    r"|(?:.*/)?\.(?:github|circleci|buildkite)/.*"
)
_WORD: Final = re.compile(r"[^\s=:;&|()<>'\"`$]+")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def changes_of(job: Job, workspaces: Workspaces) -> str:
    """Everything that the session has changed so far; empty if its workspace is not on this machine."""
    session = job.session
    if session.base is None or session.changes is None:
        return ""
    base, head = session.base.base_commit, session.changes.head
    try:
        workspace = workspace_of(job, workspaces)
        files = JudgedFiles.of(workspace.files(base, head), _commands(session))
        patch = workspace.patch(base, head, [path for file in files.deciding for path in _paths(file)])
    except HansardError:
        return ""
    return f"{files.listing()}\n\nAll changes so far, as a diff:\n\n{_cut(patch)}" if patch else ""


def _commands(session: Session) -> tuple[str, ...]:
    return tuple(step.command for step in session.steps) if isinstance(session, Delivery) else ()


class JudgedFiles(NamedTuple):
    """The changed files; after a change of a `deciding` one, a passing validation could mean something else: a test, a
    setting of the tools, or a file that a command names."""

    deciding: tuple[ChangedFile, ...]
    others: tuple[ChangedFile, ...]

    @classmethod
    def of(cls, files: Sequence[ChangedFile], commands: Iterable[str]) -> Self:
        ends = tuple(_ends(commands))
        deciding = {file.path for file in files if any(_decides(path, ends) for path in _paths(file))}
        return cls(
            tuple(file for file in files if file.path in deciding),
            tuple(file for file in files if file.path not in deciding),
        )

    def listing(self) -> str:
        """All files with their lines."""
        lines = [*(f"{_line(file)} {_MARK}" for file in self.deciding), *map(_line, self.others)]
        more = [f"- and {len(lines) - LISTED:,} more"] if len(lines) > LISTED else []
        warning = [_WARNING] if self.deciding else []
        return "\n".join([_HEAD, *warning, "", *lines[:LISTED], *more])


def _decides(path: str, ends: tuple[str, ...]) -> bool:
    return is_test(path) or _SETTINGS.fullmatch(path) is not None or f"/{path}".endswith(ends)


def _ends(commands: Iterable[str]) -> Iterator[str]:
    """The ends of the paths that the commands may name, as paths or as modules of Python. A file with the name of a
    tool, such as `unittest.py`, may run in its place."""
    for command in commands:
        for word in _WORD.findall(command):
            name = word.removeprefix("./").strip("/")
            yield from (f"/{name}", f"/{name.replace('.', '/')}.py") if name.strip(".") else ()


def _paths(file: ChangedFile) -> tuple[str, ...]:
    return (file.path, file.renamed_from) if file.renamed_from else (file.path,)


def _line(file: ChangedFile) -> str:
    is_binary = file.added is None or file.removed is None
    lines = "binary: not in the diff" if is_binary else f"+{file.added or 0:,} -{file.removed or 0:,}"
    before = f" from {_shown(file.renamed_from)}" if file.renamed_from else ""
    return f"- {_shown(file.path)} ({file.status}{before}, {lines})"


def _shown(path: str) -> str:
    """One line, whatever the name contains."""
    name = path if len(path) <= _LONGEST else f"…{path[-_LONGEST:]}"
    return json.dumps(name, ensure_ascii=False) if _CONTROL.search(name) else name


def _cut(patch: str) -> str:
    if len(patch) <= DIFF_CHARACTERS:
        return patch
    head = patch[: patch.rfind("\n", 0, DIFF_CHARACTERS) + 1] or patch[:DIFF_CHARACTERS]
    return f"{head}[cut here: {len(head):,} of {len(patch):,} characters]"
