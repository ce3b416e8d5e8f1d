"""The command that gives a session more of what it has used up, as a person can run it."""

from collections.abc import Mapping
from typing import Any, Final

_OPTIONS: Final[Mapping[str, str]] = {
    "minutes": "--minutes 15",
    "tokens": "--tokens 100000",
    "cost": "--cost 2",
    "rounds": "--rounds 3",
}
"""By what has run out; otherwise it is iterations."""


def extension(session_id: str, used_up: str | None) -> str:
    """The command for a session; `used_up` is what it ran out of."""
    return f"hansard extend {session_id} {_OPTIONS.get(used_up or '', '--iterations 2')} --reason=more"


def extension_of(session: Mapping[str, Any]) -> str:
    """The command for the session of this view."""
    if session.get("kind") == "orchestration":
        return extension(str(session["id"]), "rounds")
    return extension(str(session["id"]), (session.get("budget") or {}).get("reason"))
