"""The contents of the form that starts a session, as the body of the request; the page's script does the same."""

import re
from collections.abc import Mapping
from typing import Any, Final

from api.web.sentences import in_words
from api.web.start_form import Field, Form
from domain.values.sentences import sentence_of
from domain.values.strict import Malformed, decode
from domain.values.words import Words

_NUMBER: Final = re.compile("-?[0-9]{1,16}")


def body_of(form: Form, values: Mapping[str, str], say: Words) -> tuple[dict[str, Any], dict[str, str]]:
    """The body, and unreadable values by field. Fields that depend on a switch are only sent while it is on."""
    body: dict[str, Any] = {"kind": form.kind}
    errors: dict[str, str] = {}
    for field in (*form.fields, *form.more):
        try:
            value = read(field, values.get(field.name, ""))
        except Malformed as error:
            errors[field.name] = in_words(say, sentence_of(error))
            continue
        name, _, inner = field.name.partition(".")
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


def _lines(typed: str) -> list[str]:
    return [line for line in map(str.strip, typed.split("\n")) if line]


def _person(line: str) -> dict[str, str]:
    name, colon, role = line.rpartition(":")
    return {"name": name.strip(), "role": role.strip()} if colon else {"name": line}
