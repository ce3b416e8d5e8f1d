"""Doors by their place, `module:name`: what is behind one is imported when somebody knocks, or once there is time.

Pages, reports and the reference take longer to import than a server may take to start.
"""

import asyncio
import logging
import pkgutil
import threading
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from starlette.responses import Response

Handler = Callable[..., Awaitable[Response]]

log = logging.getLogger(__name__)

_IMPORTER: Final = ThreadPoolExecutor(max_workers=1, thread_name_prefix="doors")
"""The loop has others to serve meanwhile; and however many wait for a door, they hold up one thread."""
_IMPORTING: Final = threading.Lock()
"""Two threads that import modules of one package in different orders may be told of a deadlock; ours never do."""


class Door:
    """A handler that is not imported before it is needed."""

    def __init__(self, place: str) -> None:
        self.place = place
        self._handler: Handler | None = None

    async def __call__(self, *arguments: Any) -> Response:
        return await (self._handler or await self.opened())(*arguments)

    async def opened(self) -> Handler:
        """As `load`, in a thread."""
        return await asyncio.get_running_loop().run_in_executor(_IMPORTER, self.load)

    def load(self) -> Handler:
        """The handler itself. Raises ImportError or AttributeError: the place leads nowhere."""
        with _IMPORTING:
            found: Handler = self._handler or pkgutil.resolve_name(self.place)
            self._handler = found
            return found


Route = tuple[str, Door]
"""A path, as Starlette spells them, and its door."""


def placed(*routes: tuple[str, str]) -> tuple[Route, ...]:
    """Paths and the places of their handlers."""
    return tuple((path, Door(place)) for path, place in routes)


def loaded(routes: Iterable[Route]) -> list[tuple[str, Handler]]:
    """The same paths with the handlers themselves."""
    return [(path, door.load()) for path, door in routes]


async def open_all(routes: Iterable[Route]) -> None:
    """All of them, before anybody knocks. What cannot be imported is logged; its door says so again."""
    for path, door in routes:
        try:
            await door.opened()
        except Exception:  # whatever it is that a module raises
            log.exception("what is behind %s cannot be imported", path)
