"""Errors as RFC 9457 problems: the one place where what went wrong becomes an HTTP status (contract §3)."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson
from pydantic import ValidationError
from pydantic_core import ErrorDetails
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from adapters.store.errors import Broken, Conflict, Fenced, StoreError
from adapters.writer.answers import Repeated
from adapters.writer.writer import Busy, KeyReused
from api.actions.refusals import AgentNotReady, EmptyMessage
from api.node.scopes import ScopeNeeded
from domain.values.base import Forbidden, HansardError, Invalid, Refused, Stale, Unknown
from domain.values.json import Malformed
from domain.values.sentences import Sentence, of_pydantic, sentence_of, wire

log = logging.getLogger(__name__)

TITLES = {
    400: "Malformed request",
    401: "API key required",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    406: "Not acceptable",
    408: "Request timeout",
    409: "Not allowed in this state",
    412: "Version mismatch",
    413: "Too large",
    415: "Unsupported media type",
    421: "Unknown host",
    422: "Invalid request",
    429: "Too many requests",
    431: "Headers too large",
    500: "Internal error",
    503: "Temporarily unavailable",
}
RETRY_AFTER = {"Retry-After": "1"}
CODES = {
    "extra_forbidden": "unknown_field",
    "dict_type": "should_be_object",
    "model_type": "should_be_object",
    "model_attributes_type": "should_be_object",
    "list_type": "should_be_list",
    "string_type": "should_be_string",
}
"""What pydantic says in words of Python."""
PATTERNS = {
    r"\S": "blank",
    r"^\S([^\x00-\x1f\x7f]*\S)?$": "not_one_line",
    r"^/[^\x00]*$": "path_not_absolute",
    r"^[0-9a-f]{64}$": "not_a_digest",
    r"^[0-9a-f]{7,64}$": "not_a_commit",
    r"^([0-9a-f]{40}|[0-9a-f]{64})$": "not_a_whole_commit",
    r"^c[0-9]+$": "not_a_comment",
    r"^[A-Za-z0-9][A-Za-z0-9._:/@+\[\]-]*$": "not_a_model",
    r"^[^\s\x00-\x1f\x7f-\x9f~^:?*\[\\]+$": "not_a_branch",
}
"""What the patterns of our bodies mean."""


class Problem(HansardError):
    """An error of the HTTP layer itself."""

    def __init__(self, status: int, detail: str, *, headers: Mapping[str, str] | None = None, **more: Any) -> None:
        super().__init__(detail)
        self.sentence = detail
        self.status, self.headers, self.more = status, dict(headers or {}), more
        """What its code and parameters belong to."""
        self.body: bytes | None = None
        """The very bytes that were sent for it before."""


def document(error: Problem) -> bytes:
    """The problem in JSON."""
    body = {
        "type": f"/docs#problem-{error.status}",
        "title": TITLES.get(error.status, "Error"),
        "status": error.status,
        "detail": str(error),
        **wire(error.sentence),
        **error.more,
    }
    return orjson.dumps(body) if error.body is None else error.body


def problem(error: Problem) -> Response:
    """The answer for a problem."""
    if getattr(error, "replayed", False):
        error.headers["Idempotency-Replayed"] = "true"
    return Response(
        document(error), status_code=error.status, headers=error.headers, media_type="application/problem+json"
    )


def of(error: Exception) -> Problem:
    """The problem that an error of the inner rooms is."""
    answer = _of(error)
    answer.replayed = getattr(error, "replayed", False)
    return answer


_STATUS: Final[Mapping[type[Exception], int]] = {
    Malformed: 400,
    Unknown: 404,
    Forbidden: 403,
    Refused: 409,
    Conflict: 409,
    Fenced: 409,
    Stale: 412,
    Invalid: 422,
    KeyReused: 422,
    Broken: 500,  # no 503: clients send those again after a while
    StoreError: 503,
    Busy: 503,
}
"""The status of an error, or of its nearest base class."""


def _of(error: Exception) -> Problem:
    if isinstance(error, Problem):
        return error
    if isinstance(error, Repeated):
        return _repeated(error)
    status = next((_STATUS[kind] for kind in type(error).__mro__ if kind in _STATUS), None)
    if status is None:
        return Problem(500, Sentence("internal_error"))
    sentence = sentence_of(error)
    match error:
        case Invalid():
            return of_fields(status, error.errors)
        case EmptyMessage():
            return Problem(status, sentence, action="rejected", reason="empty")
        case Malformed(pointer=pointer) if pointer:
            problem = Problem(status, str(error.placed), errors=[misfit(pointer, sentence)])
            problem.sentence = sentence
            return problem
        case ScopeNeeded():
            return Problem(status, sentence, scope=error.scope)
        case Forbidden():
            return Problem(status, sentence)
        case AgentNotReady():
            lacks = [{"agent": name, "detail": str(lack), **wire(lack)} for name, lack in error.agents.items()]
            return Problem(status, sentence, allowed=[], agents=lacks)
        case Refused():
            problem = Problem(status, _with_allowed(error), allowed=list(error.allowed))
            problem.sentence = sentence
            return problem
        case Stale():
            return Problem(status, sentence, currentVersion=error.actual)
        case KeyReused():
            return Problem(status, sentence, errors=[misfit("", sentence)])
        case Conflict() | Fenced():
            return Problem(status, sentence, allowed=[])
        case _:
            return Problem(status, sentence, headers=RETRY_AFTER if status == 503 else None)


def of_field(name: str, detail: str, *, status: int = 422) -> Problem:
    """One parameter, header or form field that does not fit."""
    return Problem(status, f"{name}: {detail}", code="invalid", errors=[misfit(f"/{name}", detail)])


def of_fields(status: int, details: Mapping[str, str]) -> Problem:
    """The fields that do not fit, by JSON pointer. Each detail has its own code."""
    errors = [misfit(pointer, detail) for pointer, detail in details.items()]
    return Problem(status, _errors_text(errors[:5]), code="invalid", errors=errors)


def misfit(pointer: str, detail: str) -> dict[str, Any]:
    """One entry of `errors`."""
    return {"pointer": pointer, "detail": detail, **wire(detail)}


def _repeated(error: Repeated) -> Problem:
    problem = Problem(error.status, str(error))
    problem.body = error.body
    return problem


def _errors_text(errors: Sequence[Mapping[str, str]]) -> str:
    """The faults, each place by its pointer; what is wrong with the whole body needs none."""
    return "; ".join(": ".join(part for part in (entry["pointer"], entry["detail"]) if part) for entry in errors)


def _with_allowed(error: Refused) -> str:
    if not error.allowed:
        return str(error)
    return f"{error} Allowed now: {', '.join(error.allowed)}."


def invalid(error: ValidationError, sent: object) -> Problem:
    """The faults that a model found, each place once with its JSON pointer; what was sent is not echoed."""
    places: dict[str, list[ErrorDetails]] = {}
    for entry in error.errors(include_url=False, include_input=False):
        pointer = _pointer(entry["loc"], sent, missing=entry["type"] == "missing")
        places.setdefault(pointer, []).append(entry)
    above = {pointer[:end] for pointer in places for end, part in enumerate(pointer) if part == "/"}
    meant = {pointer: _meant(tried, inside=pointer in above) for pointer, tried in places.items()}
    return of_fields(422, {pointer: _either(tried) for pointer, tried in meant.items() if tried})


def _meant(tried: list[ErrorDetails], *, inside: bool) -> list[ErrorDetails]:
    """Of the alternatives that were tried on a value those of its own type, wherever one is: what is wrong `inside` it
    or with it says that it is one."""
    fit = [candidate for candidate in tried if not candidate["type"].endswith("_type")]
    return fit if fit or inside else tried


def _pointer(loc: Sequence[str | int], sent: object, *, missing: bool) -> str:
    """The way to the value in what was sent; the names of alternatives that pydantic tried on it lead nowhere."""
    pointer = ""
    for number, part in enumerate(loc, start=1):
        match sent, part:
            case dict(), str() if part in sent or (missing and number == len(loc)):
                sent = sent.get(part)
            case list(), int() if part < len(sent):
                sent = sent[part]
            case _:
                continue
        pointer += "/" + str(part).replace("~", "~0").replace("/", "~1")
    return pointer


def _either(tried: list[ErrorDetails]) -> str:
    first, *others = dict.fromkeys(map(_sentence, tried))
    for other in others:
        text = f"{first}; or {other}".replace("; or should be ", " or ")
        first = Sentence.foreign(text, "either", first=first, second=other)
    return first


def _sentence(entry: ErrorDetails) -> str:
    """Our sentence, or pydantic's by its type and what it says about the limit."""
    kind, context = entry["type"], entry.get("ctx", {})
    if code := PATTERNS.get(context.get("pattern", "")):
        return Sentence(code)
    if kind in ("string_too_short", "too_short") and context.get("min_length") == 1:
        return Sentence("empty")
    if kind in CODES:
        return Sentence(CODES[kind])
    return of_pydantic(entry)


async def on_error(request: Request, error: Exception) -> Response:
    """Starlette's exception handler for everything but its own HTTPException."""
    answer = of(error)
    if answer.status == 500 and not isinstance(error, HansardError):  # those say themselves what it is
        log.exception("%s %s broke", request.method, request.url.path, exc_info=error)
    return problem(answer)


async def on_http_exception(_: Request, error: Exception) -> Response:
    """404 and 405 of the router, as problems too."""
    assert isinstance(error, HTTPException)
    detail = {404: Sentence("not_found"), 405: Sentence("method_not_allowed")}
    return problem(Problem(error.status_code, detail.get(error.status_code, error.detail), headers=error.headers))
