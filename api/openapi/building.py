"""From endpoints to an OpenAPI 3.1 document. An endpoint without a description is listed by its docstring."""

import re
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from typing import Any, NamedTuple

from pydantic.alias_generators import to_camel

from api.http.problems import TITLES
from api.openapi import shapes
from api.openapi.components import COMPOSED, PROBLEMS, composed
from api.openapi.examples import EXAMPLES
from api.openapi.operations import ANY_OBJECT, HTML, JSON, OPERATIONS, TAGS, Operation
from api.openapi.parameters import NAME, header, header_parameters, in_path, query
from api.openapi.schemas import PLACE, Wanted, schemas, used

Route = tuple[str, Callable[..., Any]]
STREAM = {
    "type": "string",
    "description": "Server-sent events: `id` is the position, `data` an Event as JSON. Comments keep the "
    "connection alive; `event: end` marks the end of a finished session.",
}
RECEIPTS = (shapes.Receipt, shapes.Done)
INTRODUCTION = """\
The official record of what a team of coding agents does.

Commands (POST) answer with `version` and `position` after their events are stored. `Idempotency-Key` makes a POST safe
to repeat, `If-Match` binds a command to a version, `Read-After` makes a GET wait until the views have reached a
position. Errors are problems (RFC 9457). Names are camelCase; unknown fields are rejected, and null in an optional
field is the same as leaving it out.

Every GET also accepts HEAD: same status and headers, no body. Paths have no trailing slash."""


class Endpoint(NamedTuple):
    """One path and method, and its description."""

    method: str
    path: str
    handler: Callable[..., Any]
    about: Operation

    @property
    def name(self) -> str:
        return self.handler.__name__

    @property
    def of_session(self) -> bool:
        return self.path.startswith("/api/sessions/{id}")

    @property
    def bound(self) -> bool:
        """Whether its command can be bound to a version."""
        return self.method == "post" and (self.of_session or 412 in self.about.refuses)


def build(commands: Sequence[Route], views: Sequence[Route]) -> dict[str, Any]:
    """The document for these endpoints: POST and GET, each a path and its handler."""
    doors = [*_doors("get", views), *_doors("post", commands)]
    references, components = schemas(_models(doors))
    components |= composed(references, components)
    paths: dict[str, dict[str, Any]] = {}
    for door in doors:
        paths.setdefault(NAME.sub(r"{\1}", door.path), {})[door.method] = _operation(door, references)
    responses = {f"Problem{status}": _problem(status) for status in TITLES}
    return {
        "openapi": "3.1.1",
        "info": {
            "title": "Hansard",
            "version": version("hansard"),
            "summary": "The official record of what a team of coding agents does",
            "description": INTRODUCTION,
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/", "description": "the server that this document comes from"}],
        "security": [{}, {"bearer": []}],
        "tags": _tags(doors),
        "paths": paths,
        "components": {
            "schemas": used(components, by=[paths, responses]),
            "parameters": header_parameters(),
            "responses": responses,
            "headers": _HEADERS,
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer", "description": "needed where the server keeps keys"}
            },
        },
    }


def _doors(method: str, routes: Iterable[Route]) -> list[Endpoint]:
    return [Endpoint(method, path, handler, _about(method, path, handler)) for path, handler in dict(routes).items()]


def _about(method: str, path: str, handler: Callable[..., Any]) -> Operation:
    known = OPERATIONS.get(handler.__name__)
    if known is not None:
        return known
    lines = (handler.__doc__ or "").strip().splitlines()
    said = re.sub(r"^(GET|POST) \S+?(: |$)", "", lines[0]) if lines else ""
    is_page = method == "get" and not path.startswith("/api/")
    return Operation(
        tag="Pages" if is_page else path.removeprefix("/api/").split("/")[0].capitalize(),
        summary=said or handler.__name__.replace("_", " ").capitalize(),
        body=ANY_OBJECT if method == "post" else None,
        answer=None if is_page else ANY_OBJECT,
        media=HTML if is_page else JSON,
    )


def _models(doors: Iterable[Endpoint]) -> list[Wanted]:
    taken: list[Wanted] = [(door.about.body, "validation") for door in doors if isinstance(door.about.body, type)]
    given: list[Wanted] = [
        (door.about.answer, "serialization") for door in doors if isinstance(door.about.answer, type)
    ]
    return [*taken, *given, *COMPOSED, (shapes.ProblemDetails, "serialization")]


def _tags(doors: Iterable[Endpoint]) -> list[dict[str, str]]:
    used = dict.fromkeys(door.about.tag for door in doors)
    ordered = [*(tag for tag in TAGS if tag in used), *sorted(tag for tag in used if tag not in TAGS)]
    return [{"name": tag, "description": TAGS.get(tag, tag)} for tag in ordered]


def _operation(door: Endpoint, references: dict[Wanted, dict[str, Any]]) -> dict[str, Any]:
    about = door.about
    found: dict[str, Any] = {"operationId": to_camel(door.name), "tags": [about.tag], "summary": about.summary}
    if about.description:
        found["description"] = about.description
    if parameters := _parameters(door):
        found["parameters"] = parameters
    if about.body is not None:
        body = _reference(about.body, "validation", references)
        example = {"example": EXAMPLES[door.name]} if door.name in EXAMPLES else {}
        found["requestBody"] = {"required": True, "content": {JSON: {"schema": body, **example}}}
    found["responses"] = _responses(door, references)
    if about.open:
        found["security"] = [{}]
    return found


def _reference(model: Any, mode: Any, references: dict[Wanted, dict[str, Any]]) -> dict[str, Any]:
    if model == ANY_OBJECT:
        return {"type": "object"}
    if isinstance(model, str):
        return {"$ref": PLACE + model}
    return dict(references[(model, mode)])


def _parameters(door: Endpoint) -> list[dict[str, Any]]:
    names: tuple[str, ...] = getattr(door.handler, "parameters", ())
    found = [*in_path(door.path), *(query(door.name, name) for name in names)]
    if door.method == "post":
        found.append(header("IdempotencyKey"))
        found += [header("IfMatch")] if door.bound else []
    if _waits(door):
        found.append(header("ReadAfter"))
    if door.about.tagged:
        found.append(header("IfNoneMatch"))
    if door.about.stream:
        found.append(header("LastEventId"))
    return found


def _waits(door: Endpoint) -> bool:
    return hasattr(door.handler, "parameters")


def _responses(door: Endpoint, references: dict[Wanted, dict[str, Any]]) -> dict[str, Any]:
    about = door.about
    content: dict[str, Any] = {about.media: {"schema": _answer(about, references)}}
    if about.other:
        content[about.other] = {"schema": {"type": "string"}}
    if about.stream:
        content["text/event-stream"] = {"schema": STREAM}
    good: dict[str, Any] = {"description": _goodness(about), "content": content}
    if headers := _headers(door):
        good["headers"] = {name: {"$ref": f"#/components/headers/{name}"} for name in headers}
    found: dict[str, Any] = {str(about.status): good}
    if about.nothing:
        found["204"] = {"description": about.nothing}
    if about.tagged:
        found["304"] = {"description": "Not modified since `If-None-Match`."}
    found |= {str(status): {"$ref": f"#/components/responses/Problem{status}"} for status in _refusals(door)}
    if door.name == "ready":
        found["503"] = {"description": "Not ready, and why.", "content": content}
    return found


def _answer(about: Operation, references: dict[Wanted, dict[str, Any]]) -> dict[str, Any]:
    if about.answer is None:
        return {"type": "string"}
    return _reference(about.answer, "serialization", references)


def _goodness(about: Operation) -> str:
    if about.answer in RECEIPTS:
        return "Started." if about.status == 202 else "Done and stored."
    return "OK."


def _headers(door: Endpoint) -> tuple[str, ...]:
    receipt = door.about.answer in RECEIPTS
    tag = ("ETag",) if door.about.tagged or receipt else ()
    location = ("Location",) if door.about.status == 202 else ()
    replayed = ("Idempotency-Replayed",) if receipt or door.about.answer is shapes.MessageAnswer else ()
    return (*tag, *location, *replayed)


def _refusals(door: Endpoint) -> list[int]:
    """The problems an endpoint can answer with."""
    found = {*door.about.refuses, 421, 500} | (set() if door.about.open else {401})
    if door.method == "post":
        found |= {400, 403, 408, 413, 415, 422}
        found |= {404, 409, 412, 503} if door.of_session else set()
    if _waits(door):
        found |= {400, 422, 503} | ({404} if "{" in door.path else set())
    return sorted(found)


def _problem(status: int) -> dict[str, Any]:
    found: dict[str, Any] = {
        "description": f"{TITLES[status]}. {PROBLEMS[status]}",
        "content": {"application/problem+json": {"schema": {"$ref": PLACE + "ProblemDetails"}}},
    }
    if status in (429, 503):
        found["headers"] = {"Retry-After": {"$ref": "#/components/headers/Retry-After"}}
    return found


_HEADERS = {
    "ETag": {"description": "of a session its version in quotes", "schema": {"type": "string"}},
    "Location": {"description": "where to find the new session", "schema": {"type": "string"}},
    "Idempotency-Replayed": {
        "description": "`true` if this repeats the first answer to the key",
        "schema": {"type": "string", "const": "true"},
    },
    "Retry-After": {"description": "seconds to wait", "schema": {"type": "integer", "minimum": 0}},
}
