"""The log of a process on stderr, where the same complaint is not repeated all the time."""

import logging
import os
from collections import OrderedDict
from collections.abc import Callable
from math import inf
from time import monotonic
from typing import Final, NamedTuple

from api.cli.terminal import visible
from api.node.recent import remember

PAUSE: Final = 60.0
"""Seconds until the same message is printed again, doubled each time; after a quiet time as long, it counts as new."""
_LONGEST: Final = 3_600.0
_KNOWN: Final = 1_000
"""Of so many different complaints, the last ones, it is remembered when they were made."""


class _Said(NamedTuple):
    """A complaint: when it was made last, when it is let through again, and the pause after that."""

    at: float = -inf
    due: float = -inf
    pause: float = PAUSE


class RateLimit(logging.Filter):
    """A filter for what is complained of again and again (the disk is full): lets it through once, then after ever
    longer pauses."""

    def __init__(self, now: Callable[[], float] = monotonic) -> None:
        super().__init__()
        self._now = now
        self._said: OrderedDict[tuple[str, str], _Said] = OrderedDict()

    def filter(self, record: logging.LogRecord) -> bool:
        now, what = self._now(), (record.name, _record_words(record))
        before = self._said.pop(what, _Said())
        if now - before.at > PAUSE:
            before = _Said()
        due = now >= before.due
        after = _Said(now, now + before.pause, min(before.pause * 2, _LONGEST)) if due else before._replace(at=now)
        remember(self._said, what, after, _KNOWN)
        return due


class OneLine(logging.Formatter):
    """An exception is shown by its message."""

    def format(self, record: logging.LogRecord) -> str:
        return visible(f"hansard: {record.levelname.lower()}: {_record_words(record)}")


class Full(logging.Formatter):
    """With time and traceback; an error that is a sentence has none. Requests and agents' words are other people's."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        error = record.exc_info[1] if record.exc_info else None
        if _is_sentence(error) and not os.environ.get("HANSARD_DEBUG"):
            plain = {"msg": _record_words(record), "args": None, "exc_info": None, "exc_text": None}
            record = logging.makeLogRecord(record.__dict__ | plain)
        return visible(super().format(record))


def log_to_stderr(formatter: logging.Formatter) -> None:
    """Warnings and errors, from now on in this form."""
    handler = logging.StreamHandler()
    handler.setFormatter(formatter)
    handler.addFilter(RateLimit())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)


def _record_words(record: logging.LogRecord) -> str:
    """The message, and why; an error that is none of ours is named, too."""
    error = record.exc_info[1] if record.exc_info else None
    if error is None:
        return record.getMessage()
    return f"{record.getMessage()}: {error if _is_sentence(error) else f'{type(error).__name__}: {error}'}"


def _is_sentence(error: BaseException | None) -> bool:
    """True if the error's words say all that there is to know."""
    from domain.values.base import HansardError

    return isinstance(error, HansardError | OSError)
