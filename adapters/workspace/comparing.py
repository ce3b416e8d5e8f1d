"""What differs between two states of a workspace: commits, and files with their lines."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Final

from adapters.workspace.git import WorkspaceError
from adapters.workspace.repository import Repository
from domain.session.workspace import ChangedFile, FileStatus, WorkspaceChanges

MOST_FILES: Final = 1_000
"""How many files and commits are listed; the other files are only counted."""
_STATUSES: Final[dict[str, FileStatus]] = {"A": "added", "D": "deleted", "R": "renamed"}
_PLAIN: Final = ("-r", "-z", "--find-renames", "--no-ext-diff", "--no-textconv", "--no-color")


def compared(repository: Repository, before: str, after: str) -> WorkspaceChanges:
    """Raises WorkspaceError if one of them is not recorded."""
    with repository.knowing(before, after):
        commits = repository.run("rev-list", "--reverse", "--topo-order", f"{before}..{after}").decode().split()
        listing = repository.run("diff-tree", *_PLAIN, "--name-status", before, after)
        statuses = {path: (status, old) for path, status, old in _statuses(listing)}
        lines = dict(_lines(repository.run("diff-tree", *_PLAIN, "--numstat", before, after)))
    files = (
        ChangedFile(path=path, status=status, added=added, removed=removed, renamed_from=old)
        for path, (status, old) in sorted(statuses.items())
        for added, removed in [lines.get(path, (None, None))]
    )
    return WorkspaceChanges(
        head=after,
        commits=tuple(commits[-MOST_FILES:]),
        files=tuple(islice(files, MOST_FILES)),
        more_files=max(0, len(statuses) - MOST_FILES),
    )


def _words(output: bytes) -> Iterator[str]:
    return (word.decode(errors="replace") for word in output.split(b"\0") if word)


def _statuses(output: bytes) -> Iterator[tuple[str, FileStatus, str | None]]:
    """`M`, path; or `R100`, the old path, the new one. Path, status, and where it was renamed from."""
    words = _words(output)
    for letter in words:
        path = next(words)
        renamed = letter[0] == "R"
        yield next(words) if renamed else path, _STATUSES.get(letter[0], "modified"), path if renamed else None


def _lines(output: bytes) -> Iterator[tuple[str, tuple[int | None, int | None]]]:
    """`added<tab>removed<tab>path`; of a renamed file the path is empty, and the old and the new one follow. A binary
    file has `-` for both."""
    words = _words(output)
    for entry in words:
        added, removed, path = entry.split("\t", 2)
        if not path:
            next(words)
            path = next(words)
        yield path, (_number(added), _number(removed))


def _number(word: str) -> int | None:
    return int(word) if word.isdigit() else None


def kept_patch(root: Path, sessions: Iterable[str], before: str, after: str) -> str | None:
    """A unified diff from the first of these sessions' workspaces that has both states; None if none has."""
    for name in sessions:
        place = root / name / "repo.git"
        if place.parent.parent == root and place.is_dir():
            with suppress(WorkspaceError):
                return Repository(place).patch(before, after)
    return None


def offered(root: Path, session: str, commit: str) -> tuple[Path, str] | None:
    """The repository, and the ref in it, from which a session's commit can be fetched; None if it is not here."""
    place, ref = root / session / "repo.git", f"refs/hansard/{commit}"
    if place.parent.parent != root or not place.is_dir():
        return None
    with suppress(WorkspaceError):
        Repository(place).check(commit)
        Repository(place).run("update-ref", ref, commit)
        return place, ref
    return None
