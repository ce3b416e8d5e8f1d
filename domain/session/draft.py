"""How a decision grows: event by event, each folded at once."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from domain.session.state import EventMetadata, Session
from domain.values.base import Blob, DomainEvent, Refused, Text

S = TypeVar("S", bound=Session)
Evolve = Callable[[S | None, DomainEvent, EventMetadata], S]


@dataclass
class Draft(Generic[S]):
    """A decision in the making: each recorded event is folded at once, so that the next step sees it."""

    evolve: Evolve[S]
    metadata: EventMetadata
    before: S | None
    events: list[DomainEvent] = field(default_factory=list)
    blobs: list[Blob] = field(default_factory=list)

    @property
    def at(self) -> int:
        return self.metadata.at

    @property
    def session(self) -> S:
        if self.before is None:
            raise Refused("There is no such session.")
        return self.before

    def record(self, *events: DomainEvent) -> None:
        for event in events:
            self.events.append(event)
            self.before = self.evolve(self.before, event, self.metadata)

    def text(self, words: str) -> Text:
        """Words for an event; what is too long for it is kept to be stored beside."""
        text, blobs = Text.of(words)
        self.blobs.extend(blobs)
        return text
