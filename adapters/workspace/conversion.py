"""What a person's git would have committed: filters, encodings and line endings (contract-3 §17).

Agents see the stored form of files, and their work is recorded byte for byte. Before a branch is made of it, each of
its commits is rewritten as the person's git would have made it: by the attributes and the settings at the base, never
by what an agent wrote. Where that cannot be done, no branch is made.
"""

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from adapters.fence.port import Fence, Grant
from adapters.processes.limits import NO_LIMITS
from adapters.processes.start import start
from adapters.processes.sweep import leaders
from adapters.workspace.git import OURS, WorkspaceError, answered, line
from adapters.workspace.person import InertGit
from adapters.workspace.repository import Index, Repository
from adapters.workspace.snapshot import common_folder
from adapters.workspace.workspace import Workspace
from domain.values.sentences import Sentence

SECONDS: Final = 120.0
"""The time limit of a filter for one file."""
_ATTRIBUTES: Final = ("filter", "working-tree-encoding", "text", "crlf", "eol", "ident")
_NONE: Final = ("unspecified", "unset")
_STORED: Final = (b"\0GITCRYPT\0", b"version https://git-lfs.github.com/spec/")
"""How content begins that a filter has cleaned already."""
_OF_GIT: Final = frozenset(
    ("objects", "refs", "logs", "hooks", "info", "worktrees", "modules", "branches", "rebase-merge", "rebase-apply")
)
_SHOWN: Final = 20
"""How many paths are named."""
_FILE: Final = "100"

Fencing = Callable[[Grant], Fence]


class NotConverted(WorkspaceError):
    """No branch can be made: the person's git would have stored these files in a way that we cannot know."""

    def __init__(self, code: str, paths: Iterable[str], **facts: str) -> None:
        names = sorted(set(paths))
        more = [f"… ({len(names)})"] if len(names) > _SHOWN else []
        super().__init__(Sentence(code, paths=", ".join([*names[:_SHOWN], *more]), **facts))


def converted(workspace: Workspace, commit: str, fencing: Fencing) -> str:
    """The state as the person's git would have committed it, with its commits. Raises NotConverted."""
    if workspace.repository is None or workspace.conversion is None:
        return commit
    top = Path(workspace.repository)
    shared = top if workspace.bare else common_folder(InertGit(top, ()))
    repository = Repository(workspace.home / "repo.git")
    repository.check(commit)
    return Converter(repository, workspace.base(), workspace.conversion, shared, fencing).converted(commit)


class _Entry(NamedTuple):
    """A file of a commit that the base has not, or has otherwise."""

    path: str
    mode: str
    blob: str


@dataclass(frozen=True, slots=True)
class Converter:
    """Rewrites commits of one workspace. `facts` are from `conversion_of`; `shared` is the git folder of the person's
    repository, of which filters see what does not belong to git itself."""

    repository: Repository
    base: str
    facts: Mapping[str, Any]
    shared: Path | None
    fencing: Fencing
    _blobs: dict[tuple[str, str], str] = field(default_factory=dict)

    def converted(self, commit: str) -> str:
        """The commit as the person's git would have made it; itself where nothing is to be converted. Raises
        NotConverted."""
        words = ["rev-list", "--reverse", "--topo-order", f"{self.base}..{commit}"]
        commits = self.repository.run(*words).decode().split()
        changed = {each: list(self._changed(each)) for each in commits}
        paths = sorted({entry.path for entries in changed.values() for entry in entries})
        if not paths:
            return commit
        with tempfile.TemporaryDirectory(prefix="convert-", dir=self.repository.path) as made:
            scratch = _Scratch(self, Path(made))
            rules = scratch.attributes(paths)
            if not any(self._concerns(rule) for rule in rules.values()):
                return commit
            last = changed.get(commit, [])
            self._refuse_edits(last, rules)
            mapped: dict[str, str] = {}
            for each in commits:
                entries = [self._stored(entry, rules[entry.path], scratch) for entry in changed[each]]
                replaced = [new for new, old in zip(entries, changed[each], strict=True) if new != old]
                mapped[each] = self._rewritten(each, replaced, mapped)
            scratch.give_back()
            return mapped[commit]

    def _changed(self, commit: str) -> Iterator[_Entry]:
        words = iter(
            os.fsdecode(
                self.repository.run("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", self.base, commit)
            ).split("\0")
        )
        for facts in words:
            if facts:
                _, mode, _, blob, _ = facts.removeprefix(":").split(" ")
                path = next(words)
                if mode.startswith(_FILE):
                    yield _Entry(path, mode, blob)

    def _concerns(self, rule: Mapping[str, str]) -> bool:
        return any(rule[name] not in _NONE for name in _ATTRIBUTES) or self.facts["autocrlf"] in ("true", "input")

    def _refuse_edits(self, entries: Sequence[_Entry], rules: Mapping[str, Mapping[str, str]]) -> None:
        """Only a new file can be converted: of one that was there, agents saw the stored form."""
        edited = [entry.path for entry in entries if _is_filtered(rules[entry.path]) and self._at_base(entry.path)]
        if edited:
            raise NotConverted("filtered_files_edited", edited)

    def _at_base(self, path: str) -> str | None:
        """The blob that the base has there."""
        words = ["--literal-pathspecs", "ls-tree", "-z", "--full-tree", self.base, "--", path]
        about = os.fsdecode(self.repository.run(*words)).partition("\t")[0].split()
        return about[2] if about and about[1] == "blob" else None

    def _stored(self, entry: _Entry, rule: Mapping[str, str], scratch: "_Scratch") -> _Entry:
        if not self._concerns(rule):
            return entry
        key = entry.path, entry.blob
        if key not in self._blobs:
            self._blobs[key] = self._stored_blob(entry, rule, scratch)
        return entry._replace(blob=self._blobs[key])

    def _stored_blob(self, entry: _Entry, rule: Mapping[str, str], scratch: "_Scratch") -> str:
        before = self._at_base(entry.path)
        if _is_filtered(rule) and before is not None:
            return before  # edited on the way, and put back in the end
        content = self.repository.run("cat-file", "blob", entry.blob)
        if not self._needs_conversion(content, rule, before):
            return entry.blob
        if rule["filter"] not in _NONE:
            if content.startswith(_STORED) or scratch.is_stored(entry.blob, rule["filter"]):
                return entry.blob
            self._check_driver(rule["filter"], entry.path)
        result = scratch.cleaned(entry.path, content, rule)
        return line(self.repository.run("hash-object", "-w", "--stdin", "--no-filters", stdin=result))

    def _needs_conversion(self, content: bytes, rule: Mapping[str, str], before: str | None) -> bool:
        if rule["filter"] not in _NONE:
            return True
        if rule["working-tree-encoding"] not in _NONE and not _is_utf8(content):
            return True
        if rule["ident"] == "set" and b"$Id" in content:
            return True
        if b"\r\n" not in content or "unset" in (rule["text"], rule["crlf"]):
            return False
        automatic = rule["text"] == "auto" or rule["crlf"] == "auto"
        if not automatic and any(rule[name] not in _NONE for name in ("text", "crlf", "eol")):
            return True
        # git leaves the line endings of a file alone that has them in the repository
        return before is None or b"\r\n" not in self.repository.run("cat-file", "blob", before)

    def _check_driver(self, name: str, path: str) -> None:
        """Raises NotConverted for a filter that is not configured, or not by a program on PATH or an absolute path."""
        commands = self.facts["filters"].get(name) or {}
        if not any(commands.values()):
            raise NotConverted("filter_not_configured", [path], filter=name)
        for command in filter(None, commands.values()):
            try:
                program = next(iter(shlex.split(command)), "")
            except ValueError:
                program = ""
            if "/" in program and not program.startswith("/"):
                raise NotConverted("filter_relative", [path], filter=name, command=command)
            if shutil.which(program, path=_path()) is None:
                raise NotConverted("filter_not_found", [path], filter=name, command=command)

    def _rewritten(self, commit: str, replaced: Sequence[_Entry], mapped: Mapping[str, str]) -> str:
        """The commit with other files, on the rewritten parents; all else stays."""
        raw = self.repository.run("cat-file", "commit", commit)
        head, separator, message = raw.partition(b"\n\n")
        lines = []
        for each in head.split(b"\n"):
            word, _, value = each.partition(b" ")
            if word == b"tree" and replaced:
                each = b"tree " + self._tree(commit, replaced).encode()
            elif word == b"parent":
                each = b"parent " + mapped.get(value.decode(), value.decode()).encode()
            lines.append(each)
        new = b"\n".join(lines) + separator + message
        if new == raw:
            return commit
        return line(self.repository.run("hash-object", "-t", "commit", "-w", "--stdin", stdin=new))

    def _tree(self, commit: str, replaced: Sequence[_Entry]) -> str:
        with tempfile.TemporaryDirectory(prefix="index-", dir=self.repository.path) as private:
            index = Index(self.repository, Path(private) / "index")
            return index.with_files(commit, replaced)


def _is_filtered(rule: Mapping[str, str]) -> bool:
    return any(rule[name] not in _NONE for name in ("filter", "working-tree-encoding"))


def _is_utf8(content: bytes) -> bool:
    try:
        return "\0" not in content.decode()
    except UnicodeDecodeError:
        return False


def _path() -> str:
    """The absolute folders of PATH: what an agent wrote is not found by a relative one."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(folder for folder in folders if folder.startswith("/"))


class _Scratch:
    """A repository of its own, with the attributes of the base and without any file, in which the person's filters run.
    Agents cannot reach it."""

    def __init__(self, converter: Converter, place: Path) -> None:
        self._converter, self._top, self._home = converter, place / "top", place / "home"
        self._home.mkdir()
        repository = converter.repository
        form = line(repository.run("rev-parse", "--show-object-format"))
        new = ["init", "--quiet", "--template=", f"--object-format={form}", str(self._top)]
        answered(new, cwd=place, codes=(0,))
        self._git = self._top / ".git"
        facts = converter.facts
        self._write(self._git / "info" / "attributes", facts["attributes"])
        self._write(self._home / "attributes", facts["attributes_file"])
        for name, value in self._settings():
            answered(["config", "--file", str(self._git / "config"), name, value], cwd=place, codes=(0,))
        listing = repository.run("ls-tree", "-r", "-z", "--full-tree", converter.base)
        self._base: dict[str, list[str]] = {}
        for entry in filter(None, os.fsdecode(listing).split("\0")):
            about, _, path = entry.partition("\t")
            mode, _, blob = about.split()
            if not mode.startswith(_FILE):
                continue
            self._base.setdefault(blob, []).append(path)
            if path.rpartition("/")[2] == ".gitattributes":
                content = repository.run("cat-file", "blob", blob)
                self._write(self._top / path, content.decode("utf-8", "surrogateescape"))
        self._shown = tuple(self._show_tools())

    @staticmethod
    def _write(file: Path, text: str) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8", "surrogateescape")

    def _settings(self) -> Iterator[tuple[str, str]]:
        facts = self._converter.facts
        yield "core.attributesFile", str(self._home / "attributes")
        yield "core.autocrlf", facts["autocrlf"]
        yield "core.eol", facts["eol"]
        for name, commands in facts["filters"].items():
            yield f"filter.{name}.required", "true"
            yield from ((f"filter.{name}.{kind}", command) for kind, command in commands.items())

    def _show_tools(self) -> Iterator[Path]:
        """Show filters what they keep in the person's git folder, for example keys; what they add stays in here."""
        shared = self._converter.shared
        for place in sorted(shared.iterdir()) if shared is not None and shared.is_dir() else ():
            if place.is_dir() and not place.is_symlink() and place.name not in _OF_GIT and place.name != "lfs":
                (self._git / place.name).symlink_to(place)
                yield place

    def attributes(self, paths: Sequence[str]) -> dict[str, dict[str, str]]:
        """What the base says of each path."""
        data = b"\0".join(map(os.fsencode, paths))
        words = ["-c", f"core.attributesFile={self._home / 'attributes'}", "check-attr", "-z", "--stdin", *_ATTRIBUTES]
        env = {**OURS, "GIT_DIR": str(self._git), "GIT_WORK_TREE": str(self._top)}
        output = answered(words, cwd=self._top, env=env, data=data, codes=(0,)).stdout or b""
        parts = os.fsdecode(output).split("\0")
        rules: dict[str, dict[str, str]] = {}
        for path, name, value in zip(parts[::3], parts[1::3], parts[2::3], strict=False):
            rules.setdefault(path, {})[name] = value
        return rules

    def is_stored(self, blob: str, name: str) -> bool:
        """True if the base has this content under the same filter."""
        paths = self._base.get(blob, [])
        return any(rule["filter"] == name for rule in self.attributes(paths).values()) if paths else False

    def cleaned(self, path: str, content: bytes, rule: Mapping[str, str]) -> bytes:
        """The content as git stores it. Raises NotConverted."""
        script = 'id=$(git hash-object -w --stdin --path="$1") && exec git cat-file blob "$id"'
        env = {
            "PATH": _path(),
            "HOME": str(self._home),
            "LC_ALL": "C",
            "GIT_TERMINAL_PROMPT": "0",
            **OURS,
        }
        grant = Grant(writable=(self._top, self._home), readable=self._shown, network="none")
        name = rule["filter"] if rule["filter"] not in _NONE else rule["working-tree-encoding"]
        try:
            begun = start(
                ["sh", "-c", script, "sh", path],
                cwd=self._top,
                env=env,
                stdin=content,
                limits=NO_LIMITS,
                fence=self._converter.fencing(grant),
            )
        except (OSError, ValueError) as error:
            raise NotConverted("filter_failed", [path], filter=name, detail=str(error)) from error
        try:
            output, complaint = begun.popen.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            raise NotConverted("filter_too_slow", [path], filter=name, number=f"{SECONDS:g}") from None
        finally:
            _end(begun.popen)
        if begun.popen.returncode != 0:
            detail = " ".join(complaint.decode(errors="replace").split())[-300:]
            raise NotConverted("filter_failed", [path], filter=name, detail=detail)
        return output

    def give_back(self) -> None:
        """Keep what git-lfs has stored: its files belong to the person's repository, like the branch."""
        made = self._git / "lfs" / "objects"
        if self._converter.shared is None or not made.is_dir():
            return
        for file in made.rglob("*"):
            place = self._converter.shared / "lfs" / "objects" / file.relative_to(made)
            if file.is_file() and not file.is_symlink() and not place.exists():
                place.parent.mkdir(parents=True, exist_ok=True)
                draft = place.with_name(f"{place.name}.hansard")
                shutil.copyfile(file, draft)
                draft.replace(place)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End what runs in the process's group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
    leaders.discard(process.pid)
