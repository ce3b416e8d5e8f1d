"""Paths from outside, and the error for everything that a workspace refuses."""

import re
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager

from domain.values.base import HansardError
from domain.values.sentences import Sentence


def confine(path: str) -> str:
    """The normalized path, if it stays below its base folder (promise S14): not absolute, no `..`, drive, backslash or
    control character, and no `.git` in any spelling that some file system accepts."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if not parts:
        raise WorkspaceError(Sentence("path_names_no_file", path=path))
    if path.startswith("/") or "\\" in path or re.match(r"[A-Za-z]:", parts[0]):
        raise WorkspaceError(Sentence("path_not_relative", path=path))
    if ".." in parts:
        raise WorkspaceError(Sentence("path_leaves_workspace", path=path))
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in path):
        raise WorkspaceError(Sentence("path_has_bad_characters", path=path))
    if any(_is_git(part) for part in parts):
        raise WorkspaceError(Sentence("path_belongs_to_git", path=path))
    if len(path.encode()) > 4096 or any(len(part.encode()) > 255 for part in parts):
        raise WorkspaceError(Sentence("path_too_long", path=path[:80]))
    return "/".join(parts)


def _is_git(part: str) -> bool:
    seen = "".join(character for character in part if unicodedata.category(character) != "Cf")
    return seen.casefold().partition(":")[0].rstrip(". ") in (".git", "git~1")


class WorkspaceError(HansardError):
    """A folder, a path or git does not allow it; the sentence says which."""


@contextmanager
def in_a_sentence() -> Iterator[None]:
    """Turns errors of the system into errors of ours."""
    try:
        yield
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        raise WorkspaceError(f"{error.strerror or type(error).__name__}{where}") from error
