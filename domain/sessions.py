"""The one door to all kinds of sessions: which events exist, how a command is carried out, how a history is folded."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from domain import turns
from domain.base import Blob, Command, DomainEvent, Unknown
from domain.delivery import decide as delivery_decide
from domain.delivery import events as delivery_events
from domain.delivery import state as delivery_state
from domain.delivery.commands import CancelDelivery, StartDelivery
from domain.session import Draft, Moment, Session


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of session: how it decides, becomes, and which doors are open. `Any` because kinds differ in state."""

    name: str
    decide: Callable[[Any, Command], None]
    evolve: Callable[[Any, DomainEvent, Moment], Any]
    available: Callable[[Any], tuple[str, ...]]
    start: type[Command]
    cancel: type[Command]


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(
            name="delivery",
            decide=delivery_decide.decide,
            evolve=delivery_state.evolve,
            available=delivery_decide.available,
            start=StartDelivery,
            cancel=CancelDelivery,
        ),
    )
}

TOPICS: dict[str, type[DomainEvent]] = {
    event.TOPIC: event
    for event in (
        turns.TurnRequested,
        turns.TurnAnswered,
        turns.TurnFailed,
        turns.TurnCancelled,
        *delivery_events.EVENTS,
    )
}
"""Every event there is, by the name it has in the log. A name is never reused and never resolved in another way."""


def event_class(topic: str) -> type[DomainEvent]:
    """Raises Unknown for a topic that this version does not know."""
    found = TOPICS.get(topic)
    if found is None:
        raise Unknown(f"There is no event type {topic!r}.")
    return found


@dataclass(frozen=True, slots=True)
class Decision:
    """What a command led to: events in order, long texts they mention, and the session afterwards."""

    events: tuple[DomainEvent, ...]
    blobs: tuple[Blob, ...]
    session: Session


def carry_out(kind: str, session: Session | None, command: Command, moment: Moment) -> Decision:
    """Decide a command on a session (None: it does not exist yet). Raises Refused; changes nothing itself."""
    draft: Draft[Session] = Draft(evolve=KINDS[kind].evolve, moment=moment, before=session)
    KINDS[kind].decide(draft, command)
    blobs = {blob.digest: blob for blob in (*command.blobs, *draft.blobs)}
    return Decision(events=tuple(draft.events), blobs=tuple(blobs.values()), session=draft.session)


def fold(kind: str, history: Iterable[tuple[DomainEvent, Moment]], session: Session | None = None) -> Session | None:
    """The session that a history makes, going on from `session` if given."""
    evolve = KINDS[kind].evolve
    for event, moment in history:
        session = evolve(session, event, moment)
    return session


def available(session: Session) -> tuple[str, ...]:
    """The doors that are open to a person now."""
    return KINDS[session.kind].available(session)
