"""The composition root: store, writer, follower, views and worker, put together once for the server and the CLI."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from adapters.clock import Clock
from adapters.store import open_store
from adapters.store.views import SqliteViews
from adapters.team import load
from adapters.worker import Worker
from adapters.writer import Writer
from api.hub import Hub
from api.settings import Settings
from projections.catalogue import PROJECTIONS
from projections.follow import Follower
from projections.mirror import Mirror
from projections.session import Sessions


class System:
    """Everything a request needs. `work` says whether turns are worked on in this process."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.clock = Clock()
        self.team = load(settings.team)
        self.store = open_store(settings.database)
        self.views = SqliteViews(settings.views_path)
        self.writer = Writer(self.store, self.clock, waiting=settings.max_waiting)
        self.follower = Follower(self.store, self.views, PROJECTIONS, poll_seconds=settings.poll_seconds)
        self.sessions = Sessions(self.store)
        self.closing = asyncio.Event()
        self.hub: Hub
        folder = settings.worklog_folder
        self._mirror = Mirror(folder.expanduser(), self.views) if folder else None

    @contextlib.asynccontextmanager
    async def running(self, *, work: bool) -> AsyncIterator[None]:
        """Writer, follower and, if asked for, the worker run inside; everything is given back afterwards."""
        worker = self._worker() if work else None
        self.writer.listeners.append(self.follower.wake)
        self.writer.start()
        await asyncio.to_thread(self.follower.catch_up)
        self.hub = Hub()
        self.hub.begin(self.follower.listen(self.hub.seen))
        if self._mirror:
            self.follower.listen(self._mirror.seen)
            self._mirror.start()
        self.follower.start()
        task = asyncio.create_task(worker.run()) if worker else None
        try:
            yield
        finally:
            self.closing.set()
            if worker and task:
                worker.stop()
                await task
            await asyncio.to_thread(self._close)

    def _worker(self) -> Worker:
        worker = Worker(
            store=self.store,
            writer=self.writer,
            clock=self.clock,
            team=self.team,
            data_dir=self.settings.data_dir,
            settings=self.settings.worker(),
        )
        self.follower.listeners.append(worker.seen)
        return worker

    def _close(self) -> None:
        self.writer.stop()
        self.follower.stop()
        if self._mirror:
            self._mirror.stop()
        self.views.close()
        self.store.close()
