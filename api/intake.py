"""Reading requests strictly: body, headers and query into values, or a problem that names the field (contract §3)."""

import re
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.requests import Request

from api.problems import Problem, invalid
from api.system import System
from domain.strict import JSON, decode

M = TypeVar("M", bound=BaseModel)
KEY = re.compile(r"[\x21-\x7e]{1,255}")
ETAG = re.compile(r'"(0|[1-9][0-9]{0,15})"')
CHARSET = re.compile(r"""charset\s*=\s*["']?([^"';\s]+)""", re.IGNORECASE)
NUMBER = re.compile(r"0|[1-9][0-9]{0,15}")
MOST = 200


def system(request: Request) -> System:
    found: System = request.app.state.system
    return found


async def raw_body(request: Request) -> bytes:
    """The body, at most `max_body_bytes` of it: 413 past that; 415 for a body that does not say it is JSON in UTF-8.

    It comes once, and is there for whoever asks again.
    """
    known: bytes | None = getattr(request.state, "raw", None)
    if known is not None:
        return known
    limit = system(request).settings.max_body_bytes
    chunks, size = [], 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > limit:
            raise Problem(413, f"A body has at most {limit} bytes.")
        chunks.append(chunk)
    if size:
        _check_type(request)
    found = b"".join(chunks)
    request.state.raw = found
    return found


def _check_type(request: Request) -> None:
    """Raises Problem for anything but JSON, and for JSON in another encoding than the one we read."""
    media, _, parameters = request.headers.get("content-type", "").partition(";")
    if media.strip().lower() != "application/json":
        raise Problem(415, "Send application/json.")
    charset = CHARSET.search(parameters)
    if charset is not None and charset[1].lower() not in ("utf-8", "utf8"):
        raise Problem(415, "Send application/json in UTF-8; no other charset is read.")
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise Problem(415, "Send the body as it is; no Content-Encoding is read.")


def read_object(raw: bytes) -> dict[str, JSON]:
    """A JSON object; an empty body is an empty object."""
    found = decode(raw) if raw else {}
    if not isinstance(found, dict):
        raise Problem(
            422, "The body should be a JSON object.", errors=[{"pointer": "", "detail": "should be an object"}]
        )
    return found


def read(model: type[M], found: Mapping[str, JSON]) -> M:
    """The body as a value: strict about types, closed to unknown fields. 422 with a pointer for each field."""
    try:
        return model.model_validate(found, by_name=False)
    except ValidationError as error:
        raise invalid(error, found) from None


def idempotency_key(request: Request) -> str | None:
    key = request.headers.get("idempotency-key")
    if key is not None and not KEY.fullmatch(key):
        raise Problem(400, "Idempotency-Key has 1 to 255 visible ASCII characters.")
    return key


def if_match(request: Request) -> int | None:
    """The version that a command is bound to."""
    tag = request.headers.get("if-match")
    if tag is None or tag.strip() == "*":
        return None
    found = ETAG.fullmatch(tag.strip())
    if found is None:
        raise Problem(400, 'If-Match should be a version in quotes, as in "17".')
    return int(found[1])


def has_it_already(request: Request, tag: str) -> bool:
    """Whether the client holds this state: `If-None-Match` names it, or any, strongly or weakly."""
    held = request.headers.get("if-none-match", "")
    return held.strip() == "*" or tag in (found.strip().removeprefix("W/") for found in held.split(","))


def number(request: Request, name: str, *, default: int | None = None, least: int = 0, most: int = 2**53) -> int | None:
    """A whole number from the query."""
    text = request.query_params.get(name)
    if text is None:
        return default
    if not NUMBER.fullmatch(text) or not least <= int(text) <= most:
        upto = f" to {most}" if most < 2**53 else ""
        detail = f"should be a whole number from {least}{upto}"
        raise Problem(422, f"{name}: {detail}", errors=[{"pointer": f"/{name}", "detail": detail}])
    return int(text)


def limit(request: Request, *, default: int = 50, most: int = MOST) -> int:
    found = number(request, "limit", default=default, least=1, most=most)
    assert found is not None
    return found


def only(request: Request, *names: str) -> None:
    """Refuse query parameters that this door does not know: a filter that is misspelt must not be ignored."""
    for name in request.query_params:
        if name not in names:
            detail = f"unknown parameter; known: {', '.join(names) or 'none'}"
            raise Problem(422, f"{name}: {detail}", errors=[{"pointer": f"/{name}", "detail": detail}])


async def read_after(request: Request) -> None:
    """Wait until the views have reached the position in `Read-After`; 503 when that takes too long."""
    text = request.headers.get("read-after")
    if text is None:
        return
    if not NUMBER.fullmatch(text.strip()):
        raise Problem(400, "Read-After should be a position.")
    await reached(request, int(text))


async def reached(request: Request, position: int) -> None:
    """Wait until the views have reached a position of the log; 503 when that takes too long."""
    found = system(request)
    if not await found.follower.wait_for(position, found.settings.read_after_seconds):
        detail = f"The views have not reached position {position} yet; they are at {found.follower.position}."
        raise Problem(503, detail, headers={"Retry-After": "1"})


def answer_headers(**more: Any) -> dict[str, str]:
    return {"Cache-Control": "no-store", **more}
