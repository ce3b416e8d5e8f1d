"""Rows leave out fields that have their default, so the default of a stored field never changes.

A new field is added to the file with `python -m tests.adapters.test_stored_defaults`; what is there stays.
"""

import json
import sys
import types
import typing
from pathlib import Path
from typing import Any

import orjson
import pytest
from eventsourcing.persistence import StoredEvent
from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from adapters.store.errors import DamagedEvent
from adapters.store.mapper import decode, encode
from adapters.store.port import NewEvent
from domain.kinds import TOPICS
from domain.session.record import Causation
from domain.session.turns import TurnCancelled

PLACE = Path(__file__).with_name("stored_defaults.json")
EVENT = TurnCancelled(turn_id="delivery-1.t1", attempt=1, agent="Ada", role="dev", reason="enough")


def _models(annotation: Any) -> set[type[BaseModel]]:
    """The models that a field may hold, however deep."""
    if isinstance(annotation, types.GenericAlias) or typing.get_args(annotation):
        return {model for part in typing.get_args(annotation) for model in _models(part)}
    return {annotation} if isinstance(annotation, type) and issubclass(annotation, BaseModel) else set()


def stored_models() -> set[type[BaseModel]]:
    """The events, and the models in them."""
    waiting: list[type[BaseModel]] = list(TOPICS.values())
    seen: set[type[BaseModel]] = set()
    while waiting:
        model = waiting.pop()
        if model not in seen:
            seen.add(model)
            waiting.extend(each for field in model.model_fields.values() for each in _models(field.annotation))
    return seen


def defaults() -> dict[str, dict[str, Any]]:
    """Of each model that events store: the defaults of its fields that are not null, by their names in the log."""
    result: dict[str, dict[str, Any]] = {}
    for model in stored_models():
        values: dict[str, Any] = {}
        for name, field in model.model_fields.items():
            if field.is_required() or field.default_factory_takes_validated_data:
                continue
            if (value := field.get_default(call_default_factory=True)) is not None:
                values[field.alias or name] = to_jsonable_python(value)
        if values:
            result[getattr(model, "TOPIC", model.__name__)] = values
    return dict(sorted(result.items()))


def test_the_default_of_a_stored_field_never_changes() -> None:
    known, now = json.loads(PLACE.read_text()), defaults()
    changed = {
        f"{model}.{name}": (value, now[model][name])
        for model, fields in known.items()
        for name, value in fields.items()
        if name in now.get(model, {}) and now[model][name] != value
    }
    assert changed == {}, "rows in logs leave these out and mean the first value: give the new meaning a new field"
    assert now == known, "new fields: run python -m tests.adapters.test_stored_defaults"


def test_a_stored_field_that_may_be_null_has_a_default() -> None:
    """A row leaves null out, so that without one the event could not be read again."""
    wrong = {
        f"{model.__name__}.{name}"
        for model in stored_models()
        for name, field in model.model_fields.items()
        if field.is_required() and type(None) in typing.get_args(field.annotation)
    }
    assert wrong == set()


def test_a_row_leaves_out_what_follows_from_the_rest_of_it() -> None:
    cases = [
        Causation("a", "c", "delivery-1", "c"),
        Causation("a", "c", "delivery-1", "delivery-1:3"),
        Causation("a", "c", "orchestration-1", "orchestration-1:3"),
        Causation("a", "c", "delivery-1", "delivery-1:03", "00-trace-01"),
        Causation("a", "c", "delivery-1", "delivery-1:"),
        Causation("a", "delivery-1.t4#1", "delivery-1", "delivery-1:3"),
        Causation("a", "delivery-1.delivery-1.", "delivery-1", "delivery-1:3"),
        Causation("a", "delivery-10.t4#1", "delivery-1", "delivery-1:3"),
    ]
    keys = []
    for causation in cases:
        row = encode(NewEvent("delivery-1", 4, 1, causation, EVENT))
        recorded = decode(row, 9)
        assert (recorded.causation, recorded.event) == (causation, EVENT)
        keys.append(sorted(orjson.loads(row.state).keys() - {"at", "actor", "command", "data", "trace"}))
    by_turn = ["cause", "turn"]
    assert keys == [
        *([], ["cause"], ["causation", "correlation"], ["causation"], ["causation"]),
        *(by_turn, by_turn, ["cause"]),
    ]


def test_a_row_without_its_command_is_damaged() -> None:
    row = encode(NewEvent("delivery-1", 4, 1, Causation("a", "c", "delivery-1", "c"), EVENT))
    with pytest.raises(DamagedEvent, match="command"):
        decode(StoredEvent("delivery-1", 4, row.topic, row.state.replace(b'"command"', b'"commend"')), 9)


if __name__ == "__main__":
    known = json.loads(PLACE.read_text()) if PLACE.exists() else {}
    for name, fields in defaults().items():
        known[name] = fields | known.get(name, {})
    lines = (f" {json.dumps(name)}: {json.dumps(fields)}" for name, fields in sorted(known.items()))
    PLACE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    sys.exit(0)
