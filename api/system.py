"""The composition root: store, writer, follower, views and worker, put together once for server, worker and CLI."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from functools import partial
from typing import TYPE_CHECKING, Final

from adapters.agents.team import load
from adapters.fence.choice import choose
from adapters.files import private_folder
from adapters.store.errors import StoreError
from adapters.store.location import open_store
from adapters.store.postgres.address import is_shared
from adapters.store.spelling import spelled_out
from adapters.store.sqlite.views import open_views
from adapters.turns.live import Live
from adapters.writer.writer import Writer
from api.node.hub import Hub
from api.node.presence import ThisNode, server_name
from api.node.provenance import Provenance
from api.node.recent import Recent
from api.node.search import SearchIndex
from api.node.settings import Settings, exports_telemetry
from domain.values.base import HansardError
from domain.values.sentences import Sentence
from projections.engine.snapshots import Snapshots
from projections.follow import Follower
from projections.record.state import Records, Sessions

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    from adapters.turns.external.turns import ExternalTurns
    from adapters.turns.lease.worker import Worker
    from adapters.turns.result.sharing import Sharing
    from api.node.access import Logins, SharedKeys
    from api.node.checkpointer import Checkpointer
    from api.node.notifier import Notifier
    from api.node.telemetry import Telemetry
    from domain.session.state import Session
    from projections.engine.ports import Database
    from projections.record.mirror import Mirror
    from projections.reports import ReportAnswer


class Core:
    """The log, its team and its writer: what every process that runs turns needs. Raises HansardError."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.team = load(settings.team)
        self.sandbox = settings.sandbox or self.team.sandbox or "auto"
        if self.sandbox == "required":
            choose(self.sandbox)
        self.store = open_store(settings.database)
        self.clock = self.store.clock
        self.live = Live(self.clock)
        private_folder(settings.node_dir)
        self.writer = Writer(self.store, self.clock, waiting=settings.max_waiting)
        self.writer.so_far = self.live.so_far
        self.sharing = self._sharing()

    def worker(self) -> "Worker":
        """A worker that runs turns. It is woken through `seen`."""
        from adapters.turns.lease.worker import Worker

        return Worker(
            store=self.store,
            writer=self.writer,
            clock=self.clock,
            team=self.team,
            data_dir=self.settings.node_dir,
            settings=self.settings.worker(self.sandbox),
            live=self.live,
            sharing=self.sharing,
        )

    def _sharing(self) -> "Sharing | None":
        """The workspaces of this machine and others; None if there is only one machine."""
        shares = self.store.shares
        if shares is None:
            return None
        from adapters.turns.result.sharing import Sharing
        from adapters.workspace import Workspaces

        workspaces = Workspaces(self.settings.node_dir / "workspaces")
        return Sharing(self.store, shares, workspaces, limit=self.settings.share_bytes)

    def missing_machine(self, session: "Session") -> str | None:
        """The machine that the session cannot continue without, if no worker runs there."""
        if self.sharing is None or not session.outstanding:
            return None
        try:
            return self.sharing.waits_for(session, self.writer.load)
        except HansardError:  # the database is away, and then everything waits
            return None


UNAUTHENTICATED: Final = "unauthenticated"
"""The actor if no key is required."""


class System(Core):
    """Everything a request needs. `actor` is used if no one else can reach the application, because then no key is
    required. Raises HansardError if it cannot start."""

    def __init__(self, settings: Settings, *, actor: str | None = None, has_team: bool = True) -> None:
        """`has_team`: whether turns may run in this process, with its team."""
        super().__init__(settings)
        self.own_team = self.team if has_team else None
        self.actor = actor or UNAUTHENTICATED
        self.views = open_views(settings.views_path)
        self._keys: SharedKeys | None = None
        self.logins = self._logins() if actor is None and settings.auth == "key" else None
        workers = None if is_shared(settings.database) else settings.node_dir / "workers"
        self.node = ThisNode(self.store, server_name(), "server", workers)
        self.follower = Follower(self.store, self.views, poll_seconds=settings.poll_seconds)
        self.follower.newest = self.writer.newest
        self.follower.is_busy = lambda: self.writer.waiting() > 0
        self.catch_up_seconds: float | None = None
        """How long the start waits for views that lag behind; without limit unless a server sets one."""
        self.search = SearchIndex(self.store, self.follower, settings)
        self.snapshots = Snapshots(self.store, self.views, self.store.rows.hash_of)
        self.writer.nearest = self.snapshots.nearest
        self.sessions = Sessions(self.store, self.snapshots, memory=self.writer.cached)
        self.records = Records(self.store, self.snapshots)
        self.snapshots.grown = self.records.prepare
        self.follower.listeners += [self.sessions.seen, self.records.seen]
        self.reports: Recent[ReportAnswer] = Recent(16)  # some have a row for every session
        self.provenance = Provenance(self.store, settings.node_dir / "workspaces")
        self.hub: Hub
        self._external: ExternalTurns | None = None
        self._traces: Telemetry | None = None
        self._mirror = self._worklog_files(settings.worklog_folder)

    @contextlib.asynccontextmanager
    async def running(self, *, work: bool, notify: bool) -> AsyncIterator[None]:
        """Run writer, follower and, with `work`, a worker; with `notify`, send notifications and checkpoints."""
        worker = self.worker() if work else None
        if worker:
            self.follower.listeners.append(worker.seen)
        self.writer.listeners.append(self.follower.wake)
        self.writer.start()
        if self._keys is not None:
            self._keys.start()
        self.store.listen(self.follower.wake)
        await asyncio.to_thread(lambda: self.follower.catch_up(self.store.head(), seconds=self.catch_up_seconds))
        self.hub = Hub(self.settings.sse_heartbeat_seconds, partial(spelled_out, self.store))
        self.live.stir = self.hub.stir
        self.hub.begin(self.follower.listen(self.hub.seen))
        self.follower.listeners += [self.live.seen, self.snapshots.seen]
        self.follower.start()
        readers = asyncio.create_task(self._begin_readers(notify=notify))
        if not self.follower.behind_start:
            await readers
        checkpointer = await self._checkpointer() if notify else None
        task = asyncio.create_task(worker.run()) if worker else None
        try:
            async with self.node.attending():
                yield
        finally:
            self.release_waiting()
            if worker and task:
                worker.stop()
                await task
            if checkpointer:
                await checkpointer.stop()
            readers.cancel()
            [notifier] = await asyncio.gather(readers, return_exceptions=True)
            if notifier and not isinstance(notifier, BaseException):
                await asyncio.to_thread(self.follower.catch_up)
                await notifier.stop()
            if self._traces:
                await asyncio.to_thread(self._traces.stop)
            await asyncio.to_thread(self._close)

    async def _begin_readers(self, *, notify: bool) -> "Notifier | None":
        """Start everything that reads all of the views, once these are complete."""
        await self.follower.has_begun()
        if self._mirror:
            self.follower.listen(self._mirror.seen)
            self._mirror.start()
        self.snapshots.start()
        await asyncio.to_thread(self.search.start)
        self._traces = self._telemetry()
        return await self._notifier() if notify else None

    def reading(self) -> "AbstractContextManager[Database]":
        """The views, to be read. Raises StoreError while they lack events from before the start: half a list would pass
        for the whole."""
        if self.follower.behind_start:
            raise StoreError(Sentence("views_rebuilt", number=self.follower.position, newest=self.store.head()))
        return self.views.reading()

    def release_waiting(self) -> None:
        """End streams and long polls."""
        self.hub.close()
        self.live.close()
        if self._external:
            self._external.close()

    def claims_waiting(self) -> int:
        """How many external workers wait for a turn."""
        return self._external.waiting() if self._external else 0

    def external_turns(self) -> "ExternalTurns":
        """The turns of external agents; created on first use. Call it in the loop."""
        if self._external is None:
            from adapters.turns.external.leases import ExternalTurnSettings
            from adapters.turns.external.turns import ExternalTurns
            from adapters.turns.runner import TurnRunner
            from adapters.workspace import Workspaces

            data, settings = self.settings.node_dir, self.settings.worker(self.sandbox)
            runner = TurnRunner(
                store=self.store,
                team=self.team,
                workspaces=Workspaces(data / "workspaces", settings.room, settings.log),
                data_dir=data,
                settings=settings,
                live=self.live,
                sharing=self.sharing,
            )
            self._external = ExternalTurns(
                store=self.store,
                writer=self.writer,
                clock=self.clock,
                team=self.team,
                runner=runner,
                sharing=self.sharing,
                settings=ExternalTurnSettings(lease=settings.lease, turn=self.team.limits.turn_seconds),
            )
            self.follower.listeners.append(self._external.seen)
        return self._external

    def _logins(self) -> "Logins":
        from api.node.access import Logins, SharedKeys, former_secret
        from api.node.owner import keys_file, take_over

        settings, vault = self.settings, self.store.vault
        assert vault is not None, "a server's store has keys"
        take_over(vault, settings)
        self._keys = SharedKeys(vault, keys_file(settings))
        return Logins(self._keys, vault, seconds=settings.login_seconds, secret=former_secret(settings.node_dir))

    async def _notifier(self) -> "Notifier | None":
        """The notifier; None if the team file names no receiver."""
        if self.team.notify is None:
            return None
        from adapters.notify.outbox import open_outbox
        from adapters.notify.receivers import Receivers
        from api.node.notifier import Notifier

        receivers = Receivers(self.team.notify)
        outbox = await asyncio.to_thread(open_outbox, self.store, self.settings.node_dir / "notify.db")
        head, scale = self.store.head(), self.settings.retry_seconds
        notifier = Notifier(receivers, outbox, self.views, self.clock, head=head, scale=scale)
        self.follower.listen(notifier.seen)
        return notifier

    async def _checkpointer(self) -> "Checkpointer | None":
        """The sender of checkpoints; None if it is not configured."""
        if not self.settings.checkpoint_to:
            return None
        from adapters.proof.checkpoints import signing_key
        from api.node.checkpointer import Checkpointer

        key = signing_key(self.settings.signing_key)
        checkpointer = Checkpointer(self.store, key, self.settings.checkpoint_to, self.settings.checkpoint_every)
        self.follower.listen(checkpointer.seen)
        return checkpointer

    def _telemetry(self) -> "Telemetry | None":
        """Traces and metrics, if the environment says where to send them."""
        if not exports_telemetry(os.environ):
            return None
        from api.node.telemetry import exporting

        telemetry = exporting(self.store.history)
        if telemetry is not None:
            self.follower.listen(telemetry.seen)
        return telemetry

    def _worklog_files(self, folder: "Path | None") -> "Mirror | None":
        if folder is None:
            return None
        from projections.record.mirror import Mirror

        return Mirror(folder.expanduser(), self.views, self.sessions, self.records)

    def _close(self) -> None:
        self.writer.stop()
        self.follower.stop()
        self.snapshots.stop()
        if self._mirror:
            self._mirror.stop()
        if self._keys is not None:
            self._keys.stop()
        self.search.close()
        self.views.close()
        self.store.close()
