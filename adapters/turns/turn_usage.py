"""Keeps with the lease of a turn what its running attempt has used.

Only the process that runs an attempt knows what its program has reported. Whoever ends the turn, in another process or
on another machine, finds it in the turn's row and records it.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final, Protocol

from pydantic import ValidationError

from adapters.store.turns import Turns
from domain.session.attempt_ends import WorkSoFar
from domain.values.base import Usage, Value

log = logging.getLogger(__name__)
_PAUSE: Final = 0.2
"""Seconds from what a program prints to the figures in the row."""
_SHARE: Final = 10
"""At most one part in so many of the time is spent on reading long outputs again."""


class KeptUsage(Value):
    """The contents of the row: when the attempt began, in milliseconds, and what it has used."""

    since: int
    usage: Usage = Usage()


class Counted(Protocol):
    """An attempt that runs here."""

    turn_id: str
    number: int
    began: int
    heard: Callable[[], None]
    """Called from any thread whenever there may be more to count."""

    def usage(self) -> Usage: ...


def usage_elsewhere(turns: Turns, turn_id: str, now: int) -> WorkSoFar | None:
    """Returns what the attempt that holds the turn has used, wherever it runs; None where nothing is kept."""
    row = turns.usage(turn_id)
    if row is None:
        return None
    try:
        used = KeptUsage.model_validate_json(row.used)
    except ValidationError:  # a damaged row loses a figure, but must never stop a command
        return None
    return WorkSoFar(attempt=row.attempt, seconds=max(0, now - used.since) / 1000, usage=used.usage)


@asynccontextmanager
async def keep_usage(turns: Turns, attempt: Counted) -> AsyncIterator[None]:
    """Keep meanwhile what the attempt has used."""
    loop, news = asyncio.get_running_loop(), asyncio.Event()

    def heard() -> None:
        if not news.is_set():
            with suppress(RuntimeError):  # its loop is closed
                loop.call_soon_threadsafe(news.set)

    attempt.heard = heard
    keeping = asyncio.create_task(_keep_on(turns, attempt, news))
    try:
        yield
    finally:
        keeping.cancel()


async def _keep_on(turns: Turns, attempt: Counted, news: asyncio.Event) -> None:
    before: Usage | None = None
    pause = _PAUSE
    while True:
        await asyncio.sleep(pause)
        news.clear()
        began = time.monotonic()
        try:
            before = await asyncio.to_thread(_keep_once, turns, attempt, before)
        except Exception:  # figures that are missing must never stop a turn
            log.warning("what %s has used could not be kept", attempt.turn_id, exc_info=True)
        pause = max(_PAUSE, (time.monotonic() - began) * _SHARE)
        await news.wait()


def _keep_once(turns: Turns, attempt: Counted, before: Usage | None) -> Usage:
    """Keep what the attempt has used if that is not what was kept before. Blocks."""
    usage = attempt.usage()
    if usage != before:
        used = KeptUsage(since=attempt.began, usage=usage)
        turns.keep_usage(attempt.turn_id, attempt.number, used.model_dump_json(exclude_defaults=True))
    return usage
