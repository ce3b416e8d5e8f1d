"""The uncommitted changes of a checkout that a result was made from, and replaces."""

import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from adapters.workspace.git import line
from adapters.workspace.inert import Git
from adapters.workspace.move import PRIVATE, TreeFile, has_content, tree_of

_EXECUTABLE: Final = "100755"


class ReplacedChanges(NamedTuple):
    """The uncommitted changes of a checkout that a result was made from, and therefore replaces: `paths` are as they
    were reviewed. `tree` is the checked-out commit with them."""

    paths: frozenset[str]
    tree: str
    base: str
    """The commit from which the result and this tree are compared."""


def replaced_changes(git: Git, top: Path, head: str, *, reviewed: str, on: str) -> ReplacedChanges:
    """Return what a result replaces that started with the commit `reviewed`, which was made `on` another."""
    before, changed = _entries(git, head), dict(_changed(git, on, reviewed))
    paths = frozenset(
        path for path, blob in changed.items() if blob != before.get(path) and _is_as_reviewed(git, top, path, blob)
    )
    tree = _with(git, head, {path: changed[path] for path in paths})
    after, start = _entries(git, tree), _entries(git, on)
    is_there = all(after.get(path) != start.get(path) for path in changed)
    return ReplacedChanges(paths, tree, reviewed if is_there else on)


def _changed(git: Git, before: str, after: str) -> Iterator[tuple[str, TreeFile | None]]:
    """Yield the paths that differ, with what they are afterwards."""
    options = ("-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--ignore-submodules=all")
    words = iter(os.fsdecode(git("diff-tree", *options, before, after)).split("\0"))
    for facts in words:
        if facts:
            _, mode, _, name, _ = facts.removeprefix(":").split(" ")
            yield next(words), TreeFile(mode, name) if mode.strip("0") else None


def _entries(git: Git, commit: str) -> dict[str, TreeFile]:
    entries: dict[str, TreeFile] = {}
    for entry in os.fsdecode(git("ls-tree", "-r", "-z", tree_of(git, commit))).split("\0"):
        facts, _, path = entry.partition("\t")
        if path:
            mode, _, name = facts.split(" ")
            entries[path] = TreeFile(mode, name)
    return entries


def _is_as_reviewed(git: Git, top: Path, path: str, blob: TreeFile | None) -> bool:
    place = top / path
    if blob is None:
        return not os.path.lexists(place)
    if not os.path.lexists(place) or not has_content(git, place, path, blob):
        return False
    executable = bool(os.lstat(place).st_mode & stat.S_IXUSR)
    return place.is_symlink() or executable == (blob.mode == _EXECUTABLE)


def _with(git: Git, commit: str, entries: dict[str, TreeFile | None]) -> str:
    """Return the tree of the commit with these entries."""
    lines = [
        f"{blob.mode} {blob.id}\t{path}" if blob else f"0 {'0' * len(commit)}\t{path}" for path, blob in entries.items()
    ]
    with tempfile.TemporaryDirectory(prefix="hansard-index-") as made:
        env = {"GIT_INDEX_FILE": str(Path(made) / "index")}
        git(*PRIVATE, "read-tree", tree_of(git, commit), env=env)
        data = os.fsencode("".join(f"{each}\0" for each in lines))
        git(*PRIVATE, "update-index", "-z", "--index-info", data=data, env=env)
        return line(git(*PRIVATE, "write-tree", env=env))
