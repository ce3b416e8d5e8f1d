"""Parsing requests strictly: body, headers and query become values, or a problem that names the field (contract §3)."""

import asyncio
import hashlib
import re
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.responses import Response

from api.http.problems import Problem, invalid, misfit, of_field
from api.system import System
from domain.values.json import JSON, decode
from domain.values.sentences import Sentence

M = TypeVar("M", bound=BaseModel)
KEY = re.compile(r"[\x21-\x7e]{1,255}")
ETAG = re.compile(r'"(0|[1-9][0-9]{0,15})"')
CHARSET = re.compile(r"""charset\s*=\s*["']?([^"';\s]+)""", re.IGNORECASE)
_TRACEPARENT = re.compile("00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}")
NUMBER = re.compile(r"0|[1-9][0-9]{0,15}")
_WEIGHT = re.compile(r"0(\.[0-9]{0,3})?|1(\.0{0,3})?")
LENGTH = re.compile(r"[0-9]{1,20}")
MOST = 200


def system(request: Request) -> System:
    value: System = request.app.state.system
    return value


async def raw_body(request: Request) -> bytes:
    """The body, at most `max_body_bytes`: 413 above that; 415 unless it is declared as JSON in UTF-8; 422 if there is a
    query, because everything that a command takes is in its body.

    It is received once and cached for later calls.
    """
    cached: bytes | None = getattr(request.state, "raw", None)
    if cached is not None:
        return cached
    if request.scope["query_string"]:
        only(request)
    body = await received(request, system(request).settings.max_body_bytes, "body")
    if body:
        _check_type(request)
    request.state.raw = body
    return body


async def received(request: Request, limit: int, what: str) -> bytes:
    """The data, read once. Raises Problem: 413 above `limit` bytes, as soon as that is known; 408 if it ends too early.

    Every command uses this: Starlette's own stream of a body would cost it a generator.
    """
    if _announced(request) > limit:
        raise _too_large(request, limit, what)
    chunks, size, more = [], 0, True
    while more:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise Problem(408, Sentence("request_incomplete"))
        chunk = message.get("body", b"")
        more = message.get("more_body", False)
        size += len(chunk)
        if size > limit:
            raise _too_large(request, limit, what)
        chunks.append(chunk)
    return b"".join(chunks)


def _too_large(request: Request, limit: int, what: str) -> Problem:
    """A client that waits for 100-continue will not send the rest; its next bytes would be mistaken for it."""
    close = {"Connection": "close"} if "expect" in request.headers else {}
    return Problem(413, Sentence("too_large", what=what, number=limit), headers=close)


def _announced(request: Request) -> int:
    """Size of the body according to `Content-Length`; 0 without one."""
    length = request.headers.get("content-length", "")
    return int(length) if LENGTH.fullmatch(length) else 0


def _check_type(request: Request) -> None:
    """Raises Problem for anything but JSON, and for JSON in another encoding than UTF-8."""
    media, _, parameters = request.headers.get("content-type", "").partition(";")
    if media.strip().lower() != "application/json":
        raise Problem(415, Sentence("send_json"))
    charset = CHARSET.search(parameters)
    if charset is not None and charset[1].lower() not in ("utf-8", "utf8"):
        raise Problem(415, Sentence("send_json_utf8"))
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise Problem(415, Sentence("body_compressed"))


def read_object(raw: bytes) -> dict[str, JSON]:
    """A JSON object; an empty body is an empty object."""
    if raw.isspace():
        raise Problem(400, Sentence("body_blank"))
    value = decode(raw) if raw else {}
    if not isinstance(value, dict):
        raise Problem(422, Sentence("body_not_an_object"), errors=[misfit("", Sentence("should_be_object"))])
    return value


def read(model: type[M], fields: Mapping[str, JSON]) -> M:
    """The body as a value: strict about types, no unknown fields. 422 with a pointer for each field."""
    try:
        return model.model_validate(fields, by_name=False)
    except ValidationError as error:
        raise invalid(error, fields) from None


def header(request: Request, name: str) -> str | None:
    """The value of a header; of one that is sent twice, both: not one of them is meant."""
    values = request.headers.getlist(name)
    return ", ".join(values) if values else None


def weights_of(request: Request, name: str) -> dict[str, float]:
    """The values that a header like `Accept` accepts, with weights from 0 (not at all) to 1 (RFC 9110 §12.4.2)."""
    weights = {}
    for item in ",".join(request.headers.getlist(name)).split(",")[:50]:
        choice, *parameters = item.lower().split(";")
        weight = next((q for name, _, q in (p.partition("=") for p in parameters) if name.strip() == "q"), "1")
        weights[choice.strip()] = float(weight) if _WEIGHT.fullmatch(weight.strip()) else 1.0
    return weights


def idempotency_key(request: Request) -> str | None:
    key = header(request, "idempotency-key")
    if key is not None and not KEY.fullmatch(key):
        raise Problem(400, Sentence("idempotency_key_malformed"))
    return key


def version_of(tag: str | None) -> int | None:
    """The version that an `If-Match` binds a command to. Raises Problem if it is not a version."""
    if tag is None or tag.strip() == "*":
        return None
    match = ETAG.fullmatch(tag.strip())
    if match is None:
        raise Problem(400, Sentence("if_match_malformed"))
    return int(match[1])


def has_it_already(request: Request, tag: str) -> bool:
    """True if the client has this state: `If-None-Match` names it, or any, strongly or weakly."""
    held = request.headers.get("if-none-match", "")
    return held.strip() == "*" or tag in (entry.strip().removeprefix("W/") for entry in held.split(","))


def number(request: Request, name: str, *, default: int | None = None, least: int = 0, most: int = 2**53) -> int | None:
    """A whole number from the query."""
    text = request.query_params.get(name)
    if text is None:
        return default
    if not NUMBER.fullmatch(text) or not least <= int(text) <= most:
        bounded = most < 2**53
        code = "not_a_whole_number_between" if bounded else "not_a_whole_number"
        raise of_field(name, Sentence(code, number=least, most=most) if bounded else Sentence(code, number=least))
    return int(text)


def limit(request: Request, *, default: int = 50, most: int = MOST) -> int:
    value = number(request, "limit", default=default, least=1, most=most)
    assert value is not None
    return value


def only(request: Request, *names: str) -> None:
    """Refuse query parameters that are unknown or repeated: no filter may be ignored."""
    names_seen: set[str] = set()
    for name, value in request.query_params.multi_items():
        if name not in names:
            detail = Sentence("unknown_parameter", names=", ".join(names) or "none")
        elif name in names_seen:
            detail = Sentence("should_be_given_once")
        elif "\0" in value:
            detail = Sentence("holds_nul")
        else:
            names_seen.add(name)
            continue
        raise of_field(name, detail)


async def read_after(request: Request) -> None:
    """Wait until the views have reached the position in `Read-After`; 503 if that takes too long."""
    text = request.headers.get("read-after")
    if text is None:
        return
    if not NUMBER.fullmatch(text.strip()):
        raise Problem(400, Sentence("read_after_malformed"))
    position = int(text)
    if position > system(request).follower.position:
        head = await asyncio.to_thread(system(request).store.head)
        if position > head:
            detail = Sentence("read_after_beyond", number=position, newest=head)
            raise Problem(
                422, detail, errors=[{"pointer": "/Read-After", "detail": Sentence("beyond_the_log_end", number=head)}]
            )
    await reached(request, position)


async def reached(request: Request, position: int) -> None:
    """Wait until the views have reached a position of the log; 503 if that takes too long."""
    inside = system(request)
    if not await inside.follower.wait_for(position, inside.settings.read_after_seconds):
        detail = Sentence("views_behind", number=position, newest=inside.follower.position)
        raise Problem(503, detail, headers={"Retry-After": "1"})


async def caught_up(request: Request, position: int) -> None:
    """Like `reached`, but for a position that the caller did not ask for: if the views cannot be written now (for
    example, because of a full disk), they answer from what they have."""
    if system(request).follower.failing is None:
        await reached(request, position)


def answer_headers(**more: Any) -> dict[str, str]:
    return {"Cache-Control": "no-store", **more}


def unless_known(request: Request, content: bytes, media_type: str) -> Response:
    """Content that only changes with the software: 304 for clients that already have it."""
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if has_it_already(request, tag):
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type=media_type)


def traceparent(request: Request) -> str:
    """The caller's place in a trace (W3C Trace Context); empty for an invalid header, which never fails a call."""
    header = request.headers.get("traceparent", "").strip().lower()
    sound = _TRACEPARENT.fullmatch(header)
    return header if sound and sound[1].strip("0") and sound[2].strip("0") else ""
