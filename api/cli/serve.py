"""`serve` and `worker`: the processes that stay."""

import asyncio
import contextlib
import gc
import logging
import signal
import socket
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import uvicorn
from cyclopts import Parameter, validators
from uvicorn.loops.auto import auto_loop_factory

from api.cli import exits
from api.cli.labels import sentence
from api.cli.listener import listener_of
from api.cli.open_doors import refuse_an_open_database, refuse_an_open_server
from api.cli.options import TEAM, Where
from api.cli.stderr_log import Full, log_to_stderr
from api.cli.terminal import counted, say

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from api.node.settings import Settings
    from api.system import System
    from api.worker import WorkerProcess

_SHUTDOWN_SECONDS = 5
_CATCH_UP_SECONDS = 0.5
"""How long the first request may wait for views that lag behind, as all of them do after an upgrade."""
_SEARCH_SECONDS = 0.5
"""How long a search may wait for an index that lags behind."""
_TICK_SECONDS = 1.0  # how often the Date of the answers is renewed
_FIRST_GUESTS_SECONDS = 2.0
ALLOCATIONS = 2_000
"""New objects between garbage collections: one takes a few milliseconds, during which no request is answered."""
_EVERY_ADDRESS = ("0.0.0.0", "::")  # noqa: S104 - compared with, not listened on

log = logging.getLogger(__name__)


def serve(
    *,
    host: str | None = None,
    port: int | None = None,
    database: str | None = None,
    team: Annotated[Path | None, Parameter(help=TEAM)] = None,
    example: bool = False,
    no_work: bool = False,
) -> int:
    """Serve the page and the API, update the views and run turns until Ctrl-C.

    Parameters
    ----------
    host
        The address to listen on. HANSARD_HOST; default: 127.0.0.1. HANSARD_AUTH=off requires loopback.
    port
        The port; 0 picks a free one. HANSARD_PORT; default: 8000.
    database
        The log: a file, or a postgresql:// URL. HANSARD_DATABASE; default: a file in your data directory.
    example
        Without a team file, let the scripted example team answer. Run the example delivery first when the log is empty.
    no_work
        Run no turns here; leave them to `hansard worker` processes and external agents.
    """
    settings = Where(database=database).settings(team=team, host=host, port=port, example=example or None)
    _refuse_malformed(settings)
    refuse_an_open_server(settings)
    refuse_an_open_database(settings)
    log_to_stderr(Full())
    with asyncio.Runner(loop_factory=auto_loop_factory()) as runner:
        return runner.run(_served(settings, example=example, no_work=no_work))


def _refuse_malformed(settings: "Settings") -> None:
    """Look at all of the log before anything is accepted. Raises Broken."""
    if settings.log_file is not None:
        from adapters.store.sqlite.soundness import refuse_malformed

        refuse_malformed(settings.log_file)


async def _served(settings: "Settings", *, example: bool, no_work: bool) -> int:
    with listener_of(settings) as listener:
        from api.app import create_app
        from api.http.protocol import HttpProtocol
        from api.node.owner import noted
        from api.system import Patience

        patience = Patience(views=_CATCH_UP_SECONDS, search=_SEARCH_SECONDS)
        app = create_app(settings, work=not no_work, notify=True, patience=patience)
        config = uvicorn.Config(
            app,
            http=partial(HttpProtocol, patience=settings.receive_seconds),  # type: ignore[arg-type]  # makes protocols all the same
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            ws="none",
            timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
        )
        with noted(settings, listener.getsockname()[1]):
            async with app.router.lifespan_context(app):
                if no_work:
                    say(sentence("Not running turns; start `hansard worker` for that."))
                await _Server(config, app, settings, example=example).serve(sockets=[listener])
    say(sentence("Stopped."))
    return exits.OK


class _Server(uvicorn.Server):
    """Announces itself once it listens, and ends open streams on a stop signal (uvicorn would wait for them)."""

    def __init__(self, config: uvicorn.Config, app: "Starlette", settings: "Settings", *, example: bool) -> None:
        super().__init__(config)
        self._system: System = app.state.system
        self._settings, self._example = settings, example
        self._starting: asyncio.Task[None] | None = None
        self._settling: asyncio.Task[None] | None = None
        self._told = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        _announce(self._system, self._settings, sockets or [])
        if self._example and self._system.store.head() == 0:
            self._starting = asyncio.create_task(_begin_example(self._system))
        self._settling = asyncio.create_task(_settle())

    async def main_loop(self) -> None:
        """uvicorn's own polls ten times a second for a stop signal; this one is woken."""
        while not await self.on_tick(0):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._told.wait(), timeout=_TICK_SECONDS)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._system.release_waiting()
        super().handle_exit(sig, frame)
        self._told.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """uvicorn's own raises the signal again afterwards, which would skip the giving back of the log."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)


async def _settle() -> None:
    """Compile the templates once the first clients are served; the garbage collector never visits all that again."""
    await asyncio.sleep(_FIRST_GUESTS_SECONDS)
    gc.freeze()
    await asyncio.to_thread(_warm)
    gc.collect()
    gc.freeze()
    gc.set_threshold(ALLOCATIONS)


def _warm() -> None:
    from api.web.renderer import warm

    warm()


def _announce(system: "System", settings: "Settings", sockets: list[socket.socket]) -> None:
    from api.node.owner import account

    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    for listener in sockets:
        say(sentence("Hansard is serving on {address}", address=f"http://{host}:{listener.getsockname()[1]}"))
    if system.logins is None:
        say(sentence("  keys  off (HANSARD_AUTH=off): everyone on this machine may do everything"))
    elif sockets:
        name = "127.0.0.1" if settings.host in _EVERY_ADDRESS else host
        token = system.logins.link(account())
        link = f"http://{name}:{sockets[0].getsockname()[1]}/login?once={token}"
        say(sentence("  open  {link}  (one-time sign-in link)", link=link))
    _announce_work(system, settings)
    if settings.host in _EVERY_ADDRESS and not settings.allowed_hosts:
        say(sentence("  names  only this machine's own host names are accepted; add others with HANSARD_ALLOWED_HOSTS"))
    say(sentence("Press Ctrl-C to stop."))


def _announce_work(process: "System | WorkerProcess", settings: "Settings") -> None:
    from adapters.fence.choice import fenced_by

    say(sentence("  log   {log}", log=settings.log_name))
    if process.team.example and not settings.example:
        say(
            sentence(
                "  team  none: starts are refused; `hansard init` writes a team file, --example uses the scripted team"
            )
        )
    elif process.team.example:
        say(sentence("  team  the scripted example team, which does no real work"))
    else:
        agents = counted(len(process.team.agents), "agent")
        say(sentence("  team  {file} ({agents})", file=settings.team, agents=agents))
    say(sentence("  fence {fence}", fence=sentence(fenced_by(process.sandbox))))


async def _begin_example(system: "System") -> None:
    from api.example import run_example
    from domain.values.base import HansardError

    try:
        say(sentence("  example delivery: {session}", session=await run_example(system)))
    except HansardError as error:
        log.warning("the example delivery failed to start: %s", error)
    except Exception:  # the server continues without it
        log.exception("the example delivery failed to start")


async def worker(
    *,
    slots: Annotated[int | None, Parameter(validator=validators.Number(gte=1, lte=256))] = None,
    database: str | None = None,
    team: Annotated[Path | None, Parameter(help=TEAM)] = None,
) -> int:
    """Run turns, and nothing else, until Ctrl-C or SIGTERM; unfinished turns are then released.

    Any number of workers can share a log, with or without `hansard serve` and with the same team file: on the log's
    machine, with PostgreSQL on any. If one dies, another takes over its turns at once.

    Parameters
    ----------
    slots
        How many turns to run at once. HANSARD_WORKER_SLOTS; default: 8.
    database
        The log: a file, or a postgresql:// URL. HANSARD_DATABASE; default: a file in your data directory.
    """
    settings = Where(database=database).settings(team=team, worker_slots=slots)
    _refuse_malformed(settings)
    refuse_an_open_database(settings)
    log_to_stderr(Full())
    from api.worker import WorkerProcess

    process = WorkerProcess(settings)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, process.stop)
    _announce_worker(process, settings)
    try:
        await process.run()
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
    say(sentence("Stopped."))
    return exits.OK


def _announce_worker(process: "WorkerProcess", settings: "Settings") -> None:
    running = "Hansard is running turns, up to {slots} at once, as {name}"
    say(sentence(running, slots=settings.worker_slots, name=process.name))
    _announce_work(process, settings)
    say(sentence("Press Ctrl-C to stop."))
