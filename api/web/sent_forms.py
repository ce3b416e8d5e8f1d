"""A form performs the same actions as the API, through the JSON that it represents: one parser, one rule, one answer. A
refused form keeps what was typed and what was wrong with it, for the page that is shown again."""

import asyncio
import hashlib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl

import orjson
from starlette.requests import Request

from api.http.idempotency import Action, ApiCall, perform
from api.http.problems import Problem, of, problem
from api.http.requests import CHARSET, received, system
from api.system import System
from api.web.model import owner
from api.web.rendering import language_of
from api.web.sentences import in_words, told_in
from api.web.start_form import Field, Form
from domain.discussion.state import Discussion
from domain.values.base import HansardError
from domain.values.json import Malformed, decode
from domain.values.sentences import Sentence, sentence_of
from domain.values.words import Words


class FormOutcome(NamedTuple):
    """The endpoint's answer: a receipt, or a problem in the reader's language."""

    status: int
    answer: dict[str, Any]
    replayed: bool

    @property
    def done(self) -> bool:
        return self.status < 300


def key_of(key: str, *parts: object) -> str:
    """The idempotency key for this content: the same form sent twice is one command, a changed form another one."""
    return f"form-{hashlib.sha256(orjson.dumps([key, *parts])).hexdigest()}"


async def hand_over(
    request: Request,
    action: Action,
    path: str,
    body: Mapping[str, Any],
    *,
    key: str,
    session: str = "",
    version: int | None = None,
) -> FormOutcome:
    """Perform an action for the sender of the form, like the API at this path."""
    inside, raw = system(request), orjson.dumps(body)
    call = ApiCall(
        system=inside,
        actor=request.state.actor,
        path=path,
        raw=raw,
        key=key,
        if_match=None if version is None else f'"{version}"',
        session=session,
        scope=request.state.scope,
    )
    try:
        if len(raw) > inside.settings.max_body_bytes:
            raise Problem(413, Sentence("too_large", what="body", number=inside.settings.max_body_bytes))
        answer = await perform(call, action)
    except HansardError as error:
        answer = problem(of(error))
    replayed = answer.headers.get("idempotency-replayed") == "true"
    say = language_of(request)
    wire = told_in(say, orjson.loads(bytes(answer.body)))
    if answer.status_code == 412 and session:
        wire["meanwhile"] = await asyncio.to_thread(_meanwhile, inside, session, say)
    return FormOutcome(answer.status_code, wire, replayed)


# Parses a browser's form data as strictly as JSON, or refuses all of it.
TYPE: Final = "application/x-www-form-urlencoded"
MOST: Final = 64
"""Maximum number of fields in a form."""
SPELT: Final = 3
"""How many bytes one byte may take here: `%ED%95%9C` takes as much space as three bytes of JSON."""

_BROKEN = re.compile("%(?![0-9A-Fa-f]{2})")


async def fields(request: Request) -> dict[str, str]:
    """The fields by name, each once, with `\\n` between lines.

    Raises Problem: 413 above `max_body_bytes` (percent-encoded), 415 for anything but such a form, 408 for one that
    ends too early, 400 for one that no browser would send.
    """
    _check_type(request)
    return parsed(await received(request, SPELT * system(request).settings.max_body_bytes, "form"))


def parsed(raw: bytes) -> dict[str, str]:
    """Raises Problem 400 if it is not percent-encoded UTF-8, or repeats a field."""
    try:
        text = raw.decode("ascii")
        if _BROKEN.search(text):
            raise ValueError("a percent sign that encodes nothing")
        pairs = parse_qsl(text, keep_blank_values=True, strict_parsing=bool(text), errors="strict", max_num_fields=MOST)
    except ValueError:
        raise Problem(400, Sentence("form_unreadable", number=MOST)) from None
    values = dict(pairs)
    if len(values) < len(pairs):
        raise Problem(400, Sentence("form_field_twice"))
    return {name: value.replace("\r\n", "\n") for name, value in values.items()}


# The contents of the form that starts a session, as the body of the request; the page's script does the same.
_NUMBER: Final = re.compile("-?[0-9]{1,16}")
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


@dataclass(frozen=True, slots=True)
class Sent:
    """`errors` are sentences by field, `words` a message about the whole. Empty without a submitted form."""

    verb: str = ""
    session: str = ""
    values: Mapping[str, str] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)
    words: str = ""
    status: int = 200
    key: str = ""
    """The key with which the same form may be sent again: the server may have succeeded without being able to say
    so."""

    def to(self, verb: str, session: str) -> bool:
        """Whether it is this form that was sent."""
        return (verb, session) == (self.verb, self.session)

    def typed(self, verb: str, session: str, name: str) -> str:
        return self.values.get(name, "") if self.to(verb, session) else ""

    def error(self, verb: str, session: str, name: str) -> str:
        return self.errors.get(name, "") if self.to(verb, session) else ""


NOTHING: Final = Sent()


def placed(problem: Mapping[str, Any], names: Collection[str]) -> tuple[dict[str, str], str]:
    """Sentences by field, with `/filePaths/1` at the field `filePaths`, counted from 1; and those about no field."""
    at: dict[str, list[str]] = {}
    elsewhere = []
    for error in problem.get("errors", ()):
        name, rest = _place(error["pointer"], names)
        before = f"{' '.join(str(int(part) + 1) if part.isdecimal() else part for part in rest)}: " if rest else ""
        if name:
            at.setdefault(name, []).append(before + error["detail"])
        else:
            elsewhere.append(error["detail"])
    return {name: "; ".join(messages) for name, messages in at.items()}, "; ".join(elsewhere)


def told_of(say: Words, outcome: FormOutcome, elsewhere: str, marked: str) -> str:
    """The message about the whole; `marked` if every error is shown at its field."""
    answer = outcome.answer
    match outcome.status:
        case 412:
            return answer.get("meanwhile") or say.of("live", "stale")
        case 409:
            return f"{say('form.refused')} {answer['detail']}"
        case _ if answer.get("errors"):
            return elsewhere or marked
        case _:
            return str(answer["detail"])


def _meanwhile(inside: System, session_id: str, say: Words) -> str:
    """Who already decided what the sender wanted to decide; empty if no one has."""
    session = inside.sessions.get(session_id)
    decision = session.decision if isinstance(session, Discussion) else None
    if decision is None or decision.expired:
        return ""
    who, choice = owner(decision.actor) or decision.actor, say.of("choice", decision.choice)
    return say.fill("decided_meanwhile", {"who": who, "choice": choice})


def _check_type(request: Request) -> None:
    media, _, parameters = request.headers.get("content-type", "").partition(";")
    charset = CHARSET.search(parameters)
    if media.strip().lower() != TYPE or (charset is not None and charset[1].lower() not in ("utf-8", "utf8")):
        raise Problem(415, Sentence("send_form_utf8"))
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise Problem(415, Sentence("form_compressed"))


def _lines(typed: str) -> list[str]:
    return [line for line in map(str.strip, typed.split("\n")) if line]


def _person(line: str) -> dict[str, str]:
    name, colon, role = line.rpartition(":")
    return {"name": name.strip(), "role": role.strip()} if colon else {"name": line}


def _place(pointer: str, names: Collection[str]) -> tuple[str, list[str]]:
    parts = pointer.split("/")[1:]
    for length in range(len(parts), 0, -1):
        if ".".join(parts[:length]) in names:
            return ".".join(parts[:length]), parts[length:]
    return "", parts
