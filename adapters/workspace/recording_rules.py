"""The rules for which files of a working folder are recorded (contract-3 §17).

Not recorded is what the person's rules at the base ignore, and what a `.gitignore` of the folder ignores, because a
clone ignores it as well. The rules of the agents' own git do not count, but what it tracks is recorded although it is
ignored. Below the folders of tools a file is only recorded where the base has files in such a folder, and what was
put there from the person's checkout never is.
"""

import json
import os
import re
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from adapters.workspace.git import WorkspaceError, is_of_git, settings_of

TOOL_FOLDERS: Final = (
    *("__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis"),
    *("node_modules", ".venv"),
)
"""Folders that tools fill by themselves."""
NEVER_RECORDED: Final = (
    *(f"{name}/" for name in TOOL_FOLDERS),
    *(".aider.chat.history.md", ".aider.input.history", ".aider.tags.cache.v*/"),
)
"""Patterns in the form that git uses to ignore files."""
_PATTERN: Final = re.compile(r"^#|[\\*?\[\] ]")
"""Characters with a special meaning in a line of an exclude file, or of the files that come first."""
_LITERALLY: Final = r"\\\g<0>"
_LARGEST: Final = 134_217_728
"""Bytes of an index that is read."""
_HEAD: Final = 1_000
"""So many bytes of a path that is too long say whether it is ignored."""
_WITHHELD: Final = "withheld.json"
_BASE_RULES: Final = "base-rules"


class Recorder(Protocol):
    """The repository that files are recorded in, or its quarantine: git with our own settings."""

    @property
    def path(self) -> Path: ...

    def run(self, *args: str, index: Path | None = None) -> bytes: ...

    def answered(
        self,
        *args: str,
        codes: Collection[int],
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        data: bytes = b"",
    ) -> subprocess.CompletedProcess[bytes]: ...

    def exclude(self, paths: Iterable[str]) -> None: ...


@dataclass(frozen=True, slots=True)
class RecordingRules:
    """The rules of one repository. `base` is the commit whose `.gitignore` files count; None: only the folder's own do.
    `tool_folders` are the folders of tools that have files there."""

    base: str | None = None
    tool_folders: frozenset[str] = frozenset()

    def exclude_text(self, persons: str) -> str:
        """The lines of a file that makes git ignore what is not recorded, as far as it can say that. The person's own
        rules come last: they win."""
        again = (
            line
            for folder in sorted(self.tool_folders)
            for line in (f"!{anchored(folder)}/", f"!{anchored(folder)}/**/{folder.rpartition('/')[2]}/")
        )
        return "".join(f"{line}\n" for line in (*NEVER_RECORDED, *again)) + persons

    def patterns(self) -> tuple[str, ...]:
        """Returns what is never recorded anywhere, as git's patterns. A name that the base has somewhere is looked at
        file by file."""
        names = {folder.rpartition("/")[2] for folder in self.tool_folders}
        return tuple(pattern for pattern in NEVER_RECORDED if pattern.rstrip("/") not in names)

    def recorded(self, repository: Recorder, paths: Collection[bytes]) -> list[bytes]:
        """Those of these new files that are recorded."""
        put = withheld(repository)
        ours = [path for path in self._outside_tools(paths) if path not in put]
        if self.base is None or not ours:
            return ours
        ignored = ignored_at(repository, self.base, ours)
        return [path for path in ours if path not in ignored]

    def recorded_below(self, repository: Recorder, paths: Iterable[str]) -> list[str]:
        """Those of these very long paths that would be recorded, judged by how they begin."""
        heads = {os.fsencode(path)[:_HEAD].rpartition(b"/")[0] + b"/": path for path in paths}
        return [heads[head] for head in self.recorded(repository, heads)]

    def _outside_tools(self, paths: Iterable[bytes]) -> list[bytes]:
        return [path for path in paths if not self._is_of_a_tool(os.fsdecode(path))]

    def _is_of_a_tool(self, path: str) -> bool:
        """True if the path is below a folder of a tool, and below none of that name that the base has files in."""
        parts = path.split("/")[:-1]
        below = [("/".join(parts[: at + 1]), name) for at, name in enumerate(parts) if name in TOOL_FOLDERS]
        there = {name for folder, name in below if folder in self.tool_folders}
        return any(name not in there for _, name in below)


def literal(path: str) -> str:
    """A path as a pattern that fits only itself."""
    return _PATTERN.sub(_LITERALLY, path)


def anchored(path: str) -> str:
    """A path from the top level, as a line of an exclude file."""
    return f"/{literal(path)}"


def persons_rules(top: Path, exclude: Path) -> str:
    """Returns what the person's git ignores beside the `.gitignore` files: their own file for all repositories, then
    that of the repository, which wins."""
    named = settings_of(top, "core.excludesFile", kind="path")
    config = Path(os.environ.get("XDG_CONFIG_HOME") or Path(os.environ.get("HOME", "/nonexistent")) / ".config")
    files = (Path(named) if named else config / "git" / "ignore", exclude)
    return "".join(f"{_text(file)}\n" for file in files if file.is_file())


def _text(file: Path) -> str:
    with suppress(OSError):
        return file.read_text("utf-8", "surrogateescape")
    return ""


class SpecialFolders(NamedTuple):
    """The folders of tools in which a commit has files, and the places of its submodules."""

    of_tools: list[str]
    submodules: list[str]


def special_folders(repository: Recorder, commit: str) -> SpecialFolders:
    """The folders of a commit that are treated in their own way."""
    rows = repository.run("ls-tree", "-r", "-d", "-z", "--full-tree", f"{commit}^{{tree}}").split(b"\0")
    folders = SpecialFolders([], [])
    for row in filter(None, rows):
        about, _, path = row.partition(b"\t")
        name = os.fsdecode(path)
        if about.startswith(b"160000"):
            folders.submodules.append(name)
        elif name.rpartition("/")[2] in TOOL_FOLDERS:
            folders.of_tools.append(name)
    return folders


def ignored_at(repository: Recorder, commit: str, paths: Iterable[bytes]) -> set[bytes]:
    """Those of these paths that the rules of the commit and of the person ignore. The `.gitignore` files of the commit
    are kept for the next time."""
    place = repository.path / f"{_BASE_RULES}-{commit}"
    if not place.is_dir():
        with tempfile.TemporaryDirectory(prefix="rules-", dir=repository.path) as made:
            draft = Path(made) / "rules"
            _write_rules(repository, commit, draft)
            with suppress(OSError):  # another process was faster
                draft.rename(place)
    return _ignored_in(repository, place, paths)


def ignored_now(repository: Recorder, commit: str, paths: Iterable[bytes]) -> set[bytes]:
    """Like `ignored_at`, with nothing kept."""
    with tempfile.TemporaryDirectory(prefix="rules-", dir=repository.path) as made:
        _write_rules(repository, commit, Path(made) / "rules")
        return _ignored_in(repository, Path(made) / "rules", paths)


def _ignored_in(repository: Recorder, rules: Path, paths: Iterable[bytes]) -> set[bytes]:
    env = {
        "GIT_DIR": str(repository.path),
        "GIT_WORK_TREE": str(rules),
        "GIT_INDEX_FILE": str(repository.path / "none"),
    }
    words = ["check-ignore", "--no-index", "-z", "--stdin"]
    done = repository.answered(*words, codes=(0, 1), env=env, cwd=rules, data=b"\0".join(paths))
    return set(filter(None, (done.stdout or b"").split(b"\0")))


def _write_rules(repository: Recorder, commit: str, folder: Path) -> None:
    """Write the `.gitignore` files of the commit, and nothing else, into a new folder."""
    folder.mkdir()
    listing = repository.run("ls-tree", "-r", "-z", "--full-tree", commit)
    for entry in filter(None, listing.split(b"\0")):
        about, _, path = entry.partition(b"\t")
        mode, _, blob = about.split()
        if path.rpartition(b"/")[2] == b".gitignore" and mode.startswith(b"100"):
            file = folder / os.fsdecode(path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(repository.run("cat-file", "blob", blob.decode()))


# What was put into the folders from the person's checkout.


def withhold(repository: Recorder, paths: Iterable[str]) -> None:
    """Never record these paths from the top from now on, nor anything below them."""
    before = _withheld(repository)
    if new := [path for path in dict.fromkeys(paths) if path not in before]:
        repository.exclude(new)
        draft = repository.path / f"{_WITHHELD}.new"
        draft.write_text(json.dumps([*before, *new]), encoding="ascii")
        draft.replace(repository.path / _WITHHELD)


def withheld(repository: Recorder) -> "Withheld":
    """The paths that are never recorded."""
    return Withheld(frozenset(_withheld(repository)))


@dataclass(frozen=True, slots=True)
class Withheld:
    """Paths, together with everything below them."""

    names: frozenset[str]

    def __contains__(self, path: bytes) -> bool:
        name = os.fsdecode(path)
        while name:
            if name in self.names:
                return True
            name = name.rpartition("/")[0]
        return False


def _withheld(repository: Recorder) -> list[str]:
    try:
        names: list[str] = json.loads((repository.path / _WITHHELD).read_text(encoding="ascii"))
    except FileNotFoundError:
        return []
    return names


# The agents' own git.


def tracked_inside(repository: Recorder, tree: Path, others: AbstractSet[bytes]) -> set[bytes]:
    """The paths that the agents' git in the folder tracks beside the others. Their index is only data: a copy of it
    is listed by our own git; nothing else of theirs is read. One that cannot be read lists nothing."""
    with tempfile.TemporaryDirectory(prefix="theirs-", dir=repository.path) as private:
        copy = Path(private) / "index"
        if not _copied(tree, copy):
            return set()
        try:
            output = repository.run("ls-files", "-z", index=copy)
        except WorkspaceError:
            return set()
    return {path for path in set(output.split(b"\0")) - others if path and _is_inside(os.fsdecode(path))}


def _copied(tree: Path, copy: Path) -> bool:
    """True if there was a plain index of at most `_LARGEST` bytes; no symbolic link is followed."""
    flags = os.O_RDONLY | os.O_NOFOLLOW
    with suppress(OSError):
        folder = os.open(tree / ".git", flags | os.O_DIRECTORY)
        try:
            file = os.open("index", flags | os.O_NONBLOCK, dir_fd=folder)
        finally:
            os.close(folder)
        with os.fdopen(file, "rb") as source:
            facts = os.fstat(source.fileno())
            if stat.S_ISREG(facts.st_mode) and facts.st_size <= _LARGEST:
                with copy.open("wb") as target:
                    shutil.copyfileobj(source, target)
                return True
    return False


def _is_inside(path: str) -> bool:
    return not any(part in ("", ".", "..") or is_of_git(part) for part in path.split("/"))
