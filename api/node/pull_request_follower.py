"""Follows the pull requests of all sessions that ask for it, one task each; one session's fault stops no other one."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Final

from adapters.pull_requests.claims import PullRequestClaim
from adapters.pull_requests.record import Around
from api.node.pull_requests import PullRequestRounds
from domain.session.record import Recorded
from domain.values.base import HansardError

_log = logging.getLogger(__name__)

_LOOK_SECONDS: Final = 30.0
"""Seconds between two looks for pull requests that another process has opened."""

OpenSessions = Callable[[], Sequence[str]]
"""The sessions with a pull request that is not over."""


class PullRequestFollower:
    """Follows every pull request that is not over, each in a task of its own. A round begins when its time has come,
    when a hook wakes it, and when its session has new events."""

    def __init__(self, around: Around, open_sessions: OpenSessions, has_begun: Callable[[], Awaitable[None]]) -> None:
        """`has_begun` waits until the views have everything from before this process."""
        self._around, self._open, self._has_begun = around, open_sessions, has_begun
        self._loop = asyncio.get_running_loop()
        self._woken: dict[str, asyncio.Event] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._new = asyncio.Event()
        self._new.set()
        self._task = asyncio.create_task(self._run())

    def seen(self, page: Sequence[Recorded]) -> None:
        """There are new events; called in the thread that follows the log."""
        names = {recorded.session_id for recorded in page}
        if any(recorded.event.TOPIC.startswith("forge.") for recorded in page) or names & self._woken.keys():
            self._loop.call_soon_threadsafe(self._wake, names)

    def rewound(self, _: int) -> None:
        """The log has gone back; called in the thread that follows it."""
        self._loop.call_soon_threadsafe(self.wake)

    def wake(self) -> None:
        """Ask the forge now, about every pull request."""
        self._wake(set(self._woken))

    def _wake(self, names: set[str]) -> None:
        for name in names & self._woken.keys():
            self._woken[name].set()
        self._new.set()

    async def stop(self) -> None:
        """End all rounds. What was requested is done by the next process."""
        tasks = [self._task, *self._tasks.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            self._new.clear()
            await self._has_begun()
            try:
                for name in await asyncio.to_thread(self._open):
                    self._begin(name)
            except Exception as error:  # outermost handler: views that cannot be read now are read again
                _log.warning("pull requests are looked for again: %s", error)
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_SECONDS):
                    await self._new.wait()

    def _begin(self, name: str) -> None:
        task = self._tasks.get(name)
        if task is None or task.done():
            self._woken.setdefault(name, asyncio.Event())
            self._tasks[name] = asyncio.create_task(self._follow(name))

    async def _follow(self, name: str) -> None:
        with self._around.claims.of(name) as claim:
            if await asyncio.to_thread(claim.holds):
                await self._rounds(name, claim)

    async def _rounds(self, name: str, claim: PullRequestClaim) -> None:
        rounds = PullRequestRounds(self._around, name)
        try:
            while True:
                self._woken[name].clear()
                try:
                    pause = await rounds.round()
                except HansardError as error:  # the log or the workspace cannot be used now
                    _log.warning("%s: its pull request is looked at again: %s", name, error)
                    pause = self._around.settings.poll_seconds
                if pause is None:
                    return
                with suppress(TimeoutError):
                    async with asyncio.timeout(pause):
                        await self._woken[name].wait()
                if not await asyncio.to_thread(claim.holds):  # the database was away, and another process may have it
                    return
        except Exception:  # outermost handler: one session's fault stops no other one
            _log.exception("%s: its pull request is not followed any more", name)
        finally:
            self._woken.pop(name, None)
            await rounds.close()
