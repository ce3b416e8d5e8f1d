"""A process that only works on turns: the log, a writer and a worker; no views and no HTTP."""

import asyncio
import contextlib
import logging
from collections.abc import Sequence
from typing import NamedTuple

from pydantic import ValidationError

from api.node.presence import ThisNode
from api.node.settings import Settings
from api.system import Core, Ground
from domain.session.record import Recorded
from domain.values.base import HansardError

PAGE = 500

log = logging.getLogger(__name__)


class WorkerProcess(Core):
    """Works on turns, together with any number of other workers on one log. Raises HansardError if it cannot start."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(Ground.of(settings))
        self._worker = self.worker()
        self.name, self.stop = self._worker.name, self._worker.stop

    async def run(self) -> None:
        """Work until `stop`: then the agents are stopped, their turns released, and the log is closed."""
        loop, news = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            loop.call_soon_threadsafe(news.set)

        self.writer.start(wake)
        self.store.listen(wake)
        following = asyncio.create_task(self._follow(news))
        try:
            async with ThisNode(self.store, self.name, "worker", team=self.team).attending():
                await self._worker.run()
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
            await asyncio.to_thread(self.writer.stop)
            self.ground.close()

    async def _follow(self, news: asyncio.Event) -> None:
        """Pass new events to the worker: its own at once, those of others at the next poll."""
        newest = await asyncio.to_thread(self._end)
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(news.wait(), self.settings.poll_seconds)
            news.clear()
            try:
                page, end, gone_back = await asyncio.to_thread(self._next, newest)
            except (HansardError, ValidationError) as error:  # the worker polls too, only less often
                log.warning("the log after position %d cannot be read now: %s", newest.position, error)
                continue
            if gone_back:
                log.warning(
                    "the log has gone back, as after a restore or a failover: it lacks what it had at position %d, and"
                    " ends at position %d now",
                    newest.position,
                    end.position,
                )
                await asyncio.to_thread(self.forgetting.everything)
                self._worker.rewound(end.position)
            elif page:
                self.forgetting.seen(page)
                self._worker.seen(page)
            newest = end
            if len(page) == PAGE:
                news.set()

    def _end(self) -> "_NewestRead":
        head = self.store.head()
        return _NewestRead(head, self.store.sight(head).marks[0])

    def _next(self, newest: "_NewestRead") -> "tuple[Sequence[Recorded], _NewestRead, bool]":
        """The next events and the last of them; or the end of a log that has gone back."""
        page = self.store.log(after=newest.position, limit=PAGE)
        last = page[-1].position if page else newest.position
        sight = self.store.sight(newest.position, last)
        if sight.marks[0] != newest.mark:
            return (), self._end(), True
        return page, _NewestRead(last, sight.marks[1]), False


class _NewestRead(NamedTuple):
    """The newest event that was read, by its position and mark."""

    position: int
    mark: str | None
