"""Answers an agent's requests for permission over ACP."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, Literal

from adapters.agents.acp.updates import Wish, described, wish_of
from adapters.agents.activity import TITLE, Activity, Kind
from adapters.agents.port import Turn
from domain.session.turns import Failure, FenceLevel

# How long a turn may take, and how long it may be silent. Waiting for a person does not count.

_LOOK: Final = 1.0
"""Seconds between two checks while a person decides."""


class Stopwatch:
    """Runs from its creation; stops while it is paused."""

    def __init__(self, *, wall: float, idle: float, time: Callable[[], float]) -> None:
        self.wall, self.idle, self._time = wall, idle, time
        self._began = self._latest = self._time()
        self._pauses, self._since = 0, 0.0

    def heard(self) -> None:
        """The agent gave a sign of life."""
        self._latest = self._since if self._pauses else self._time()

    @contextmanager
    def paused(self) -> Iterator[None]:
        if not self._pauses:
            self._since = self._time()
        self._pauses += 1
        try:
            yield
        finally:
            self._pauses -= 1
            if not self._pauses:
                away = self._time() - self._since
                self._began, self._latest = self._began + away, self._latest + away

    def over(self) -> Literal["timeout", "idle"] | None:
        """Which limit is reached, if any."""
        if self._pauses or self._left() > 0:
            return None
        return "timeout" if self._wall_left() <= 0 else "idle"

    async def watch(self, work: "asyncio.Future[Failure | None]") -> Literal["timeout", "idle"] | None:
        """Wait until the task is done or a limit is reached."""
        while not work.done():
            if (limit := self.over()) is not None:
                return limit
            wait = _LOOK if self._pauses else max(self._left(), 0.001)
            await asyncio.wait({work}, timeout=wait)
        return None

    def _wall_left(self) -> float:
        return self._began + self.wall - self._time()

    def _left(self) -> float:
        return min(self._wall_left(), self._latest + self.idle - self._time())


Json = dict[str, Any]
QUESTIONS: Final = 20
"""How many requests for permission may wait at the same time; more are refused."""


class Permissions:
    """The requests of one turn. `denied` are the tool calls that got no permission."""

    def __init__(
        self, turn: Turn, fence: FenceLevel, stopwatch: Stopwatch, observe: Callable[[Activity], None]
    ) -> None:
        self._turn, self._fence, self._stopwatch, self._observe = turn, fence, stopwatch, observe
        self._open = 0
        self.denied: set[str] = set()

    async def outcome(self, given: Mapping[str, Any], known: Mapping[str, Json]) -> Json:
        """The answer to a request, given what is known of the tool calls. Permission is only ever given once."""
        asked, listed = given.get("toolCall"), given.get("options")
        call = asked if isinstance(asked, dict) else {}
        name = str(call.get("toolCallId", ""))[:200]
        options = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
        wish = wish_of(known.get(name, {}) | described(call))
        allowed = _option(options, "allow_once")
        if allowed is not None and await self._permitted(wish):
            return allowed
        self.denied.add(name)
        self._observe(self._seen("tool", wish).changed(id=name or None))
        return _option(options, "reject_once") or _option(options, "reject_always") or {"outcome": "cancelled"}

    async def _permitted(self, wish: Wish) -> bool:
        """A read-only role never gets permission to edit. The rules, or a person, decide everything else."""
        if (self._turn.access != "write" and wish.tool == "edit") or self._open >= QUESTIONS:
            self._observe(self._seen("permission", wish))
            return False
        self._open += 1
        try:
            with self._stopwatch.paused():
                return await self._turn.permit(wish.tool, wish.title, wish.paths, fence=self._fence) == "allow"
        finally:
            self._open -= 1

    def _seen(self, kind: Kind, wish: Wish) -> Activity:
        return Activity(kind=kind, tool=wish.tool, title=wish.title[:TITLE], paths=wish.paths, status="denied")


def _option(options: list[Json], kind: str) -> Json | None:
    found = next((one.get("optionId") for one in options if one.get("kind") == kind), None)
    return {"outcome": "selected", "optionId": found} if isinstance(found, str) else None
