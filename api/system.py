"""The composition root: store, writer, follower, views and worker, put together once for the server and the CLI."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from adapters.agents.team import load
from adapters.clock import Clock
from adapters.private import private_folder
from adapters.store import open_store
from adapters.store.sqlite.views import SqliteViews
from adapters.writer.writer import Writer
from api.http.hub import Hub
from api.settings import Settings
from projections.engine.catalogue import PROJECTIONS
from projections.engine.follow import Follower
from projections.engine.snapshots import Snapshots
from projections.record.session import Sessions
from projections.record.state import Records

if TYPE_CHECKING:
    from pathlib import Path

    from adapters.turns.external import ExternalTurns
    from adapters.turns.worker import Worker
    from api.http.logins import Logins
    from projections.record.mirror import Mirror


class System:
    """Everything a request needs. `work` says whether turns are worked on in this process."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.clock = Clock()
        self.team = load(settings.team)
        self.store = open_store(settings.database)
        private_folder(settings.node_dir)
        self.views = SqliteViews(settings.views_path)
        self.logins = self._logins()
        self.writer = Writer(self.store, self.clock, waiting=settings.max_waiting)
        self.follower = Follower(self.store, self.views, PROJECTIONS, poll_seconds=settings.poll_seconds)
        self.snapshots = Snapshots(self.store, self.views, self.store.rows.hash_of)
        self.sessions = Sessions(self.store, self.snapshots)
        self.records = Records(self.store, self.snapshots)
        self.hub: Hub
        self._desk: ExternalTurns | None = None
        self._mirror = self._kept_in_files(settings.worklog_folder)

    @contextlib.asynccontextmanager
    async def running(self, *, work: bool) -> AsyncIterator[None]:
        """Writer, follower and, if asked for, the worker run inside; everything is given back afterwards."""
        worker = self._worker() if work else None
        self.writer.listeners.append(self.follower.wake)
        self.writer.start()
        await asyncio.to_thread(self.follower.catch_up)
        self.hub = Hub(self.settings.sse_heartbeat_seconds)
        self.hub.begin(self.follower.listen(self.hub.seen))
        if self._mirror:
            self.follower.listen(self._mirror.seen)
            self._mirror.start()
        self.follower.listen(self.snapshots.seen)
        self.snapshots.start()
        self.follower.start()
        task = asyncio.create_task(worker.run()) if worker else None
        try:
            yield
        finally:
            self.part()
            if worker and task:
                worker.stop()
                await task
            await asyncio.to_thread(self._close)

    def part(self) -> None:
        """Let whoever waits for something to happen take leave."""
        self.hub.close()
        if self._desk:
            self._desk.close()

    def claims_waiting(self) -> int:
        """How many external workers wait for a turn."""
        return self._desk.waiting() if self._desk else 0

    def desk(self) -> "ExternalTurns":
        """Where external agents get their turns; made when the first one comes. In the loop."""
        if self._desk is None:
            from adapters.turns import TurnRunner
            from adapters.turns.external import ExternalTurns, ExternalTurnSettings
            from adapters.workspace import Workspaces

            data, settings = self.settings.node_dir, self.settings.worker()
            runner = TurnRunner(
                store=self.store,
                team=self.team,
                workspaces=Workspaces(data / "workspaces", settings.room, settings.log),
                data_dir=data,
                settings=settings,
            )
            self._desk = ExternalTurns(
                store=self.store,
                writer=self.writer,
                clock=self.clock,
                team=self.team,
                runner=runner,
                settings=ExternalTurnSettings(lease=settings.lease, turn=self.team.limits.turn_seconds),
            )
            self.follower.listeners.append(self._desk.seen)
        return self._desk

    def _logins(self) -> "Logins | None":
        """Where no keys are kept, nobody has to say who they are."""
        settings = self.settings
        if settings.api_keys_file is None:
            return None
        from api.http.logins import Keys, Logins

        secret = settings.node_dir / "login.secret"
        return Logins(Keys(settings.api_keys_file), secret, seconds=settings.login_seconds, now=time.time)

    def _kept_in_files(self, folder: "Path | None") -> "Mirror | None":
        if folder is None:
            return None
        from projections.record.mirror import Mirror

        return Mirror(folder.expanduser(), self.views, self.sessions, self.records)

    def _worker(self) -> "Worker":
        from adapters.turns.worker import Worker

        worker = Worker(
            store=self.store,
            writer=self.writer,
            clock=self.clock,
            team=self.team,
            data_dir=self.settings.node_dir,
            settings=self.settings.worker(),
        )
        self.follower.listeners.append(worker.seen)
        return worker

    def _close(self) -> None:
        self.writer.stop()
        self.follower.stop()
        self.snapshots.stop()
        if self._mirror:
            self._mirror.stop()
        self.views.close()
        self.store.close()
