"""What a verification found."""

from dataclasses import dataclass, field
from typing import Final

from domain.values.base import HansardError

MOST: Final = 100
"""Faults that are reported; the rest of a log that has more is not read."""


class Unchecked(HansardError):
    """Something outside the log could not be checked; that says nothing about the log."""


@dataclass(frozen=True, slots=True)
class LogFault:
    """What is wrong, and where: a position of the log, or None for the file as a whole."""

    position: int | None
    problem: str


@dataclass(frozen=True, slots=True)
class NamedRedaction:
    """A text that was removed from the log, and the event that says so."""

    digest: str
    session_id: str
    position: int
    actor: str
    reason: str
    newer: bool = False
    """Whether it was recorded after the checkpoint that the log was compared with."""


@dataclass(frozen=True, slots=True)
class UnprovableEvent:
    """An event whose hash does not fit and which has a blanked quote of a redacted text: whether more of it was changed
    cannot be proved."""

    session_id: str
    version: int
    position: int
    digest: str


@dataclass(slots=True)
class Verification:
    """What a verification found; `root` is the tree head over all events (hex), `unchecked` why the views were not."""

    events: int = 0
    sessions: int = 0
    head: int = 0
    root: str = ""
    unchecked: str | None = None
    redacted: list[NamedRedaction] = field(default_factory=list)
    unprovable: list[UnprovableEvent] = field(default_factory=list)
    faults: list[LogFault] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        return not self.faults

    @property
    def full(self) -> bool:
        """Whether no more faults are reported."""
        return len(self.faults) >= MOST

    @property
    def first_bad(self) -> int | None:
        """The first position with a fault; None if none is known."""
        return min((fault.position for fault in self.faults if fault.position is not None), default=None)

    def blame(self, position: int | None, problem: str) -> None:
        if not self.full:
            self.faults.append(LogFault(position, problem))
