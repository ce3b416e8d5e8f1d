"""Finds which commit each line of a file comes from."""

from contextlib import suppress
from pathlib import Path
from typing import Final

from adapters.workspace.borrowed_objects import promisor
from adapters.workspace.git import WorkspaceError, in_theirs, line
from domain.provenance.claims import BlamedLine
from domain.values.sentences import Sentence

MOST_LINES: Final = 50_000
MOST_MIB: Final = 16
"""The largest file whose lines are looked for."""


class NotHere(WorkspaceError):
    """A partial clone lacks what is asked for. It is not fetched: reading uses no network."""


def blamed(folder: Path, path: str, commit: str) -> list[BlamedLine]:
    """The lines of a file in a commit. Raises WorkspaceError if the file is not in it, or too large."""
    if _bytes_of(folder, path, commit) > MOST_MIB * 2**20:
        raise WorkspaceError(Sentence("too_large_to_blame", path=path, most=MOST_MIB))
    question = ["blame", "--porcelain", "--no-textconv", "-w", "--ignore-revs-file=", commit, "--", path]
    try:
        output = in_theirs(question, folder)
    except WorkspaceError as error:
        if _is_file(folder, path, commit) and promisor(folder) is not None:
            raise NotHere(Sentence("blame_lacks_objects", path=path)) from error
        raise
    lines: list[BlamedLine] = []
    origins: dict[str, str] = {}
    source, number = "", 0
    for words in output.decode(errors="replace").split("\n"):
        if words.startswith("\t"):
            lines.append(BlamedLine(len(lines) + 1, words[1:], source, origins.get(source, path), number))
        elif words.startswith("filename "):
            origins[source] = words.removeprefix("filename ")
        elif len(head := words.split(" ")) >= 3 and len(head[0]) in (40, 64) and head[1].isdigit():
            source, number = head[0], int(head[1])
    if len(lines) > MOST_LINES:
        raise WorkspaceError(Sentence("too_many_lines", path=path, most=MOST_LINES))
    return lines


def _is_file(folder: Path, path: str, commit: str) -> bool:
    with suppress(WorkspaceError):
        return bool(in_theirs(["--literal-pathspecs", "ls-tree", "--full-tree", commit, "--", path], folder))
    return False


def _bytes_of(folder: Path, path: str, commit: str) -> int:
    """0 for what is not a file of the commit."""
    with suppress(WorkspaceError):
        return int(line(in_theirs(["cat-file", "-s", f"{commit}:{path}"], folder)))
    return 0
