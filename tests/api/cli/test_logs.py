"""Log messages: once per reason, then rarely, and without a traceback when the message is enough."""

import logging
from collections.abc import Callable

import pytest

from api.cli.stderr_log import PAUSE, Full, OneLine, RateLimit
from domain.values.base import HansardError


def record(message: str, *args: object, error: Exception | None = None) -> logging.LogRecord:
    if error is None:
        return logging.LogRecord("hansard", logging.ERROR, __file__, 1, message, args, None)
    with pytest.raises(type(error)) as raised:
        raise error
    text = (raised.type, raised.value, raised.tb)
    return logging.LogRecord("hansard", logging.ERROR, __file__, 1, message, args, text)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def let_through(*, every: float, times: int, made: Callable[[int], logging.LogRecord]) -> list[float]:
    """The times at which a repeated message passes the filter."""
    clock = Clock()
    seldom, passed = RateLimit(clock), []
    for number in range(times):
        clock.now = number * every
        if seldom.filter(made(number)):
            passed.append(clock.now)
    return passed


def test_repeated_messages_are_logged_at_growing_intervals() -> None:
    passed = let_through(every=0.5, times=1_200, made=lambda _: record("no", error=HansardError("The disk is full.")))
    assert passed == [0, PAUSE, 3 * PAUSE, 7 * PAUSE]


def test_new_reason_is_logged_at_once() -> None:
    reasons = ("full", "locked", "full", "locked")
    passed = let_through(every=1, times=4, made=lambda n: record("no", error=HansardError(reasons[n])))
    assert passed == [0, 1]
    assert let_through(every=1, times=4, made=lambda n: record("turn %d is lost", n)) == [0, 1, 2, 3]


def test_message_is_logged_again_after_a_pause() -> None:
    clock = Clock()
    seldom = RateLimit(clock)
    for clock.now in (0, 10, 50, 60, 100):
        seldom.filter(record("no"))
    clock.now = 100 + PAUSE
    assert not seldom.filter(record("no"))
    clock.now += PAUSE + 1
    assert seldom.filter(record("no"))


@pytest.mark.parametrize("error", [HansardError("The disk is full."), OSError("The disk is full.")])
def test_an_error_that_is_a_sentence_has_no_traceback(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    failed = record("nothing can be done", error=error)
    assert Full().format(failed).endswith(" ERROR hansard: nothing can be done: The disk is full.")
    assert OneLine().format(failed) == "hansard: error: nothing can be done: The disk is full."
    monkeypatch.setenv("HANSARD_DEBUG", "1")
    assert "Traceback" in Full().format(failed)


def test_unexpected_error_has_a_traceback_in_the_full_log() -> None:
    failed = record("nothing can be done: 100%", error=ValueError("odd\x1b"))
    assert "Traceback" in Full().format(failed)
    assert OneLine().format(failed) == "hansard: error: nothing can be done: 100%: ValueError: odd⟦U+001B⟧"
    assert OneLine().format(record("%d%%", 3)) == "hansard: error: 3%"
