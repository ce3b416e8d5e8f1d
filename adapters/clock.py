"""The clock: wall time that no jump of the system clock can move while the process lives."""

import time


class Clock:
    """Milliseconds since 1970, read from the wall clock once and then counted by a clock that only goes forward.

    Where the system has one, that clock also counts while the machine sleeps, so that deadlines keep running.
    """

    def __init__(self) -> None:
        self._id = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
        self._wall = time.time_ns()
        self._start = time.clock_gettime_ns(self._id)

    def __call__(self) -> int:
        return (self._wall + time.clock_gettime_ns(self._id) - self._start) // 1_000_000
