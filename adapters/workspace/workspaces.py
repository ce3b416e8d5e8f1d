"""The folders of all sessions: created, opened, listed and deleted.

Everything here blocks: call it from a thread.
"""

import json
import re
import secrets
import shutil
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from adapters.workspace.creation import Earlier, create
from adapters.workspace.folders import bytes_in, delete, existing_folder, is_real_folder
from adapters.workspace.git import Lasting, WorkspaceError, in_a_sentence
from adapters.workspace.leftovers import mark_of
from adapters.workspace.packs import SharedRepository
from adapters.workspace.reviewed_diff import ReviewedPatch
from adapters.workspace.suitable import Room, check
from adapters.workspace.twins import Show
from adapters.workspace.workspace import SLOT, Workspace
from domain.values.sentences import Sentence, because, sentence_of

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
        reviewed: ReviewedPatch | None = None,
    ) -> "Workspace":
        """The session's workspace, created on first use; its start state is the source at that time, or the result of
        an earlier session. With `filters`, agents see what a checkout shows, and not what git stores. `reviewed` are
        uncommitted changes of the person to start with."""
        home = self._home(session_id)
        if (home / "repo.git").exists():  # it may have come from another machine, which has the source
            source_path = None if source is None else str(source.resolve())
        else:
            source_path = None if source is None else str(existing_folder(source))
            assert self._show is not None or not filters, "nobody here runs filters"
            self._create(home, source_path, earlier(), self._show if filters else None, reviewed)
        workspace = self.existing(session_id)
        if workspace.asked != source_path:
            raise WorkspaceError(Sentence("workspace_differs", id=session_id, path=workspace.asked, given=source_path))
        return workspace

    @in_a_sentence()
    def existing(self, session_id: str) -> "Workspace":
        """The session's workspace, which was made before."""
        home = self._home(session_id)
        return Workspace(home, **json.loads((home / "repo.git" / "hansard.json").read_text(encoding="utf-8")))

    def _create(
        self, home: Path, path: str | None, earlier: Earlier | None, show: Show | None, reviewed: ReviewedPatch | None
    ) -> None:
        """Raises WorkspaceError with what cannot be worked in or copied, never with git's message alone."""
        if path is not None:
            try:
                check(Path(path), ours=self.root, room=self._room, private=self._private)
            except WorkspaceError as error:
                raise _like(error)(Sentence("folder_unfit", path=path, detail=error)) from error
        try:
            create(home, path, self._private, earlier, show, reviewed)
        except WorkspaceError as error:
            sentence = Sentence("workspace_not_made_from", path=path) if path else Sentence("workspace_not_made")
            raise _like(error)(because(sentence, sentence_of(error))) from error


def _like(error: WorkspaceError) -> type[WorkspaceError]:
    return Lasting if isinstance(error, Lasting) else WorkspaceError
