"""Sending notifications to one receiver: the longest due first, and after a failure not at once."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from adapters.notify import Notification, Outbox
from adapters.store import StoreError

KEPT_MS: Final = 7 * 24 * 3_600_000
"""How long a receiver may be unreachable."""
BACKOFF: Final = (5, 30, 120, 600)
"""Seconds until a notification is tried again; the last one repeats."""
PAUSES: Final = (0, 5, 30, 120)
"""Seconds until the receiver gets another one, after so many failures in a row; the last one repeats."""
LEASE_MS: Final = 120_000
AGAIN_SECONDS: Final = 30.0
"""Seconds until the next try after an error of our own."""
AWAY_SECONDS: Final = 5.0
"""Seconds until the next try while the database is away."""
LOOK_SECONDS: Final = 30.0
"""How often a sender looks for what another server has left."""

Send = Callable[[Notification], Awaitable[str | None]]
"""Returns why it failed, or None."""

_log = logging.getLogger(__name__)


class NotificationSender:
    """What one receiver still has to get. A receiver that hangs or is away delays no other one."""

    def __init__(self, receiver: str, send: Send, outbox: Outbox, clock: Callable[[], int], *, scale: float) -> None:
        self._receiver, self._send, self._outbox = receiver, send, outbox
        self._clock, self._scale = clock, scale
        self._failures = 0
        self._woken, self._ending = asyncio.Event(), asyncio.Event()

    def wake(self) -> None:
        """There may be something new."""
        self._woken.set()

    def end(self) -> None:
        """Stop after what is due now, or at the next failure."""
        self._ending.set()
        self._woken.set()

    async def run(self) -> None:
        """Send until `end`."""
        last = False
        while not last:
            last = self._ending.is_set()
            self._woken.clear()
            try:
                await self._round()
                due = await asyncio.to_thread(self._outbox.next_due, self._receiver)
            except StoreError as error:  # the database is away
                _log.warning("notifications of the %s are sent later: %s", self._receiver, error)
                await self._pause(AWAY_SECONDS)
                continue
            except Exception:  # outermost handler: an outbox that cannot be used now is tried again
                _log.exception("notifications of the %s could not be sent", self._receiver)
                await self._pause(AGAIN_SECONDS)
                continue
            if not last:
                seconds = LOOK_SECONDS if due is None else max(0.0, (due - self._clock()) / 1_000)
                with suppress(TimeoutError):
                    async with asyncio.timeout(min(seconds, LOOK_SECONDS)):
                        await self._woken.wait()

    async def _round(self) -> None:
        """Send what is due; once this is to end, only up to the first failure."""
        while (one := await self._next()) is not None:
            problem = await self._send(one)
            now = self._clock()
            if problem is None:
                await asyncio.to_thread(self._outbox.done, one)
                if self._failures:
                    await asyncio.to_thread(self._outbox.hurry, self._receiver, now, lease=LEASE_MS)
                self._failures = 0
                continue
            self._failures += 1
            await asyncio.to_thread(self._failed, one, problem, now)
            if self._ending.is_set():
                return
            await self._pause(PAUSES[min(self._failures, len(PAUSES)) - 1] * self._scale)

    async def _next(self) -> Notification | None:
        return await asyncio.to_thread(self._outbox.take, self._receiver, self._clock(), lease=LEASE_MS)

    def _failed(self, one: Notification, problem: str, now: int) -> None:
        if now - one.since > KEPT_MS:
            _log.warning("gave up notifying the %s of %s: %s", one.receiver, one.id, problem)
            return self._outbox.done(one)
        _log.info("the %s could not be notified of %s and is tried again: %s", one.receiver, one.id, problem)
        pause = BACKOFF[min(one.tries, len(BACKOFF) - 1)] * self._scale
        return self._outbox.later(one, now + round(pause * 1_000))

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._ending.wait()
