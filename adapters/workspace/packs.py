"""A workspace as git packs: what another machine needs to continue it, and how that is imported.

The start commit becomes a shallow pack, without its history, which is the same for all workspaces that start from it.
Every later state becomes a pack of what the earlier ones do not contain.
"""

import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from adapters.workspace.creation import begin_shallow, clone_with, settle
from adapters.workspace.git import WorkspaceError, line
from adapters.workspace.repository import Repository
from adapters.workspace.twins import REPLACED

PART: Final = 1_048_576
"""Size of the pieces in which a pack is transferred."""


class TooLarge(WorkspaceError):
    """A pack would be larger than allowed."""


class SharedRepository:
    """The repository of a workspace, exported and imported. `home` is the workspace's folder."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self._git = Repository(home / "repo.git")
        self._states = f"refs/shared/{home.name}"

    @property
    def exists(self) -> bool:
        return self._git.path.is_dir()

    @property
    def facts(self) -> dict[str, Any]:
        """The facts that were saved when the workspace was made: `start` is the commit that it started from."""
        facts: dict[str, Any] = json.loads((self._git.path / "hansard.json").read_text(encoding="utf-8"))
        return facts

    def numbered_states(self) -> dict[int, str]:
        """The numbered states that were exported or imported here. Those of a copy's original do not count."""
        output = self._git.run("for-each-ref", "--format=%(refname:lstrip=3) %(objectname)", self._states).decode()
        return {int(number): commit for number, commit in map(str.split, output.splitlines())}

    def know(self, number: int, commit: str) -> None:
        """Note that the state is here and has this number."""
        self._git.run("update-ref", f"{self._states}/{number}", commit)

    # -- giving ----------------------------------------------------------------------------------------------------

    def base_pack(self, limit: int) -> Iterator[bytes]:
        """The start commit without its history. Raises TooLarge before the first part."""
        start, stored = self.facts["start"], self._git.stored
        walk = ["--no-walk", *_start_of(self.facts)]
        if int(line(stored.run("rev-list", "--objects", "--disk-usage", *walk))) > limit:
            raise TooLarge(f"{start} takes more than {limit} bytes")
        yield from self._pack(stored.run("rev-list", "--objects", "--no-object-names", *walk), (), limit)

    def state_pack(self, commit: str, limit: int, earlier: Iterable[str]) -> Iterator[bytes]:
        """Packs what these states have and the base does not. Raises TooLarge before the first part."""
        others = {*_start_of(self.facts), *earlier}
        revisions = "".join([f"{commit}\n", *(f"^{other}\n" for other in sorted(others))])
        yield from self._pack(revisions.encode(), ("--revs", "--thin"), limit)

    def _pack(self, objects: bytes, options: Sequence[str], limit: int) -> Iterator[bytes]:
        with tempfile.TemporaryFile(dir=self.home) as file:
            self._git.run("pack-objects", "--quiet", "--stdout", *options, stdin=objects, output=file)
            if (size := file.seek(0, os.SEEK_END)) > limit:
                raise TooLarge(f"{size} bytes are more than {limit}")
            file.seek(0)
            while part := file.read(PART):
                yield part

    # -- taking ----------------------------------------------------------------------------------------------------

    def begin(self, facts: dict[str, Any], base: Iterable[bytes]) -> None:
        """Create the repository: with all of the person's history if their repository is here, otherwise with the base
        alone, which is only requested then. Completely or not at all."""
        self.home.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="new-", dir=self.home) as made:
            repository = Repository(Path(made) / "repo.git")
            if not clone_with(repository, facts):
                begin_shallow(repository, facts)
                self._take(repository, base)
                _cut(repository, facts["start"])
            elif facts.get("twin"):
                self._take(repository, base)
            if facts.get("twin"):
                repository.run("update-ref", f"{REPLACED}{facts['start']}", facts["twin"])
            repository.run("update-ref", "refs/hansard/base", facts["start"])
            repository.write("hansard.json", json.dumps(facts))
            settle(repository.path, self._git.path)

    def take(self, number: int, commit: str, parts: Iterable[bytes]) -> None:
        """Import a state. Those with lower numbers must already be here."""
        with suppress(WorkspaceError):
            self._git.check(commit)
            return self.know(number, commit)
        self._take(self._git, parts)
        self._git.check(commit)
        self.know(number, commit)

    def _take(self, repository: Repository, parts: Iterable[bytes]) -> None:
        with tempfile.TemporaryFile(dir=self.home) as file:
            file.writelines(parts)
            file.seek(0)
            repository.run("index-pack", "--stdin", "--fix-thin", stdin=file)


def _start_of(facts: Mapping[str, Any]) -> list[str]:
    """The start commit, and its twin if it is seen in another form."""
    return [facts["start"], *([facts["twin"]] if facts.get("twin") else [])]


def _cut(repository: Repository, commit: str) -> None:
    """The commits before it are not here, which git has to know."""
    if b"\nparent " in repository.run("cat-file", "commit", commit).partition(b"\n\n")[0]:
        repository.write("shallow", f"{commit}\n")


# Notes on a result's commits in the person's repository: which lines an agent wrote.
