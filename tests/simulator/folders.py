"""Workspaces in memory: the twin of `adapters.workspace` for as many sessions as a simulation has."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha1
from pathlib import Path

from adapters.workspace.creation import Earlier
from adapters.workspace.quarantine import Check
from adapters.workspace.reuse import Resting
from adapters.workspace.reviewed_diff import ReviewedPatch
from domain.session.workspace import ChangedFile, WorkspaceChanges

Files = dict[str, bytes]
ROOT = Path("/simulated")


def state_of(files: Files, parent: str | None) -> str:
    """The id of a recorded state: of what it holds and of what came before."""
    output = repr((sorted(files.items()), parent)).encode()
    return sha1(output, usedforsecurity=False).hexdigest()


class MemoryWorkspace:
    """The folders and recorded states of one session."""

    repository = source = in_place = branch = git_settings = reviewed_on = None
    dirty, prefix = False, ""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.objects = home / "objects"
        self.folders: dict[Path, Files] = {}
        self.start = state_of({}, None)
        self.states: dict[str, Files] = {self.start: {}}

    def base(self) -> str:
        return self.start

    def checkout(self, *, tree: str | None, slot: int, resting: Resting | None = None) -> Path:
        folder = self.home / f"tree-{slot}"
        self.folders[folder] = dict(self.states[tree or self.start])
        return folder

    def tree_of(self, folder: Path) -> Path:
        return folder

    def write_files(self, folder: Path, files: Mapping[str, str | bytes | None]) -> None:
        for path, content in files.items():
            if content is None:
                self.folders[folder].pop(path, None)
            else:
                self.folders[folder][path] = content.encode() if isinstance(content, str) else content

    def read_file(self, folder: Path, path: str) -> bytes | None:
        return self.folders[folder].get(path)

    def snapshot(
        self, folder: Path, *, message: str, parent: str | None, author: str = "", check: Check | None = None
    ) -> str:
        """Agents of a simulation know no secrets, so nothing is checked."""
        files = dict(self.folders[folder])
        if parent is not None and self.states[parent] == files:
            return parent
        state = state_of(files, parent)
        self.states[state] = files
        return state

    def changed_files(self, before: str, after: str) -> tuple[str, ...]:
        old, new = self.states[before], self.states[after]
        return tuple(sorted(path for path in {*old, *new} if old.get(path) != new.get(path)))

    def files(self, before: str, after: str) -> tuple[ChangedFile, ...]:
        return tuple(ChangedFile(path=path, status="modified") for path in self.changed_files(before, after))

    def remove_unknown(self, folder: Path, names: Sequence[str], *, keep: Sequence[str] = ()) -> None:
        """Agents of a simulation leave nothing behind: a folder holds what is recorded of it."""

    def texts(self, files: Sequence[tuple[str, str]], *, longest: int) -> dict[tuple[str, str], str]:
        found = {(state, path): self.states[state].get(path) for state, path in files}
        return {
            file: data.decode(errors="replace")
            for file, data in found.items()
            if data is not None and len(data) <= longest
        }

    def patch(self, before: str, after: str, first: Sequence[str] = ()) -> str:
        return "".join(f"changed {path}\n" for path in self.changed_files(before, after))

    def changes(self, after: str) -> WorkspaceChanges:
        return WorkspaceChanges(head=after, commits=(after,), files=self.files(self.start, after))

    def merge(self, *, ours: str, theirs: str, message: str) -> str:
        """Agents of a simulation never write the same file."""
        files = self.states[ours] | self.states[theirs]
        state = state_of(files, ours + theirs)
        self.states[state] = files
        return state

    def publish(self, commit: str, branch: str) -> bool:
        return False


class MemoryWorkspaces:
    """Survives the servers of a simulation, as a disk does."""

    root = ROOT

    def __init__(self) -> None:
        self.made: dict[str, MemoryWorkspace] = {}

    def copy(self, ancestors: Iterable[str], session_id: str) -> None:
        """Simulations do not fork."""

    def exists(self, session_id: str) -> bool:
        return session_id in self.made

    def open(
        self,
        session_id: str,
        source: Path | None,
        earlier: Callable[[], Earlier | None] = lambda: None,
        *,
        filters: bool = False,
        reviewed: ReviewedPatch | None = None,
    ) -> MemoryWorkspace:
        return self.made.setdefault(session_id, MemoryWorkspace(ROOT / session_id))

    def holding(self, folder: Path) -> MemoryWorkspace:
        return self.made[folder.parent.name]
