"""The branch of a run is made right after its end: answers about the session wait for it, for a moment."""

import asyncio
from collections.abc import Callable
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from api.http.requests import system
from domain.session.state import Session

LOOKS: Final = 100
_SECONDS: Final = 0.02
"""Between two looks."""
_ENDINGS: Final = frozenset({"done", "checkpoint", "partial"})


class BranchPending(Exception):
    """The session has ended, and its branch is not there yet."""


async def read_with_branch(reader: Callable[[Request], Response], request: Request) -> Response:
    """The answer of the reader, which runs in a thread; for about two seconds it may raise BranchPending."""
    for _ in range(LOOKS):
        try:
            return await asyncio.to_thread(reader, request)
        except BranchPending:
            await asyncio.sleep(_SECONDS)
    request.state.takes_what_is_there = True
    return await asyncio.to_thread(reader, request)


def check_branch(request: Request, session: Session) -> None:
    """Raises BranchPending. Commands that only read do not wait: they may be the only process."""
    if session.status not in _ENDINGS or "version" in request.query_params or system(request).own_team is None:
        return
    is_pending = any(turn.work == "package" for turn in session.outstanding.values())
    if is_pending and not getattr(request.state, "takes_what_is_there", False):
        raise BranchPending
