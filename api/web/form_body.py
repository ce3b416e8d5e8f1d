"""From what is typed into a form to the body of the action; the page's script does the same."""

import re
from collections.abc import Mapping
from decimal import Decimal
from types import UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin

from pydantic import BaseModel

from api.actions.declaration import FormOf
from api.web.sentences import in_words
from api.web.start_form import Field, Form
from domain.values.json import Malformed, decode
from domain.values.sentences import sentence_of
from domain.values.words import Words

_NUMBER: Final = re.compile("-?[0-9]{1,16}")
_REMARK: Final = re.compile(r"(?P<path>[^\s:]\S*?):(?P<line>[0-9]{1,16})(?:-(?P<end>[0-9]{1,16}))?:?\s+(?P<text>.*\S)")
_DOLLARS: Final = re.compile(r"[0-9]{1,9}(\.[0-9]{1,6})?")


def body_of(form: Form, values: Mapping[str, str], say: Words) -> tuple[dict[str, Any], dict[str, str]]:
    """The body, and unreadable values by field. Fields that depend on a switch are only sent while it is on."""
    body: dict[str, Any] = {"kind": form.kind}
    errors: dict[str, str] = {}
    for each in (*form.fields, *form.more):
        try:
            value = read(each, values.get(each.name, ""))
        except Malformed as error:
            errors[each.name] = in_words(say, sentence_of(error))
            continue
        name, _, inner = each.name.partition(".")
        if value is None:
            continue
        if not inner:
            body[name] = value
        elif name in body:
            body[name][inner] = value
    return body, errors


def read(field: Field, typed: str) -> Any:
    """None for an empty field. An invalid number is passed on, and the endpoint reports it."""
    typed = typed.strip()
    if not typed:
        return None
    match field.reads:
        case "switch":
            return {"enabled": True}
        case "number":
            return number(typed)
        case "money":
            return micros(typed)
        case "lines":
            return _lines(typed)
        case "people":
            return [_person(line) for line in _lines(typed)]
        case "json":
            return decode(typed)
        case _:
            return typed


def number(typed: str) -> int | str:
    return int(typed) if _NUMBER.fullmatch(typed) else typed


def micros(dollars: str) -> int | str:
    """`2.50` in millionths. An amount that is none is passed on, too."""
    return round(Decimal(dollars) * 1_000_000) if _DOLLARS.fullmatch(dollars) else dollars


# -- the body of an action on a session that exists --------------------------------------------------------------------


def places(form: FormOf, model: type[BaseModel]) -> tuple[str, ...]:
    """Returns the names of the fields: places in the body, such as `substitute.decision`, and the fields in units of
    people."""
    return (*(form.fields or _aliases(model)), *form.units)


def command_body(form: FormOf, model: type[BaseModel], typed: Mapping[str, str]) -> dict[str, Any]:
    """Returns the body. An empty field counts as missing; `a.b` is the field `b` of `a`."""
    body: dict[str, Any] = {}
    for name, text in typed.items():
        if not text.strip():
            continue
        *above, last = form.units.get(name, name).split(".")
        inside = body
        for part in above:
            inside = inside.setdefault(part, {})
        inside[last] = micros(text.strip()) if name in form.units else _value(model, name, text.strip())
    return body


def _value(model: type[BaseModel], place: str, text: str) -> Any:
    types = _types_at(model, place.split("."))
    if bool in types:
        return True
    if any(get_origin(each) is list for each in types):
        return [_remark(line) for line in _lines(text)]
    return number(text) if int in types else text


def _types_at(model: type[BaseModel], place: list[str]) -> frozenset[Any]:
    """Returns the types that the body takes at this place."""
    types = next(_types(field.annotation) for name, field in _by_alias(model).items() if name == place[0])
    if len(place) == 1:
        return types
    [inner] = [each for each in types if isinstance(each, type) and issubclass(each, BaseModel)]
    return _types_at(inner, place[1:])


def _types(annotation: Any) -> frozenset[Any]:
    """Returns the alternatives of an annotation, without what narrows them."""
    if get_origin(annotation) is Annotated:
        return _types(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        return frozenset().union(*map(_types, get_args(annotation)))
    return frozenset({annotation})


def _by_alias(model: type[BaseModel]) -> dict[str, Any]:
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _aliases(model: type[BaseModel]) -> tuple[str, ...]:
    return tuple(_by_alias(model))


def _remark(line: str) -> dict[str, Any]:
    """Returns what is remarked: `src/shop.py:12-14 Name it.` is about lines, and other words about the whole."""
    match = _REMARK.fullmatch(line)
    if match is None:
        return {"text": line}
    end = {"endLine": number(match["end"])} if match["end"] else {}
    return {"path": match["path"], "line": number(match["line"]), **end, "text": match["text"]}


def _lines(typed: str) -> list[str]:
    return [line for line in map(str.strip, typed.split("\n")) if line]


def _person(line: str) -> dict[str, str]:
    name, colon, role = line.rpartition(":")
    return {"name": name.strip(), "role": role.strip()} if colon else {"name": line}
