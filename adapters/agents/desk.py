"""The requests for permission of one turn, from any protocol."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Final, NamedTuple

from adapters.agents.activity import TITLE, Activity, Kind, Tool
from adapters.agents.port import Turn
from domain.session.turns import FenceLevel

QUESTIONS: Final = 20
"""How many requests for permission may wait at the same time; more are denied."""


class RequestedTool(NamedTuple):
    """A use of a tool that the agent wants permission for, with its full title."""

    tool: Tool
    title: str
    paths: tuple[str, ...]

    def denied(self, kind: Kind) -> Activity:
        return Activity(kind=kind, tool=self.tool, title=self.title[:TITLE], paths=self.paths, status="denied")


class PermissionDesk:
    """Answers the requests. `paused` stops the limits of the turn while a person decides."""

    def __init__(self, turn: Turn, fence: FenceLevel, paused: Callable[[], AbstractContextManager[None]]) -> None:
        self._turn, self._fence, self._paused = turn, fence, paused
        self._open = 0

    async def permitted(self, use: RequestedTool) -> bool:
        """A read-only role never gets permission to edit. The rules, or a person, decide everything else."""
        if (self._turn.access != "write" and use.tool == "edit") or self._open >= QUESTIONS:
            if self._turn.observe is not None:
                self._turn.observe(use.denied("permission"))
            return False
        self._open += 1
        try:
            with self._paused():
                return await self._turn.permit(use.tool, use.title, use.paths, fence=self._fence) == "allow"
        finally:
            self._open -= 1
