"""Decisions that several people make: what they have seen, and the votes so far."""

from typing import TYPE_CHECKING, Final

from api.cli.discussion import progress
from api.cli.labels import sentence
from api.cli.terminal import say

if TYPE_CHECKING:
    from api.cli.answers import Session
    from api.cli.client import Api

_DIGEST: Final = 64
_SHORTEST: Final = 8


async def whole_digest(api: "Api", session_id: str, begun: str) -> str:
    """The digest that begins like this, if what waits now has it; else as it was given, which the server refuses."""
    if len(begun) >= _DIGEST or len(begun) < _SHORTEST:
        return begun
    for session in await _discussions(api, session_id):
        if str(session.get("seen") or "").startswith(begun):
            return str(session["seen"])
    return begun.ljust(_DIGEST, "0")


async def votes_missing(api: "Api", session_id: str, choice: str) -> bool:
    """True if more people have to choose the same; says how many."""
    session = (await api.session(session_id))["session"]
    policy = session.get("approval")
    if not policy:
        return False
    say(
        sentence(
            "Voted: {choice} for {session_id}. {policy}.", choice=choice, session_id=session_id, policy=progress(policy)
        )
    )
    return True


async def _discussions(api: "Api", session_id: str) -> "list[Session]":
    """The session itself, and what it waits for."""
    session = (await api.session(session_id))["session"]
    return [session, *[(await api.session(str(child)))["session"] for child in session.get("children") or ()]]
