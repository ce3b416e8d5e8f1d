"""The port of shared workspaces: where each one is, and its commits, so that another machine can go on with it.

A machine is known by the place in which it keeps its workspaces. A workspace is shared as packs of git: one of the
commit that it began with, for all sessions that began there, then one for every later state.
"""

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple, Protocol

ShareForm = Literal["git", "large", "folder"]
"""`git`: its commits are in the store. `large`: too large for that. `folder`: worked in where it is, without git."""


class WorkspaceKeeper(NamedTuple):
    """Who has a workspace: the place that worked on it last, and the name of its machine."""

    place: str
    machine: str
    form: ShareForm
    facts: str
    """What the workspace says of itself, as it is written down beside its repository."""
    alive: bool
    """Whether a process there works on turns now."""


class StoredState(NamedTuple):
    """A state of a workspace that the store has: packs build on those with lower numbers."""

    number: int
    commit: str


class Shares(Protocol):
    """What machines tell each other of workspaces. Raises StoreError."""

    def attend(self, place: str, machine: str) -> None:
        """A process of this place works on turns; again every few seconds."""

    def leave(self, place: str) -> None:
        """It does no longer."""

    def keeper(self, workspace: str) -> WorkspaceKeeper | None:
        """Who has this workspace; None where nobody said so."""

    def keep(self, workspace: str, *, place: str, form: ShareForm, facts: str) -> None:
        """It is there now."""

    def has_base(self, commit: str) -> bool:
        """Whether the store has the commit, as the beginning of workspaces."""

    def put_base(self, commit: str, parts: Iterable[bytes]) -> None:
        """Store its pack, unless somebody else was faster."""

    def base(self, commit: str) -> Iterator[bytes]:
        """Its pack, in parts."""

    def states(self, workspace: str) -> list[StoredState]:
        """The later states of a workspace, in the order in which they build on each other."""

    def put_state(self, workspace: str, commit: str, parts: Iterable[bytes]) -> int:
        """Store the pack of a state; its number."""

    def state(self, workspace: str, number: int) -> Iterator[bytes]:
        """The pack of a state, in parts."""
