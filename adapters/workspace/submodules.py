"""Finds and clears what lies in the places of submodules (contract-3 §17, nothing is dropped).

They are not checked out, and no commit of the work holds what is in them. The set-up of a repository, or an agent, may
fill one. What an agent changes in a submodule cannot be recorded, so the turn is refused and the agent is told.
"""

import hashlib
import os
import posixpath
import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from adapters.workspace.entries import read
from adapters.workspace.folders import delete, is_real_folder
from adapters.workspace.git import DoesNotFit, WorkspaceError, line
from adapters.workspace.repository import Index, Repository

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_PATH: Final = re.compile(r'^\s*path\s*=\s*"?(.+?)/?"?\s*$', re.MULTILINE)
_LARGEST: Final = 134_217_728
"""Bytes of an index that is read."""
_SHORT: Final = 4_096
"""Bytes of a file that only names something."""


@dataclass(frozen=True, slots=True)
class Submodules:
    """The places of submodules in one working folder."""

    repository: Repository
    tree: Path
    places: Sequence[str]

    def filled(self) -> tuple[str, ...]:
        """The places in which something is."""
        return tuple(place for place in self.places if _names_in(self.tree, place))

    def empty(self, keep: Collection[str]) -> None:
        """Delete what is in the places that are not to `keep`."""
        for place in self.places:
            if place not in keep:
                for name in _names_in(self.tree, place):
                    delete(self.tree / place / name)

    def remember(self) -> None:
        """Note what is in the places now: only the person's own commands have put it there."""
        for place in self.filled():
            noted = self._noted(place)
            noted.path.unlink(missing_ok=True)
            noted.note(self.tree / place)

    def forget(self) -> None:
        """Delete what was noted."""
        for place in self.places:
            self._noted(place).path.unlink(missing_ok=True)

    def differs_from_set_up(self, by_set_up: Collection[str]) -> bool:
        """True if something was changed in a place that the set-up has filled."""
        return any(self._since_set_up(place) for place in self.places if place in by_set_up)

    def removed(self) -> list[str]:
        """The places whose submodule an agent has taken out of the work: a file or a link is there, or nothing, and
        `.gitmodules` does not name it any more. An empty folder may be gone because a program tidied up."""
        gone = [place for place in self.places if not _is_there(self.tree, place)]
        named = self._named() if gone else ()
        return [place for place in gone if place not in named or os.path.lexists(self.tree / place)]

    def _named(self) -> Collection[str]:
        """The paths in the `.gitmodules` of the folder."""
        root = os.open(self.tree, _FOLDER)
        try:
            return _PATH.findall(os.fsdecode(read(root, ".gitmodules", _LARGEST) or b""))
        except DoesNotFit:  # it is a folder or a link
            return ()
        finally:
            os.close(root)

    def changed(self, start: str, by_set_up: Collection[str]) -> list[str]:
        """The files that differ from what the set-up has put into the places that it filled, or from the submodule at
        `start` where it was checked out by an agent; elsewhere all that there is."""
        result: list[str] = []
        for place in self.places:
            there = self._differing(place, start, by_set_up)
            result += [posixpath.join(place, os.fsdecode(path)) for path in there]
        return result

    def _differing(self, place: str, start: str, by_set_up: Collection[str]) -> list[bytes]:
        if place in by_set_up:
            return self._since_set_up(place)
        everything = [os.fsencode(name) for name in _names_in(self.tree, place) if name != ".git"]
        copy = self._noted(place)
        try:
            listing = self._index_at(place, line(self.repository.run("rev-parse", "--verify", f"{start}:{place}")))
            if listing is None:
                return everything
            copy.path.write_bytes(listing)
            return copy.differing(self.tree / place)
        except (OSError, WorkspaceError):
            return everything
        finally:
            copy.path.unlink(missing_ok=True)

    def _since_set_up(self, place: str) -> list[bytes]:
        noted = self._noted(place)
        if not noted.path.exists():  # set up by an older version
            return []
        return noted.differing(self.tree / place) if _is_there(self.tree, place) else [b""]

    def _index_at(self, place: str, commit: str) -> bytes | None:
        """The index of an agent's checkout of the submodule; None unless it has that commit checked out. It is only
        data: nothing else of theirs is read, and links are not followed."""
        root = os.open(self.tree, _FOLDER)
        try:
            gitdir = f"{place}/.git"
            if not (self.tree / gitdir).is_dir():
                named = os.fsdecode(read(root, gitdir, _SHORT) or b"").removeprefix("gitdir:").strip()
                gitdir = posixpath.normpath(posixpath.join(place, named))
            if gitdir.startswith(("/", "../")):
                return None
            if (read(root, f"{gitdir}/HEAD", _SHORT) or b"").strip() != commit.encode():
                return None
            return read(root, f"{gitdir}/index", _LARGEST)
        except DoesNotFit:
            return None
        finally:
            os.close(root)

    def _noted(self, place: str) -> Index:
        name = hashlib.sha256(os.fsencode(place)).hexdigest()[:16]
        return Index(self.repository, self.repository.path / f"submodule-{name}-{self.tree.name}")


def _names_in(tree: Path, place: str) -> list[str]:
    """The names in a folder; none where it, or a folder that it is in, is a link, which may lead anywhere."""
    if not _is_there(tree, place):
        return []
    with suppress(OSError):
        return [path.name for path in (tree / place).iterdir()]
    return []


def _is_there(tree: Path, place: str) -> bool:
    parts = place.split("/")
    return all(is_real_folder(tree / "/".join(parts[: at + 1])) for at in range(len(parts)))
