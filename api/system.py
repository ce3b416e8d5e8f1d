"""The composition root: store, writer, follower, views and worker, put together once for server, worker and CLI."""

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from adapters.agents.scripted import forget_scenarios
from adapters.agents.team import Team, load
from adapters.cached_texts import Forget, Forgetting
from adapters.extras import install_extra
from adapters.fence.choice import Sandbox, choose
from adapters.store.errors import StoreError
from adapters.store.location import open_store
from adapters.store.port import Store
from adapters.store.postgres.address import is_shared
from adapters.store.spelling import spelled_out
from adapters.store.sqlite.soundness import LogUse
from adapters.store.sqlite.views import open_views
from adapters.store.texts import forget_rounds
from adapters.turns.lease.attendance_file import FileAttendances
from adapters.turns.live import Live
from adapters.turns.result.shared_workspaces import Sharing
from adapters.workspace import Workspaces
from adapters.writer.writer import Nearest, Writer, no_snapshot
from api.node.access import Logins, SharedKeys, former_secret
from api.node.hub import Hub
from api.node.log_use import log_use
from api.node.owner import forge_file, keys_file, take_over
from api.node.presence import ThisNode, server_name
from api.node.provenance import Provenance
from api.node.recent import Recent
from api.node.search import SearchIndex
from api.node.session_answers import AnswerKeeper
from api.node.settings import Settings, telemetry_signals
from api.node.worker_settings import worker_settings
from domain.convergence.counts import forget_read
from domain.discussion.findings import forget_prompted
from domain.findings.report_words import forget_reports
from domain.provenance.distinction import forget_lines
from domain.values.base import HansardError
from domain.values.sentences import Sentence
from projections.engine.snapshots import Snapshots
from projections.follow import Follower, Listener
from projections.record.describe import NAMELESS
from projections.record.finding_events import FindingEvents
from projections.record.records import Records
from projections.record.sessions import Sessions
from projections.sessions.pull_requests import open_sessions

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    from adapters.pull_requests.record import Around
    from adapters.turns.external.turns import ExternalTurns
    from adapters.turns.lease.worker import Worker
    from api.node.checkpointer import Checkpointer
    from api.node.notifier import Notifier
    from api.node.pull_request_follower import PullRequestFollower
    from api.node.telemetry import Telemetry
    from domain.session.record import Recorded
    from domain.session.state import Session
    from projections.engine.ports import Database
    from projections.record.mirror import Mirror
    from projections.reports import ReportAnswer
    from projections.views.session import TurnView


class Ground(NamedTuple):
    """The ground that a process stands on: its settings, the team, how its agents are fenced, and the log."""

    settings: Settings
    team: Team
    sandbox: Sandbox
    store: Store
    use: LogUse | None

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Opens the log. Raises HansardError."""
        team = load(settings.team)
        sandbox = settings.sandbox or team.sandbox or "auto"
        if sandbox == "required":
            choose(sandbox)
        use = log_use(settings)
        try:
            store = open_store(settings.database)
        except BaseException:
            if use is not None:
                use.end()
            raise
        return cls(settings, team, sandbox, store, use)

    def close(self) -> None:
        """Close the log; it is noted as it is then."""
        self.store.close()
        if self.use is not None:
            self.use.end()


MEMOS: Final[tuple[Forget, ...]] = (forget_prompted, forget_read, forget_lines, forget_reports, forget_scenarios)
"""What modules remember of the texts that they read last."""


class Core:
    """The log, its team and its writer: what every process that runs turns needs."""

    def __init__(
        self, ground: Ground, *, stir: Callable[[], None] = lambda: None, nearest: Nearest = no_snapshot
    ) -> None:
        """`stir` is called whenever an agent does something; `nearest` returns snapshots of long sessions."""
        self.ground = ground
        self.settings, self.team, self.sandbox, self.store, _ = ground
        self.clock = self.store.clock
        self.forgetting = Forgetting()
        self.live = Live(self.clock, stir, self.store.turns)
        self.writer = Writer(
            self.store,
            self.clock,
            waiting=self.settings.max_waiting,
            so_far=self.live.so_far,
            nearest=nearest,
            forgetting=self.forgetting,
        )
        self.sharing = self._sharing()
        self.forgetting.join(self.live.forget, partial(forget_rounds, self.store), *MEMOS)

    def worker(self) -> "Worker":
        """A worker that runs turns. It is woken through `seen`."""
        from adapters.turns.lease.worker import Worker  # a process that only reads has none

        return Worker(
            store=self.store,
            writer=self.writer,
            clock=self.clock,
            team=self.team,
            data_dir=self.settings.node_dir,
            settings=worker_settings(self.settings, self.sandbox),
            live=self.live,
            sharing=self.sharing,
            attendances=self.store.attendances or FileAttendances(self.settings.node_dir / "attended"),
        )

    def _sharing(self) -> "Sharing | None":
        """The workspaces of this machine and others; None if there is only one machine."""
        shares = self.store.shares
        if shares is None:
            return None
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

    def imported_turns(self, turns: "Sequence[TurnView]") -> frozenset[str]:
        """Those of these open turns that nothing here runs, as they came with another log."""
        try:
            return self.store.turns.imported([turn.turn_id for turn in turns])
        except HansardError:
            return frozenset()


_log = logging.getLogger(__name__)

UNAUTHENTICATED: Final = NAMELESS
"""The actor if no key is required."""


class Patience(NamedTuple):
    """The seconds for which a start waits for views that lag behind, and a search for its index; None: without limit.
    Only a server sets them: others have nobody who waits."""

    views: float | None = None
    search: float | None = None


UNLIMITED: Final = Patience()


class Readers(NamedTuple):
    """The readers of all of the views while the system runs."""

    telemetry: "Telemetry | None"
    notifier: "Notifier | None"


class System(Core):
    """Everything a request needs. `actor` is used if no one else can reach the application, because then no key is
    required. Raises HansardError if it cannot start."""

    def __init__(
        self, settings: Settings, *, actor: str | None = None, has_team: bool = True, patience: Patience = UNLIMITED
    ) -> None:
        """`has_team`: whether turns may run in this process, with its team. `patience`: how long it waits for views."""
        ground = Ground.of(settings)
        store = ground.store
        self.hub = Hub(settings.sse_heartbeat_seconds, partial(spelled_out, store))
        self.views = open_views(settings.views_path)
        self.snapshots = Snapshots(store, self.views, store.rows.hash_of)
        super().__init__(ground, stir=self.hub.stir, nearest=self.snapshots.nearest)
        self.patience = patience
        self.own_team = self.team if has_team else None
        self.actor = actor or UNAUTHENTICATED
        self._keys: SharedKeys | None = None
        self.logins = self._logins() if actor is None and settings.auth == "key" else None
        workers = None if is_shared(settings.database) else settings.node_dir / "workers"
        self.node = ThisNode(store, server_name(), "server", workers)
        self.works = False
        self.sessions = Sessions(store, self.snapshots, memory=self.writer.cached)
        self.records = Records(store, self.snapshots)
        self.finding_events = FindingEvents(store)
        self.reports: Recent[ReportAnswer] = Recent(16)  # some have a row for every session
        self.provenance = Provenance(store, settings.node_dir / "workspaces")
        for cache in (self.hub, self.snapshots, self.sessions, self.records, self.reports, self.provenance):
            self.forgetting.join(cache.forget)
        self.forgetting.join(self.finding_events.forget)
        self._external: ExternalTurns | None = None
        self.pull_requests: PullRequestFollower | None = None
        """Who follows pull requests, while this runs."""
        self._mirror = self._worklog_files(settings.worklog_folder)
        self._rewound: list[Callable[[int], None]] = [self._mirror.rewound] if self._mirror else []
        """Who hears, with the position, that the log has gone back; those that `running` makes follow."""
        self.follower = Follower(
            store,
            self.views,
            newest=self.writer.newest,
            is_busy=lambda: self.writer.waiting() > 0,
            listeners=self._listeners(),
            rewound=(self._go_back,),
            poll_seconds=settings.poll_seconds,
            witnessed=store.rows,
        )
        self.search = SearchIndex(store, self.follower, settings, patience.search)

    @contextlib.asynccontextmanager
    async def running(self, *, work: bool, notify: bool) -> AsyncIterator[None]:
        """Run writer, follower and, with `work`, a worker; with `notify`, send notifications and checkpoints."""
        if self.follower.rewinding:
            self._go_back(0, self.store.head())
        self.writer.start(self.follower.wake)
        if self._keys is not None:
            self._keys.start()
        self.store.listen(self.follower.wake)
        await asyncio.to_thread(lambda: self.follower.catch_up(self.store.head(), seconds=self.patience.views))
        self.hub.begin(self.follower.published, self.follower.epoch)
        worker = self.worker() if work else None
        self.works = work
        self.node = replace(self.node, team=self.team if work else None)
        checkpointer = await self._checkpointer() if notify else None
        self.pull_requests = self._pull_requests() if notify else None
        answers = self._answers()
        for one in (worker, checkpointer, answers, self.pull_requests):
            if one is not None:
                self.follower.listen(one.seen)
                self._rewound.append(one.rewound)
        self.follower.start()
        readers = asyncio.create_task(self._begin_readers(notify=notify))
        if not self.follower.behind_start:
            await readers
        task = asyncio.create_task(worker.run()) if worker else None
        try:
            async with self.node.attending():
                yield
        finally:
            if answers:
                await asyncio.to_thread(answers.stop)
            if self.pull_requests:
                await self.pull_requests.stop()
            self.release_waiting()
            if worker and task:
                worker.stop()
                await task
            if checkpointer:
                await checkpointer.stop()
            await self._end_readers(readers)
            await asyncio.to_thread(self._close)

    @property
    def at_terminal(self) -> bool:
        """True if a person has started this process for themselves, so that their own logins count."""
        return self.logins is None and self.settings.auth == "key"

    def around_forges(self) -> "Around | None":
        """Returns what pull requests are followed with; None where the settings of the forge cannot be used, which is
        said."""
        from api.node.forge import SharedParts, around

        shared = SharedParts(self.store, self.writer, self.settings.node_dir, self.sharing)
        return around(forge_file(self.settings), shared, at_terminal=self.at_terminal)

    def _pull_requests(self) -> "PullRequestFollower | None":
        """The follower of pull requests; None where the settings of the forge cannot be used, which is said."""
        from api.node.pull_request_follower import PullRequestFollower

        work_with = self.around_forges()
        if work_with is None:
            return None
        return PullRequestFollower(work_with, self._open_pull_requests, self.follower.has_begun)

    def _open_pull_requests(self) -> "Sequence[str]":
        with self.reading() as db:
            return open_sessions(db)

    async def _begin_readers(self, *, notify: bool) -> "Readers":
        """Start everything that reads all of the views, once these are complete."""
        await self.follower.has_begun()
        if self._mirror:
            self._mirror.start()
        self.snapshots.start(self.records.prepare)
        await asyncio.to_thread(self.search.start)
        notifier = await self._notifier() if notify else None
        readers = Readers(self._telemetry(), notifier)
        for reader in readers:
            if reader is not None:
                self.follower.listen(reader.seen)
                self._rewound.append(reader.rewound)
        return readers

    async def _end_readers(self, beginning: "asyncio.Task[Readers]") -> None:
        beginning.cancel()
        [readers] = await asyncio.gather(beginning, return_exceptions=True)
        if not isinstance(readers, Readers):  # the views were never complete
            return
        if readers.notifier:
            await asyncio.to_thread(self.follower.catch_up)
            await readers.notifier.stop()
        if readers.telemetry:
            await asyncio.to_thread(readers.telemetry.stop)

    def _go_back(self, position: int, head: int) -> None:
        """The log has gone back to `position`, and ends at `head` now. In the follower's thread."""
        _log.warning(
            "the log has gone back, as after a restore or a failover: it ends at position %d now, and only what it had"
            " up to position %d is surely the same; the views are folded again",
            head,
            position,
        )
        self.forgetting.everything()
        self.hub.rewound(position, self.follower.epoch)
        for rewound in (self.live.rewound, *self._rewound):
            rewound(position)
        if self._external is not None:
            self._external.rewound(position)

    def _listeners(self) -> tuple[Listener, ...]:
        """Returns who hears of new events, in this order: first the caches that must forget, and the open streams.
        Those that `running` makes follow."""
        mirror = (self._mirror.seen,) if self._mirror else ()
        return (
            self.forgetting.seen,
            self.hub.seen,
            self.live.seen,
            self.snapshots.seen,
            self._tell_external,
            *mirror,
        )

    def _tell_external(self, page: "Sequence[Recorded]") -> None:
        if self._external is not None:
            self._external.seen(page)

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
        """The number of external workers that wait for a turn."""
        return self._external.waiting() if self._external else 0

    def external_turns(self) -> "ExternalTurns":
        """The turns of external agents; created on first use. Call it in the loop."""
        if self._external is None:
            from adapters.turns.external.turns import external_turns

            self._external = external_turns(
                store=self.store,
                writer=self.writer,
                clock=self.clock,
                team=self.team,
                data_dir=self.settings.node_dir,
                settings=worker_settings(self.settings, self.sandbox),
                live=self.live,
                sharing=self.sharing,
            )
        return self._external

    def _logins(self) -> "Logins":
        settings, vault = self.settings, self.store.vault
        assert vault is not None, "a server's store has keys"
        take_over(vault, settings)
        self._keys = SharedKeys(vault, keys_file(settings))
        return Logins(self._keys, vault, seconds=settings.login_seconds, secret=former_secret(settings.node_dir))

    async def _notifier(self) -> "Notifier | None":
        """The notifier; None if the team file names no receiver."""
        if self.team.notify is None:
            return None
        from api.node.notifier import notifier_of

        return await notifier_of(self.team.notify, self.store, self.settings, self.views, self.follower)

    async def _checkpointer(self) -> "Checkpointer | None":
        """The sender of checkpoints; None if it is not configured."""
        if not self.settings.checkpoint_to:
            return None
        from api.node.checkpointer import checkpointer_of  # signing takes a library

        return checkpointer_of(self.store, self.settings, self.settings.checkpoint_to)

    def _answers(self) -> "AnswerKeeper | None":
        """The maker of answers in advance; None where no command looks for them."""
        if self.settings.log_file is None:
            return None
        keeper = AnswerKeeper(self)
        keeper.start()
        return keeper

    def _telemetry(self) -> "Telemetry | None":
        """Traces and metrics, if the environment says where to send them."""
        signals = telemetry_signals(os.environ)
        if not signals:
            return None
        try:
            from api.node.telemetry import exporting
        except ImportError:
            _log.warning(
                "sending no traces and metrics: OTEL_EXPORTER_OTLP_ENDPOINT is set, but packages are missing; %s",
                install_extra("otel"),
            )
            return None
        return exporting(self.store.history, signals)

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
        self.ground.close()
