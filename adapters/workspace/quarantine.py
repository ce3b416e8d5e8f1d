"""A change is checked before it is recorded. Until then its objects are in a folder of their own, so that nothing of a
change that is refused stays: every agent's git can read our objects."""

import mmap
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from adapters.workspace.git import git
from adapters.workspace.repository import Repository

_SUBMODULE = "160000"


class FileContent(NamedTuple):
    """A file of a change: its path, and where its content is in `data`, which only lives as long as the check."""

    path: str
    data: mmap.mmap
    start: int
    end: int


Contents = Callable[[], Iterator[FileContent]]
"""Reads the contents of the files that differ."""
Check = Callable[[Contents, Contents], None]
"""Gets the files after the change and before it; raises an error if the change must not be recorded."""
Passes = Callable[[str], str]
"""Returns the state that it is called with, unless the check fails."""


@contextmanager
def checked(repository: Repository, parent: str | None, check: Check | None) -> Iterator[tuple[Repository, Passes]]:
    """The place to record a change on `parent`, and what has to be called with the new state."""
    if check is None:
        yield repository, str
        return
    with tempfile.TemporaryDirectory(prefix="objects-", dir=repository.path) as folder:
        ours = _quarantine(repository, Path(folder))

        def passes(state: str) -> str:
            if state != parent:
                before, after = _differing(ours, parent, state)
                check(lambda: _contents(ours, after), lambda: _contents(ours, before))
                _move(ours.objects, repository.path / "objects")
            return state

        yield ours, passes


@dataclass(frozen=True, slots=True)
class _Quarantine(Repository):
    """The repository, with its new objects elsewhere."""

    objects: Path

    def _environment(self, tree: Path | None = None, index: Path | None = None) -> dict[str, str]:
        return Repository._environment(self, tree, index) | {"GIT_OBJECT_DIRECTORY": str(self.objects)}


def _quarantine(repository: Repository, objects: Path) -> _Quarantine:
    (objects / "info").mkdir()
    (objects / "info" / "alternates").write_bytes(os.fsencode(repository.path / "objects") + b"\n")
    return _Quarantine(repository.path, objects)


def _move(source: Path, target: Path) -> None:
    """All objects; the index of a pack last, because it makes the pack visible."""
    names = [path for folder in source.iterdir() if folder.name != "info" for path in folder.iterdir()]
    for path in sorted(names, key=lambda name: name.suffix == ".idx"):
        place = target / path.relative_to(source)
        place.parent.mkdir(exist_ok=True)
        path.replace(place)


class _Blob(NamedTuple):
    path: str
    id: str


def _differing(repository: Repository, parent: str | None, state: str) -> tuple[list[_Blob], list[_Blob]]:
    """The files that differ, before and after; a file that does not exist is in one of the lists only."""
    options = ["-r", "-z", "--no-renames", "--full-index"]
    states = [state] if parent is None else [parent, state]
    root = ["--root", "--no-commit-id"] if parent is None else []
    words = iter(repository.run("diff-tree", *options, *root, *states).split(b"\0")[:-1])
    before: list[_Blob] = []
    after: list[_Blob] = []
    for entry in words:
        old_mode, mode, old, new, _ = entry.decode().removeprefix(":").split(" ")
        path = next(words).decode(errors="replace")
        for kind, blob, place in ((old_mode, old, before), (mode, new, after)):
            if kind != _SUBMODULE and blob.strip("0"):
                place.append(_Blob(path, blob))
    return before, after


def _contents(repository: _Quarantine, blobs: Sequence[_Blob]) -> Iterator[FileContent]:
    if not blobs:
        return
    with tempfile.TemporaryFile(dir=repository.objects.parent) as output:
        ids = "".join(f"{blob.id}\n" for blob in blobs).encode()
        git(["cat-file", "--batch"], cwd=repository.path, env=repository._environment(), stdin=ids, output=output)
        with mmap.mmap(output.fileno(), 0, access=mmap.ACCESS_READ) as data:
            start = 0
            for blob in blobs:
                head = data.find(b"\n", start)
                kind, _, size = data[start:head].decode().partition(" ")[2].partition(" ")
                start = head + 1
                if kind == "blob":  # of a partial clone, it may be missing
                    yield FileContent(blob.path, data, start, start + int(size))
                    start += int(size) + 1
