"""The lines of a file as a commit has it, read from the first of several repositories that has the commit."""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from adapters.workspace.git import WorkspaceError, in_theirs
from domain.values.sentences import Sentence

MOST_MIB: Final = 16
"""The largest file whose lines are read."""
_FILE_MODES: Final = frozenset({"100644", "100755", "100664"})


class CommitNotHere(WorkspaceError):
    """None of the repositories has the commit."""


class CommittedFile(NamedTuple):
    """A file of a commit: its object, and its size in bytes."""

    folder: Path
    blob: str
    size: int


def holder_of(folders: Iterable[Path], commit: str) -> Path:
    """The first of these repositories that has the commit. Raises CommitNotHere."""
    for folder in folders:
        if folder.is_dir():
            with suppress(WorkspaceError):
                in_theirs(["cat-file", "-e", f"{commit}^{{commit}}"], folder)
                return folder
    raise CommitNotHere(Sentence("comment_commit_not_here", commit=commit[:10]))


def file_at(folder: Path, commit: str, path: str) -> CommittedFile:
    """The file. Raises WorkspaceError if the commit does not have it, or has a link, a folder or a submodule there."""
    listing = in_theirs(["--literal-pathspecs", "ls-tree", "-z", "-l", "--full-tree", commit, "--", path], folder)
    for row in filter(None, listing.split(b"\0")):
        about, _, name = row.partition(b"\t")
        mode, kind, blob, size = about.decode().split()
        if name != os.fsencode(path) or kind == "tree":
            continue
        if mode not in _FILE_MODES:
            raise WorkspaceError(Sentence("comment_path_special", path=path))
        return CommittedFile(folder, blob, int(size))
    raise WorkspaceError(Sentence("comment_path_missing", path=path, commit=commit[:10]))


def lines_of(file: CommittedFile, path: str) -> tuple[str, ...]:
    """The lines of the file, without their ends. Raises WorkspaceError for one that is not text, or too large."""
    if file.size > MOST_MIB * 2**20:
        raise WorkspaceError(Sentence("comment_file_too_large", path=path, most=MOST_MIB))
    content = in_theirs(["cat-file", "blob", file.blob], file.folder)
    if b"\0" in content:
        raise WorkspaceError(Sentence("comment_path_not_text", path=path))
    return split_lines(content)


def split_lines(content: bytes) -> tuple[str, ...]:
    """The lines as git counts them; only `\\n` ends one."""
    lines = content.decode(errors="replace").split("\n")
    return tuple(line.removesuffix("\r") for line in (lines if lines[-1] else lines[:-1]))
