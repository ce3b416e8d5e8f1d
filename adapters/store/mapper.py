"""The mapper between events and rows, and upcasting; and events without the fields that views skip.

The fields that a reader does not use are most of the bytes of a log. Reading such a field raises AttributeError.
Whatever is unusual about a row is left to the full reader.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final, NotRequired

import orjson
from eventsourcing.persistence import StoredEvent
from pydantic import TypeAdapter, ValidationError
from typing_extensions import TypedDict

from adapters.store.errors import DamagedEvent
from adapters.store.port import NewEvent
from domain.kinds import event_class
from domain.session.record import Causation, Recorded
from domain.values.base import Unknown


def encode(entry: NewEvent) -> StoredEvent:
    """The row of an event: envelope and data in one JSON object, without what follows from the rest of the row.

    Defaults are left out, so the default of a stored field never changes; a golden file has all of them.
    """
    session_id, event = entry.session_id, entry.event
    actor, command_id, correlation_id, causation_id, trace = entry.causation
    version = version_of(event.TOPIC)
    data = event.__pydantic_serializer__.to_json(event, by_alias=True, exclude_none=True, exclude_defaults=True)
    state: dict[str, Any] = {} if version == 1 else {"v": version}
    state["at"], state["actor"] = entry.at, actor
    name = command_id.removeprefix(f"{session_id}.")
    state["command" if name == command_id else "turn"] = name
    if correlation_id != session_id:
        state["correlation"] = correlation_id
    if causation_id != command_id:
        stream, _, number = causation_id.rpartition(":")
        if stream == session_id and number.isascii() and number.isdecimal() and number[0] != "0":
            state["cause"] = int(number)
        else:
            state["causation"] = causation_id
    state["data"] = orjson.Fragment(data)
    if trace:
        state["trace"] = trace
    return StoredEvent(session_id, entry.version, event.TOPIC, orjson.dumps(state))


def decode(row: StoredEvent, position: int) -> Recorded:
    """The event of a row. Raises DamagedEvent for a topic or version of another Hansard, or for data that does not
    fit."""
    stream = str(row.originator_id)
    try:
        envelope = _envelope(row)
        causation = causation_of(envelope, stream)
    except _UNFIT as error:
        raise DamagedEvent(row, position, _why(error)) from error
    return Recorded(position, stream, row.originator_version, envelope["at"], causation, envelope["data"])


def causation_of(envelope: Mapping[str, Any], stream: str) -> Causation:
    """Most events are part of their own session, come from one of its turns (`turn`), and are caused by one of its
    events (`cause`) or by the command."""
    turn = envelope.get("turn")
    command = envelope["command"] if turn is None else f"{stream}.{turn}"
    cause = envelope.get("cause")
    return Causation(
        envelope["actor"],
        command,
        envelope.get("correlation", stream),
        envelope.get("causation", command) if cause is None else f"{stream}:{cause}",
        envelope.get("trace", ""),
    )


def decode_all(rows: Sequence[tuple[int, str, int, str, bytes]]) -> list[Recorded]:
    """The events of rows (position, stream, version, topic, state). Raises DamagedEvent, with those before it."""
    events: list[Recorded] = []
    try:
        for position, stream, version, topic, state in rows:
            events.append(decode(StoredEvent(stream, version, topic, state), position))
    except DamagedEvent as error:
        error.readable = events
        raise
    return events


_UNFIT = (Unknown, ValueError, LookupError, TypeError, AttributeError)
"""The errors of a row that cannot become an event."""


def _why(error: Exception) -> str:
    """In a few words, without the event's content."""
    match error:
        case ValidationError():
            first = error.errors(include_url=False, include_input=False, include_context=False)[0]
            return f"{'.'.join(map(str, first['loc'])) or 'the event'}: {first['msg']}"
        case LookupError():
            return f"it lacks {error}"
        case _:
            return str(error).rstrip(".")


def _envelope(row: StoredEvent) -> dict[str, Any]:
    """A row's content, with the event in its current form."""
    try:
        envelope = _reader(row.topic)(row.state)
    except ValidationError:
        return _older(row)  # perhaps of another version: then report that instead
    return envelope if envelope.get("v", 1) == version_of(row.topic) else _older(row)


@cache
def _reader(topic: str) -> Callable[[bytes], dict[str, Any]]:
    """From a row's bytes to its envelope with the current event, in one pass, which takes half the time of two."""
    fields = {
        "v": NotRequired[int],
        "trace": NotRequired[str],
        "at": int,
        "actor": str,
        "command": NotRequired[str],
        "turn": NotRequired[str],
        "correlation": NotRequired[str],
        "causation": NotRequired[str],
        "cause": NotRequired[int],
    }
    envelope = TypedDict("envelope", fields | {"data": event_class(topic)})  # type: ignore[misc]  # made for a topic
    return TypeAdapter(envelope).validator.validate_json


def _older(row: StoredEvent) -> dict[str, Any]:
    state = orjson.loads(row.state)
    if not isinstance(state, dict):
        raise TypeError("it is no object")
    data = upcast(row.topic, state.get("v", 1), state["data"])
    return _reader(row.topic)(orjson.dumps(state | {"data": data}))


# The data of an old event is converted when it is read; its row in the log does not change. An event's
# version is the `v` of its envelope, 1 without one. A topic with n steps here is at version n + 1.
Data = dict[str, Any]
Step = Callable[[Data], Data]
"""From one version of a topic's data to the next. Pure; it gets its own copy of the top level."""
STEPS: Final[Mapping[str, tuple[Step, ...]]] = {}
"""By topic, oldest first. A step never changes once a log may contain an event that needs it."""


def version_of(topic: str, steps: Mapping[str, tuple[Step, ...]] = STEPS) -> int:
    """The version in which events of a topic are written today."""
    return len(steps.get(topic, ())) + 1


def upcast(topic: str, version: int, data: Data, steps: Mapping[str, tuple[Step, ...]] = STEPS) -> Data:
    """The current data. Raises Unknown for a version that only a newer Hansard can have written."""
    newest = version_of(topic, steps)
    if not isinstance(version, int) or not 1 <= version <= newest:
        raise Unknown(f"{topic!r} is there in version {version!r}, this Hansard reads up to {newest}.")
    for step in steps.get(topic, ())[version - 1 :]:
        data = step(dict(data))
    return data
