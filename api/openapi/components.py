"""Components of the description: what is made of several models, the start requests, the views and the events of every
kind."""

from typing import Any, Literal, TypeVar, get_origin

from pydantic import BaseModel

from api.actions.bodies import START
from api.openapi.schemas import PLACE, Wanted
from domain.kinds import TOPICS
from projections.views.record import Envelope
from projections.views.session import SessionView

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
