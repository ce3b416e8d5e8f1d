"""The ends of a command: exit codes (contract §6), and the failure that carries one."""

import errno
from collections.abc import Mapping, Sequence
from typing import Any, Final

from api.cli.labels import recorded

OK: Final = 0
FAILURE: Final = 1
USAGE: Final = 2
NOT_FOUND: Final = 3
REFUSED: Final = 4
NOT_ALLOWED: Final = 5
WAITS: Final = 6
EXHAUSTED: Final = 7
NOT_VERIFIED: Final = 8
INTERRUPTED: Final = 130
BROKEN_PIPE: Final = 141

WAITING: Final = "waiting_for_decision"
"""The status of a review or debate that a person has to decide."""

_BY_HTTP_STATUS: Final = {
    400: USAGE,
    401: NOT_ALLOWED,
    403: NOT_ALLOWED,
    404: NOT_FOUND,
    409: REFUSED,
    412: REFUSED,
    413: USAGE,
    415: USAGE,
    421: NOT_ALLOWED,
    422: USAGE,
}
_USAGE_CODES: Final = ("no_team", "agent_not_ready")
_BY_STATUS: Final = {
    "success": OK,
    "done": OK,
    "decided": OK,
    "failed": FAILURE,
    "cancelled": FAILURE,
    "reset": FAILURE,
    "partial": FAILURE,
    "checkpoint": WAITS,
    WAITING: WAITS,
}
"""Every status in which a session rests, and what a command says that has waited for it (views of contract §2)."""


class Failed(Exception):
    """A command that ends here: sentences for the person, an exit code for the script, and the API's own problem."""

    def __init__(self, *sentences: str, code: int = FAILURE, problem: Mapping[str, Any] | None = None) -> None:
        super().__init__("\n".join(sentences))
        self.sentences, self.code, self.problem = sentences, code, problem


def in_words(text: str) -> str:
    """A sentence of ours in the terminal's language; any other text as it is."""
    from api.cli import error_words  # most of what is read has no such sentence

    return error_words.in_words(text)


def reason_of(error: OSError) -> str:
    """Says why the system refused, in the terminal's language where it is one of the usual reasons."""
    name = errno.errorcode.get(error.errno or 0, "")
    shown = recorded("system", name)
    return str(error.strerror) if shown == name else shown


def worded(session: Mapping[str, Any], name: str) -> str:
    """A text of a session's view, such as `lastError`, in the terminal's language where Hansard wrote it."""
    return of_view(str(session.get(name) or ""), session.get(f"{name}Sentence"))


def of_view(text: str, data: Mapping[str, object] | None) -> str:
    """A text of a view in the terminal's language, by the data of its sentence; without them as it is."""
    if not data:
        return text
    from api.cli import error_words

    return error_words.of_view(text, data)


def of_http(status: int, code: object = None) -> int:
    """The exit code for a problem of the API; some refusals are about what was typed, by their own code."""
    return USAGE if code in _USAGE_CODES else _BY_HTTP_STATUS.get(status, FAILURE)


def rests(session: Mapping[str, Any]) -> bool:
    """True if nothing more happens in the session until a person acts."""
    return session.get("status") in _BY_STATUS


def is_held(session: Mapping[str, Any]) -> bool:
    """True for a fork that waits, until a person continues it, where no recorded answer fits."""
    return bool(session.get("held")) and not rests(session)


def waits_below(session: Mapping[str, Any], children: Sequence[Mapping[str, Any]]) -> bool:
    """True if a session continues only after a person has decided its discussion (S2)."""
    if rests(session) or session.get("outstandingTurns"):
        return False
    return all(rests(child) for child in children) and any(child["status"] == WAITING for child in children)


def of_outcome(session: Mapping[str, Any]) -> int:
    """The exit code for how a session rests: it may have run out of budget (behaviour §3.3, K-44) or of rounds."""
    if session.get("finalSummary") == "failed_budget_exhausted":
        return EXHAUSTED
    if session.get("status") == "partial" and session.get("reason") == "rounds":
        return EXHAUSTED
    return _BY_STATUS.get(str(session.get("status")), FAILURE)
