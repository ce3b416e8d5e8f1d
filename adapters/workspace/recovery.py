"""Recovers a checkout from moves whose process was killed: what is complete is finished, anything else is undone.

Days may have passed, and the person may have gone on. So only what the move wanted to change is put back; where one of
those files has a newer version, or another commit is checked out, nothing is changed.
"""

import hashlib
import os
import shutil
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from adapters.workspace.git import WorkspaceError, line
from adapters.workspace.inert import Git
from adapters.workspace.person import undisturbed
from adapters.workspace.snapshot import UNDONE, common_folder, copy_file, git_folder, move_file, sign_of
from adapters.workspace.undo_journal import PREFIX, UndoJournal, has_owner, journal_of, read_journal
from domain.values.sentences import Sentence

_PATIENCE: Final = 30.0
"""Seconds for which git may go on after the process that started it was killed."""
_PAUSE: Final = 0.1
_SHA256: Final = 64
"""Digits of a name in a repository with SHA-256."""
_UNFINISHED: Final = ("MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "MERGE_RR", "AUTO_MERGE", "SQUASH_MSG")
"""What git keeps of a merge until it is finished."""
_WRITTEN: Final = ("index", *_UNFINISHED, "ORIG_HEAD", "COMMIT_EDITMSG")
"""Files of git that a merge writes before its commit is there."""


class NewerVersions(WorkspaceError):
    """Files that a killed move was to change have newer versions than it left. Nothing has changed."""

    def __init__(self, paths: Iterable[str]) -> None:
        self.paths = tuple(paths)
        super().__init__(Sentence("in_the_way_edited", paths=", ".join(self.paths)))


def recover_moves(git: Git, top: Path) -> Path | None:
    """Finish or undo what killed processes have begun. Returns the folder of a move that is still under way, if any.
    Raises NewerVersions where undoing would take a newer version of a file away."""
    own = git_folder(git)
    for place in sorted(own.glob(f"{PREFIX}*")):
        if has_owner(place):
            return place
        journal = read_journal(place)
        if journal is not None:
            if not _git_ends_in(top):
                return place
            with undisturbed():
                _Recovery(git, top, own, place, journal).recover()
            journal_of(place).unlink(missing_ok=True)
        shutil.rmtree(place, ignore_errors=True)
    return None


def _git_ends_in(top: Path) -> bool:
    """Wait for a git that outlived the process that started it; False if it still runs after that."""
    until = time.monotonic() + _PATIENCE
    while _git_runs_in(top):
        if time.monotonic() > until:
            return False
        time.sleep(_PAUSE)
    return True


def _git_runs_in(top: Path) -> bool:
    """True if a git works in the folder, as far as the system tells."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").readlink() == top.resolve() and (process / "exe").readlink().name.startswith("git"):
                return True
        except OSError:  # ended, or of somebody else
            continue
    return False


class _Recovery:
    """The recovery from one move; it can be repeated, should it be killed itself."""

    def __init__(self, git: Git, top: Path, own: Path, place: Path, journal: UndoJournal) -> None:
        self._git, self._top, self._own, self._place, self._journal = git, top, own, place, journal

    def recover(self) -> None:
        """Finish the move if its commit is there; undo it if the commit before is; otherwise only give back what is
        missing."""
        now = line(self._git("rev-parse", "--verify", "--quiet", "HEAD", codes=(0, 1))) or None
        if now == self._journal.before and (edited := self._edited()):
            raise NewerVersions(edited)
        self._unlock()
        if now == self._journal.before:
            self._undo()
        elif now is not None and line(self._git("rev-parse", f"{now}^{{tree}}")) == self._journal.after:
            for name in _UNFINISHED:
                if self._journal.state.get(str(self._own / name)) is None:
                    (self._own / name).unlink(missing_ok=True)
        else:
            tracked = set(os.fsdecode(self._git("ls-files", "-z")).split("\0"))
            self._give_back(path for path in self._journal.copies if path not in tracked)

    def _unlock(self) -> None:
        """Remove the locks that were taken since the move began: the git that took them is gone."""
        branch = os.fsdecode(self._git("symbolic-ref", "--quiet", "HEAD", codes=(0, 1))).strip()
        names = ("index", "HEAD", "ORIG_HEAD", "MERGE_HEAD")
        places = [*(self._own / name for name in names), *([common_folder(self._git) / branch] if branch else [])]
        began = journal_of(self._place).stat().st_mtime
        for lock in (place.with_name(f"{place.name}.lock") for place in places):
            if lock.exists() and lock.stat().st_mtime >= began:
                lock.unlink()

    def _changed(self) -> list[str]:
        return [path for path in self._journal.touched if self._sign(path) != self._journal.signs.get(path)]

    def _edited(self) -> list[str]:
        """The files that are neither as they were nor as the move writes them: somebody has changed them since."""
        changed = [path for path in self._changed() if self._sign(path) is not None and not self._is_back(path)]
        if not changed:
            return []
        listing = os.fsdecode(self._git("ls-tree", "-r", "-z", self._journal.after, codes=(0, 128))).split("\0")
        blobs = {path: facts.split(" ")[2] for facts, _, path in (each.partition("\t") for each in listing) if path}
        return sorted(path for path in changed if path not in blobs or not self._is_from(path, blobs[path]))

    def _is_from(self, path: str, blob: str) -> bool:
        """True if the file has the content of a blob, or its beginning: git was killed while it wrote the file."""
        place = self._top / path
        if not place.is_symlink() and not (place.is_file() and os.access(place, os.R_OK)):
            return False
        content = os.fsencode(place.readlink()) if place.is_symlink() else place.read_bytes()
        if _blob_id(content, like=blob) == blob:
            return True
        versions = (self._git("cat-file", *words, codes=(0, 128)) for words in self._ways_to_write(path, blob))
        return any(each.startswith(content) for each in versions)

    def _ways_to_write(self, path: str, blob: str) -> Iterable[tuple[str, ...]]:
        yield "blob", blob
        if not (self._top / path).is_symlink():
            yield "--filters", f"{self._journal.after}:{path}"

    def _undo(self) -> None:
        changed = self._changed()
        for path in sorted(changed, reverse=True):
            if self._sign(path) is not None and not self._is_back(path):
                self._set_aside(path)
        self._remove_empty_folders(changed)
        self._restore_state()
        self._give_back(self._journal.copies)
        lost = [path for path in changed if path in self._journal.clean and self._sign(path) is None]
        if lost:
            data = os.fsencode("".join(f"{path}\0" for path in lost))
            self._git("checkout-index", "--force", "-z", "--stdin", data=data)

    def _sign(self, path: str) -> list[int] | None:
        sign = sign_of(self._top, path)
        return None if sign is None else list(sign)

    def _is_back(self, path: str) -> bool:
        """True if the file was put back already, by an undoing that was killed in turn."""
        copy = self._journal.copies.get(path)
        if copy is None:
            return False
        backup, place = self._place / copy, self._top / path
        if not os.path.lexists(backup):
            return True
        if backup.is_symlink() or place.is_symlink():
            return backup.is_symlink() and place.is_symlink() and backup.readlink() == place.readlink()
        same_mode = backup.stat().st_mode == place.stat().st_mode
        return same_mode and place.is_file() and backup.read_bytes() == place.read_bytes()

    def _set_aside(self, path: str) -> None:
        aside = self._own / UNDONE / self._place.name / path
        if aside.is_dir():
            return
        aside.parent.mkdir(parents=True, exist_ok=True)
        move_file(self._top / path, aside)

    def _remove_empty_folders(self, paths: Iterable[str]) -> None:
        for path in sorted(paths, reverse=True):
            for folder in (self._top / path).parents:
                if folder == self._top or not folder.is_dir() or folder.is_symlink() or any(folder.iterdir()):
                    break
                folder.rmdir()

    def _restore_state(self) -> None:
        """Git's own files; the index as it is now is kept beside them."""
        for name, copy in self._journal.state.items():
            path = Path(name)
            if path.name not in _WRITTEN and not path.name.startswith("sharedindex."):
                continue
            if copy is None:
                path.unlink(missing_ok=True)
                continue
            backup = self._place / copy
            if path.name == "index" and path.is_file() and path.read_bytes() != backup.read_bytes():
                aside = self._own / UNDONE / self._place.name / ".git-index"
                aside.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, aside)
            fresh = path.with_name(f"{path.name}.hansard")
            shutil.copy2(backup, fresh)
            fresh.replace(path)

    def _give_back(self, paths: Iterable[str]) -> None:
        """Put back the files that are missing, from their copies."""
        for path in paths:
            backup, place = self._place / self._journal.copies[path], self._top / path
            if not os.path.lexists(backup) or os.path.lexists(place):
                continue
            try:
                place.parent.mkdir(parents=True, exist_ok=True)
            except (FileExistsError, NotADirectoryError):  # a file has taken the place of the folder: the copy stays
                aside = self._own / UNDONE / self._place.name / path
                aside.parent.mkdir(parents=True, exist_ok=True)
                move_file(backup, aside)
                continue
            if backup.is_symlink():
                place.symlink_to(backup.readlink())
            else:
                draft = place.with_name(f".{place.name[:200]}.hansard")
                copy_file(backup, draft)
                draft.replace(place)


def _blob_id(content: bytes, *, like: str) -> str:
    """The name of a blob with this content, in the kind of hash that the other name is of."""
    kind = hashlib.sha256 if len(like) == _SHA256 else hashlib.sha1
    return kind(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
