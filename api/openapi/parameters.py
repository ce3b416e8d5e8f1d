"""Parameters by name: what they mean at every door, and where a door means something else."""

import re
from typing import Any

from domain.kinds import KINDS, STATUSES

NAME = re.compile(r"\{([a-z_]+)(?::[a-z]+)?\}")
Schema = dict[str, Any]
_WHOLE: Schema = {"type": "integer", "minimum": 0, "maximum": 2**53}
_WORDS: Schema = {"type": "string"}
_STATUSES = list(STATUSES)

QUERY: dict[str, tuple[str, Schema]] = {
    "kind": ("only sessions of this kind", {"type": "string", "enum": list(KINDS)}),
    "status": ("only sessions with this status", {"type": "string", "enum": _STATUSES}),
    "q": ("only sessions in which these words occur", _WORDS),
    "label": ("only sessions with this label", _WORDS),
    "limit": (
        "how many entries at most",
        {"type": "integer", "minimum": 1, "maximum": 200, "default": 50},
    ),
    "cursor": ("`nextCursor` of the page before", _WORDS),
    "needs": (
        "only what waits for this; several with commas",
        {"type": "string", "example": "decision,budget"},
    ),
    "version": ("as it stood after its event of this version", {"type": "integer", "minimum": 1}),
    "after": ("only what comes after this position", _WHOLE),
    "repository": ("the folder of a git repository", _WORDS),
    "revision": ("a branch or commit; the one that is checked out by default", _WORDS),
    "path": ("a file, as a path within the repository", _WORDS),
    "turnId": ("only what this turn changed", _WORDS),
    "wish": ("a state that it is not in: `whyNot` says what it lacks", _WORDS),
    "atA": ("the first session as it stood after its event of this version", {"type": "integer", "minimum": 1}),
    "atB": ("the second session as it stood after its event of this version", {"type": "integer", "minimum": 1}),
    "include": ("`events`: the newest events too", {"type": "string", "enum": ["events"]}),
    "type": ("only events of this type, such as `delivery.review_approved`", _WORDS),
    "from": ("only from this date or instant on (ISO 8601, UTC where it says no offset)", _WORDS),
    "to": ("only before this instant, or until the end of this date", _WORDS),
    "asOf": ("as it stood at this position of the log: only facts up to there", _WHOLE),
    "format": ("`csv` instead of JSON", {"type": "string", "enum": ["json", "csv"], "default": "json"}),
}
_EVENTS_LIMIT: tuple[str, Schema] = (
    "how many events at most",
    {"type": "integer", "minimum": 1, "maximum": 500, "default": 200},
)
AT_DOORS: dict[tuple[str, str], tuple[str, Schema]] = {
    ("list_events", "after"): ("only events after this version of the session", _WHOLE),
    ("show_activity", "after"): ("only frames after this number", _WHOLE),
    ("list_events", "limit"): _EVENTS_LIMIT,
    ("list_log", "limit"): _EVENTS_LIMIT,
    ("show_channel", "origin"): ("as it was given with the messages; empty where none was", _WORDS),
}
PATH: dict[str, str] = {
    "id": "a session's id, such as `delivery-7f3k2m9qx4`",
    "a": "the first session's id",
    "b": "the second session's id",
    "origin": "what the messages of a conversation have in common",
    "turn": "a turn's id, as its claim gave it",
    "artifact": "an artifact's id, as the session's list of artifacts has it",
    "name": "a file's name, or a report's: summary, budgets, quality, convergence, decisions or costs",
}
HEADERS: dict[str, tuple[str, str, Schema]] = {
    "IdempotencyKey": (
        "Idempotency-Key",
        "the same key and body give the first answer again, byte for byte; another body under it is 422",
        {"type": "string", "pattern": "^[\\x21-\\x7e]{1,255}$"},
    ),
    "IfMatch": (
        "If-Match",
        'carry it out only if the session is still at this version, such as `"17"`',
        {"type": "string", "pattern": '^("(0|[1-9][0-9]{0,15})"|\\*)$'},
    ),
    "IfNoneMatch": ("If-None-Match", "the `ETag` of what is known already: 304 if it is still that", _WORDS),
    "ReadAfter": (
        "Read-After",
        "answer from views that have reached this position of the log; 503 if that takes too long",
        _WHOLE,
    ),
    "LastEventId": (
        "Last-Event-ID",
        "of a stream: the position of the last event that arrived; goes before `after`",
        _WHOLE,
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


def query(handler: str, name: str) -> dict[str, Any]:
    """A query parameter of a door; one that nobody has described yet is words."""
    description, schema = AT_DOORS.get((handler, name)) or QUERY.get(name, (name, _WORDS))
    return {"name": name, "in": "query", "required": False, "description": description, "schema": schema}


def in_path(path: str) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "description": PATH.get(name, name), "schema": _WORDS}
        for name in NAME.findall(path)
    ]
