"""What happens to a fork: a session whose history, up to a version, is that of another."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from pydantic import Field

from domain.convergence.profiles import Profile
from domain.session.turns import TurnRequested
from domain.values.base import Command, DomainEvent

Mode = Literal["live", "stop"]


@dataclass(frozen=True, slots=True)
class Reuse:
    """Where a fork's answers come from while nothing differs."""

    source: str
    version: int
    mode: Mode


class SessionForked(DomainEvent):
    """Up to here the history is the source's; `substitute` is what is different from now on."""

    TOPIC: ClassVar[str] = "session.forked"
    message: str = Field(default="", description="the event as a sentence")
    role: str = Field(default="supervisor", description="who speaks; the supervisor is Hansard itself")
    source: str = Field(description="the session")
    source_version: int = Field(description="the last version that is shared")
    mode: Mode = Field(description="how it goes on where no recorded answer fits: live, or not at all")
    substitute: dict[str, Any] = Field(default={}, description="as it was asked for")
    profile: Profile | None = Field(
        default=None, description="the thresholds from here on, where they were substituted"
    )


class SessionDiverged(DomainEvent):
    """The first turn for which the source has no answer: what follows is new."""

    TOPIC: ClassVar[str] = "session.diverged"
    message: str = Field(default="", description="the event as a sentence")
    role: str = Field(default="supervisor", description="who speaks; the supervisor is Hansard itself")
    turn_id: str = Field(description="the turn")
    held: bool = Field(description="the fork stops here until it is released")


class SessionReleased(DomainEvent):
    """A held fork goes on live."""

    TOPIC: ClassVar[str] = "session.released"
    message: str = Field(default="", description="the event as a sentence")
    role: str = Field(default="supervisor", description="who speaks; the supervisor is Hansard itself")


EVENTS: tuple[type[DomainEvent], ...] = (SessionForked, SessionDiverged, SessionReleased)


class ForkSession(Command):
    """Begin as `source` stood after its event `at_version`; `then` is carried out at once."""

    source: str
    at_version: int
    mode: Mode = "live"
    substitute: dict[str, Any] = {}
    then: Command | None = None
    profile: Profile | None = None


class Diverge(Command):
    """The source has no answer to this turn."""

    turn_id: str


class Release(Command):
    """Let a held fork go on; `requests` are the turns it was held at."""

    requests: tuple[TurnRequested, ...] = ()
