"""The one door to all kinds of sessions: which events exist, how a command is carried out, how a history is folded."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, get_args

from domain import channel
from domain.delivery import chart as delivery_chart
from domain.delivery import decide as delivery_decide
from domain.delivery import events as delivery_events
from domain.delivery import state as delivery_state
from domain.delivery.commands import CancelDelivery
from domain.discussion import chart as discussion_chart
from domain.discussion import decide as discussion_decide
from domain.discussion import events as discussion_events
from domain.discussion import state as discussion_state
from domain.discussion.commands import CancelDiscussion
from domain.orchestration import chart as orchestration_chart
from domain.orchestration import decide as orchestration_decide
from domain.orchestration import events as orchestration_events
from domain.orchestration import state as orchestration_state
from domain.orchestration.commands import ResetOrchestration
from domain.session import children, forking, forks, turns
from domain.session.actions import with_release
from domain.session.draft import Draft
from domain.session.forks import ForkSession
from domain.session.state import EventMetadata, Session
from domain.values.base import Blob, Command, DomainEvent, Unknown


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of session: how it decides, becomes, and which doors are open. `Any` because kinds differ in state."""

    name: str
    decide: Callable[[Any, Command], None]
    evolve: Callable[[Any, DomainEvent, EventMetadata], Any]
    allowed_actions: Callable[[Any], tuple[str, ...]]
    cancel: Callable[[str], Command]
    """The command that ends a session of this kind at once, for a reason."""


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(
            name="delivery",
            decide=delivery_decide.decide,
            evolve=delivery_state.evolve,
            allowed_actions=delivery_decide.allowed_actions,
            cancel=lambda reason: CancelDelivery(reason=reason),
        ),
        Kind(
            name="orchestration",
            decide=orchestration_decide.decide,
            evolve=orchestration_state.evolve,
            allowed_actions=orchestration_decide.allowed_actions,
            cancel=lambda reason: ResetOrchestration(reason=reason or "cancelled", door="cancel"),
        ),
        *(
            Kind(
                name=name,
                decide=discussion_decide.decide,
                evolve=discussion_state.evolve,
                allowed_actions=discussion_decide.allowed_actions,
                cancel=lambda reason: CancelDiscussion(reason=reason),
            )
            for name in ("review", "debate")
        ),
    )
}

STATUSES: dict[str, tuple[str, ...]] = {
    "delivery": get_args(delivery_chart.Status),
    "orchestration": get_args(orchestration_chart.Status),
    **{name: table.states for name, table in discussion_chart.TABLES.items()},
}
"""The words that a session of each kind may have for how it stands."""

CHANNEL = Kind(
    name="channel",
    decide=channel.decide,
    evolve=channel.evolve,
    allowed_actions=channel.allowed_actions,
    cancel=lambda _: channel_refuses(),
)
"""Not a session that anybody starts or sees, but a stream like theirs."""

_ALL = KINDS | {CHANNEL.name: CHANNEL}


def channel_refuses() -> Command:
    raise Unknown("A channel cannot be cancelled.")


EVENTS: tuple[type[DomainEvent], ...] = (
    *turns.EVENTS,
    *children.EVENTS,
    *forks.EVENTS,
    *delivery_events.EVENTS,
    *orchestration_events.EVENTS,
    *discussion_events.EVENTS,
    *channel.EVENTS,
)

TOPICS: dict[str, type[DomainEvent]] = {event.TOPIC: event for event in EVENTS}
"""Every event there is, by the name it has in the log. A name is never reused and never resolved in another way."""


def _all(kind: str) -> Kind:
    found = _ALL.get(kind)
    if found is None:
        raise Unknown(f"There is no kind of session called {kind!r}.")
    return found


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


def carry_out(kind: str, session: Session | None, command: Command, metadata: EventMetadata) -> Decision:
    """Decide a command on a session (None: it does not exist yet). Raises Refused; changes nothing itself."""
    draft: Draft[Session] = Draft(evolve=_all(kind).evolve, metadata=metadata, before=session)
    if not forking.decide(draft, command):
        _all(kind).decide(draft, command)
    elif isinstance(command, ForkSession) and command.then is not None:
        _all(kind).decide(draft, command.then)
    blobs = {blob.digest: blob for blob in (*command.blobs, *draft.blobs)}
    return Decision(events=tuple(draft.events), blobs=tuple(blobs.values()), session=draft.session)


def fold(
    kind: str, history: Iterable[tuple[DomainEvent, EventMetadata]], session: Session | None = None
) -> Session | None:
    """The session that a history makes, going on from `session` if given."""
    evolve = _all(kind).evolve
    for event, metadata in history:
        session = evolve(session, event, metadata)
    return session


def allowed_actions(session: Session) -> tuple[str, ...]:
    """The doors that are open to a person now."""
    return with_release(session, _all(session.kind).allowed_actions(session))
