"""What goes into the log and how it is written: the mapper between events and rows, and one command's whole write."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from struct import Struct
from typing import Any, NamedTuple, NotRequired

import orjson
from eventsourcing.persistence import StoredEvent
from pydantic import TypeAdapter, ValidationError
from typing_extensions import TypedDict

from adapters.store.upcasting import upcast, version_of
from domain.kinds import event_class
from domain.session.record import Causation, Recorded
from domain.values.base import Blob, DomainEvent, HansardError, Unknown


class StoreError(HansardError):
    """The store cannot be opened or does not answer."""


class Broken(StoreError):
    """Nor will it, however often it is asked, until somebody mends the file or the place where it lies."""


class Unreadable(Broken, ValueError):
    """An event of the log that cannot be read: another Hansard's, or not as it was written. A ValueError, too, as of
    any log that is followed."""

    def __init__(self, row: StoredEvent, position: int, why: str) -> None:
        session_id, version = str(row.originator_id), row.originator_version
        super().__init__(
            f"The event at position {position} (version {version} of {session_id}) cannot be read: {why}."
            " `hansard verify` says whether it was changed; if not, use a newer Hansard."
        )
        self.position, self.why = position, why
        self.readable: list[Recorded] = []
        """What was asked for together with it and stands before it."""


class Conflict(HansardError):
    """Another process wrote first: `streams` have moved on, `keys` already have a receipt."""

    def __init__(self, sentence: str, *, streams: Iterable[str] = (), keys: Iterable[str] = ()) -> None:
        super().__init__(sentence)
        self.streams, self.keys = frozenset(streams), frozenset(keys)


class Fenced(HansardError):
    """The attempt that answers the turn does not hold its lease, or no longer."""

    def __init__(self, turn_id: str, attempt: int) -> None:
        super().__init__(f"Turn {turn_id} is not held by attempt {attempt}; its answer changes nothing.")
        self.turn_id, self.attempt = turn_id, attempt


class Entry(NamedTuple):
    """An event that is to be written as version `version` of its session."""

    session_id: str
    version: int
    at: int
    causation: Causation
    event: DomainEvent

    def recorded(self, position: int) -> Recorded:
        return Recorded(position, self.session_id, self.version, self.at, self.causation, self.event)


@dataclass(frozen=True, slots=True)
class Receipt:
    """The first answer to a command, kept with its events: the same key gives the same bytes for ever."""

    key: str
    fingerprint: str
    status: int
    body: bytes
    at: int


@dataclass(frozen=True, slots=True)
class Write:
    """All that one command changes; it is stored whole or not at all. `receipt` is made from the last position."""

    entries: Sequence[Entry] = ()
    blobs: Sequence[Blob] = ()
    receipt: Callable[[int], Receipt] | None = None
    adopted: bool = False
    """The entries are another session's history: their turns are taken over as they ended there."""


def encode(entry: Entry) -> StoredEvent:
    """The row of an event; the envelope stands beside the data in one JSON object."""
    event, causation = entry.event, entry.causation
    version = version_of(event.TOPIC)
    data = event.__pydantic_serializer__.to_json(event, by_alias=True, exclude_none=True)
    state = ({} if version == 1 else {"v": version}) | {
        "at": entry.at,
        "actor": causation.actor,
        "command": causation.command_id,
        "correlation": causation.correlation_id,
        "causation": causation.causation_id,
        "data": orjson.Fragment(data),
    }
    return StoredEvent(entry.session_id, entry.version, event.TOPIC, orjson.dumps(state))


def decode(row: StoredEvent, position: int) -> Recorded:
    """The event of a row. Raises Unreadable for a topic or version of another Hansard, and data that does not fit."""
    try:
        found = _envelope(row)
    except _UNFIT as error:
        raise Unreadable(row, position, _why(error)) from error
    causation = Causation(found["actor"], found["command"], found["correlation"], found["causation"])
    return Recorded(position, str(row.originator_id), row.originator_version, found["at"], causation, found["data"])


def decode_all(rows: Sequence[tuple[int, str, int, str, bytes]]) -> list[Recorded]:
    """The events of rows (position, stream, version, topic, state). Raises Unreadable, with those before it."""
    found: list[Recorded] = []
    try:
        for position, stream, version, topic, state in rows:
            found.append(decode(StoredEvent(stream, version, topic, state), position))
    except Unreadable as error:
        error.readable = found
        raise
    return found


_UNFIT = (Unknown, ValueError, LookupError, TypeError, AttributeError)
"""How a row fails to become an event."""


def _why(error: Exception) -> str:
    """In a few words, without what stands in the event."""
    match error:
        case ValidationError():
            found = error.errors(include_url=False, include_input=False, include_context=False)[0]
            return f"{'.'.join(map(str, found['loc'])) or 'the event'}: {found['msg']}"
        case LookupError():
            return f"it lacks {error}"
        case _:
            return str(error).rstrip(".")


def _envelope(row: StoredEvent) -> dict[str, Any]:
    """What stands in a row, with today's event in it."""
    try:
        found = _reader(row.topic)(row.state)
    except ValidationError:
        return _older(row)  # perhaps of another version: then that is what has to be said
    return found if found.get("v", 1) == version_of(row.topic) else _older(row)


@cache
def _reader(topic: str) -> Callable[[bytes], dict[str, Any]]:
    """From a row's bytes to its envelope with today's event in it, in one pass: half the time of two."""
    fields = {"v": NotRequired[int], "at": int, "actor": str, "command": str, "correlation": str, "causation": str}
    envelope = TypedDict("envelope", fields | {"data": event_class(topic)})  # type: ignore[misc]  # made for a topic
    return TypeAdapter(envelope).validator.validate_json


def _older(row: StoredEvent) -> dict[str, Any]:
    state = orjson.loads(row.state)
    if not isinstance(state, dict):
        raise TypeError("it is no object")
    data = upcast(row.topic, state.get("v", 1), state["data"])
    return _reader(row.topic)(orjson.dumps(state | {"data": data}))


def chain(previous: bytes, row: StoredEvent) -> bytes:
    """The hash of a row over itself and its predecessor in the stream (empty for the first)."""
    return chained(previous, str(row.originator_id), row.originator_version, row.topic, row.state)


def chained(previous: bytes, stream: str, version: int, topic: str, state: bytes) -> bytes:
    """The same over its parts: each of them with its length before it, but for the last."""
    name, number, kind = stream.encode(), b"%d" % version, topic.encode()
    sized = _SIZE(len(name)) + name + _SIZE(len(number)) + number + _SIZE(len(kind)) + kind
    return sha256(previous + sized + state).digest()


_SIZE = Struct(">I").pack
