"""The registry of kinds: their names and events, and how a history is folded and read back as commands."""

from collections.abc import Iterable
from typing import Any, get_args

from domain import channel
from domain.delivery import chart as delivery_chart
from domain.delivery import commands as delivery_commands
from domain.delivery import decide as delivery_decide
from domain.delivery import events as delivery_events
from domain.delivery.commands import CancelDelivery, StartDelivery
from domain.delivery.evolve import evolve as delivery_evolve
from domain.delivery.state import Delivery
from domain.discussion import chart as discussion_chart
from domain.discussion import commands as discussion_commands
from domain.discussion import decide as discussion_decide
from domain.discussion import topics as discussion_topics
from domain.discussion.commands import CancelDiscussion, StartDiscussion
from domain.discussion.events import DecisionVoted
from domain.discussion.state import Discussion
from domain.discussion.state import evolve as discussion_evolve
from domain.orchestration import chart as orchestration_chart
from domain.orchestration import commands as orchestration_commands
from domain.orchestration import decide as orchestration_decide
from domain.orchestration import events as orchestration_events
from domain.orchestration.commands import ResetOrchestration, StartOrchestration
from domain.orchestration.evolve import evolve as orchestration_evolve
from domain.orchestration.state import Orchestration
from domain.session import (
    attendance,
    children,
    comments,
    forge,
    forge_past,
    forks,
    landing,
    past_landings,
    redaction,
    revisions,
    turns,
    workspace,
)
from domain.session.activity import activity_of
from domain.session.decision import Kind
from domain.session.forks import SessionForked
from domain.session.past_commands import RecordedCommand, Whole, fork_command
from domain.session.past_replies import reply_blobs, shared_command
from domain.session.state import EventMetadata, Session
from domain.session.turns import RecordReply
from domain.session.waits import held
from domain.values.base import Command, DomainEvent, Unknown
from domain.values.sentences import Sentence

_KINDS: tuple[Kind[Any], ...] = (
    Kind(
        name="delivery",
        state=Delivery,
        statuses=get_args(delivery_chart.Status),
        events=delivery_events.EVENTS,
        chart=delivery_chart.TABLE,
        starts=StartDelivery,
        from_people=delivery_commands.FROM_PEOPLE,
        decide=delivery_decide.decide,
        evolve=delivery_evolve,
        actions=delivery_decide.allowed_actions,
        command_of=delivery_commands.command_of,
        cancel=lambda reason: CancelDelivery(reason=reason),
    ),
    Kind(
        name="orchestration",
        state=Orchestration,
        statuses=get_args(orchestration_chart.Status),
        events=orchestration_events.EVENTS,
        chart=orchestration_chart.TABLE,
        starts=StartOrchestration,
        from_people=orchestration_commands.FROM_PEOPLE,
        decide=orchestration_decide.decide,
        evolve=orchestration_evolve,
        actions=orchestration_decide.allowed_actions,
        command_of=orchestration_commands.command_of,
        cancel=lambda reason: ResetOrchestration(reason=reason or "cancelled", action="cancel"),
    ),
    *(
        Kind(
            name=name,
            state=Discussion,
            statuses=table.states,
            events=tuple(discussion_topics.EVENTS_OF[name].values()),
            chart=table,
            starts=StartDiscussion,
            from_people=discussion_commands.FROM_PEOPLE,
            decide=discussion_decide.decide,
            evolve=discussion_evolve,
            actions=discussion_decide.allowed_actions,
            command_of=discussion_commands.command_of,
            cancel=lambda reason: CancelDiscussion(reason=reason),
        )
        for name, table in discussion_chart.TABLES.items()
    ),
)

KINDS: dict[str, Kind[Any]] = {each.name: each for each in _KINDS}
"""The kinds of sessions. `Any`, because kinds differ in their state."""

STATUSES: tuple[str, ...] = tuple(dict.fromkeys(word for each in _KINDS for word in each.statuses))
"""Every possible status of a session."""

SHOWN_STATUSES: tuple[str, ...] = (*STATUSES, held().cause)
"""The words that people see as statuses, which filter a list: a fork that is held does not run."""

CHANNEL: Kind[channel.Channel] = Kind(
    name="channel",
    state=channel.Channel,
    statuses=("free", "busy"),
    events=channel.EVENTS,
    chart=None,
    starts=Command,
    from_people=(),
    decide=channel.decide,
    evolve=channel.evolve,
    actions=channel.allowed_actions,
    command_of=channel.command_of,
    cancel=lambda _: _no_cancel(),
)
"""Not a session that users start or see, but a stream like one."""

STREAMS: dict[str, Kind[Any]] = KINDS | {CHANNEL.name: CHANNEL}
"""Every kind of stream in the log."""

EVENTS: tuple[type[DomainEvent], ...] = (
    *turns.EVENTS,
    *children.EVENTS,
    *forks.FORKS,
    *workspace.EVENTS,
    *landing.EVENTS,
    *comments.EVENTS,
    *revisions.EVENTS,
    *attendance.EVENTS,
    *forge.EVENTS,
    *redaction.REDACTIONS,
    DecisionVoted,
    *(event for kind in STREAMS.values() for event in kind.events),
)

TOPICS: dict[str, type[DomainEvent]] = {event.TOPIC: event for event in EVENTS}
"""Every event by its name in the log. A name is never reused and never gets another meaning."""


def _no_cancel() -> Command:
    raise Unknown(Sentence("channel_cannot_be_cancelled"))


def kind(name: str) -> Kind[Any]:
    """Raises Unknown if there is no such kind."""
    match = STREAMS.get(name)
    if match is None:
        raise Unknown(Sentence("kind_not_found", name=name))
    return match


def event_class(topic: str) -> type[DomainEvent]:
    """Raises Unknown for a topic that this version does not have."""
    match = TOPICS.get(topic)
    if match is None:
        raise Unknown(Sentence("event_type_not_found", name=topic))
    return match


def fold(
    name: str, history: Iterable[tuple[DomainEvent, EventMetadata]], session: Session | None = None
) -> Session | None:
    """The session after this history, continuing from `session` if given."""
    evolve = kind(name).evolve
    for event, metadata in history:
        session = evolve(session, event, metadata)
    return session


def command_of(recorded: RecordedCommand, session: Session | None, whole: Whole) -> Command:
    """The command that led from `session` to these events. Raises Unknown if there is none."""
    if recorded.activity is not None and recorded.tail is not None:
        ended = command_of(recorded.tail, session, whole)
        if not isinstance(ended, RecordReply):
            return ended
        return ended.model_copy(update={"activity": activity_of(recorded.activity)})
    events = recorded.events
    tail = recorded.tail if isinstance(events[0], SessionForked) else None
    then = None if tail is None else _command_of(tail, session)
    command = fork_command(events, then) or _command_of(recorded, session)
    if command is None:
        raise Unknown(Sentence("command_not_found", name=events[0].TOPIC))
    return command.model_copy(update={"blobs": tuple(reply_blobs(events, whole))})


def _command_of(recorded: RecordedCommand, session: Session | None) -> Command | None:
    own = kind(recorded.recorded[0].kind).command_of
    events = recorded.events
    command = (
        shared_command(events, session)
        or forge_past.forge_command(events)
        or past_landings.landing_command(events, session)
        or own(recorded, session)
    )
    prepared = workspace.prepared_in(events)
    if not isinstance(command, turns.RecordTurn):
        return command
    return command.model_copy(update={"prepared": prepared, "people": forge_past.people_in(events)})


def allowed_actions(session: Session) -> tuple[str, ...]:
    """The actions that a person may take now."""
    return kind(session.kind).allowed_actions(session)


def is_over(session: Session) -> bool:
    """Returns whether nothing more happens, unless a person wants its result changed: a session may be revised long
    after everybody has left."""
    return not session.outstanding and not set(allowed_actions(session)) - {"revise"}
