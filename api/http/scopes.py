"""What a key allows: the scope that each route requires."""

from typing import Final

from starlette.requests import Request

from api.http.problems import Problem
from api.node.keys import SCOPES, Scope
from domain.values.sentences import Sentence

_ALLOWS: Final[dict[Scope, frozenset[Scope]]] = {
    "read": frozenset({"read"}),
    "operate": frozenset({"read", "operate"}),
    "decide": frozenset({"read", "operate", "decide"}),
    "admin": frozenset(SCOPES),
    "turns": frozenset({"turns"}),
}
_NEEDS: Final[dict[str, Scope]] = {
    "/api/sessions": "operate",
    "/api/sessions/{id}/cancel": "operate",
    "/api/sessions/{id}/retry": "operate",
    "/api/sessions/{id}/fork": "operate",
    "/api/sessions/{id}/continue": "operate",
    "/api/sessions/{id}/reset": "operate",
    "/api/message": "operate",
    "/api/orchestrate/continue": "operate",
    "/api/orchestrate/reset": "operate",
    "/api/sessions/{id}/budget": "decide",
    "/api/sessions/{id}/decision": "decide",
    "/api/sessions/{id}/permission": "decide",
    "/api/sessions/{id}/scope": "decide",
    "/api/sessions/{id}/land": "decide",
    "/api/trust": "decide",
    "/api/redact": "admin",
    "/api/turns/claim": "turns",
    "/api/turns/{turn}/heartbeat": "turns",
    "/api/turns/{turn}/result": "turns",
    "/": "operate",
    "/chat": "operate",
    "/chat/{origin:path}": "operate",
    # Their forms name a command, and the scope of that command is then required.
    "/decisions": "read",
    "/sessions/{id}": "read",
}
_OPEN: Final = frozenset({"/healthz", "/readyz", "/login", "/logout"})
_POLICIES: Final = "/api/policies/"


def needed(method: str, path: str) -> Scope | None:
    """The scope that a route requires; None if it is open to everybody. Routes that are missing here require
    `admin`."""
    if path in _OPEN or path.startswith("/assets/"):
        return None
    if method != "POST" or path.startswith(_POLICIES):
        return "read"
    return _NEEDS.get(path, "admin")


def check_scope(request: Request, method: str, path: str) -> None:
    """Raises Problem 403 if the caller's key does not have the scope that the route requires."""
    scope, held = needed(method, path), getattr(request.state, "scope", None)
    if scope is not None and (held is None or scope not in _ALLOWS[held]):
        raise Problem(403, Sentence("scope_needed", needed=scope, held=held or ""), scope=scope)
