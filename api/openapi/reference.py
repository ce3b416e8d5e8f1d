"""GET /docs: the reference, a page made from the OpenAPI document. No script, nothing from elsewhere."""

import asyncio
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import Response

from api.http.problems import TITLES
from api.http.requests import unless_known
from api.openapi import Document
from api.openapi.problems import PROBLEMS
from api.openapi.schemas import PLACE

WEB = Path(__file__).parents[1] / "web"
Schema = Mapping[str, Any]


class Word(NamedTuple):
    """A piece of a type's description; `schema` where it names one that is described below."""

    text: str
    schema: str | None = None


class FieldRow(NamedTuple):
    """A field or parameter."""

    name: str
    type: tuple[Word, ...]
    required: bool
    note: str
    place: str = ""


async def show_reference(request: Request) -> Response:
    """GET /docs: what the API takes and gives"""
    document: Document = request.app.state.document
    page = getattr(request.app.state, "reference", None)
    if page is None:
        page = request.app.state.reference = await asyncio.to_thread(lambda: render(document.schema))
    return unless_known(request, page, "text/html; charset=utf-8")


def render(document: Schema) -> bytes:
    """The page of an OpenAPI document."""
    environment = Environment(
        loader=FileSystemLoader(WEB), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["pretty"] = lambda value: json.dumps(value, ensure_ascii=False, indent=2)
    environment.filters["marked"] = marked
    components = document["components"]
    page = environment.get_template("reference.html").render(
        info=document["info"],
        groups=[(tag, _operations(document, tag["name"])) for tag in document["tags"]],
        schemas=[_schema(name, schema) for name, schema in components["schemas"].items()],
        problems=[(status, TITLES[status], PROBLEMS[status]) for status in TITLES],
    )
    return page.encode()


def marked(text: str) -> Markup:
    """Text between backticks as code; everything else as it is."""
    parts = [escape(part) for part in text.split("`")]
    return Markup("").join(Markup("<code>{}</code>").format(part) if at % 2 else part for at, part in enumerate(parts))


def _operations(document: Schema, tag: str) -> list[dict[str, Any]]:
    return [
        _operation(document, method, path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if tag in operation["tags"]
    ]


def _operation(document: Schema, method: str, path: str, operation: Schema) -> dict[str, Any]:
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    return {
        "id": operation["operationId"],
        "method": method.upper(),
        "path": path,
        "summary": operation["summary"],
        "description": operation.get("description", ""),
        "parameters": [_parameter(_resolved(document, parameter)) for parameter in operation.get("parameters", ())],
        "body": words(body["schema"]) if body else (),
        "fields": rows(_resolved(document, body["schema"])) if body else [],
        "example": body.get("example"),
        "answers": [_answer(document, *entry) for entry in operation["responses"].items()],
    }


def _parameter(parameter: Schema) -> FieldRow:
    return FieldRow(
        parameter["name"], words(parameter["schema"]), parameter["required"], parameter["description"], parameter["in"]
    )


def _answer(document: Schema, status: str, response: Schema) -> dict[str, Any]:
    resolved = _resolved(document, response)
    content = resolved.get("content", {})
    return {
        "status": status,
        "problem": "application/problem+json" in content,
        "title": TITLES.get(int(status), ""),
        "description": resolved["description"],
        "content": [(media, words(entry["schema"])) for media, entry in content.items()],
    }


def _schema(name: str, schema: Schema) -> dict[str, Any]:
    return {
        "name": name,
        "description": schema.get("description", ""),
        "fields": rows(schema),
        "type": () if "properties" in schema else words(schema),
        "source": None if "properties" in schema else schema,
    }


def _resolved(document: Schema, schema: Schema) -> Schema:
    """The target of a reference; of a choice with one entry that entry."""
    while "$ref" in schema or len(schema.get("oneOf", ())) == 1:
        if "$ref" not in schema:
            schema = schema["oneOf"][0]
            continue
        target: Any = document
        for part in schema["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        schema = target
    return schema


def rows(schema: Schema) -> list[FieldRow]:
    """The fields of an object."""
    required = schema.get("required", ())
    return [
        FieldRow(name, words(field), name in required, _note(field))
        for name, field in schema.get("properties", {}).items()
    ]


def _note(field: Schema) -> str:
    default = field.get("default")
    shown = "" if default in (None, "", [], {}) else f"default {json.dumps(default, ensure_ascii=False)}"
    deprecated = "deprecated" if field.get("deprecated") else ""
    return "; ".join(part for part in (field.get("description", ""), shown, deprecated) if part)


def words(schema: Schema) -> tuple[Word, ...]:
    """A type, as one would say it."""
    if "$ref" in schema:
        name = schema["$ref"].removeprefix(PLACE)
        return (Word(name, name),)
    for choice in ("anyOf", "oneOf"):
        if choice in schema:
            return _joined((words(entry) for entry in schema[choice]), " or ")
    if "const" in schema or "enum" in schema:
        values = schema.get("enum") or [schema["const"]]
        return (Word(" | ".join(json.dumps(value, ensure_ascii=False) for value in values)),)
    match schema.get("type"):
        case "array":
            return (Word("list of "), *words(schema.get("items", {})))
        case "object" if isinstance(schema.get("additionalProperties"), Mapping):
            return (Word("object of "), *words(schema["additionalProperties"]))
        case list() as several:
            return (Word(" or ".join(several)),)
        case str() as one:
            return (Word(one + _bounds(schema)),)
        case _:
            return (Word("anything"),)


def _bounds(schema: Schema) -> str:
    least = schema.get("minimum", schema.get("minLength"))
    most = schema.get("maximum", schema.get("maxLength"))
    if most is not None:
        return f" ({least if least is not None else 0}–{most:,})" if most < 2**53 - 1 else ""
    return f" (from {least})" if least else ""


def _joined(parts: Iterable[tuple[Word, ...]], between: str) -> tuple[Word, ...]:
    row: list[Word] = []
    for part in parts:
        row += [Word(between), *part] if row else part
    return tuple(row)
