"""Leftovers in a working folder between turns, which no state records: what the set-up made, what the project ignores.
Agents can write there, and so can the code that they wrote, so what is validated goes without it.

What is there when only the person's own commands have run is trusted: after the set-up, and after the baseline. Later
files are deleted; what was changed since is made again.
"""

import json
import os
import stat
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from adapters.workspace.folders import delete
from adapters.workspace.repository import Index

_EXPANDED: Final = 1_000
"""So many files of new folders are ignored one by one. Of more, the folders are: whatever else comes into them."""


class Trusted(NamedTuple):
    """The trusted names, those that the set-up made, and for each path what shows a change: mode, size, time of
    modification, time of change (which programs cannot set), and inode."""

    names: tuple[str, ...] = ()
    made: tuple[str, ...] = ()
    files: dict[str, list[int]] = {}


def mark_of(tree: Path) -> Path:
    """The file that marks a working folder as set up, and says what was trusted then."""
    return tree.with_name(f"ready-{tree.name}")


def trusted(mark: Path) -> Trusted:
    """Nothing where the folder is not set up. A file of an older version says nothing, so it does not count."""
    try:
        original: dict[str, Any] = json.loads(mark.read_text(encoding="ascii"))
        return Trusted(tuple(original["names"]), tuple(original["made"]), original["files"])
    except FileNotFoundError:
        return Trusted()
    except ValueError:
        mark.unlink(missing_ok=True)
        return Trusted()


def trust(mark: Path, folder: Path, names: Sequence[str], made: Sequence[str]) -> None:
    """Trust what has these names in the folder now."""
    draft = mark.with_name(f"{mark.name}.new")
    facts = {"names": names, "made": made, "files": dict(_files(folder, names))}
    draft.write_text(json.dumps(facts), encoding="ascii")  # which escapes what is no character in a name
    draft.replace(mark)


def restore(folder: Path, original: Trusted, recorded: Collection[str] = ()) -> tuple[str, ...]:
    """Delete what was added to the trusted names, unless it is `recorded`: files that git knows, and their folders.
    Those names in which anything was changed or is missing."""
    now = dict(_files(folder, original.names))
    added = now.keys() - original.files.keys() - set(recorded)
    for path in added:
        if path.rpartition("/")[0] not in added:
            delete(folder / path)
    changed = {path for path, facts in original.files.items() if now.get(path) != facts}
    return tuple(dict.fromkeys(_top(path, original.names) for path in sorted(changed)))


def _top(path: str, names: Collection[str]) -> str:
    """The name that the path is, or is below."""
    while path and path not in names:
        path = path.rpartition("/")[0]
    return path


def tidy(index: Index, tree: Path, original: Trusted) -> Collection[str]:
    """Leave what is trusted, as it was. What was changed is deleted, to be made again; if the set-up made it, all of
    it, and the folder has to be set up again. Returns the names that were deleted."""
    gone: Collection[str] = restore(tree, original, index.contents(tree))
    if not set(gone).isdisjoint(original.made):
        mark_of(tree).unlink(missing_ok=True)
        gone = original.names
    if gone:
        index.clean(tree, only=gone)
    return gone


def _files(folder: Path, names: Iterable[str]) -> Iterator[tuple[str, list[int]]]:
    """Of folders only that they are there: their times change with what is deleted in them."""
    todo = [name for name in names if os.path.lexists(folder / name)]
    while todo:
        name = todo.pop()
        facts = os.lstat(folder / name)
        if not stat.S_ISDIR(facts.st_mode):
            yield name, [facts.st_mode, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_ino]
            continue
        yield name, [stat.S_IFMT(facts.st_mode)]
        with suppress(OSError), os.scandir(folder / name) as entries:
            todo += [f"{name}/{entry.name}" for entry in entries]


def trust_home(mark: Path, home: Path) -> None:
    """Trust what is in the home of the commands, unless something is trusted already."""
    if not mark.exists():
        trust(mark, home.parent, [home.name], [])


def tidy_home(mark: Path, home: Path) -> bool:
    """Leave what is trusted in the home of the commands; False if it was changed. Then the home is deleted, and the
    set-up has to run again."""
    if not restore(home.parent, trusted(mark)):
        return True
    delete(home)
    mark.unlink(missing_ok=True)
    return False


def to_ignore(index: Index, tree: Path) -> tuple[str, ...]:
    """The files that the set-up made and the project does not ignore: file by file, so that a file which an agent
    adds next to them is not lost.
    """
    new = index.new(tree)
    files = dict(_files(tree, new))
    plain = tuple(path for path, facts in files.items() if len(facts) > 1)
    return plain if len(plain) <= _EXPANDED else new
