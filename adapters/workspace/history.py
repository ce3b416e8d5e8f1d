"""Lists what changed between two states of a workspace: files with their lines, and commits."""

import os
import tempfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from adapters.workspace.git import WorkspaceError, in_theirs, line
from adapters.workspace.recording_rules import ignored_at, ignored_now
from adapters.workspace.repository import Repository
from domain.session.workspace import ChangedFile, FileStatus, WorkspaceChanges

MOST_FILES: Final = 1_000
"""Files and commits that are listed; the other files are only counted."""
_STATUSES: Final[dict[str, FileStatus]] = {"A": "added", "D": "deleted", "R": "renamed"}
_PLAIN: Final = ("-r", "-z", "--find-renames", "--no-ext-diff", "--no-textconv", "--no-color")


def compared(repository: Repository, before: str, after: str) -> WorkspaceChanges:
    """Raises WorkspaceError if one of them is not recorded."""
    with repository.knowing(before, after):
        commits = repository.run("rev-list", "--reverse", "--topo-order", f"{before}..{after}").decode().split()
    files = _with_ignored(repository, before, after, changed_files(repository, before, after))
    return WorkspaceChanges(
        head=after,
        commits=tuple(commits[-MOST_FILES:]),
        files=files[:MOST_FILES],
        more_files=max(0, len(files) - MOST_FILES),
    )


def _with_ignored(
    repository: Repository, before: str, after: str, files: tuple[ChangedFile, ...]
) -> tuple[ChangedFile, ...]:
    """The files, with a mark on new ones that are ignored, by the rules before or by those after."""
    new = [os.fsencode(file.path) for file in files if file.status in ("added", "renamed")]
    if not new:
        return files
    ignored = ignored_at(repository, before, new)
    if any(file.path.rpartition("/")[2] == ".gitignore" for file in files):
        ignored |= ignored_now(repository, after, new)
    names = {os.fsdecode(path) for path in ignored}
    return tuple(file.model_copy(update={"ignored": True}) if file.path in names else file for file in files)


def changed_files(repository: Repository, before: str, after: str) -> tuple[ChangedFile, ...]:
    """All of them, by path. Raises WorkspaceError if one of the states is not recorded."""
    with repository.knowing(before, after):
        output = repository.run("diff-tree", *_PLAIN, "--raw", "--numstat", before, after)
    listing, lines = _parts(output)
    return tuple(
        ChangedFile(path=path, status=status, added=added, removed=removed, renamed_from=old)
        for path, status, old in sorted(statuses(listing))
        for added, removed in [lines.get(path, (None, None))]
    )


def _parts(output: bytes) -> tuple[bytes, dict[str, tuple[int | None, int | None]]]:
    """Returns what `--name-status` and what `--numstat` would have said. All raw entries come first; each begins with
    a colon and has as many paths as its letter needs."""
    words = output.split(b"\0")
    listing: list[bytes] = []
    place = 0
    while words[place].startswith(b":"):
        letter = words[place].rpartition(b" ")[2]
        paths = 2 if letter[:1] in (b"R", b"C") else 1
        listing += [letter, *words[place + 1 : place + 1 + paths]]
        place += 1 + paths
    return b"\0".join(listing), dict(_lines(b"\0".join(words[place:])))


def _words(output: bytes) -> Iterator[str]:
    return (word.decode(errors="replace") for word in output.split(b"\0") if word)


def statuses(output: bytes) -> Iterator[tuple[str, FileStatus, str | None]]:
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
    """A unified diff from the first of these sessions' workspaces that has both states; None if none has. A
    renamed file is one, as it is among the changed files."""
    for name in sessions:
        place = root / name / "repo.git"
        if place.parent.parent == root and place.is_dir():
            with suppress(WorkspaceError):
                return Repository(place).patch(before, after, renames=True)
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


def is_recorded(place: Path, commit: str) -> bool:
    """True if the repository of a workspace has the commit."""
    try:
        Repository(place).check(commit)
    except WorkspaceError:
        return False
    return True


# -- blame -------------------------------------------------------------------------------------------------------------


def commit_of(folder: Path, revision: str) -> str:
    """Raises WorkspaceError if this is not a commit."""
    return line(in_theirs(["rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"], folder))


def shared_base(folder: Path, commits: Sequence[str]) -> str | None:
    """The last commit that all of these descend from; commits that are not here any more are ignored."""
    here = [commit for commit in dict.fromkeys(commits) if _has(folder, commit)]
    with suppress(WorkspaceError):
        return line(in_theirs(["merge-base", "--octopus", *here], folder)) if here else None
    return None


def _has(folder: Path, commit: str) -> bool:
    with suppress(WorkspaceError):
        in_theirs(["cat-file", "-e", f"{commit}^{{commit}}"], folder)
        return True
    return False


def lines_in(folders: Sequence[Path], commit: str, wanted: Collection[str]) -> frozenset[str] | None:
    """The lines (without surrounding blanks) that a file of the commit contains, read from the first of the
    repositories that has the commit. None if none has it."""
    for folder in folders:
        with suppress(WorkspaceError), tempfile.TemporaryFile() as output:
            in_theirs(["cat-file", "-e", f"{commit}^{{commit}}"], folder)
            plain = ["-h", "-I", "--no-color", "--no-line-number", "--no-column"]
            in_theirs(["grep", *plain, "-e", "", commit], folder, output=output, codes=(0, 1))
            output.seek(0)
            sought = {words.encode(errors="replace"): words for words in wanted}
            return frozenset(sought[words] for each in output if (words := each.strip()) in sought)
    return None
