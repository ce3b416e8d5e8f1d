"""What every kind of session has in common: its state, and the turns that are waited for."""

from typing import NamedTuple, Self

from domain.session.budget import Spent
from domain.session.children import Child
from domain.session.forks import Reuse
from domain.session.turns import RecordReply, Work
from domain.values.base import Refused, Text, Value


class Moved(Refused):
    """The workspace has moved on while this turn ran; its changes have to be merged first, then recorded."""


class Outstanding(Value):
    """A turn that was requested and is not settled."""

    turn_id: str
    work: Work
    agent: str
    role: str
    phase: str | None = None
    round: int | None = None
    lane: int = 0
    requested_at: int

    def settled(self) -> dict[str, str]:
        """The fields that the event of its end repeats."""
        return {"turn_id": self.turn_id, "agent": self.agent, "role": self.role}


class Session(Value):
    """The state that the rules of any kind need. Instants are milliseconds; `state` is a state of the kind's chart.

    `home` is the session whose workspace this one looks at, where that is not its own.
    """

    id: str
    kind: str
    state: str
    version: int = 0
    created_at: int
    updated_at: int
    title: str = ""
    origin: str = ""
    labels: tuple[str, ...] = ()
    scenario: Text | None = None
    workspace: str | None = None
    home: str | None = None
    crew: dict[str, str] = {}
    parent: str | None = None
    children: tuple[str, ...] = ()
    open_children: dict[str, Child] = {}
    last_choice: str | None = None
    forked_from: str | None = None
    reuse: Reuse | None = None
    held: bool = False
    outstanding: dict[str, Outstanding] = {}
    turns: int = 0
    asked: dict[str, int] = {}
    asked_roles: dict[str, int] = {}
    agent_sessions: dict[str, str] = {}
    tree: str | None = None
    slot: int = 0
    spent: Spent = Spent()
    last_error: str | None = None

    @property
    def status(self) -> str:
        """The word of its kind for how it stands."""
        raise NotImplementedError

    @property
    def ended(self) -> bool:
        """Whether nothing more happens unless a person says so."""
        raise NotImplementedError

    def receipt(self) -> dict[str, object]:
        """What the answer to a command says beyond id, kind, version and position."""
        return {}

    def turn(self, turn_id: str, *, allowed: tuple[str, ...] = ()) -> Outstanding:
        """The turn, while it is still waited for; Refused once it is settled (a late answer changes nothing)."""
        found = self.outstanding.get(turn_id)
        if found is None:
            sentence = f"Turn {turn_id} is settled or was never requested; its answer changes nothing."
            raise Refused(sentence, allowed=allowed)
        return found

    def accept_tree(self, command: RecordReply) -> None:
        """Raises Moved where the changes were made from a state of the workspace that is no longer the recorded one."""
        if command.tree is not None and command.base != self.tree:
            raise Moved("Another turn has changed the workspace meanwhile.")

    def stamped(self, at: int, **changes: object) -> Self:
        """The session one event later."""
        return self.changed(version=self.version + 1, updated_at=at, **changes)


class EventMetadata(NamedTuple):
    """Which session, and when (milliseconds): what an event's envelope knows and its data does not repeat."""

    session_id: str
    at: int
