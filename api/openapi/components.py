"""Components of the description: what is made of several models, the start requests, the views and the events of every
kind; and the answers that the writer and the guard make as bytes, as models: receipts and problems. Tests check real
answers against them (contract §2 and §3)."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Literal, TypeVar, get_origin

from pydantic import BaseModel, Field
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue, models_json_schema
from pydantic_core import core_schema

from api.actions.bodies import Start
from domain.kinds import TOPICS
from domain.triage import Suggestion
from domain.values.base import Value
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


STARTS: tuple[type[Start], ...] = tuple(body for body in _below(Start) if "kind" in body.model_fields)
"""A body for each kind of session that can be started."""

SESSIONS: tuple[type[SessionView], ...] = tuple(
    view for view in _below(SessionView) if get_origin(view.model_fields["kind"].annotation) is Literal
)
"""A view for each kind of session."""

COMPOSED: tuple[Wanted, ...] = (
    *((body, "validation") for body in STARTS),
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
        "Start": _one_of([references[(body, "validation")] for body in STARTS]),
        "Session": _one_of([references[(view, "serialization")] for view in SESSIONS]),
        "SessionAnswer": _session_answer(),
        "Event": _one_of([{"$ref": PLACE + name} for name in events])
        | {"discriminator": {"propertyName": "type", "mapping": {topic: PLACE + f"Event.{topic}" for topic in TOPICS}}},
        "EventPage": _page("Event"),
    }


# What each kind of problem means and what to do about it: for the OpenAPI document and the reference page.
PROBLEMS = MappingProxyType(
    {
        400: "The request cannot be parsed: invalid JSON (UTF-8, no duplicate keys, NaN, NUL or lone surrogates, at "
        "most 64 levels) or a malformed header. Correct it; retrying will not help.",
        401: "This server requires an API key. Send `Authorization: Bearer …` with a key from its key file.",
        403: "The key does not have the scope that `scope` names (`hansard key new NAME --scope …`), or the request "
        "comes from a page of another origin.",
        404: "The session, version, artifact or address does not exist. Check the id.",
        405: "This address does not support the method. `Allow` lists the methods it supports.",
        406: "The server cannot answer in a format that the request accepts.",
        408: "The request did not arrive within `HANSARD_RECEIVE_SECONDS` (30). Nothing was done and the connection is "
        "closed. Send it again.",
        409: "The session does not allow this action in its current state. `detail` names the state, `allowed` lists "
        "the actions that are possible now.",
        412: "`If-Match` names an outdated version of the session; nothing was done. Read the session again and decide "
        "with what you see. `currentVersion` is its version now.",
        413: "The body is too large. Send less, or raise `HANSARD_MAX_BODY_BYTES`.",
        415: "Send the body with `Content-Type: application/json`.",
        421: "The `Host` header names another server. Use this server's own name, or add yours to "
        "`HANSARD_ALLOWED_HOSTS`.",
        422: "The request is well-formed but invalid. `errors` names each field by its JSON Pointer and says what is "
        "wrong with it. Also: an `Idempotency-Key` that was used with another body.",
        429: "Too many requests. Wait for `Retry-After` seconds.",
        431: "The request has more than 100 headers, or its head more than 65,536 bytes. Nothing was done and the "
        "connection is closed. Send less.",
        500: "An internal error, or the log is damaged or read-only; `detail` says which. A command with an "
        "`Idempotency-Key` is safe to send again.",
        503: "Temporarily unavailable: the store does not respond, too many commands are waiting, or the views have "
        "not reached the position in `Read-After`. Wait for `Retry-After` seconds and send the same request again.",
    }
)


def _absent(value: object) -> bool:
    return value is None


class Fault(Value):
    """One thing that is wrong with a request."""

    pointer: str = Field(description="JSON Pointer into the body, or / and the name of a query parameter")
    detail: str
    code: str | None = Field(default=None, exclude_if=_absent, description="stable code of the detail")
    params: dict[str, object] | None = Field(default=None, exclude_if=_absent, description="the values in the detail")


class ProblemDetails(Value):
    """RFC 9457. Never repeats what was sent."""

    type: str = Field(description="documentation of this kind of problem")
    title: str
    status: int
    detail: str
    code: str | None = Field(
        default=None, exclude_if=_absent, description="stable code of the detail; `invalid` if `errors` says more"
    )
    params: dict[str, object] | None = Field(default=None, exclude_if=_absent, description="the values in the detail")
    errors: tuple[Fault, ...] | None = Field(default=None, exclude_if=_absent)
    allowed: tuple[str, ...] | None = Field(default=None, exclude_if=_absent, description="409: the allowed actions")
    current_version: int | None = Field(default=None, exclude_if=_absent, description="412: the session's version")
    reason: str | None = Field(
        default=None,
        exclude_if=_absent,
        description="409 for a claimed turn: settled, cancelled, waiting, elsewhere, deadline or timeout",
    )


class Receipt(Value):
    """The answer to every command: the new version and the position in the log."""

    session_id: str
    kind: str
    version: int
    position: int = Field(description="for `Read-After`")


class MessageAnswer(Value):
    """What became of a message."""

    action: Literal["started", "queued", "rejected", "unclear"]
    kind: str
    position: int
    session_id: str | None = Field(default=None, exclude_if=_absent)
    version: int = Field(description="version of the session it started or continued; 0 if none or queued")
    reason: str | None = Field(default=None, exclude_if=_absent)
    continued: bool | None = Field(default=None, exclude_if=_absent)
    reset: bool | None = Field(default=None, exclude_if=_absent)
    queued: bool | None = Field(default=None, exclude_if=_absent)
    pending: int | None = Field(default=None, exclude_if=_absent, description="number of queued messages with this one")
    suggestions: tuple[Suggestion, ...] | None = Field(
        default=None, exclude_if=_absent, description="possible meanings of an unclear message, best first"
    )


class Done(Receipt):
    """The result of a continue or reset."""

    ok: Literal[True]
    action: Literal["started"]
    continued: bool | None = Field(default=None, exclude_if=_absent)
    reset: bool | None = Field(default=None, exclude_if=_absent)


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
