"""Forks: a new session that shares the history of another one up to a version."""

from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal

from pydantic import Field

from domain.convergence.profiles import Profile
from domain.session.turns import TurnRequested
from domain.values.base import Command, DomainEvent, Value, absent

Mode = Literal["live", "stop", "ask"]
"""Recorded answers are reused, and where none fits the agents are asked, or nobody is; or none is reused."""
RECAST: Final = "recast"
"""Why a turn is cancelled for which another agent is asked."""


@dataclass(frozen=True, slots=True)
class Reuse:
    """The source of a fork's answers while nothing differs."""

    source: str
    version: int
    mode: Mode


class ForkedWait(Value):
    """What waits for a person in a fork waits from the fork on. A decision that expires has its whole time again."""

    turn_id: str | None = Field(default=None, description="the turn that waits for the decision, if it expires")
    deadline: str | None = Field(default=None, description="that turn's new deadline (ISO)")


class SessionForked(DomainEvent):
    """The history up to here is the source's; `substitute` is what differs from now on."""

    TOPIC: ClassVar[str] = "session.forked"
    message: str = Field(default="", description="the event as a sentence")
    role: str = Field(default="supervisor", description="who speaks; the supervisor is Hansard itself")
    source: str = Field(description="the session")
    source_version: int = Field(description="the last shared version")
    mode: Mode = Field(description="what happens where no recorded answer fits: ask live, or stop; ask: none is reused")
    substitute: dict[str, Any] = Field(default={}, description="as requested")
    profile: Profile | None = Field(
        default=None, description="the thresholds from here on, where they were substituted"
    )
    author: str = Field(default="", description="who forked it, where the team's decisions depend on it")
    wait: ForkedWait | None = Field(
        default=None, description="how a wait for a person starts again; null in old logs, where it is the source's"
    )
    agents: dict[str, str] | None = Field(
        default=None, exclude_if=absent, description="the agent for each role, where another is asked from here on"
    )
    models: dict[str, str] | None = Field(
        default=None, exclude_if=absent, description="the model of each agent, where another is used from here on"
    )


class SessionDiverged(DomainEvent):
    """The first turn without a recorded answer in the source; what follows is new."""

    TOPIC: ClassVar[str] = "session.diverged"
    message: str = Field(default="", description="the event as a sentence")
    role: str = Field(default="supervisor", description="who speaks; the supervisor is Hansard itself")
    turn_id: str = Field(description="the turn")
    held: bool = Field(description="the fork stops here until it is released")
    pauses: bool | None = Field(
        default=None,
        exclude_if=absent,
        description="the time in which it is held uses up no budget; absent in old logs",
    )


class SessionReleased(DomainEvent):
    """A held fork continues live."""

    TOPIC: ClassVar[str] = "session.released"
    message: str = Field(default="", description="the event as a sentence")
    role: str = Field(default="supervisor", description="who speaks; the supervisor is Hansard itself")


FORKS: tuple[type[DomainEvent], ...] = (SessionForked, SessionDiverged, SessionReleased)


class ForkSession(Command):
    """Start from the state of `source` after its event `at_version`; `then` is applied at once. `agents` (by role) and
    `models` (by agent) are for what is asked anew; `requests` are the questions that wait there for other agents.

    `restarts_wait` is only false where an old log is decided again.
    """

    source: str
    at_version: int
    mode: Mode = "live"
    substitute: dict[str, Any] = {}
    then: Command | None = None
    profile: Profile | None = None
    author: str = ""
    agents: dict[str, str] | None = None
    models: dict[str, str] | None = None
    requests: tuple[TurnRequested, ...] = ()
    restarts_wait: bool = True


class Diverge(Command):
    """The source has no answer to this turn. `pauses` is only false where an old log is decided again."""

    turn_id: str
    pauses: bool = True


class Release(Command):
    """Continue a held fork; `requests` are the turns it was held at."""

    requests: tuple[TurnRequested, ...] = ()
