"""Notifications: everything that starts to wait for a person is sent to the team's command or webhook, once."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

import orjson

from adapters.notify import Notification, Outbox, Receivers
from adapters.store import StoreError
from api.node.sending import AWAY_SECONDS, NotificationSender
from domain.session.record import Recorded
from domain.values.time import iso, milliseconds
from projections.engine.ports import Views
from projections.sessions import inbox
from projections.views.sessions import WaitingItem

RECEIVERS: Final = ("command", "webhook")
AGAIN_SECONDS: Final = 30.0
"""Seconds until the next try after an error of our own."""
GOODBYE_SECONDS: Final = 5.0
"""How long a process that ends still sends what is due."""

_REMINDER: Final = ".reminder"

_log = logging.getLogger(__name__)


class Notifier:
    """Reads the inbox after each page of events, and keeps what is new. Each receiver has its own sender.

    `scale`: real seconds in a second of backoff. Raises sqlite3.Error where the outbox cannot be used.
    """

    def __init__(
        self, receivers: Receivers, outbox: Outbox, views: Views, clock: Callable[[], int], *, head: int, scale: float
    ) -> None:
        self._receivers, self._outbox, self._views, self._clock = receivers, outbox, views, clock
        self._read = outbox.begin(head)
        self._loop = asyncio.get_running_loop()
        self._woken = asyncio.Event()
        self._woken.set()
        self._senders = [NotificationSender(name, self._send, outbox, clock, scale=scale) for name in RECEIVERS]
        self._sending = [asyncio.create_task(sender.run()) for sender in self._senders]
        self._reading = asyncio.create_task(self._run())

    def seen(self, page: Sequence[Recorded]) -> None:
        """There are new events; called in the thread that follows the log."""
        if page:
            self._loop.call_soon_threadsafe(self._woken.set)

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
        """Whether something began to wait."""
        has_new = False
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

    async def _send(self, one: Notification) -> str | None:
        """Why it could not be sent; None if it was, or nothing waits any more."""
        if not one.body:
            body = await asyncio.to_thread(self._reminder, one)
            if not body:
                return None
            one = one._replace(body=body)
        return await self._receivers.send(one, self._clock())
