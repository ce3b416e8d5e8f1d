"""Following a session while others work on it, and the reviews and debates that it waits for."""

import asyncio
from collections.abc import Sequence
from math import inf
from time import monotonic
from typing import Final, Protocol

from api.cli import exits
from api.cli.client import Api, Json
from api.cli.exits import rests
from api.cli.patience import Patience

_REFRESH_SECONDS: Final = 1.0


class Screen(Protocol):
    """Who is shown what happens."""

    def happened(self, events: Sequence[Json]) -> None: ...

    def stands(self, session: Json) -> None: ...

    def below(self, child: Json, events: Sequence[Json]) -> None:
        """What happened in a review or debate that the session waits for, and how that stands now."""


class Following:
    """A session and what is discussed of it: every event behind version `after` is shown once, as it comes.

    Of a session that is not followed from its beginning, discussions that were there already are shown from now on.
    """

    def __init__(self, api: Api, session_id: str, *, after: int = 0, patience: Patience | None = None) -> None:
        self._api, self._patience = api, patience
        self._main = _Seen(session_id, after=after)
        self._children: dict[str, _Seen] = {}
        self._late = after > 0

    @property
    def session(self) -> Json:
        """The session as it was when last asked for."""
        return self._main.session

    @property
    def waiting(self) -> list[Json]:
        """The reviews and debates that wait for a person: the session itself, or those that it waits for."""
        seen = (self._main, *self._children.values())
        return [found.session for found in seen if found.session.get("status") == exits.WAITING]

    async def to_rest(self, screen: Screen) -> Json:
        """Go on until nothing more happens unless a person says so; the session as it is then. Raises Failed where
        the patience is over before."""
        while True:
            moved = await self._look(screen)
            if self._rest():
                return self.session
            if self._patience:
                open_ = [child.session for child in self._children.values() if not child.over]
                await self._patience.wear([self.session, *open_], moved=moved)
            if not moved:
                await asyncio.sleep(self._api.poll)

    def _rest(self) -> bool:
        if self._main.settled:
            return True
        children = [child.session for child in self._children.values()]
        return exits.waits_below(self.session, children) and all(child.settled for child in self._children.values())

    async def _look(self, screen: Screen) -> bool:
        """Show what is new; whether anything was."""
        version = self.session.get("version")
        events = await self._main.look(self._api)
        if events:
            screen.happened(events)
        if self._main.looked:
            screen.stands(self.session)
        moved = bool(events) or version != self.session.get("version")
        for child in await self._discussions():
            heard = await child.look(self._api)
            if child.looked:
                screen.below(child.session, heard)
            moved = moved or bool(heard)
        self._late = False
        return moved

    async def _discussions(self) -> list["_Seen"]:
        """Those that are not over, or whose end was not shown yet."""
        for name in self.session.get("children") or ():
            if name not in self._children:
                self._children[name] = await self._met(name)
        return [child for child in self._children.values() if not child.over]

    async def _met(self, name: str) -> "_Seen":
        if not self._late:
            return _Seen(name, after=0)
        session = (await self._api.session(name))["session"]
        return _Seen(name, after=int(session["version"]), session=session)


class _Seen:
    """One session: up to which version it was shown, and how it stood when last asked for."""

    def __init__(self, name: str, *, after: int, session: Json | None = None) -> None:
        self._name, self._seen, self._asked = name, after, -inf
        self.session: Json = session or {}
        self.looked = False

    @property
    def settled(self) -> bool:
        """It rests, and everything up to there was shown."""
        return rests(self.session) and self._seen >= int(self.session["version"])

    @property
    def over(self) -> bool:
        return self.settled and self.session["status"] != exits.WAITING

    async def look(self, api: Api) -> list[Json]:
        """The events since the last look; `looked` says whether the session was asked for, too."""
        events = await api.events(self._name, after=self._seen)
        if events:
            self._seen = int(events[-1]["version"])
        self.looked = bool(events) or monotonic() - self._asked >= _REFRESH_SECONDS
        if self.looked:
            self.session, self._asked = (await api.session(self._name))["session"], monotonic()
        return events
