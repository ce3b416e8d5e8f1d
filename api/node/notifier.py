"""Notifications: everything that starts to wait for a person is sent to the team's command or webhook, once."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Final, Protocol

import orjson

from adapters.notify.outbox import Notification, Outbox, open_outbox
from adapters.notify.receivers import Receivers
from adapters.notify.settings import NotifySettings
from adapters.store.errors import StoreError
from adapters.store.port import Store
from api.node.settings import Settings
from domain.session.record import Recorded
from domain.values.base import iso, milliseconds
from projections.engine.ports import Views
from projections.sessions import inbox
from projections.views.inbox import WaitingItem

RECEIVERS: Final = ("command", "webhook")
AGAIN_SECONDS: Final = 30.0
"""Seconds until the next try after an error of our own."""
GOODBYE_SECONDS: Final = 5.0
"""Seconds for which a process that ends still sends what is due."""
_REMINDER: Final = ".reminder"
KEPT_MS: Final = 7 * 24 * 3_600_000
"""Milliseconds for which a receiver may be unreachable."""
BACKOFF: Final = (5, 30, 120, 600)
"""Seconds until a notification is tried again; the last one repeats."""
PAUSES: Final = (0, 5, 30, 120)
"""Seconds until the receiver gets another one, after so many failures in a row; the last one repeats."""
LEASE_MS: Final = 120_000
AWAY_SECONDS: Final = 5.0
"""Seconds until the next try while the database is away."""
LOOK_SECONDS: Final = 30.0
"""Seconds between two looks of a sender for what another server has left."""

Send = Callable[[Notification], Awaitable[str | None]]
"""Returns why it failed, or None."""

_log = logging.getLogger(__name__)


class Following(Protocol):
    """The follower, which keeps the views up to date."""

    @property
    def epoch(self) -> int:
        """Returns how often the log has gone back."""

    async def has_begun(self) -> None:
        """Until the views have all events from before this process, or from before the log went back."""


async def notifier_of(
    team: NotifySettings, store: Store, settings: Settings, views: Views, follower: Following
) -> "Notifier":
    """Tells a team's receivers of what has begun to wait since now, and of what is still unsent."""
    receivers = Receivers(team)
    outbox = await asyncio.to_thread(open_outbox, store, settings.outbox_file)
    head, scale = store.head(), settings.retry_seconds
    return Notifier(receivers, outbox, views, follower, store.clock, head=head, scale=scale)


class Notifier:
    """Reads the inbox after each page of events, and keeps what is new. Each receiver has its own sender."""

    def __init__(
        self,
        receivers: Receivers,
        outbox: Outbox,
        views: Views,
        follower: Following,
        clock: Callable[[], int],
        *,
        head: int,
        scale: float,
    ) -> None:
        """`scale`: real seconds in a second of backoff. Raises sqlite3.Error where the outbox cannot be used."""
        self._receivers, self._outbox, self._views, self._clock = receivers, outbox, views, clock
        self._follower = follower
        self._read = outbox.begin(head)
        self._loop = asyncio.get_running_loop()
        self._woken = asyncio.Event()
        self._woken.set()
        self._back: int | None = None
        """The position to which the log has gone back, until that is noted."""
        self._senders = [NotificationSender(name, self._send, outbox, clock, scale=scale) for name in RECEIVERS]
        self._sending = [asyncio.create_task(sender.run()) for sender in self._senders]
        self._reading = asyncio.create_task(self._run())

    def seen(self, page: Sequence[Recorded]) -> None:
        """There are new events; called in the thread that follows the log."""
        if page:
            self._loop.call_soon_threadsafe(self._woken.set)

    def rewound(self, position: int) -> None:
        """The log has gone back to this position; called in the thread that follows the log. What begins to wait after
        it is new, and what waited for events that are gone is not sent."""
        self._loop.call_soon_threadsafe(self._rewind, position)

    def _rewind(self, position: int) -> None:
        self._back = position if self._back is None else min(self._back, position)
        self._woken.set()

    async def stop(self) -> None:
        """Send what is due now, once; the rest is kept. What is being sent is not interrupted for a while: the receiver
        may have it already."""
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)
        with suppress(Exception):  # the process ends anyway; the next start reads it again
            await asyncio.to_thread(self._collect)
        for sender in self._senders:
            sender.end()
        _, late = await asyncio.wait(self._sending, timeout=GOODBYE_SECONDS)
        for task in late:
            task.cancel()
        await asyncio.gather(*self._sending, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            await self._woken.wait()
            self._woken.clear()
            await self._follower.has_begun()  # nobody wakes this again for what the views get later
            try:
                has_new = await asyncio.to_thread(self._collect)
            except StoreError as error:  # the database is away
                _log.warning("what waits for a person is noted for its notification later: %s", error)
                self._woken.set()
                await asyncio.sleep(AWAY_SECONDS)
                continue
            except Exception:  # outermost handler: views or an outbox that cannot be used now are tried again
                _log.exception("what waits for a person could not be noted for its notification")
                self._woken.set()
                await asyncio.sleep(AGAIN_SECONDS)
                continue
            if has_new:
                for sender in self._senders:
                    sender.wake()

    def _collect(self) -> bool:
        """True if something began to wait."""
        has_new = False
        if self._back is not None:
            self._read, self._back = self._outbox.rewind(self._back), None
        while True:
            with self._views.reading() as db:
                waiting = inbox.begun_after(db, self._read, inbox.MOST)
            if not waiting:
                return has_new
            has_new = True
            new = [one for position, item in waiting for one in self._notifications(position, item)]
            self._outbox.add(new, upto=waiting[-1][0], now=self._clock())
            self._read = waiting[-1][0]

    def _notifications(self, position: int, item: WaitingItem) -> list[Notification]:
        data = item.model_dump(mode="json", by_alias=True)
        body = orjson.dumps({"type": "session.waits", "timestamp": item.since, "data": data})
        epoch = self._follower.epoch  # what waits at the same place after the log has gone back is something else
        name, since = f"{item.session_id}.{position}" + (f"-{epoch}" if epoch else ""), milliseconds(item.since)
        sent = [(name, body, since)]
        for number, at in enumerate(item.approval.remind_at if item.approval else (), start=1):
            sent.append((f"{name}{_REMINDER}{number}", b"", milliseconds(at)))
        return [
            Notification(each, position, receiver, words, due, 0, due)
            for each, words, due in sent
            for receiver in self._receivers.names
        ]

    def _reminder(self, one: Notification) -> bytes:
        """The item that still waits, in its current form; empty if it no longer does."""
        with self._views.reading() as db:
            entries = inbox.begun_after(db, one.position - 1, 1)
        if not entries or entries[0][0] != one.position:
            return b""
        at, item = iso(one.since), entries[0][1]
        return orjson.dumps(
            {"type": "session.reminder", "timestamp": at, "data": item.model_dump(mode="json", by_alias=True)}
        )

    async def _send(self, one: Notification) -> str | None:
        """Returns why it could not be sent; None if it was, or nothing waits any more."""
        if not one.body:
            await self._follower.has_begun()
            body = await asyncio.to_thread(self._reminder, one)
            if not body:
                return None
            one = one._replace(body=body)
        return await self._receivers.send(one, self._clock())


class NotificationSender:
    """The sender of what one receiver still has to get. A receiver that hangs or is away delays no other one."""

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
