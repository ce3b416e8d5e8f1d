"""The server of `hansard serve`: the application behind an address, until a signal ends it."""

import asyncio
import contextlib
import gc
import logging
import signal
import socket
from collections.abc import Iterator
from functools import partial
from types import FrameType

import uvicorn
from starlette.applications import Starlette

from api.app import create_app
from api.cli import exits
from api.cli.announcement import announce_work
from api.cli.labels import sentence
from api.cli.terminal import say
from api.example import run_example
from api.http.protocol import HttpProtocol
from api.node.owner import account, noted
from api.node.settings import Settings
from api.system import Patience, System
from api.web.renderer import warm
from domain.values.base import HansardError

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


async def served(listener: socket.socket, settings: Settings, *, example: bool, no_work: bool) -> int:
    """Serves until a signal ends it. Returns the exit code."""
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

    def __init__(self, config: uvicorn.Config, app: Starlette, settings: Settings, *, example: bool) -> None:
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
    await asyncio.to_thread(warm)
    gc.collect()
    gc.freeze()
    gc.set_threshold(ALLOCATIONS)


def _announce(system: System, settings: Settings, sockets: list[socket.socket]) -> None:
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
    announce_work(system, settings)
    if settings.host in _EVERY_ADDRESS and not settings.allowed_hosts:
        say(sentence("  names  only this machine's own host names are accepted; add others with HANSARD_ALLOWED_HOSTS"))
    say(sentence("Press Ctrl-C to stop."))


async def _begin_example(system: System) -> None:
    try:
        say(sentence("  example delivery: {session}", session=await run_example(system)))
    except HansardError as error:
        log.warning("the example delivery failed to start: %s", error)
    except Exception:  # the server continues without it
        log.exception("the example delivery failed to start")
