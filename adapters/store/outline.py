"""Outlines: events without the fields that views skip."""

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

from eventsourcing.persistence import StoredEvent
from pydantic import TypeAdapter, ValidationError
from pydantic_core import SchemaValidator, core_schema

from adapters.store.errors import DamagedEvent
from adapters.store.mapper import causation_of, decode, version_of
from domain.kinds import event_class
from domain.session.record import Causation, Omitted, Recorded
from domain.values.base import DomainEvent, Unknown

_ENVELOPE: Final = re.compile(
    rb'\{"at":(\d+),"actor":"([^"\\]*)",(?:"command":"([^"\\]*)"|"turn":"([^"\\]*)")(?:,"correlation":"([^"\\]*)")?'
    rb'(?:,"causation":"([^"\\]*)"|,"cause":(\d+))?,"data":\{'
)
_ALL_READ: Final = frozenset[str]()
Row = tuple[int, str, int, str, bytes]
Read = Callable[[Row], Recorded | None]
"""None where the full reader has to look."""


def outline_all(rows: Sequence[Row], omitted: Omitted) -> list[Recorded]:
    """The events of rows (position, stream, version, topic, state). Raises DamagedEvent, with those before it."""
    events: list[Recorded] = []
    readers: dict[str, Read] = {}
    try:
        for row in rows:
            read = readers.get(row[3])
            if read is None:
                read = readers[row[3]] = _reader_of(row[3], omitted)
            events.append(read(row) or decode(StoredEvent(*row[1:]), row[0]))
    except DamagedEvent as error:
        error.readable = events
        raise
    return events


def _reader_of(topic: str, omitted: Omitted) -> Read:
    try:
        kind = event_class(topic)
    except Unknown:
        return _unread
    if version_of(topic) > 1:
        return _unread
    fields = omitted.get(kind, _ALL_READ)
    return _bare(kind) if fields is None else _without(kind, fields)


def _unread(_: Row) -> None:
    return None


@cache
def _bare(kind: type[DomainEvent]) -> Read:
    """Of an event of which nothing but its kind is used."""
    event = kind.model_construct()

    def read(row: Row) -> Recorded | None:
        position, stream, version, _, state = row
        envelope = _ENVELOPE.match(state)
        if envelope is None:
            return None
        at, actor, command, turn, correlation, causation, cause = envelope.groups()
        command = command if turn is None else f"{stream}.".encode() + turn
        because = causation or (f"{stream}:{int(cause)}".encode() if cause else command)
        parts = (actor, command, correlation or stream.encode(), because)
        return Recorded(position, stream, version, int(at), Causation(*map(bytes.decode, parts)), event)

    return read


@cache
def _without(kind: type[DomainEvent], fields: frozenset[str]) -> Read:
    """Of an event without some fields."""
    validate = _validator(kind, fields).validate_json

    def read(row: Row) -> Recorded | None:
        position, stream, version, _, state = row
        try:
            envelope = validate(state)
            causation = causation_of(envelope, stream)
        except (ValidationError, LookupError):
            return None
        if envelope.get("v", 1) != 1:
            return None
        return Recorded(position, stream, version, envelope["at"], causation, _made(kind, envelope["data"][0]))

    return read


def _made(kind: type[DomainEvent], values: dict[str, Any]) -> DomainEvent:
    event = kind.__new__(kind)
    object.__setattr__(event, "__dict__", values)
    object.__setattr__(event, "__pydantic_fields_set__", set())
    object.__setattr__(event, "__pydantic_extra__", None)
    object.__setattr__(event, "__pydantic_private__", None)
    return event


def _validator(kind: type[DomainEvent], omitted: frozenset[str]) -> SchemaValidator:
    """From a row's bytes to its envelope, and the other fields of the event by name."""
    schema: Any = TypeAdapter(kind).core_schema
    definitions = schema.get("definitions", [])
    model = schema["schema"] if schema["type"] == "definitions" else schema
    fields = dict(model["schema"])
    fields["fields"] = {name: field for name, field in fields["fields"].items() if name not in omitted}
    text = core_schema.typed_dict_field(core_schema.str_schema())
    optional = core_schema.typed_dict_field(core_schema.str_schema(), required=False)
    envelope = core_schema.typed_dict_schema(
        {
            "v": core_schema.typed_dict_field(core_schema.int_schema(), required=False),
            "at": core_schema.typed_dict_field(core_schema.int_schema()),
            "actor": text,
            **dict.fromkeys(("command", "turn", "correlation", "causation"), optional),
            "cause": core_schema.typed_dict_field(core_schema.int_schema(), required=False),
            "data": core_schema.typed_dict_field(fields),
        }
    )
    return SchemaValidator(core_schema.definitions_schema(envelope, definitions) if definitions else envelope)
