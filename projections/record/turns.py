"""The turns of a session: who was asked what, in sections, and the outcome of each attempt.

Long texts stay in their events: a section says which event and which field contain it.
"""

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from domain.delivery.events import DeliveryEvent
from domain.discussion.events import DiscussionEvent
from domain.orchestration.events import OrchestrationEvent
from domain.session.activity import ActivityRecorded
from domain.session.permissions import PermissionEvent
from domain.session.record import Recorded
from domain.session.turns import (
    AttemptEnd,
    AttemptOver,
    Settled,
    TurnAnswered,
    TurnCancelled,
    TurnFailed,
    TurnRequested,
    TurnRetried,
    is_stand_in,
)
from domain.values.base import Text, Usage
from domain.values.network import RefusedHost
from domain.values.sentences import Sentence
from projections.record.describe import is_person, person
from projections.record.important import is_important

ANSWERED: Final = "answered"
FAILED: Final = "failed"
CANCELLED: Final = "cancelled"
TRIED: Final = "tried"
"""An attempt that failed and was followed by another one."""


class Section(NamedTuple):
    """A reference to a text: the event, the field, its length in UTF-8 bytes, and the digest of a long one."""

    version: int
    name: str
    length: int
    digest: str | None


class Wait(NamedTuple):
    """The reason for which an attempt had to wait, and how long. Times are milliseconds."""

    cause: str
    since: int
    until: int | None = None


class ActivityEntry(NamedTuple):
    """The record of an attempt's work: the event, how many tools were used and denied, and the transcript."""

    version: int
    tools: int
    denied: int
    transcript: Section | None


class Change(NamedTuple):
    """A file that an attempt changed; lines are null if not counted."""

    path: str
    added: int | None = None
    removed: int | None = None


@dataclass(slots=True)
class Attempt:
    """One attempt at a turn. `number` is 0 if the turn was cancelled or expired before anybody took it."""

    number: int
    version: int
    outcome: str
    ended_at: int
    seconds: float = 0.0
    usage: Usage = field(default_factory=Usage)
    model: str | None = None
    resumed: bool | None = None
    failure: str | None = None
    detail: Sentence | str = ""
    prompt: Section | None = None
    reply: Section | None = None
    patch: Section | None = None
    files: list[Change] = field(default_factory=list)
    waits: list[Wait] = field(default_factory=list)
    node: str | None = None
    fence: str | None = None
    fence_gaps: tuple[str, ...] = ()
    refused_hosts: tuple[RefusedHost, ...] = ()
    activity: ActivityEntry | None = None
    by: str | None = None
    """The person who answered for the agent, if one did."""


@dataclass(slots=True)
class TurnEntry:
    """A turn since its request. `number` is its iteration or round, 0 before the first."""

    turn_id: str
    version: int
    requested_at: int
    work: str
    agent: str
    role: str
    phase: str | None = None
    number: int = 0
    lane: int = 0
    prompt: list[Section] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)
    retried: int = 0
    """Version of the event with which a person had it asked again."""
    done: ActivityEntry | None = None
    """For the attempt that ends next."""

    def status(self, version: int) -> str:
        """Returns how it ended, at a version; `requested` until there is an answer."""
        ended = [attempt for attempt in self.attempts if attempt.version <= version]
        if not ended or ended[-1].outcome == TRIED or ended[-1].version < self.retried <= version:
            return "requested"
        return ended[-1].outcome


Turns = dict[str, TurnEntry]


def follow(turns: Turns, recorded: Recorded) -> None:
    """One more event."""
    match recorded.event:
        case TurnRequested() as event:
            turns.setdefault(event.turn_id, _requested(recorded, event))
        case ActivityRecorded() as event if event.turn_id in turns:
            turns[event.turn_id].done = _done(recorded, event)
        case TurnRetried() as event if event.turn_id in turns:
            turns[event.turn_id].retried = recorded.version
        case event if isinstance(event, AttemptOver) and event.turn_id in turns:
            turn = turns[event.turn_id]
            attempt = _attempt(recorded, event)
            attempt.activity, turn.done = turn.done, None
            turn.attempts.append(attempt)


def _requested(recorded: Recorded, event: TurnRequested) -> TurnEntry:
    return TurnEntry(
        turn_id=event.turn_id,
        version=recorded.version,
        requested_at=recorded.at,
        work=event.work,
        agent=event.agent,
        role=event.role,
        phase=event.phase,
        number=event.iteration or event.round or 0,
        lane=event.lane,
        prompt=[_section(recorded, name, text) for name, text in event.context.items()],
    )


def _done(recorded: Recorded, event: ActivityRecorded) -> ActivityEntry:
    printed = event.transcript
    transcript = _section(recorded, "transcript", printed) if printed else None
    return ActivityEntry(recorded.version, event.tools_total, event.denied, transcript)


def _attempt(recorded: Recorded, event: AttemptOver) -> Attempt:
    attempt = Attempt(
        number=event.attempt,
        version=recorded.version,
        outcome=CANCELLED,
        ended_at=recorded.at,
        seconds=event.seconds,
        usage=event.usage,
    )
    if isinstance(event, AttemptEnd):
        attempt.fence, attempt.fence_gaps = event.fence, event.fence_gaps
        attempt.refused_hosts, attempt.model = event.refused_hosts, event.model
        attempt.prompt, attempt.reply = _text(recorded, event, "prompt"), _text(recorded, event, "reply")
    match event:
        case TurnAnswered():
            attempt.by = stand_in(recorded)
            attempt.outcome, attempt.resumed = ANSWERED, event.resumed
            attempt.files = [Change(path) for path in event.files]
            attempt.patch = _text(recorded, event, "patch")
        case TurnCancelled():
            attempt.detail = event.reason
        case _:
            attempt.outcome = FAILED if isinstance(event, TurnFailed) else TRIED
            attempt.failure, attempt.detail = event.failure.code, event.failure.why
    return attempt


def stand_in(recorded: Recorded) -> str | None:
    """The person who answered for the agent with this event, or with the command that it belongs to; None if the agent
    answered itself."""
    actor, event = recorded.causation.actor, recorded.event
    if not is_person(actor) or (isinstance(event, Settled) and not is_stand_in(event)):
        return None
    return person(actor)


def _text(recorded: Recorded, event: AttemptOver, name: str) -> Section | None:
    text = getattr(event, name)
    return _section(recorded, name, text) if text is not None and text.length else None


def _section(recorded: Recorded, name: str, text: Text) -> Section:
    return Section(recorded.version, name, text.length, text.digest)


# The index of a session's events: who, where, and whether it matters. Sentences are only made for readers.


class Entry(NamedTuple):
    """One event. `number` is its iteration or round; the end of a turn counts where the turn was requested."""

    version: int
    at: int
    topic: str
    role: str
    phase: str | None
    number: int | None
    turn_id: str | None
    highlight: bool


def entry_of(turns: Turns, recorded: Recorded) -> Entry:
    event = recorded.event
    return Entry(recorded.version, recorded.at, event.TOPIC, *_place(turns, recorded), is_important(event))


def _place(turns: Turns, recorded: Recorded) -> tuple[str, str | None, int | None, str | None]:
    """Role, phase, iteration or round, and turn."""
    match recorded.event:
        case DeliveryEvent() as event:
            return event.role, event.phase, event.iteration or None, None
        case OrchestrationEvent() | DiscussionEvent() as event:
            phase = event.__dict__.get("phase")  # only events about an agent's phase have one
            return event.role, None if phase is None else str(phase), event.round or None, None
        case TurnRequested() as event:
            return event.role, event.phase, event.iteration or event.round, event.turn_id
        case event if isinstance(event, ActivityRecorded | PermissionEvent | AttemptOver | TurnRetried):
            turn = turns.get(event.turn_id)
            role = turn.role if turn else str(getattr(event, "role", "supervisor"))
            phase, number = (turn.phase, turn.number or None) if turn else (None, None)
            return role, phase, number, event.turn_id
        case _:
            return "supervisor", None, None, None
