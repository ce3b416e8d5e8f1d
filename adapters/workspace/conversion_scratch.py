"""A place of its own in which the person's filters run: fenced, without network, out of the agents' reach, and with a
time limit (contract-3 §17)."""

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from adapters.fence.port import Fence, Grant
from adapters.processes.limits import NO_LIMITS
from adapters.processes.start import start
from adapters.processes.sweep import leaders
from adapters.workspace.git import OURS, WorkspaceError, answered, line, settings_of
from adapters.workspace.repository import Repository
from domain.values.sentences import Sentence

SECONDS: Final = 120.0
"""The time limit of a filter for one file."""
SECONDS_IN_ALL: Final = 900.0
"""The time limit of the filters for all files of a checkout."""
NOT_SET: Final = ("unspecified", "unset")
"""The values of an attribute that mean nothing."""
_ATTRIBUTES: Final = ("filter", "working-tree-encoding", "text", "crlf", "eol", "ident")
_OF_GIT: Final = frozenset(
    ("objects", "refs", "logs", "hooks", "info", "worktrees", "modules", "branches", "rebase-merge", "rebase-apply")
)
_LFS: Final = "lfs"
_ABOUT: Final = {"clean": "filter", "smudge": "smudge"}
"""How the codes of the sentences about a direction begin."""
_NAMED: Final = 20
"""How many paths are named."""
PLAIN_FILE: Final = "100"
"""How the mode of a plain file begins."""

Fencing = Callable[[Grant], Fence]
Rules = Mapping[str, str]
"""The attributes of one path that decide how git converts it."""


class NotConverted(WorkspaceError):
    """The person's git would convert these files, and it cannot be known how, or does not work."""

    def __init__(self, code: str, paths: Iterable[str], **facts: str) -> None:
        names = sorted(set(paths))
        more = [f"… ({len(names)})"] if len(names) > _NAMED else []
        super().__init__(Sentence(code, paths=", ".join([*names[:_NAMED], *more]), **facts))


class Scratch:
    """A repository with the attributes of a commit and no other file of it. `facts` are from `conversion_of`; `shared`
    is the git folder of the person's repository, of which filters see what does not belong to git itself."""

    def __init__(
        self,
        place: Path,
        repository: Repository,
        base: str,
        facts: Mapping[str, Any],
        shared: Path | None,
        fencing: Fencing,
    ) -> None:
        self._facts, self._shared, self._fencing = facts, shared, fencing
        self._top, self._home = place / "top", place / "home"
        self._home.mkdir()
        form = line(repository.run("rev-parse", "--show-object-format"))
        new = ["init", "--quiet", "--template=", f"--object-format={form}", str(self._top)]
        answered(new, cwd=place, codes=(0,))
        self._git = self._top / ".git"
        _write(self._git / "info" / "attributes", facts["attributes"])
        _write(self._home / "attributes", facts["attributes_file"])
        for name, value in self._settings():
            answered(["config", "--file", str(self._git / "config"), name, value], cwd=place, codes=(0,))
        self.files: dict[str, tuple[str, str]] = {}
        """The mode and the blob of each plain file of the commit."""
        for entry in filter(None, os.fsdecode(repository.run("ls-tree", "-r", "-z", "--full-tree", base)).split("\0")):
            about, _, path = entry.partition("\t")
            mode, _, blob = about.split()
            if not mode.startswith(PLAIN_FILE):
                continue
            self.files[path] = mode, blob
            if path.rpartition("/")[2] == ".gitattributes":
                content = repository.run("cat-file", "blob", blob)
                _write(self._top / path, content.decode("utf-8", "surrogateescape"))
        self._shown = tuple(self._show_tools())

    def _settings(self) -> Iterator[tuple[str, str]]:
        yield "core.attributesFile", str(self._home / "attributes")
        yield "core.autocrlf", self._facts["autocrlf"]
        yield "core.eol", self._facts["eol"]
        for name, commands in self._facts["filters"].items():
            yield f"filter.{name}.required", "true"
            yield from ((f"filter.{name}.{kind}", command) for kind, command in commands.items())

    def _show_tools(self) -> Iterator[Path]:
        """Show filters what they keep in the person's git folder, for example keys; what they add stays in here."""
        shared = self._shared
        for place in sorted(shared.iterdir()) if shared is not None and shared.is_dir() else ():
            if place.is_dir() and not place.is_symlink() and place.name not in _OF_GIT and place.name != _LFS:
                (self._git / place.name).symlink_to(place)
                yield place

    def rules(self, paths: Sequence[str]) -> dict[str, dict[str, str]]:
        """Returns what the commit's attributes say of each path."""
        data = b"\0".join(map(os.fsencode, paths))
        words = ["-c", f"core.attributesFile={self._home / 'attributes'}", "check-attr", "-z", "--stdin", *_ATTRIBUTES]
        output = answered(words, cwd=self._top, env=self._places(), data=data, codes=(0,)).stdout or b""
        parts = os.fsdecode(output).split("\0")
        rules: dict[str, dict[str, str]] = {}
        for path, name, value in zip(parts[::3], parts[1::3], parts[2::3], strict=False):
            rules.setdefault(path, {})[name] = value
        return rules

    def _places(self) -> dict[str, str]:
        return {**OURS, "GIT_DIR": str(self._git), "GIT_WORK_TREE": str(self._top)}

    def check_driver(self, name: str, paths: Iterable[str], kind: Literal["clean", "smudge"]) -> None:
        """Raises NotConverted for a filter that has no command of that kind and no `process`, or whose program is not
        on PATH and not named by an absolute path."""
        commands, about = self.commands(name, kind), _ABOUT[kind]
        if not commands:
            raise NotConverted(f"{about}_not_configured", paths, filter=name)
        for command in commands:
            try:
                program = next(iter(shlex.split(command)), "")
            except ValueError:
                program = ""
            if "/" in program and not program.startswith("/"):
                raise NotConverted(f"{about}_relative", paths, filter=name, command=command)
            if shutil.which(program, path=_path()) is None:
                raise NotConverted(f"{about}_not_found", paths, filter=name, command=command)

    def commands(self, name: str, kind: str) -> tuple[str, ...]:
        """The commands by which the person's git runs a filter in that direction."""
        commands = self._facts["filters"].get(name) or {}
        return tuple(filter(None, (commands.get("process"), commands.get(kind))))

    def cleaned(self, path: str, content: bytes, rule: Rules) -> bytes:
        """The content as git stores it. Raises NotConverted."""
        script = 'id=$(git hash-object -w --stdin --path="$1") && exec git cat-file blob "$id"'
        name = rule["filter"] if rule["filter"] not in NOT_SET else rule["working-tree-encoding"]
        return self._run(["sh", "-c", script, "sh", path], [path], name, "clean", stdin=content, seconds=SECONDS)

    def checked_out(self, repository: Repository, paths: Collection[str], folder: Path, names: Iterable[str]) -> None:
        """Write these files of the commit into a new folder as a checkout shows them. `names` are the filters that are
        concerned. Raises NotConverted."""
        blobs = "".join(f"{blob}\n" for blob in sorted({self.files[path][1] for path in paths}))
        packed = repository.run("pack-objects", "--quiet", "--stdout", stdin=blobs.encode())
        answered(["unpack-objects", "-q"], cwd=self._top, env=self._places(), data=packed, codes=(0,))
        rows = b"".join(os.fsencode(f"{self.files[path][0]} {self.files[path][1]}\t{path}\0") for path in paths)
        words = ["update-index", "-z", "--index-info"]
        answered(words, cwd=self._top, env=self._places(), data=rows, codes=(0,))
        folder.mkdir()
        self._show_lfs_objects()
        command = ["git", "checkout-index", "--all", "--force", f"--prefix={folder}/"]
        self._run(command, paths, ", ".join(sorted(set(names))), "smudge", writable=(folder,), seconds=SECONDS_IN_ALL)

    def _show_lfs_objects(self) -> None:
        """Let git-lfs read what it has on this machine for the person's repository; what it writes stays in here."""
        objects = _lfs_objects(self._shared) if self._shared is not None else None
        if objects is not None and objects.is_dir():
            (self._git / _LFS).mkdir()
            (self._git / _LFS / "objects").symlink_to(objects)
            self._shown = (*self._shown, objects)

    def _run(
        self,
        command: Sequence[str],
        paths: Collection[str],
        name: str,
        kind: Literal["clean", "smudge"],
        *,
        stdin: bytes | None = None,
        writable: tuple[Path, ...] = (),
        seconds: float,
    ) -> bytes:
        env = {
            "PATH": _path(),
            "HOME": str(self._home),
            "LC_ALL": "C",
            "GIT_TERMINAL_PROMPT": "0",
            **OURS,
        }
        grant = Grant(writable=(self._top, self._home, *writable), readable=self._shown, network="none")
        try:
            begun = start(command, cwd=self._top, env=env, stdin=stdin, limits=NO_LIMITS, fence=self._fencing(grant))
        except (OSError, ValueError) as error:
            raise NotConverted(f"{_ABOUT[kind]}_failed", paths, filter=name, detail=str(error)) from error
        try:
            output, complaint = begun.popen.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            raise NotConverted(f"{_ABOUT[kind]}_too_slow", paths, filter=name, number=f"{seconds:g}") from None
        finally:
            _end(begun.popen)
        if begun.popen.returncode != 0:
            detail = " ".join(complaint.decode(errors="replace").split())[-300:]
            raise NotConverted(f"{_ABOUT[kind]}_failed", paths, filter=name, detail=detail)
        return output

    def give_back(self) -> None:
        """Keep what git-lfs has stored: its files belong to the person's repository, like the branch."""
        made = self._git / _LFS / "objects"
        if self._shared is None or not made.is_dir() or made.is_symlink():
            return
        objects = _lfs_objects(self._shared)
        for file in made.rglob("*"):
            place = objects / file.relative_to(made)
            if file.is_file() and not file.is_symlink() and not place.exists():
                place.parent.mkdir(parents=True, exist_ok=True)
                draft = place.with_name(f"{place.name}.hansard")
                shutil.copyfile(file, draft)
                draft.replace(place)


def _lfs_objects(shared: Path) -> Path:
    """Returns the folder where git-lfs keeps the files of a repository: the person may have named another place
    (`lfs.storage`)."""
    return shared / (settings_of(shared, "lfs.storage", kind="path") or _LFS) / "objects"


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8", "surrogateescape")


def _path() -> str:
    """The absolute folders of PATH: what an agent wrote is not found by a relative one."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(folder for folder in folders if folder.startswith("/"))


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End what runs in the process's group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
    leaders.discard(process.pid)
