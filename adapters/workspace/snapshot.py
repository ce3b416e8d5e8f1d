"""A snapshot of a checkout before something moves it, to put it back exactly: index, refs, a merge under way, files.

Files that git would not give back are copied beforehand; tracked ones that are as git has them come from its objects.
What an undoing replaces, for example what a hook wrote, is kept beside the repository's own files.
"""

import errno
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self

from adapters.workspace.git import WorkspaceError, line
from adapters.workspace.inert import Git, InertGit
from adapters.workspace.person import Interrupted, undisturbed
from adapters.workspace.undo_journal import PREFIX, UndoJournal, journal_of, mark_owner
from domain.values.sentences import Sentence

MOST_BYTES: Final = 536_870_912
"""How much of ignored and untracked files is copied before hooks may write to them; the smallest come first."""
_STATE: Final = (
    *("HEAD", "index", "config.worktree", "info/sparse-checkout"),
    *("MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "MERGE_RR", "MERGE_AUTOSTASH", "AUTO_MERGE", "SQUASH_MSG"),
    *("ORIG_HEAD", "COMMIT_EDITMSG", "FETCH_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD"),
)
"""Files of the checkout's own git folder."""
_SHARED: Final = ("config", "info/exclude", "info/attributes", "logs/refs/stash")
"""Files that all checkouts of the repository share."""
UNDONE: Final = "hansard-undone"
"""The folder, beside git's own files, for what an undoing replaced."""
_KEPT_SECONDS: Final = 30 * 86_400
"""How long that is kept."""
_CHUNK: Final = 1_073_741_824


class _Sign(NamedTuple):
    """Changes whenever a file does."""

    mode: int
    size: int
    modified: int
    changed: int
    number: int


class CheckoutSnapshot:
    """Use it as a context: if what is inside raises, all is put back. `touched` are the files that are going to change,
    `clean` those that git has as they are."""

    def __init__(self, git: Git, top: Path, *, after: str, touched: Collection[str], clean: Collection[str]) -> None:
        self._git, self._top, self._touched, self._clean = git, top, frozenset(touched), frozenset(clean)
        self._after = after
        self._own = git_folder(git)
        self._common = common_folder(git)
        self._copies: dict[str, Path] = {}
        self._left_out: set[str] = set()

    def __enter__(self) -> Self:
        try:
            self._place = Path(tempfile.mkdtemp(prefix=PREFIX, dir=self._own))
            self._owner = mark_owner(self._place)
            self._aside = self._own / UNDONE / self._place.name
            self._state = {path: self._stored(path, at) for at, path in enumerate(self._state_files())}
            self._refs = self._all_refs()
            self._files, self._folders = signs(self._top)
            self._keep()
            self._write_journal()
        except OSError as error:
            shutil.rmtree(getattr(self, "_place", ""), ignore_errors=True)
            raise WorkspaceError(Sentence("checkout_not_kept", path=self._top, detail=error.strerror)) from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            with undisturbed():
                if isinstance(error, Interrupted):
                    self._remove_locks()
                self._undo()
                if isinstance(error, WorkspaceError) and self._aside.is_dir():
                    error.kept_in = self._aside
        journal_of(self._place).unlink(missing_ok=True)  # first: from here on there is nothing to undo
        shutil.rmtree(self._place, ignore_errors=True)
        forget_undone(self._own)
        os.close(self._owner)

    def give_back_missing(self, paths: Iterable[str]) -> None:
        """Put files back that the move, as it turned out, did not write."""
        for path in paths:
            if not os.path.lexists(self._top / path):
                self._put(path)

    # -- keeping

    def _state_files(self) -> list[Path]:
        shared = [path.name for path in self._own.glob("sharedindex.*")]
        return [*(self._own / name for name in (*_STATE, *shared)), *(self._common / name for name in _SHARED)]

    def _stored(self, path: Path, number: int) -> Path | None:
        """A copy of one of git's files; None if it is not there."""
        if not path.is_file():
            return None
        place = self._place / f"state-{number}"
        shutil.copy2(path, place)
        return place

    def _all_refs(self) -> dict[str, tuple[str, str]]:
        """Each ref's object and, for a symbolic one, what it points to."""
        lines = os.fsdecode(self._git("for-each-ref", "--format=%(refname) %(objectname) %(symref)")).splitlines()
        return {name: (commit, link) for name, commit, link in (each.split(" ", 2) for each in lines)}

    def _keep(self) -> None:
        left = MOST_BYTES
        order = sorted(self._files, key=lambda path: (path not in self._touched, self._files[path].size))
        for path in order:
            if path in self._touched:
                self._copy(path)
            elif path not in self._clean:
                left -= self._files[path].size
                if left >= 0:
                    self._copy(path)
                else:
                    self._left_out.add(path)

    def _copy(self, path: str) -> None:
        place = self._place / f"file-{len(self._copies)}"
        source = self._top / path
        if source.is_symlink():
            place.symlink_to(source.readlink())
        else:
            copy_file(source, place)
        self._copies[path] = place

    def _write_journal(self) -> None:
        """Note what was there, so that a later run can undo this one if it is killed."""
        journal = UndoJournal(
            before=self._head(),
            after=self._after,
            touched=sorted(self._touched),
            clean=sorted(self._touched & self._clean),
            state={str(path): copy.name if copy else None for path, copy in self._state.items()},
            copies={path: copy.name for path, copy in self._copies.items()},
            signs={path: list(sign) for path, sign in self._files.items() if path in self._touched},
        )
        journal.write(self._place)

    def _head(self) -> str | None:
        return line(self._git("rev-parse", "--verify", "--quiet", "HEAD", codes=(0, 1))) or None

    # -- undoing

    def _undo(self) -> None:
        now, _ = signs(self._top)
        changed = [path for path in {*now, *self._files} if now.get(path) != self._files.get(path)]
        for path in sorted(changed, reverse=True):
            if path in now:
                self._set_aside(path)
        self._remove_new_folders()
        self._restore_folders()
        self._restore_state()
        lost = [path for path in changed if path in self._files and not self._put(path)]
        self._restore_clean(path for path in lost if path in self._clean)
        missing = sorted(path for path in lost if path not in self._clean)
        if missing:
            raise WorkspaceError(Sentence("checkout_not_restored", paths=", ".join(missing)))

    def _set_aside(self, path: str) -> None:
        """Move away what is there now. New content of ours is in git; what else was written is kept."""
        place = self._top / path
        if path in self._touched:
            place.unlink()
            return
        aside = self._aside / path
        aside.parent.mkdir(parents=True, exist_ok=True)
        move_file(place, aside)

    def _put(self, path: str) -> bool:
        """The file as it was; False if it was not copied."""
        copy = self._copies.get(path)
        if copy is None:
            return False
        place = self._top / path
        place.parent.mkdir(parents=True, exist_ok=True)
        move_file(copy, place)
        return True

    def _remove_locks(self) -> None:
        """Nobody held a lock before; git was ended, perhaps before it could remove its own."""
        for name in ("index.lock", "HEAD.lock"):
            (self._own / name).unlink(missing_ok=True)

    def _restore_folders(self) -> None:
        for folder in sorted(self._folders):
            place = self._top / folder
            if not place.is_dir():
                place.mkdir(parents=True)
            if stat.S_IMODE(place.stat().st_mode) != self._folders[folder]:
                place.chmod(self._folders[folder])

    def _remove_new_folders(self) -> None:
        _, folders = signs(self._top)
        for folder in sorted(folders.keys() - self._folders.keys(), reverse=True):
            with suppress(OSError):  # somebody else has put a file into it
                (self._top / folder).rmdir()

    def _restore_state(self) -> None:
        for path, copy in self._state.items():
            if path.name == "index":
                continue
            self._restore_file(path, copy)
        self._restore_refs()
        for path, copy in self._state.items():  # nothing of git runs afterwards that would write it again
            self._restore_file(path, copy)

    def _restore_file(self, path: Path, copy: Path | None) -> None:
        if copy is None:
            path.unlink(missing_ok=True)
        elif not path.is_file() or path.read_bytes() != copy.read_bytes():
            fresh = path.with_name(f"{path.name}.hansard")
            shutil.copy2(copy, fresh)
            fresh.replace(path)

    def _restore_refs(self) -> None:
        now = self._all_refs()
        lines: list[str] = []
        for name in {*now, *self._refs}:
            was, is_now = self._refs.get(name), now.get(name)
            if was == is_now:
                continue
            if was is None:
                lines.append(f"delete {name}\n")
            elif was[1]:
                self._git("symbolic-ref", name, was[1])
            else:
                lines.append(f"update {name} {was[0]}\n")
        if lines:
            words = ("-c", "core.hooksPath=/dev/null", "update-ref", "--no-deref", "-m", "hansard: undone", "--stdin")
            self._git(*words, data="".join(sorted(lines)).encode())

    def _restore_clean(self, paths: Iterable[str]) -> None:
        if names := "".join(f"{path}\0" for path in sorted(paths)):
            self._git("checkout-index", "--force", "-z", "--stdin", data=os.fsencode(names))


def forget_undone(own: Path) -> None:
    """Delete what was kept of an undoing long ago."""
    for folder in (own / UNDONE).glob("*"):
        with suppress(OSError):
            if time.time() - folder.lstat().st_mtime > _KEPT_SECONDS:
                shutil.rmtree(folder)


def git_folder(git: Git) -> Path:
    """The checkout's own git folder, which is not the repository's in a linked working tree."""
    return Path(os.fsdecode(git("rev-parse", "--absolute-git-dir")).removesuffix("\n"))


def common_folder(git: Git) -> Path:
    """The git folder that all checkouts of the repository share."""
    words = ("rev-parse", "--path-format=absolute", "--git-common-dir")
    return Path(os.fsdecode(git(*words)).removesuffix("\n"))


def shared_folder(top: Path, *, bare: bool) -> Path:
    """The git folder of a person's repository, or of one without a checkout."""
    return top if bare else common_folder(InertGit(top, ()))


def signs(top: Path) -> tuple[dict[str, _Sign], dict[str, int]]:
    """The files below, with their signs, and the folders, with their modes. Repositories inside are not looked into."""
    files: dict[str, _Sign] = {}
    folders: dict[str, int] = {}
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        for entry in _entries(top / folder):
            path = f"{folder}/{entry.name}" if folder else entry.name
            facts = entry.stat(follow_symlinks=False)
            if not stat.S_ISDIR(facts.st_mode):
                if (folder or entry.name != ".git") and (stat.S_ISREG(facts.st_mode) or stat.S_ISLNK(facts.st_mode)):
                    numbers = (facts.st_mtime_ns, facts.st_ctime_ns, facts.st_ino)
                    files[path] = _Sign(facts.st_mode, facts.st_size, *numbers)
            elif entry.name != ".git" and not os.path.lexists(top / path / ".git"):
                folders[path] = stat.S_IMODE(facts.st_mode)
                waiting.append(path)
    return files, folders


def sign_of(top: Path, path: str) -> _Sign | None:
    """The sign of one file; None where there is none, or a folder, or where a folder of the path is a link."""
    parts = path.split("/")
    try:
        if any((top / "/".join(parts[:at])).is_symlink() for at in range(1, len(parts))):
            return None
        facts = os.lstat(top / path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if stat.S_ISDIR(facts.st_mode):
        return None
    return _Sign(facts.st_mode, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_ino)


def _entries(folder: Path) -> Iterator["os.DirEntry[str]"]:
    with suppress(FileNotFoundError, PermissionError), os.scandir(folder) as entries:
        yield from entries


def move_file(source: Path, place: Path) -> None:
    """Rename a file, which needs no space; copy it where the place is on another file system."""
    try:
        source.replace(place)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        place.unlink(missing_ok=True)  # as a rename replaces it; a link there is not followed
        if source.is_symlink():
            place.symlink_to(source.readlink())
        else:
            copy_file(source, place)
        source.unlink()


def copy_file(source: Path, place: Path) -> None:
    """Copy a file with its times and permissions; file systems that can, share the content."""
    with source.open("rb") as read, place.open("wb") as target:
        try:
            while os.copy_file_range(read.fileno(), target.fileno(), _CHUNK):
                pass
        except OSError:
            read.seek(0)
            target.seek(0)
            shutil.copyfileobj(read, target)
    shutil.copystat(source, place)
