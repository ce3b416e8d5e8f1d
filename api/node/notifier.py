"""Notifications: everything that starts to wait for a person is sent to the team's command or webhook, once."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Final

import orjson

from adapters.notify import Notification, Outbox, Receivers
from domain.session.record import Recorded
from domain.values.time import iso, milliseconds
from projections.engine.ports import Views
from projections.sessions import inbox
from projections.views.sessions import WaitingItem

KEPT_MS: Final = 7 * 24 * 3_600_000
"""How long a receiver may be unreachable."""
BACKOFF: Final = (5, 30, 120, 600, 3_600)
"""Seconds between tries; the last one repeats."""
LEASE_MS: Final = 120_000
AGAIN_SECONDS: Final = 30.0
"""Seconds until the next try after an error of our own."""
GOODBYE_SECONDS: Final = 5.0
"""How long a process that ends still tries to send what is due."""

_REMINDER: Final = ".reminder"

_log = logging.getLogger(__name__)


class Notifier:
    """Reads the inbox after each page of events, keeps what is new in the outbox, and sends what is due.

    `scale`: real seconds in a second of backoff. Raises sqlite3.Error where the outbox cannot be used.
    """

    def __init__(
        self, receivers: Receivers, outbox: Outbox, views: Views, clock: Callable[[], int], *, head: int, scale: float
    ) -> None:
        self._receivers, self._outbox, self._views = receivers, outbox, views
        self._clock, self._scale = clock, scale
        self._read = outbox.begin(head)
        self._loop = asyncio.get_running_loop()
        self._woken = asyncio.Event()
        self._task = asyncio.create_task(self._run())

    def seen(self, page: Sequence[Recorded]) -> None:
        """There are new events; called in the thread that follows the log."""
        if page:
            self._loop.call_soon_threadsafe(self._woken.set)

    async def stop(self) -> None:
        """Try to send what is due now once more; the rest is kept."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        try:
            async with asyncio.timeout(GOODBYE_SECONDS):
                await self._round()
        except Exception as error:  # the process ends anyway; the outbox keeps what is due
            _log.info("notifications are left for the next start: %r", error)

    async def _run(self) -> None:
        while True:
            self._woken.clear()
            try:
                await self._round()
            except Exception:  # outermost handler: an outbox that cannot be used now is tried again
                _log.exception("notifications could not be sent")
                await asyncio.sleep(AGAIN_SECONDS)
                continue
            due = await asyncio.to_thread(self._outbox.next_due)
            pause = None if due is None else max(0.0, (due - self._clock()) / 1_000)
            try:
                async with asyncio.timeout(pause):
                    await self._woken.wait()
            except TimeoutError:
                continue

    async def _round(self) -> None:
        await asyncio.to_thread(self._collect)
        while (one := await asyncio.to_thread(self._outbox.take, self._clock(), lease=LEASE_MS)) is not None:
            await self._send(one)

    def _collect(self) -> None:
        while True:
            with self._views.reading() as db:
                waiting = inbox.begun_after(db, self._read, inbox.MOST)
            if not waiting:
                return
            self._read = waiting[-1][0]
            new = [one for position, item in waiting for one in self._notifications(position, item)]
            self._outbox.add(new, upto=self._read, now=self._clock())

    def _notifications(self, position: int, item: WaitingItem) -> list[Notification]:
        data = item.model_dump(mode="json", by_alias=True)
        body = orjson.dumps({"type": "session.waits", "timestamp": item.since, "data": data})
        name, since = f"{item.session_id}.{position}", milliseconds(item.since)
        sent = [(name, body, since)]
        for number, at in enumerate(item.approval.remind_at if item.approval else (), start=1):
            sent.append((f"{name}{_REMINDER}{number}", b"", milliseconds(at)))
        return [
            Notification(each, position, receiver, words, due, 0, due)
            for each, words, due in sent
            for receiver in self._receivers.names
        ]

    def _reminder(self, one: Notification) -> bytes:
        """What still waits, in its current form; empty if it no longer does."""
        with self._views.reading() as db:
            entries = inbox.begun_after(db, one.position - 1, 1)
        if not entries or entries[0][0] != one.position:
            return b""
        at, item = iso(one.since), entries[0][1]
        return orjson.dumps(
            {"type": "session.reminder", "timestamp": at, "data": item.model_dump(mode="json", by_alias=True)}
        )

    async def _send(self, one: Notification) -> None:
        if not one.body:
            body = await asyncio.to_thread(self._reminder, one)
            if not body:
                return await asyncio.to_thread(self._outbox.done, one)
            one = one._replace(body=body)
        problem = await self._receivers.send(one, self._clock())
        now = self._clock()
        if problem is None:
            return await asyncio.to_thread(self._outbox.done, one)
        if now - one.since > KEPT_MS:
            _log.warning("gave up notifying the %s of %s: %s", one.receiver, one.id, problem)
            return await asyncio.to_thread(self._outbox.done, one)
        _log.info("the %s could not be notified of %s and is tried again: %s", one.receiver, one.id, problem)
        pause = BACKOFF[min(one.tries, len(BACKOFF) - 1)] * self._scale
        return await asyncio.to_thread(self._outbox.later, one, now + round(pause * 1_000))
