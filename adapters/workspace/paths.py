"""Paths that come from outside."""

import re
import unicodedata

from adapters.workspace.errors import WorkspaceError


def confine(path: str) -> str:
    """The path, normalised, when it stays below the folder that it is relative to (promise S14): not absolute, no
    `..`, drive, backslash or control character, no `.git` by any spelling that some file system takes for it."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if not parts:
        raise WorkspaceError(f"{path!r} names no file.")
    if path.startswith("/") or "\\" in path or re.match(r"[A-Za-z]:", parts[0]):
        raise WorkspaceError(f"{path!r} is not a path relative to the workspace.")
    if ".." in parts:
        raise WorkspaceError(f"{path!r} leaves the workspace.")
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in path):
        raise WorkspaceError(f"{path!r} has characters that no file name needs.")
    if any(_is_git(part) for part in parts):
        raise WorkspaceError(f"{path!r} belongs to git.")
    if len(path.encode()) > 4096 or any(len(part.encode()) > 255 for part in parts):
        raise WorkspaceError(f"{path[:80]!r}… is too long for a path.")
    return "/".join(parts)


def _is_git(part: str) -> bool:
    seen = "".join(character for character in part if unicodedata.category(character) != "Cf")
    return seen.casefold().partition(":")[0].rstrip(". ") in (".git", "git~1")
