"""The shape of an endpoint's description, the media types of answers, and the parameters by name."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, get_args

from pydantic import BaseModel

from api.routes import spans
from domain.kinds import KINDS, SHOWN_STATUSES, TOPICS
from domain.session.waits import WaitsFor

JSON = "application/json"
MARKDOWN = "text/markdown"
HTML = "text/html"
PLAIN = "text/plain"
CSV = "text/csv"
ANY_OBJECT = "object"
"""Instead of a model: any JSON object."""


@dataclass(frozen=True, slots=True)
class Operation:
    """`body` and `answer` are models or names of components, `refuses` statuses beyond the usual.

    `stream`: events too. `tagged`: with an `ETag` that is asked about. `open`: needs no key.
    `nothing`: the meaning of 204, if used. `other`: another format on request. `example`: a body; a test sends each as
    written.
    """

    tag: str
    summary: str
    description: str = ""
    body: type[BaseModel] | str | None = None
    example: Mapping[str, Any] | None = None
    answer: type[BaseModel] | str | None = None
    media: str = JSON
    status: int = 200
    stream: bool = False
    tagged: bool = False
    open: bool = False
    nothing: str = ""
    other: str = ""
    refuses: tuple[int, ...] = ()


# Parameters by name: their meaning at every endpoint, and the exceptions.
NAME = re.compile(r"\{([a-z_]+)(?::[a-z]+)?\}")
Schema = dict[str, Any]
_WHOLE: Schema = {"type": "integer", "minimum": 0, "maximum": 2**53}
_VERSION: Schema = {"type": "integer", "minimum": 1, "maximum": 2**53}
_WORDS: Schema = {"type": "string", "pattern": "^[^\\x00]*$"}
_NEEDS = "|".join(get_args(WaitsFor))

QUERY: dict[str, tuple[str, Schema]] = {
    "kind": ("only sessions of this kind", {"type": "string", "enum": list(KINDS)}),
    "status": (
        "only sessions with this status; `held`: forks that wait until a person continues them",
        {"type": "string", "enum": list(SHOWN_STATUSES)},
    ),
    "q": (
        "only sessions with these words in title, task, id, what agents said, findings, errors or reasons",
        _WORDS,
    ),
    "label": ("only sessions with this label", _WORDS),
    "owner": ("only sessions that this person or key started", _WORDS),
    "limit": (
        "maximum number of entries",
        {"type": "integer", "minimum": 1, "maximum": 200, "default": 50},
    ),
    "cursor": ("`nextCursor` of the previous page", {"type": "string", "pattern": "^[^\\x00]+$"}),
    "needs": (
        "only items that wait for this; comma-separated",
        {"type": "string", "pattern": f"^({_NEEDS})(,({_NEEDS}))*$", "example": "decision,budget"},
    ),
    "version": ("as of this version", _VERSION),
    "after": ("only events after this position", _WHOLE),
    "repository": ("the folder of a git repository", _WORDS),
    "here": (
        "only sessions that were started in or on the repository with this top folder, without reviews within them",
        _WORDS,
    ),
    "revision": ("a branch or commit; the one that is checked out by default", _WORDS),
    "path": ("a file, as a path within the repository", _WORDS),
    "turnId": ("only the changes of this turn", _WORDS),
    "wish": ("a state to reach: `whyNot` says what is missing", _WORDS),
    "atA": ("the first session as of this version", _VERSION),
    "atB": ("the second session as of this version", _VERSION),
    "include": ("`events`: the newest events too", {"type": "string", "enum": ["events"]}),
    "type": (
        "only events of this type, such as `delivery.review_approved`",
        {"type": "string", "enum": sorted(TOPICS)},
    ),
    "activity": (
        "`1`: a stream also has `event: activity`, at most once a second, while agents of this process are active",
        {"type": "string", "enum": ["1"]},
    ),
    "from": ("from this date or time on (ISO 8601, UTC unless it has an offset)", spans.SCHEMA),
    "to": ("before this time, or until the end of this date", spans.SCHEMA),
    "asOf": ("as of this position in the log", _WHOLE),
    "format": ("`csv` instead of JSON", {"type": "string", "enum": ["json", "csv"], "default": "json"}),
}
_EVENTS_LIMIT: tuple[str, Schema] = (
    "maximum number of events",
    {"type": "integer", "minimum": 1, "maximum": 500, "default": 200},
)
_NUMBERED: tuple[str, Schema] = (
    "`nextCursor` of the previous page",
    {"type": "string", "pattern": "^(0|[1-9][0-9]{0,15})$"},
)
AT_ENDPOINTS: dict[tuple[str, str], tuple[str, Schema]] = {
    ("list_events", "after"): ("only events after this version of the session", _WHOLE),
    ("show_activity", "after"): ("only frames after this number", _WHOLE),
    ("list_events", "limit"): _EVENTS_LIMIT,
    ("list_log", "limit"): _EVENTS_LIMIT,
    ("list_events", "cursor"): _NUMBERED,
    ("list_log", "cursor"): _NUMBERED,
    ("list_turns", "cursor"): _NUMBERED,
    ("list_comments", "cursor"): _NUMBERED,
    ("list_cuts", "after"): ("only cuts after this version of the session", _WHOLE),
    ("list_cuts", "limit"): (
        "maximum number of rows",
        {"type": "integer", "minimum": 1, "maximum": 200, "default": 200},
    ),
    ("show_report", "label"): ("only sessions with this label", {"type": "string", "minLength": 1, "maxLength": 64}),
    ("show_report", "limit"): (
        "maximum number of rows; all rows if neither this nor `cursor` is given",
        {"type": "integer", "minimum": 1, "maximum": 200},
    ),
    ("show_channel", "origin"): ("as given with the messages; empty for the unnamed conversation", _WORDS),
}
PATH: dict[str, str] = {
    "id": "a session's id, such as `delivery-7f3k2m9qx4`",
    "a": "the first session's id",
    "b": "the second session's id",
    "origin": "the conversation's name",
    "turn": "a turn's id, from its claim",
    "artifact": "an artifact's id, from the session's list of artifacts",
    "comment": "a comment's id, such as `c1`",
    "name": "a file's name, or a report's: summary, budgets, quality, convergence, decisions or costs",
}
HEADERS: dict[str, tuple[str, str, Schema]] = {
    "IdempotencyKey": (
        "Idempotency-Key",
        "the same key and body return the first answer again, byte for byte; a different body is 422",
        {"type": "string", "pattern": "^[\\x21-\\x7e]{1,255}$"},
    ),
    "IfMatch": (
        "If-Match",
        'only if the session is still at this version, such as `"17"`',
        {"type": "string", "pattern": '^("(0|[1-9][0-9]{0,15})"|\\*)$'},
    ),
    "IfNoneMatch": ("If-None-Match", "the `ETag` you already have: 304 if it has not changed", _WORDS),
    "ReadAfter": (
        "Read-After",
        "answer from views that have reached this position; 503 if that takes too long",
        _WHOLE,
    ),
    "Traceparent": (
        "traceparent",
        "the caller's place in a trace (W3C Trace Context): kept with the events, and continued; ignored if invalid",
        {"type": "string", "example": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
    ),
    "LastEventId": (
        "Last-Event-ID",
        "for a stream: the id of the last event received; overrides `after`",
        {"type": "string", "pattern": "^[0-9]{1,18}(-[0-9]{1,18})?$", "example": "864"},
    ),
}


def header_parameters() -> dict[str, Any]:
    """The headers as components."""
    return {
        key: {"name": name, "in": "header", "required": False, "description": description, "schema": schema}
        for key, (name, description, schema) in HEADERS.items()
    }


def header(key: str) -> dict[str, Any]:
    return {"$ref": f"#/components/parameters/{key}"}


REQUIRED: Final = frozenset({("show_blame", "repository"), ("show_blame", "path")})
"""Query parameters without which there is no answer."""


def query(handler: str, name: str) -> dict[str, Any]:
    """A query parameter of an endpoint; a string unless described, and optional unless listed."""
    description, schema = AT_ENDPOINTS.get((handler, name)) or QUERY.get(name, (name, _WORDS))
    return {
        "name": name,
        "in": "query",
        "required": (handler, name) in REQUIRED,
        "description": description,
        "schema": schema,
    }


def in_path(path: str) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "description": PATH.get(name, name), "schema": _WORDS}
        for name in NAME.findall(path)
    ]
