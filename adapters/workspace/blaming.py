"""Which commit each line of a file comes from, and the turns that the commits name in their trailers."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from adapters.workspace.git import in_theirs
from adapters.workspace.paths import WorkspaceError

MOST_LINES: Final = 50_000
_TURNS: Final = "%H%x00%(trailers:key=Hansard-Turn,valueonly,separator=%x20)"


class BlamedLine(NamedTuple):
    line: int
    text: str
    commit: str


def blamed(folder: Path, path: str) -> list[BlamedLine]:
    """The lines of a file as the checked-out commit has it. Raises WorkspaceError for a file that it does not have."""
    said = in_theirs(["blame", "--porcelain", "-w", "HEAD", "--", path], folder).decode(errors="replace")
    found: list[BlamedLine] = []
    commit = ""
    for words in said.split("\n"):
        if words.startswith("\t"):
            found.append(BlamedLine(len(found) + 1, words[1:], commit))
        elif len(head := words.split(" ")) >= 3 and len(head[0]) in (40, 64) and head[1].isdigit():
            commit = head[0]
    if len(found) > MOST_LINES:
        raise WorkspaceError(f"{path} has more than {MOST_LINES} lines.")
    return found


def turns_of(folder: Path, commits: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The turns that each commit names, in its order; a person's commit names none."""
    names = sorted(set(commits))
    if not names:
        return {}
    said = in_theirs(["log", "--no-walk=unsorted", f"--format={_TURNS}", *names], folder).decode(errors="replace")
    pairs = (line.partition("\0") for line in said.splitlines() if "\0" in line)
    return {commit: tuple(turns.split()) for commit, _, turns in pairs}
