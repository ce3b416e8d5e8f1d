"""Where sessions' agents work, each in a separate folder, and which of a person's folders can be worked in.

Git only looks at the agents' folders through our own repository outside of them (`repo.git`): its configuration, hooks
and attributes are ours, so we never execute anything that an agent puts into its folder (agents rule 7). Agents get
their own `.git` for convenience; we create it, move it in, and never read it.

A person's folder is checked before any agent costs money, and again when it is opened. Everything here blocks: call it
from a thread.
"""

import json
import os
import re
import secrets
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from adapters.workspace.creation import Earlier, create, place_of
from adapters.workspace.folders import bytes_in, delete, existing_folder, is_real_folder
from adapters.workspace.git import DoesNotFit, Lasting, WorkspaceError, committed, confine, in_a_sentence
from adapters.workspace.leftovers import mark_of
from adapters.workspace.packing import SharedRepository
from adapters.workspace.patches import patched
from adapters.workspace.recording_rules import TOOL_FOLDERS
from adapters.workspace.repository import PATCH_BYTES
from adapters.workspace.twins import Show
from adapters.workspace.workspace import SLOT, Workspace
from domain.values.sentences import Sentence, because, sentence_of

__all__ = [
    "PATCH_BYTES",
    "DoesNotFit",
    "Lasting",
    "Room",
    "Workspace",
    "WorkspaceError",
    "Workspaces",
    "check",
    "committed",
    "confine",
    "patched",
]


EXAMPLES: Final = "examples"
"""The folder inside our own data that contains repositories for people to work in."""
_SYSTEM: Final = tuple(
    Path("/", name)
    for name in (
        *("bin", "boot", "dev", "etc", "lib", "lib64", "proc", "sbin", "sys"),
        *("private/etc", "usr/bin", "usr/lib", "usr/sbin"),
    )
)
"""Folders of the operating system: nothing in them is a project."""
_ABOVE_PROJECTS: Final = tuple(map(Path, ("/run", "/usr", "/var")))
_MEMORY: Final = Path("/dev/shm")  # noqa: S108 - a folder like any other
_SKIPPED: Final = {*TOOL_FOLDERS, ".git"}


class Room(NamedTuple):
    """The limits of a folder without git: all of it is copied, and scanned after every turn."""

    files: int
    bytes: int


def check(folder: Path, *, ours: Path, room: Room | None = None, private: Sequence[Path] = ()) -> None:
    """Raises WorkspaceError for an unsuitable folder; its text describes the folder, without a full stop. `ours` is
    where Hansard keeps its own data, whatever links lead there. `private` files do not count."""
    folder = _existing(folder)
    if {"\n", "\r"} & set(str(folder)):
        raise Lasting(Sentence("folder_name_unfit"))
    if folder == Path(folder.anchor):
        raise Lasting(Sentence("folder_is_root"))
    if _is_of_the_system(folder):
        raise Lasting(Sentence("folder_is_of_the_system"))
    _check_not_ours(folder, ours.resolve())
    if ".git" in (part.casefold() for part in folder.parts):
        raise Lasting(Sentence("folder_inside_git"))
    if place_of(folder) is None and room is not None:
        _check_size(folder, room, (ours, *private))


def _existing(folder: Path) -> Path:
    try:
        if folder.is_dir():
            return folder.resolve()
    except OSError:  # the name is too long, or a folder above is not accessible
        pass
    raise WorkspaceError(Sentence("folder_missing"))


def _is_of_the_system(folder: Path) -> bool:
    if folder.is_relative_to(_MEMORY):
        return False
    return folder in _ABOVE_PROJECTS or any(folder.is_relative_to(place) for place in _SYSTEM)


def _check_not_ours(folder: Path, ours: Path) -> None:
    """Compares the folders themselves, not their names: a file system may have several names for one folder."""
    if _identity(ours) in _identities(folder) and ours / EXAMPLES not in folder.parents:
        raise Lasting(Sentence("folder_is_ours"))


def _identities(folder: Path) -> list[tuple[int, int] | Path]:
    """Of the folder, and of all above it."""
    return [_identity(place) for place in (folder, *folder.parents)]


def _identity(place: Path) -> tuple[int, int] | Path:
    """A missing or unreadable folder is identified by its name."""
    try:
        stat = place.stat()
    except OSError:
        return place
    return stat.st_dev, stat.st_ino


def _check_size(folder: Path, room: Room, private: Sequence[Path]) -> None:
    files = size = 0
    for entry_size in _sizes(folder, private):
        files, size = files + 1, size + entry_size
        if files > room.files:
            raise WorkspaceError(Sentence("folder_too_many_files", number=room.files))
        if size > room.bytes:
            raise WorkspaceError(Sentence("folder_too_large", number=room.bytes))


def _sizes(folder: Path, private: Sequence[Path]) -> Iterator[int]:
    """Size of each entry below, including folders, without our own files. Links are not followed; unreadable entries
    are empty."""
    ours = tuple(os.fspath(place) for path in private if folder in (place := path.resolve()).parents)
    todo = [os.fspath(folder)]
    while todo:
        try:
            with os.scandir(todo.pop()) as entries:
                shown_entries = [
                    entry for entry in entries if entry.name not in _SKIPPED and not entry.path.startswith(ours)
                ]
        except OSError:
            continue
        for entry in shown_entries:
            try:
                looked = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            if stat.S_ISDIR(looked.st_mode):
                todo.append(entry.path)
            yield looked.st_size if stat.S_ISREG(looked.st_mode) else 0


# -- workspaces --------------------------------------------------------------------------------------------------------


_SESSION: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


class Workspaces:
    """The workspaces of all sessions, each in a separate folder below `root`. `room` limits the size of folders without
    git; None: no limit. `log` and the files next to it are never part of the work. `show` is needed where
    agents are to see what a checkout shows."""

    def __init__(
        self,
        root: Path,
        room: Room | None = None,
        log: Path | None = None,
        show: Show | None = None,
    ) -> None:
        self.root, self._room, self._show = root.resolve(), room, show
        self._private = (self.root.parent, *([log] if log else []))

    @in_a_sentence()
    def copy(self, ancestors: Iterable[str], session_id: str) -> None:
        """The states that a fork inherits: every recorded one of the nearest of its sources that has any (a fork that
        did nothing itself has none). Does nothing if none has, or if it was already copied.
        """
        ours = self._home(session_id) / "repo.git"
        if ours.exists():
            return
        parent = next((place for name in ancestors if (place := self._home(name) / "repo.git").is_dir()), None)
        if parent is None:
            return
        ours.parent.mkdir(parents=True, exist_ok=True)
        draft = ours.with_name(f"repo.{secrets.token_hex(4)}")
        try:
            shutil.copytree(parent, draft)
            with suppress(OSError):  # another copy was faster
                draft.rename(ours)
        finally:
            shutil.rmtree(draft, ignore_errors=True)

    def exists(self, session_id: str) -> bool:
        """True if the session's workspace was made."""
        return (self._home(session_id) / "repo.git").is_dir()

    @in_a_sentence()
    def shared(self, session_id: str) -> SharedRepository:
        """The session's repository, to export it to other machines or import it from them."""
        return SharedRepository(self._home(session_id))

    def names(self) -> tuple[str, ...]:
        """The sessions that have working folders, sorted."""
        paths = (path for path in self.root.glob("*/tree-*") if SLOT.fullmatch(path.name))
        return tuple(sorted({path.parent.name for path in paths}))

    def sessions(self) -> tuple[str, ...]:
        """The sessions that have a workspace here, sorted."""
        return tuple(sorted(path.parent.name for path in self.root.glob("*/repo.git")))

    @in_a_sentence()
    def size(self, session_id: str) -> int:
        """Bytes in the working folders of a session."""
        return sum(bytes_in(path) for path in self._trees(session_id))

    @in_a_sentence()
    def put_away(self, session_id: str) -> None:
        """Delete the working folders of an idle session. Its recorded states stay, and a folder is restored from them
        when it is needed again; files that the project ignores are lost."""
        for tree in self._trees(session_id):
            gone = tree.with_name(f"gone-{secrets.token_hex(4)}")
            mark_of(tree).unlink(missing_ok=True)
            tree.rename(gone)  # a new one is created from scratch, not from what is left of this one
            delete(gone)

    def _trees(self, session_id: str) -> tuple[Path, ...]:
        home = self._home(session_id)
        return tuple(path for path in home.glob("tree-*") if SLOT.fullmatch(path.name) and is_real_folder(path))

    def _home(self, session_id: str) -> Path:
        """The session's folder. Raises WorkspaceError for an id that would lead elsewhere."""
        if not _SESSION.fullmatch(session_id):
            raise WorkspaceError(Sentence("workspace_name_invalid", id=session_id))
        return self.root / session_id

    @in_a_sentence()
    def open(
        self,
        session_id: str,
        source: Path | None,
        earlier: Callable[[], Earlier | None] = lambda: None,
        *,
        filters: bool = False,
    ) -> "Workspace":
        """The session's workspace, created on first use; its start state is the source at that time, or the result of
        an earlier session. With `filters`, agents see what a checkout shows, and not what git stores."""
        home = self._home(session_id)
        if (home / "repo.git").exists():  # it may have come from another machine, which has the source
            source_path = None if source is None else str(source.resolve())
        else:
            source_path = None if source is None else str(existing_folder(source))
            assert self._show is not None or not filters, "nobody here runs filters"
            self._create(home, source_path, earlier(), self._show if filters else None)
        workspace = self.existing(session_id)
        if workspace.asked != source_path:
            raise WorkspaceError(Sentence("workspace_differs", id=session_id, path=workspace.asked, given=source_path))
        return workspace

    @in_a_sentence()
    def existing(self, session_id: str) -> "Workspace":
        """The session's workspace, which was made before."""
        home = self._home(session_id)
        return Workspace(home, **json.loads((home / "repo.git" / "hansard.json").read_text(encoding="utf-8")))

    def _create(self, home: Path, path: str | None, earlier: Earlier | None, show: Show | None) -> None:
        """Raises WorkspaceError with what cannot be worked in or copied, never with git's message alone."""
        if path is not None:
            try:
                check(Path(path), ours=self.root, room=self._room, private=self._private)
            except WorkspaceError as error:
                raise _like(error)(Sentence("folder_unfit", path=path, detail=error)) from error
        try:
            create(home, path, self._private, earlier, show)
        except WorkspaceError as error:
            sentence = Sentence("workspace_not_made_from", path=path) if path else Sentence("workspace_not_made")
            raise _like(error)(because(sentence, sentence_of(error))) from error


def _like(error: WorkspaceError) -> type[WorkspaceError]:
    return Lasting if isinstance(error, Lasting) else WorkspaceError
