"""The ports of what several machines share: keys that say who may use the log, and workspaces.

The commits of a workspace are shared, so that another machine can continue it. A machine is identified by the folder in
which it keeps its workspaces. A workspace is shared as git packs: one of its start commit, for all sessions that
started from it, then one for every later state.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, Protocol

ShareForm = Literal["git", "kept", "large", "folder"]
"""`git`: its commits are in the store. `kept`: they were, until the session had ended. `large`: too large for that.
`folder`: worked in where it is, without git."""


class WorkspaceKeeper(NamedTuple):
    """The holder of a workspace: the place that worked on it last, and the name of its machine."""

    place: str
    machine: str
    form: ShareForm
    facts: str
    """The workspace's own facts, as they are saved next to its repository."""
    alive: bool
    """True if a process there runs turns now."""


class StoredState(NamedTuple):
    """A state of a workspace that the store has: packs build on those with lower numbers."""

    number: int
    commit: str


class Shares(Protocol):
    """The part of workspaces that machines share. Raises StoreError."""

    def attend(self, place: str, machine: str) -> None:
        """A process of this place runs turns; repeat every few seconds."""

    def leave(self, place: str) -> None:
        """It has stopped."""

    def keeper(self, workspace: str) -> WorkspaceKeeper | None:
        """The machine that has this workspace; None if unknown."""

    def away(self, workspaces: Sequence[str]) -> set[str]:
        """Those of the workspaces that are only on a machine where no process runs turns now."""

    def keep(self, workspace: str, *, place: str, form: ShareForm, facts: str) -> None:
        """It is there now."""

    def has_base(self, commit: str) -> bool:
        """True if the store has the commit, as the start of workspaces."""

    def put_base(self, commit: str, parts: Iterable[bytes]) -> None:
        """Store its pack, unless another process was faster."""

    def base(self, commit: str) -> Iterator[bytes]:
        """Its pack, in parts."""

    def states(self, workspace: str) -> list[StoredState]:
        """The later states of a workspace, in the order in which they build on each other."""

    def put_state(self, workspace: str, commit: str, parts: Iterable[bytes]) -> int:
        """Store the pack of a state; its number."""

    def state(self, workspace: str, number: int) -> Iterator[bytes]:
        """The pack of a state, in parts."""

    def drop(self, workspace: str, *, place: str) -> int:
        """Remove its states if this place has it, which keeps them from now on; the number of bytes."""

    def drop_bases(self) -> int:
        """Remove the start commits that no workspace in the store begins with; the number of bytes."""
