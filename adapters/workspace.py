"""Where a session's agents work, and what they have changed there.

Git looks at the agents' folders only through a repository of our own outside of them (`repo.git`): its configuration,
hooks and attributes are ours, so nothing that an agent plants in its folder is ever executed by us (agents rule 7).
The agents get a `.git` of their own for comfort; we make it, move it in, and never read it.

Everything here blocks: call it from a thread.
"""

import json
import os
import re
import secrets
import shutil
import stat
import subprocess
import tempfile
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from domain.base import HansardError

PATCH_BYTES: Final = 4_194_304
"""A patch is cut here, at a line's end, with a last line that says so."""

_SECONDS: Final = 300.0
_AUTHOR: Final = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Hansard"), ("EMAIL", "hansard@localhost"))
}
_SETTINGS: Final = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.alternateRefsCommand=true",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.quotePath=false",
    "core.autocrlf=false",
    "core.bigFileThreshold=16m",
    "protocol.allow=never",
    "protocol.file.allow=always",
    "submodule.recurse=false",
    "gc.auto=0",
    "maintenance.auto=false",
)
_ATTRIBUTES: Final = "* -text !eol !crlf !ident !filter !diff !merge !working-tree-encoding !whitespace\n"
"""Beats every `.gitattributes`: contents are recorded and restored byte for byte, and no diff is hidden."""
_NEVER_RECORDED: Final = (
    "__pycache__/\n*.pyc\n.pytest_cache/\n.mypy_cache/\n.ruff_cache/\n.hypothesis/\nnode_modules/\n.venv/\n"
)
_COMMIT: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_SESSION: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_SLOT: Final = re.compile(r"tree-[0-9]+")
_GITLINK: Final = b"160000"


class WorkspaceError(HansardError):
    """A folder, a path or git does not allow it; the sentence says which."""


@contextmanager
def _in_a_sentence() -> Iterator[None]:
    """What the system refuses, as a refusal of ours."""
    try:
        yield
    except OSError as error:
        raise WorkspaceError(f"{error.strerror or type(error).__name__}: {error.filename}") from error


class Workspaces:
    """The workspaces of all sessions, each in a folder of its own below `root`."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()

    @_in_a_sentence()
    def open(self, session_id: str, source: Path | None) -> "Workspace":
        """The session's workspace, founded on first use; its start state is the source as it was then."""
        if not _SESSION.fullmatch(session_id):
            raise WorkspaceError(f"{session_id!r} cannot name a workspace.")
        home = self.root / session_id
        asked = None if source is None else str(_existing_folder(source))
        if not (home / "repo.git").exists():
            _found(home, asked)
        workspace = Workspace(home, **json.loads((home / "repo.git" / "hansard.json").read_text(encoding="utf-8")))
        if workspace.asked != asked:
            raise WorkspaceError(f"Session {session_id} works on {workspace.asked}, not on {asked}.")
        return workspace


@dataclass(frozen=True, slots=True)
class Workspace:
    """One session's folders and their recorded states; a state is the id of a commit in `repo.git`."""

    home: Path
    asked: str | None
    """The folder that the session was started with."""
    repository: str | None
    """The top of the git repository that it lies in."""
    prefix: str
    """Where it lies in there, as a path with a slash behind it; empty at the top."""
    dirty: bool
    """The repository had uncommitted changes: they are not in the start state."""
    start: str

    def base(self) -> str:
        """The state everything began with."""
        return self.start

    @_in_a_sentence()
    def checkout(self, *, tree: str | None, slot: int) -> Path:
        """The folder of this slot, brought to that state (None: the start); what the project ignores stays in it.
        A folder without git is worked in as it is, whatever the state and the slot."""
        if self.in_place is not None:
            return _existing_folder(self.in_place)
        commit = self._git.commit(tree or self.start)
        folder = self.home / f"tree-{int(slot)}"
        try:
            self._restore(folder, commit)
        except (OSError, WorkspaceError):
            _delete(folder)
            self._restore(folder, commit)
        with _opened(folder, self.prefix):
            return folder / self.prefix

    @_in_a_sentence()
    def snapshot(self, folder: Path, *, message: str, parent: str | None) -> str:
        """Record what the folder holds, as a commit on `parent`; `parent` itself when nothing is different."""
        tree = self._tree_of(folder)
        if self.in_place is None:
            _tame(tree)
        with self._git.index(tree.name if self.in_place is None else "source") as index:
            index.record(tree)
            return self._git.record(index.written(), message=message, parent=parent)

    def patch(self, before: str, after: str) -> str:
        """A unified diff; of a binary file it only says that it differs. At most `PATCH_BYTES`."""
        return self._git.patch(self._git.commit(before), self._git.commit(after))

    def changed_files(self, before: str, after: str) -> tuple[str, ...]:
        """The paths that differ, sorted; a renamed file is both."""
        states = self._git.commit(before), self._git.commit(after)
        names = self._git.run("diff-tree", "-r", "-z", "--name-only", "--no-renames", *states)
        return tuple(name.decode(errors="replace") for name in names.split(b"\0") if name)

    @_in_a_sentence()
    def write_files(self, folder: Path, files: Mapping[str, str]) -> tuple[str, ...]:
        """Write these contents, all or, when one path is not allowed, none; the normalised paths."""
        tree = self._tree_of(folder)
        contents = {confine(path): _encoded(path, text) for path, text in files.items()}
        if len(contents) < len(files):
            raise WorkspaceError("The same file is given twice.")
        with _opened(tree, self.prefix) as root:
            for path in contents:
                _check_place(root, path)
                if any(other.startswith(f"{path}/") for other in contents):
                    raise WorkspaceError(f"{path!r} cannot be a file and a folder.")
            for path, data in contents.items():
                _write(root, path, data)
        return tuple(contents)

    def publish(self, commit: str, branch: str) -> bool:
        """Create the branch in the person's repository, or move it forward; False when the source has none. Their
        checkout, index and current branch stay as they are; a branch that is checked out anywhere is refused."""
        if self.repository is None:
            return False
        known, ref = self._git.commit(commit), f"refs/heads/{branch}"
        _git(["check-ref-format", "--branch", branch], cwd=self.home)
        listed = _in_theirs(["worktree", "list", "--porcelain", "-z"], Path(self.repository))
        if f"branch {ref}".encode() in listed.split(b"\0"):
            raise WorkspaceError(f"The branch {branch} is checked out in {self.repository}; it is left alone.")
        self._git.run("update-ref", f"refs/hansard/{known}", known)
        quiet = ["--no-write-fetch-head", "--no-auto-maintenance", "--no-tags", "--no-prune"]
        origin = [str(self._git.path), f"refs/hansard/{known}:{ref}"]
        _in_theirs(["fetch", *quiet, "--no-recurse-submodules", "--", *origin], Path(self.repository))
        return True

    @_in_a_sentence()
    def remove(self) -> None:
        """Delete everything that was kept for the session; its source stays."""
        _delete(self.home)

    @property
    def in_place(self) -> Path | None:
        """The person's own folder, when that is where the agents work: a folder without git."""
        return Path(self.asked) if self.asked is not None and self.repository is None else None

    @property
    def _git(self) -> "_Repository":
        return _Repository(self.home / "repo.git")

    def _restore(self, folder: Path, commit: str) -> None:
        if not _is_real_folder(folder):
            _delete(folder)
            folder.mkdir(parents=True)
        _tame(folder)
        _delete(folder / ".git")
        with self._git.index(folder.name) as index:
            index.restore(folder, commit)
            self._give_git(folder, commit, index.path)

    def _give_git(self, folder: Path, commit: str, index: Path) -> None:
        """A repository for the agents, made where they cannot reach it and only then moved in."""
        with tempfile.TemporaryDirectory(prefix="git-", dir=self.home) as made:
            form = "sha256" if len(commit) == 64 else "sha1"
            new = ["init", "--quiet", "--template=", "--initial-branch=hansard", f"--object-format={form}", made]
            _git(new, cwd=self.home)
            inside = _Repository(Path(made) / ".git")
            inside.write("info/exclude", _NEVER_RECORDED)
            inside.write("objects/info/alternates", f"{self._git.path / 'objects'}\n")
            inside.run("config", "user.name", _AUTHOR["GIT_AUTHOR_NAME"])
            inside.run("config", "user.email", _AUTHOR["GIT_AUTHOR_EMAIL"])
            inside.run("update-ref", "refs/heads/hansard", commit)
            shutil.copy2(index, inside.path / "index")
            inside.path.rename(folder / ".git")

    def _tree_of(self, folder: Path) -> Path:
        """The whole tree that a folder from `checkout` belongs to."""
        if self.in_place is not None:
            tree, expected = folder, self.in_place
        else:
            below = folder.relative_to(self.home).parts if folder.is_relative_to(self.home) else ()
            tree = self.home / below[0] if below and _SLOT.fullmatch(below[0]) else self.home
            expected = tree / self.prefix
        if folder != expected or tree == self.home:
            raise WorkspaceError(f"{folder} is no folder of this workspace.")
        if not _is_real_folder(tree):
            raise WorkspaceError(f"The folder {folder} is gone.")
        return tree


@dataclass(frozen=True, slots=True)
class _Repository:
    """A git directory that only we write."""

    path: Path

    def run(self, *args: str, tree: Path | None = None, index: Path | None = None, given: bytes = b"") -> bytes:
        """What git says. It sees `tree` as its working tree, and nothing of that tree's own `.git`."""
        env = {"GIT_DIR": self.path, "GIT_WORK_TREE": tree, "GIT_INDEX_FILE": index}
        ours = {name: str(value) for name, value in env.items() if value is not None}
        return _git(args, cwd=tree or self.path, env=ours | _OURS, given=given)

    def write(self, name: str, text: str) -> None:
        (self.path / name).parent.mkdir(exist_ok=True)
        (self.path / name).write_text(text, encoding="utf-8")

    def commit(self, state: str) -> str:
        """The state again, when it is the full id of a commit in here."""
        try:
            if not _COMMIT.fullmatch(state):
                raise WorkspaceError("not an id")
            self.run("cat-file", "-e", f"{state}^{{commit}}")
        except WorkspaceError:
            raise WorkspaceError(f"The state {state!r} is not recorded in this workspace.") from None
        return state

    def record(self, tree: str, *, message: str, parent: str | None) -> str:
        if parent is not None and _line(self.run("rev-parse", f"{self.commit(parent)}^{{tree}}")) == tree:
            return parent
        parents = [] if parent is None else ["-p", parent]
        text = message.replace("\0", "\N{REPLACEMENT CHARACTER}").encode(errors="replace")
        return _line(self.run("commit-tree", tree, *parents, "-F", "-", given=text))

    def patch(self, before: str, after: str) -> str:
        plain = ["--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--submodule=short"]
        command = ["diff-tree", "-p", "-r", "--full-index", "--src-prefix=a/", "--dst-prefix=b/", *plain, before, after]
        with tempfile.TemporaryFile() as whole:
            _git(command, cwd=self.path, env={"GIT_DIR": str(self.path), **_OURS}, output=whole)
            size = whole.seek(0, os.SEEK_END)
            whole.seek(0)
            head = whole.read(PATCH_BYTES)
        if size <= PATCH_BYTES:
            return head.decode(errors="replace")
        kept = head[: head.rfind(b"\n") + 1]
        return kept.decode(errors="replace") + f"[cut here: {len(kept)} of {size} bytes]\n"

    @contextmanager
    def index(self, name: str) -> "Iterator[_Index]":
        """The index of that name, as a copy that takes its place when all went well: whoever is killed meanwhile
        leaves no lock behind. Its time is kept, git needs it to notice a change within the same tick."""
        kept = self.path / f"index-{name}"
        with tempfile.TemporaryDirectory(prefix="index-", dir=self.path) as private:
            index = _Index(self, Path(private) / "index")
            if kept.exists():
                shutil.copy2(kept, index.path)
            yield index
            if index.path.exists():
                index.path.replace(kept)


@dataclass(frozen=True, slots=True)
class _Index:
    """What git remembers of one folder."""

    repository: _Repository
    path: Path

    def record(self, tree: Path) -> None:
        """Take in the files as they are. Never `git add`: it would run git inside of nested repositories."""
        staged = (line.partition(b"\t") for line in self._names(tree, "--stage"))
        tracked = [path for facts, _, path in staged if not facts.startswith(_GITLINK)]
        present = set(_plain_files(tree, tracked))
        gone = [path for path in tracked if path not in present]
        found = [*present, *_plain_files(tree, self._untracked(tree))]
        self._run("update-index", "-z", "--force-remove", "--stdin", tree=tree, given=b"\0".join(gone))
        self._run("update-index", "-z", "--add", "--remove", "--replace", "--stdin", tree=tree, given=b"\0".join(found))

    def restore(self, tree: Path, commit: str) -> None:
        self._run("read-tree", "--reset", "-u", commit, tree=tree)
        self._run("clean", "-ffdq", tree=tree)

    def written(self) -> str:
        return _line(self._run("write-tree"))

    def differs(self, tree: Path, commit: str) -> bool:
        self._run("update-index", "-q", "--refresh", tree=tree)
        return bool(self._run("diff-index", "--name-only", "--ignore-submodules=all", commit, tree=tree))

    def _untracked(self, tree: Path) -> list[bytes]:
        """New files that the project does not ignore, also those inside of repositories that an agent has made."""
        names = self._names(tree, "--others", "--exclude-standard")
        files = [name for name in names if not name.endswith(b"/")]
        for nested in (name for name in names if name.endswith(b"/")):
            inside = _Index(self.repository, self.path.with_name("none"))
            files += [nested + name for name in inside._untracked(tree / os.fsdecode(nested))]
        return files

    def _names(self, tree: Path, *which: str) -> list[bytes]:
        return [name for name in self._run("ls-files", "-z", *which, tree=tree).split(b"\0") if name]

    def _run(self, *args: str, tree: Path | None = None, given: bytes = b"") -> bytes:
        return self.repository.run(*args, tree=tree, index=self.path, given=given)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a folder lies in the person's git repository."""

    top: Path
    prefix: str
    index: Path
    exclude: Path


def _found(home: Path, asked: str | None) -> None:
    """Make `repo.git`, complete or not at all."""
    home.mkdir(parents=True, exist_ok=True)
    place = None if asked is None else _place_of(Path(asked))
    with tempfile.TemporaryDirectory(prefix="new-", dir=home) as made:
        repository = _Repository(Path(made) / "repo.git")
        facts = {"asked": asked, "repository": None, "prefix": "", "dirty": False}
        if place is None:
            facts["start"] = _begin(repository, None if asked is None else Path(asked))
        else:
            facts |= {"repository": str(place.top), "prefix": place.prefix, "start": _copy(repository, place)}
            facts["dirty"] = _is_dirty(repository, place, str(facts["start"]))
            repository.write("info/attributes", _ATTRIBUTES)
        repository.write("hansard.json", json.dumps(facts))
        try:
            repository.path.rename(home / "repo.git")
        except OSError:
            if not (home / "repo.git").exists():  # else another process was faster, and its word counts
                raise


def _begin(repository: _Repository, folder: Path | None) -> str:
    """A new repository that starts with what the folder holds; empty without one."""
    _git(["init", "--quiet", "--bare", "--template=", str(repository.path)], cwd=repository.path.parent)
    repository.write("info/attributes", _ATTRIBUTES)
    repository.write("info/exclude", _NEVER_RECORDED)
    with repository.index("source") as index:
        if folder is not None:
            index.record(folder)
        return repository.record(index.written(), message="Start", parent=None)


def _copy(repository: _Repository, place: _Place) -> str:
    """A repository that starts with the commit that is checked out there; with nothing when there is none yet."""
    options = ["--bare", "--quiet", "--single-branch", "--no-tags", "--template="]
    _in_theirs(["clone", *options, "--", str(place.top), str(repository.path)], repository.path.parent)
    repository.run("config", "--remove-section", "remote.origin")
    repository.write("info/exclude", _NEVER_RECORDED)
    start = _head(repository)
    if start is None:
        start = repository.record(_line(repository.run("mktree")), message="Start", parent=None)
    repository.run("update-ref", "refs/hansard/base", start)
    return start


def _head(repository: _Repository) -> str | None:
    """The commit that was checked out; None when there was none yet."""
    named = repository.run("for-each-ref", "--count=1", "--format=%(objectname)")
    try:
        return _line(repository.run("rev-parse", "--verify", "--quiet", "HEAD^{commit}"))
    except WorkspaceError:
        if named:
            raise
        return None


def _place_of(folder: Path) -> _Place | None:
    """None when the folder is in no git repository."""
    question = ["--show-toplevel", "--show-prefix", "--git-path", "index", "--git-path", "info/exclude"]
    try:
        said = _in_theirs(["rev-parse", "--path-format=absolute", *question], folder)
    except WorkspaceError as error:
        if "not a git repository (or any" in str(error):
            return None
        raise
    top, prefix, index, exclude = os.fsdecode(said).split("\n")[:4]
    return _Place(Path(top), prefix, Path(index), Path(exclude))


def _is_dirty(repository: _Repository, place: _Place, start: str) -> bool:
    """Whether the checkout differs from its commit, judged with a copy of its index and none of its settings. An
    index that we cannot read counts as a difference."""
    with tempfile.TemporaryDirectory(prefix="index-", dir=repository.path) as private:
        index = _Index(repository, Path(private) / "index")
        ignored = [f"--exclude-from={place.exclude}"] if place.exclude.is_file() else []
        if place.index.is_file():
            shutil.copy2(place.index, index.path)
        try:
            new = index._names(place.top, "--others", "--exclude-standard", *ignored)
            return bool(new) or index.differs(place.top, start)
        except WorkspaceError:
            return True


def _plain_files(tree: Path, paths: Iterable[bytes]) -> Iterator[bytes]:
    """Those that are readable files or symbolic links now, not reached through a symbolic link."""
    root, real = os.fsencode(tree), {b"": True}

    def is_real(folder: bytes) -> bool:
        if folder not in real:
            real[folder] = is_real(folder.rpartition(b"/")[0]) and stat.S_ISDIR(_mode(root + b"/" + folder))
        return real[folder]

    for path in paths:
        mode = _mode(root + b"/" + path) if is_real(path.rpartition(b"/")[0]) else 0
        if stat.S_ISLNK(mode) or (stat.S_ISREG(mode) and os.access(root + b"/" + path, os.R_OK)):
            yield path


def _mode(path: bytes | Path) -> int:
    """0 when there is nothing."""
    try:
        return os.lstat(path).st_mode
    except OSError:
        return 0


def _is_real_folder(path: Path) -> bool:
    return stat.S_ISDIR(_mode(path))


def _existing_folder(path: Path) -> Path:
    if not path.is_dir():
        raise WorkspaceError(f"The folder {path} does not exist.")
    return path.resolve()


def _tame(folder: Path) -> None:
    """Give ourselves back the right to enter and read what is in there, which agents may have taken, and remove pipes
    and sockets: no state records them, and whoever opens one may wait for ever."""
    folder.chmod(stat.S_IMODE(_mode(folder)) | stat.S_IRWXU)
    for parent, folders, files in os.walk(folder):
        for path in (Path(parent, name) for name in (*folders, *files)):
            mode = _mode(path)
            if stat.S_ISDIR(mode) and mode & stat.S_IRWXU != stat.S_IRWXU:
                path.chmod(stat.S_IMODE(mode) | stat.S_IRWXU)
            elif stat.S_ISREG(mode) and not mode & stat.S_IRUSR:
                path.chmod(stat.S_IMODE(mode) | stat.S_IRUSR)
            elif stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
                path.unlink()


def _delete(path: Path) -> None:
    if not _is_real_folder(path):
        path.unlink(missing_ok=True)
        return
    _tame(path)
    shutil.rmtree(path)


def confine(path: str) -> str:
    """The path, normalised, when it stays below the folder that it is relative to (promise S14): not absolute, no
    `..`, drive, backslash or control character, no `.git` by any spelling that some file system takes for it."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if not parts:
        raise WorkspaceError(f"{path!r} names no file.")
    if path.startswith("/") or "\\" in path or re.match(r"[A-Za-z]:", parts[0]):
        raise WorkspaceError(f"{path!r} is not a path relative to the workspace.")
    if ".." in parts:
        raise WorkspaceError(f"{path!r} leaves the workspace.")
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in path):
        raise WorkspaceError(f"{path!r} has characters that no file name needs.")
    if any(_is_git(part) for part in parts):
        raise WorkspaceError(f"{path!r} belongs to git.")
    if len(path.encode()) > 4096 or any(len(part.encode()) > 255 for part in parts):
        raise WorkspaceError(f"{path[:80]!r}… is too long for a path.")
    return "/".join(parts)


def _is_git(part: str) -> bool:
    seen = "".join(character for character in part if unicodedata.category(character) != "Cf")
    return seen.casefold().partition(":")[0].rstrip(". ") in (".git", "git~1")


def _encoded(path: str, text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise WorkspaceError(f"The content for {path!r} is not valid text.") from None


_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


@contextmanager
def _opened(tree: Path, prefix: str) -> Iterator[int]:
    """A descriptor of the working folder, which is made if need be; no symbolic link below `tree` is followed."""
    with ExitStack() as opened:
        here = os.open(tree, _FOLDER)
        opened.callback(os.close, here)
        yield _made(here, [part for part in prefix.split("/") if part], opened)


def _made(here: int, names: Iterable[str], opened: ExitStack) -> int:
    for name in names:
        try:
            os.mkdir(name, dir_fd=here)
        except FileExistsError:
            pass
        except OSError as error:
            raise WorkspaceError(f"The folder {name!r} cannot be made: {error.strerror}.") from error
        here = _entered(here, name, opened)
    return here


def _entered(here: int, name: str, opened: ExitStack) -> int:
    try:
        deeper = os.open(name, _FOLDER, dir_fd=here)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise WorkspaceError(f"{name!r} is not a folder of the workspace's own.") from error
    opened.callback(os.close, deeper)
    return deeper


def _check_place(root: int, path: str) -> None:
    """Nothing on the way is a symbolic link, and what stands there, if anything, is a plain file."""
    *folders, name = path.split("/")
    with ExitStack() as opened:
        try:
            for folder in folders:
                root = _entered(root, folder, opened)
            mode = os.stat(name, dir_fd=root, follow_symlinks=False).st_mode
        except FileNotFoundError:
            return
        if not stat.S_ISREG(mode):
            raise WorkspaceError(f"{path!r} is not a plain file.")


def _write(root: int, path: str, data: bytes) -> None:
    """Atomically; an existing file keeps its mode."""
    *folders, name = path.split("/")
    with ExitStack() as opened:
        try:
            here = _made(root, folders, opened)
            _replace(here, name, data)
        except OSError as error:
            raise WorkspaceError(f"{path!r} cannot be written: {error.strerror}.") from error


def _replace(folder: int, name: str, data: bytes) -> None:
    draft = f".hansard-{secrets.token_hex(8)}"
    try:
        made = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, dir_fd=folder)
        with os.fdopen(made, "wb") as file:
            os.fchmod(file.fileno(), _mode_at(folder, name))
            file.write(data)
        os.replace(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        with suppress(FileNotFoundError):
            os.unlink(draft, dir_fd=folder)
        raise


def _mode_at(folder: int, name: str) -> int:
    try:
        return stat.S_IMODE(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return 0o644


_OURS: Final = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_ATTR_NOSYSTEM": "1"}


def _in_theirs(args: Iterable[str], folder: Path) -> bytes:
    """Git in the person's repository: their own settings count (`safe.directory`), but nothing of them is executed."""
    env = {name: os.environ[name] for name in ("HOME", "XDG_CONFIG_HOME") if name in os.environ}
    return _git(args, cwd=folder, env=env)


def _git(
    args: Iterable[str],
    *,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    given: bytes = b"",
    output: IO[bytes] | int = subprocess.PIPE,
) -> bytes:
    """What git says; WorkspaceError with its complaint. No prompt, no hook, no network, no lock for looking."""
    settings = [word for setting in _SETTINGS for word in ("-c", setting)]
    quiet = {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1"}
    whole = {"PATH": os.environ.get("PATH", os.defpath), **quiet, **_AUTHOR, **(_OURS if env is None else env)}
    command = ["git", *settings, *args]
    verb = next(iter(args))
    try:
        done = subprocess.run(
            command, cwd=cwd, env=whole, input=given, stdout=output, stderr=subprocess.PIPE, timeout=_SECONDS
        )
    except subprocess.TimeoutExpired as error:
        raise WorkspaceError(f"git {verb} took more than {_SECONDS:g} s.") from error
    except OSError as error:
        raise WorkspaceError(f"git {verb} was not started: {error.strerror}.") from error
    if done.returncode != 0:
        complaint = " ".join(done.stderr.decode(errors="replace").split())[-500:]
        raise WorkspaceError(f"git {verb} failed: {complaint or done.returncode}")
    return done.stdout or b""


def _line(said: bytes) -> str:
    return said.decode().strip()
