"""From endpoints to an OpenAPI 3.1 document. An endpoint without a description is listed by its docstring."""

import re
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from typing import Any, NamedTuple

from pydantic.alias_generators import to_camel

from api.actions.answers import Done, MessageAnswer, Receipt
from api.actions.bodies import BodyByKind
from api.actions.declaration import Action
from api.http.application import Endpoint
from api.http.pipeline import ActionHandler
from api.http.problems import TITLES
from api.openapi.components import COMPOSED, composed
from api.openapi.operations import OPERATIONS, TAGS
from api.openapi.parameters import (
    ANY_OBJECT,
    HTML,
    JSON,
    NAME,
    Operation,
    header,
    header_parameters,
    in_path,
    query,
)
from api.openapi.problem_details import ProblemDetails
from api.openapi.problems import PROBLEMS
from api.openapi.schemas import PLACE, Wanted, schemas, used

STREAM = {
    "type": "string",
    "description": "Server-sent events: `id` is the position, `data` an Event as JSON. Comments keep the "
    "connection alive; `event: end` marks the end of a session with which nothing is left to do.",
}
RECEIPTS = (Receipt, Done)
INTRODUCTION = """\
The official record of what a team of coding agents does.

Commands (POST) answer with `version` and `position` after their events are stored. `Idempotency-Key` makes a POST safe
to repeat, `If-Match` binds a command to a version, `Read-After` makes a GET wait until the views have reached a
position. Errors are problems (RFC 9457). Names are camelCase; unknown fields are rejected, and null in an optional
field is the same as leaving it out. JSON is read strictly: no name twice in an object, no U+0000, no integer beyond
±2^53.

Every GET also accepts HEAD: same status and headers, no body. Paths have no trailing slash."""


class Described(NamedTuple):
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
        """True if its command can be bound to a version."""
        return self.method == "post" and (self.of_session or 412 in self.about.refuses)


def build(commands: Sequence[Endpoint], views: Sequence[Endpoint]) -> dict[str, Any]:
    """The document for these endpoints: POST and GET, each a path and its handler."""
    endpoints = [*_endpoints("get", views), *_endpoints("post", commands)]
    references, components = schemas(_models(endpoints))
    components |= composed(references, components)
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        paths.setdefault(NAME.sub(r"{\1}", endpoint.path), {})[endpoint.method] = _operation(endpoint, references)
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
        "tags": _tags(endpoints),
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


def _endpoints(method: str, endpoints: Iterable[Endpoint]) -> list[Described]:
    return [Described(method, path, handler, _about(method, path, handler)) for path, handler, _ in endpoints]


def _about(method: str, path: str, handler: Callable[..., Any]) -> Operation:
    if isinstance(handler, ActionHandler):
        return _declared(handler.action)
    operation = OPERATIONS.get(handler.__name__)
    if operation is not None:
        return operation
    lines = (handler.__doc__ or "").strip().splitlines()
    summary_text = re.sub(r"^(GET|POST) \S+?(: |$)", "", lines[0]) if lines else ""
    is_page = method == "get" and not path.startswith("/api/")
    return Operation(
        tag="Pages" if is_page else path.removeprefix("/api/").split("/")[0].capitalize(),
        summary=summary_text or handler.__name__.replace("_", " ").capitalize(),
        body=ANY_OBJECT if method == "post" else None,
        answer=None if is_page else ANY_OBJECT,
        media=HTML if is_page else JSON,
    )


def _declared(action: Action[Any]) -> Operation:
    """Returns the description of an action."""
    return Operation(
        tag=action.tag,
        summary=action.summary,
        description=action.description,
        body=action.body.name if isinstance(action.body, BodyByKind) else action.body,
        example=action.example,
        answer=action.answer,
        status=action.status,
        refuses=action.refuses,
    )


def _models(endpoints: Iterable[Described]) -> list[Wanted]:
    taken: list[Wanted] = [
        (endpoint.about.body, "validation") for endpoint in endpoints if isinstance(endpoint.about.body, type)
    ]
    bodies: list[Wanted] = [
        (endpoint.about.answer, "serialization") for endpoint in endpoints if isinstance(endpoint.about.answer, type)
    ]
    return [*taken, *bodies, *COMPOSED, (ProblemDetails, "serialization")]


def _tags(endpoints: Iterable[Described]) -> list[dict[str, str]]:
    used = dict.fromkeys(endpoint.about.tag for endpoint in endpoints)
    ordered = [*(tag for tag in TAGS if tag in used), *sorted(tag for tag in used if tag not in TAGS)]
    return [{"name": tag, "description": TAGS.get(tag, tag)} for tag in ordered]


def _operation(endpoint: Described, references: dict[Wanted, dict[str, Any]]) -> dict[str, Any]:
    about = endpoint.about
    operation: dict[str, Any] = {"operationId": to_camel(endpoint.name), "tags": [about.tag], "summary": about.summary}
    if about.description:
        operation["description"] = about.description
    if parameters := _parameters(endpoint):
        operation["parameters"] = parameters
    if about.body is not None:
        body = _reference(about.body, "validation", references)
        example = {} if about.example is None else {"example": about.example}
        operation["requestBody"] = {"required": True, "content": {JSON: {"schema": body, **example}}}
    operation["responses"] = _responses(endpoint, references)
    if about.open:
        operation["security"] = [{}]
    return operation


def _reference(model: Any, mode: Any, references: dict[Wanted, dict[str, Any]]) -> dict[str, Any]:
    if model == ANY_OBJECT:
        return {"type": "object"}
    if isinstance(model, str):
        return {"$ref": PLACE + model}
    return dict(references[(model, mode)])


def _parameters(endpoint: Described) -> list[dict[str, Any]]:
    names: tuple[str, ...] = getattr(endpoint.handler, "parameters", ())
    parameters = [*in_path(endpoint.path), *(query(endpoint.name, name) for name in names)]
    if endpoint.method == "post":
        parameters.append(header("IdempotencyKey"))
        parameters += [header("IfMatch")] if endpoint.bound else []
        parameters.append(header("Traceparent"))
    if _waits(endpoint):
        parameters.append(header("ReadAfter"))
    if endpoint.about.tagged:
        parameters.append(header("IfNoneMatch"))
    if endpoint.about.stream:
        parameters.append(header("LastEventId"))
    return parameters


def _waits(endpoint: Described) -> bool:
    return hasattr(endpoint.handler, "parameters")


def _responses(endpoint: Described, references: dict[Wanted, dict[str, Any]]) -> dict[str, Any]:
    about = endpoint.about
    content: dict[str, Any] = {about.media: {"schema": _answer(about, references)}}
    if about.other:
        content[about.other] = {"schema": {"type": "string"}}
    if about.stream:
        content["text/event-stream"] = {"schema": STREAM}
    good: dict[str, Any] = {"description": _goodness(about), "content": content}
    if headers := _headers(endpoint):
        good["headers"] = {name: {"$ref": f"#/components/headers/{name}"} for name in headers}
    responses: dict[str, Any] = {str(about.status): good}
    if about.nothing:
        responses["204"] = {"description": about.nothing}
    if about.tagged:
        responses["304"] = {"description": "Not modified since `If-None-Match`."}
    responses |= {str(status): {"$ref": f"#/components/responses/Problem{status}"} for status in _refusals(endpoint)}
    if endpoint.name == "ready":
        responses["503"] = {"description": "Not ready, and why.", "content": content}
    return responses


def _answer(about: Operation, references: dict[Wanted, dict[str, Any]]) -> dict[str, Any]:
    if about.answer is None:
        return {"type": "string"}
    return _reference(about.answer, "serialization", references)


def _goodness(about: Operation) -> str:
    if about.answer in RECEIPTS:
        return "Started." if about.status == 202 else "Done and stored."
    return "OK."


def _headers(endpoint: Described) -> tuple[str, ...]:
    receipt = endpoint.about.answer in RECEIPTS
    tag = ("ETag",) if endpoint.about.tagged or receipt else ()
    location = ("Location",) if endpoint.about.status == 202 else ()
    replayed = ("Idempotency-Replayed",) if receipt or endpoint.about.answer is MessageAnswer else ()
    return (*tag, *location, *replayed)


def _refusals(endpoint: Described) -> list[int]:
    """The problems an endpoint can answer with."""
    codes = {*endpoint.about.refuses, 421, 500} | (set() if endpoint.about.open else {401})
    if endpoint.method == "post":
        codes |= {400, 403, 408, 413, 415, 422}
        codes |= {404, 409, 412, 503} if endpoint.of_session else set()
    if _waits(endpoint):
        codes |= {400, 422, 503} | ({404} if "{" in endpoint.path else set())
    return sorted(codes)


def _problem(status: int) -> dict[str, Any]:
    response: dict[str, Any] = {
        "description": f"{TITLES[status]}. {PROBLEMS[status]}",
        "content": {"application/problem+json": {"schema": {"$ref": PLACE + "ProblemDetails"}}},
    }
    if status in (429, 503):
        response["headers"] = {"Retry-After": {"$ref": "#/components/headers/Retry-After"}}
    return response


_HEADERS = {
    "ETag": {"description": "of a session its version in quotes", "schema": {"type": "string"}},
    "Location": {"description": "where to find the new session", "schema": {"type": "string"}},
    "Idempotency-Replayed": {
        "description": "`true` if this repeats the first answer to the key",
        "schema": {"type": "string", "const": "true"},
    },
    "Retry-After": {"description": "seconds to wait", "schema": {"type": "integer", "minimum": 0}},
}
