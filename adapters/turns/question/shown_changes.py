"""Makes what a reviewer or a judge reads about the changes: a list of all files, and the diff.

A prompt has room for a part of a large diff only. Files that decide what the validation checks come first in both,
because a weakened check is what a judge must not miss; then code, tests, and the rest. How much was shown is recorded.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple, Self

from adapters.agents.presets.catalogue import instruction_names
from adapters.turns.folder import workspace_of
from adapters.turns.job import Job
from adapters.workspace import Workspace, Workspaces
from domain.checks.deciding_files import decides, sourced_in
from domain.checks.instruction_files import is_instruction
from domain.checks.test_files import is_code, is_test
from domain.delivery.state import Delivery
from domain.session.state import Session
from domain.session.workspace import ChangedFile, ReviewedLines
from domain.values.base import HansardError

DIFF_CHARACTERS: Final = 100_000
"""Characters of the diff that a reviewer or a judge reads."""
LISTED: Final = 300
"""Files that are listed; the others are only counted."""
_LONGEST: Final = 200
_MARK: Final = "[validation]"
_HEAD: Final = "All files that differ from the start, with the lines added and removed."
_WARNING: Final = (
    f"Those marked {_MARK} are tests, or decide what the validation runs. Check that each of them still verifies what "
    "it did: if one was weakened, a passing validation proves nothing."
)
_PARTIAL: Final = (
    "You see {percent} % of the changed lines: {shown:,} of {of:,}. Read the rest in the folder before you approve."
)
_HIDDEN: Final = ("Cc", "Cf", "Co", "Cn", "Zl", "Zp")
"""Categories of characters that a reader does not see, or that change the direction of what follows."""


class ShownChanges(NamedTuple):
    """The part of the changes that is read, and how much of them that is; None where the workspace is on another
    machine."""

    text: str = ""
    reviewed: ReviewedLines | None = None


NO_CHANGES: Final = ShownChanges()
UNCHANGED: Final = "Nothing was changed: no file differs from what the work began with."


def changes_of(job: Job, workspaces: Workspaces) -> ShownChanges:
    """Everything that the session has changed so far; empty if its workspace is not on this machine."""
    session = job.session
    if session.base is None or session.unchanged:
        return NO_CHANGES if session.base is None else ShownChanges(UNCHANGED)
    assert session.changes is not None, "it is not unchanged"
    base, head = session.base.base_commit, session.changes.head
    commands = _commands(session)
    try:
        workspace = workspace_of(job, workspaces)
        changed = workspace.files(base, head)
        files = JudgedFiles.of(changed, commands, _read_by(commands, workspace, head, changed))
        patch = workspace.patch(base, head, [path for file in files.in_order for path in _paths(file)])
    except HansardError:
        return NO_CHANGES
    if not patch:
        return NO_CHANGES
    diff = _cut(diff_of(patch))
    reviewed = ReviewedLines(
        shown=changed_lines(diff),
        of=max(files.lines, changed_lines(patch)),
        deciding=tuple(file.path for file in (*files.deciding, *files.tests))[:LISTED],
    )
    words = _PARTIAL.format(percent=reviewed.percent, shown=reviewed.shown, of=reviewed.of)
    partial = [words] if reviewed.shown < reviewed.of else []
    text = "\n\n".join([files.listing(), *partial, f"All changes so far, as a diff:\n\n{diff}"])
    return ShownChanges(text, reviewed)


def _commands(session: Session) -> tuple[str, ...]:
    return tuple(step.command for step in session.steps) if isinstance(session, Delivery) else ()


_SCRIPTS: Final = ("Makefile", "GNUmakefile", "makefile", "justfile", "package.json", "tox.ini", "noxfile.py")
"""Files at the top that commands run without naming them."""
_DEPTH: Final = 3
"""Steps by which scripts are followed that run other scripts."""
_LONGEST_SCRIPT: Final = 200_000
"""Bytes."""


def _read_by(commands: Sequence[str], workspace: Workspace, head: str, changed: Sequence[ChangedFile]) -> set[str]:
    """The changed paths that the scripts of the commands read, as far as their words name them."""
    paths = {path for file in changed for path in _paths(file)}
    read: set[str] = set()
    seen: set[str] = set()
    named = {*_SCRIPTS, *(word.removeprefix("./") for command in commands for word in command.split())}
    if workspace.prefix:
        named |= {f"{workspace.prefix}/{name}" for name in named}
    for _ in range(_DEPTH):
        places = [(head, name) for name in sorted(filter(_is_below, named - seen))]
        texts = workspace.texts(places, longest=_LONGEST_SCRIPT)
        seen |= named
        named = {name for (_, script), text in texts.items() for name in sourced_in(script, text)}
        read |= {path for path in paths if path in named or any(path.startswith(f"{name}/") for name in named)}
        if named <= seen:
            break
    return read


def _is_below(name: str) -> bool:
    """True if a word can be a path from the top."""
    return name not in ("", ".") and not name.startswith(("/", ":", "-")) and ".." not in name.split("/")


class JudgedFiles(NamedTuple):
    """The changed files in the order in which they are read. After a change of a `deciding` one, a passing validation
    could mean something else: a setting of the tools, or a file that a command names or reads. What agent programs obey
    is among them: judges see it as it was before."""

    deciding: tuple[ChangedFile, ...]
    code: tuple[ChangedFile, ...]
    tests: tuple[ChangedFile, ...]
    others: tuple[ChangedFile, ...]

    @classmethod
    def of(cls, files: Sequence[ChangedFile], commands: Sequence[str], read: Iterable[str] = ()) -> Self:
        """The files by what they are for; `read` are those that the scripts of the commands read."""
        replaced, reads, names = _replaced_folders(files), frozenset(read), instruction_names()
        groups: tuple[list[ChangedFile], ...] = ([], [], [], [])
        for file in files:
            paths = _paths(file)
            if file.path in replaced or any(
                decides(path, commands, read_by_them=reads) or is_instruction(path, names) for path in paths
            ):
                groups[0].append(file)
            elif any(map(is_test, paths)):
                groups[2].append(file)
            else:
                has_code = file.added is not None and any(map(is_code, paths))  # a binary file has no lines to read
                groups[1 if has_code else 3].append(file)
        return cls(*map(tuple, groups))

    @property
    def in_order(self) -> tuple[ChangedFile, ...]:
        return (*self.deciding, *self.code, *self.tests, *self.others)

    @property
    def lines(self) -> int:
        """The numbers of added and removed lines; binary files have none."""
        return sum((file.added or 0) + (file.removed or 0) for file in self.in_order)

    def listing(self) -> str:
        """All files with their lines."""
        marked = {file.path for file in (*self.deciding, *self.tests)}
        lines = [f"{_line(file)} {_MARK}" if file.path in marked else _line(file) for file in self.in_order]
        more = [f"- and {len(lines) - LISTED:,} more"] if len(lines) > LISTED else []
        warning = [_WARNING] if marked else []
        return "\n".join([_HEAD, *warning, "", *lines[:LISTED], *more])


def _replaced_folders(files: Sequence[ChangedFile]) -> frozenset[str]:
    """Paths that take the place of a folder, such as a link that leads to other tests."""
    gone = {path for file in files for path in ([file.path] if file.status == "deleted" else [file.renamed_from or ""])}
    folders = {path[:at] for path in gone for at, sign in enumerate(path) if sign == "/"}
    return frozenset(file.path for file in files if file.status != "deleted" and file.path in folders)


def _paths(file: ChangedFile) -> tuple[str, ...]:
    return (file.path, file.renamed_from) if file.renamed_from else (file.path,)


def _line(file: ChangedFile) -> str:
    is_binary = file.added is None or file.removed is None
    lines = "binary: not in the diff" if is_binary else f"+{file.added or 0:,} -{file.removed or 0:,}"
    before = f" from {_shown(file.renamed_from)}" if file.renamed_from else ""
    return f"- {_shown(file.path)} ({file.status}{before}, {lines})"


def _shown(path: str) -> str:
    """The name in quotes and in one line, whatever it contains: what follows it is ours."""
    name = path if len(path) <= _LONGEST else f"…{path[-_LONGEST:]}"
    return "".join(map(_visible, json.dumps(name, ensure_ascii=False)))


def _visible(character: str) -> str:
    if unicodedata.category(character) not in _HIDDEN:
        return character
    number = ord(character)
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


_HUNK: Final = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")


def diff_of(patch: str) -> str:
    """The diff, whose headers spell out what a reader would not see of a name."""
    lines = _lines(patch)
    return "\n".join(line if content or line.isascii() else _visible_words(line) for line, content in lines)


def _visible_words(line: str) -> str:
    """The line with its tabs, by which git ends a name with spaces."""
    return "\t".join("".join(map(_visible, word)) for word in line.split("\t"))


def _lines(patch: str) -> Iterator[tuple[str, bool]]:
    """The lines of a diff, each with whether it is a line of a file and not of a header."""
    old = new = 0
    for line in patch.split("\n"):  # a file's line may hold what else is taken for the end of one
        content = old > 0 or new > 0
        if content:
            sign = line[:1]
            old, new = old - (sign in ("-", " ")), new - (sign in ("+", " "))
        elif hunk := _HUNK.match(line):
            old, new = int(hunk[1] or 1), int(hunk[2] or 1)
        yield line, content


def changed_lines(patch: str) -> int:
    """The numbers of added and removed lines that a diff shows."""
    return sum(content and line[:1] in ("+", "-") for line, content in _lines(patch))


def _cut(patch: str) -> str:
    if len(patch) <= DIFF_CHARACTERS:
        return patch
    head = patch[: patch.rfind("\n", 0, DIFF_CHARACTERS) + 1] or patch[:DIFF_CHARACTERS]
    return f"{head}[cut here: {len(head):,} of {len(patch):,} characters]"
