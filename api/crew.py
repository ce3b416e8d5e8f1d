"""A process that only works on turns: the log, a writer and a worker; no views, nobody to answer to."""

import asyncio
import contextlib
import logging

from pydantic import ValidationError

from adapters.agents.team import load
from adapters.clock import Clock
from adapters.private import private_folder
from adapters.store import open_store
from adapters.turns.worker import Worker
from adapters.writer.writer import Writer
from api.settings import Settings
from domain.values.base import HansardError

PAGE = 500

log = logging.getLogger(__name__)


class Crew:
    """Works beside any number of others on one log, until it is stopped. Raises HansardError: it cannot start."""

    def __init__(self, settings: Settings) -> None:
        self._poll = settings.poll_seconds
        clock = Clock()
        self.team = load(settings.team)
        self._store = open_store(settings.database)
        private_folder(settings.node_dir)
        self._writer = Writer(self._store, clock, waiting=settings.max_waiting)
        self.worker = Worker(
            store=self._store,
            writer=self._writer,
            clock=clock,
            team=self.team,
            data_dir=settings.node_dir,
            settings=settings.worker(),
        )

    async def run(self) -> None:
        """Until `worker.stop`: then the agents are stopped, their turns given back, and the log is closed."""
        loop, happened = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            loop.call_soon_threadsafe(happened.set)

        self._writer.listeners.append(wake)
        self._writer.start()
        following = asyncio.create_task(self._follow(happened))
        try:
            await self.worker.run()
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
            await asyncio.to_thread(self._writer.stop)
            self._store.close()

    async def _follow(self, happened: asyncio.Event) -> None:
        """Tell the worker what happens: at once what it does itself, what others do as soon as the log is looked at."""
        position = await asyncio.to_thread(self._store.head)
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(happened.wait(), self._poll)
            happened.clear()
            try:
                page = await asyncio.to_thread(self._store.log, after=position, limit=PAGE)
            except (HansardError, ValidationError) as error:  # the worker looks for itself, too, only less often
                log.warning("the log behind position %d cannot be read now: %s", position, error)
                continue
            if page:
                self.worker.seen(page)
                position = page[-1].position
            if len(page) == PAGE:
                happened.set()
