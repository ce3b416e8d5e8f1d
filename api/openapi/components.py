"""Components of the description: what is made of several models, the start requests, the views and the events of every
kind."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeVar, get_origin

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue, models_json_schema
from pydantic_core import core_schema

from api.actions.bodies import START
from domain.kinds import TOPICS
from projections.views.record import Envelope
from projections.views.session import SessionView

PLACE = "#/components/schemas/"
Wanted = tuple[type[BaseModel], JsonSchemaMode]

_REFERENCE = re.compile(rf'"{PLACE}([^"]+)"')
_MODE = re.compile(r"-(Input|Output)$")
RULES = re.compile(r" \((?:[^()]*\b(?:K-\d+|S\d\b|behaviour)[^()]*|§[\d.]+)\)")
"""The rule that a docstring follows: for those who read the code, not for those who read the description."""


class _Wire(GenerateJsonSchema):
    """Bodies are closed; answers may grow, and always hold what they do not leave out on purpose."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def field_is_required(
        self,
        field: core_schema.ModelField | core_schema.DataclassField | core_schema.TypedDictField,
        total: bool,
    ) -> bool:
        if self.mode == "serialization":
            return field.get("serialization_exclude_if") is None
        return super().field_is_required(field, total)

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        if self.mode == "serialization":
            return self.generate_inner(schema["schema"])
        return super().default_schema(schema)

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        result = super().model_schema(schema)
        if self.mode == "serialization" and result.get("additionalProperties") is False:
            del result["additionalProperties"]
        return result


def schemas(wanted: Iterable[Wanted]) -> tuple[dict[Wanted, JsonSchemaValue], dict[str, Any]]:
    """A reference for each model, and the components they point to, by the names of their classes."""
    wanted = list(dict.fromkeys(wanted))
    references, document = models_json_schema(
        wanted, by_alias=True, ref_template=PLACE + "{model}", schema_generator=_Wire
    )
    meant = [references[key] for key in wanted]
    components = used(document["$defs"], by=meant)
    names = _plain(components)
    components = {names[name]: schema for name, schema in _renamed(components, names).items()}
    return dict(zip(wanted, _renamed(meant, names), strict=True)), without_rules(components)


def without_rules(value: Any) -> Any:
    """The same without the codes of rules in its descriptions."""
    if isinstance(value, dict):
        return {
            key: RULES.sub("", part) if key == "description" and isinstance(part, str) else without_rules(part)
            for key, part in value.items()
        }
    return [without_rules(part) for part in value] if isinstance(value, list) else value


def used(components: dict[str, Any], by: object) -> dict[str, Any]:
    """Those components to which something leads from `by`, by name."""
    result: dict[str, Any] = {}
    waiting = set(_REFERENCE.findall(json.dumps(by)))
    while waiting:
        name = waiting.pop()
        if name not in result:
            result[name] = components[name]
            waiting |= set(_REFERENCE.findall(json.dumps(components[name])))
    return dict(sorted(result.items()))


M = TypeVar("M", bound=BaseModel)


def _below(model: type[M]) -> list[type[M]]:
    return [subclass for direct in model.__subclasses__() for subclass in (direct, *_below(direct))]


SESSIONS: tuple[type[SessionView], ...] = tuple(
    view for view in _below(SessionView) if get_origin(view.model_fields["kind"].annotation) is Literal
)
"""A view for each kind of session."""

COMPOSED: tuple[Wanted, ...] = (
    *((body, "validation") for body in START.models),
    *((view, "serialization") for view in SESSIONS),
    *((event, "serialization") for event in TOPICS.values()),
    (Envelope, "serialization"),
)


def composed(references: dict[Wanted, dict[str, Any]], components: dict[str, Any]) -> dict[str, Any]:
    """The components by name; `references` are those of the models in `COMPOSED`.

    The data of an event moves into its event: kinds may use a class name twice, a topic is unique.
    """
    data = {topic: references[(event, "serialization")]["$ref"] for topic, event in TOPICS.items()}
    events = {f"Event.{topic}": _event(topic, components.pop(ref.removeprefix(PLACE))) for topic, ref in data.items()}
    return {
        **events,
        "Start": _one_of([references[(body, "validation")] for body in START.models]),
        "Session": _one_of([references[(view, "serialization")] for view in SESSIONS]),
        "SessionAnswer": _session_answer(),
        "Event": _one_of([{"$ref": PLACE + name} for name in events])
        | {"discriminator": {"propertyName": "type", "mapping": {topic: PLACE + f"Event.{topic}" for topic in TOPICS}}},
        "EventPage": _page("Event"),
    }


def _plain(names: Iterable[str]) -> dict[str, str]:
    """Each name without the mode that pydantic adds, where only one of its modes is left."""
    plain = {name: _MODE.sub("", name) for name in names}
    counted = Counter(plain.values())
    return {name: short if counted[short] == 1 else name for name, short in plain.items()}


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    return json.loads(_REFERENCE.sub(lambda place: f'"{PLACE}{names[place[1]]}"', json.dumps(value)))


def _one_of(schemas: list[dict[str, Any]]) -> dict[str, Any]:
    return {"oneOf": schemas}


def _event(topic: str, data: dict[str, Any]) -> dict[str, Any]:
    return {
        "allOf": [{"$ref": PLACE + "Envelope"}],
        "type": "object",
        "properties": {"type": {"const": topic}, "data": data},
        "required": ["type", "data"],
    }


def _session_answer() -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "session": {"$ref": PLACE + "Session"},
            "availableCommands": {"type": "array", "items": {"type": "string"}},
            "events": {
                "type": "array",
                "items": {"$ref": PLACE + "Event"},
                "description": "with `include=events`",
            },
        },
        "required": ["session", "availableCommands"],
    }


def _page(entry: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "items": {"type": "array", "items": {"$ref": PLACE + entry}},
            "nextCursor": {"type": ["string", "null"]},
        },
        "required": ["items", "nextCursor"],
    }
