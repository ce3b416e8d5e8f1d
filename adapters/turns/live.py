"""Shows what agents are doing right now: a short ring buffer of frames per turn, only in memory. Events record what is
kept."""

import asyncio
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice, takewhile
from typing import Final, NamedTuple

from adapters.agents.activity import Activity
from adapters.agents.attempt import UNKNOWN, Doing
from adapters.store.turns import Turns
from adapters.turns.turn_usage import usage_elsewhere
from domain.session.activity import ActivitySummary
from domain.session.attempt_ends import WorkSoFar
from domain.session.record import Recorded
from domain.session.turns import Settled
from domain.values.base import Blob, Usage, iso

FRAMES: Final = 1_000
"""Number of frames that are kept per turn; the oldest are dropped."""
TURNS: Final = 200
"""Number of turns whose frames are kept; more only while more than these run."""


class Frame(Activity):
    """An activity with its place in the turn, counted from 1, and its time (ISO)."""

    seq: int
    at: str


class _KeptFrame(NamedTuple):
    """The contents of a frame, made when it is read."""

    seq: int
    at: int
    seen: Activity

    def frame(self) -> Frame:
        fields = {name: getattr(self.seen, name) for name in Activity.model_fields}
        return Frame(seq=self.seq, at=iso(self.at), **fields)


class _Ring:
    """The newest frames of a turn, and how many it has had."""

    def __init__(self) -> None:
        self.frames: deque[_KeptFrame] = deque(maxlen=FRAMES)
        self.count = 0

    def add(self, at: int, seen: Activity) -> None:
        self.count += 1
        self.frames.append(_KeptFrame(self.count, at, seen))


class RunningAttempt:
    """One attempt of a turn, while it runs. From any thread."""

    def __init__(self, live: "Live", ring: _Ring, turn_id: str, number: int) -> None:
        self._live, self._ring, self.turn_id, self.number = live, ring, turn_id, number
        self.began = live.clock()
        self._doing = Doing(live.clock)
        self._reported: Callable[[], Usage] = Usage
        self.heard: Callable[[], None] = lambda: None
        """Called from any thread whenever there may be more to count."""

    def observe(self, seen: Activity) -> None:
        """The agent did or said something."""
        live = self._live
        with live.lock:
            self._ring.add(live.clock(), seen)
            self._doing.see(seen)
        self.heard()
        live.wake(self.turn_id)
        live.stir()

    @property
    def denied(self) -> bool:
        """True if one of its tool calls was denied so far."""
        with self._live.lock:
            return self._doing.was_denied

    def transcribe(self, line: str) -> None:
        """The agent's program printed a line."""
        with self._live.lock:
            self._doing.hear(line)
        self.heard()

    def activity(self) -> tuple[ActivitySummary, tuple[Blob, ...]] | None:
        """The outcome as it would be recorded now."""
        with self._live.lock:
            return self._doing.activity()

    def meter(self, reported: Callable[[], Usage]) -> None:
        """Ask this function from now on what the agent's program has reported to have used."""
        self._reported = reported

    def usage(self) -> Usage:
        """Return what it has used so far: what the program reports of the whole attempt, else the sum of its calls."""
        reported = self._reported()
        with self._live.lock:
            return self._doing.usage() if reported == UNKNOWN else reported

    def so_far(self) -> WorkSoFar:
        """The outcome to record if it is ended now."""
        activity, blobs = self.activity() or (None, ())
        seconds = max(0, self._live.clock() - self.began) / 1000
        return WorkSoFar(attempt=self.number, seconds=seconds, usage=self.usage(), activity=activity, blobs=blobs)


class Bell:
    """Rings, in the listener's loop, whenever there is a new frame or the turn may have ended."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.rung = asyncio.Event()
        self._may_be_over = True

    def hush(self) -> bool:
        """Be silent until something new happens. Whether the turn may have ended since the last time."""
        self.rung.clear()
        over = self._may_be_over
        if over:
            self._may_be_over = False
        return over

    def ring(self, *, over: bool) -> None:
        """From any thread."""
        if over:
            self._may_be_over = True
        with suppress(RuntimeError):  # its loop is closed
            self._loop.call_soon_threadsafe(self.rung.set)


class Live:
    """The turns that run in this process, or ran until recently. From any thread."""

    def __init__(
        self, clock: Callable[[], int], stir: Callable[[], None] = lambda: None, turns: Turns | None = None
    ) -> None:
        """`stir` is called from any thread whenever an agent did or said something. With `turns`, attempts keep what
        they have used in their rows, for other processes."""
        self.clock, self.stir, self.turns, self.lock = clock, stir, turns, threading.RLock()
        self._rings: OrderedDict[str, _Ring] = OrderedDict()
        self._running: dict[str, RunningAttempt] = {}
        self._since: dict[str, int] = {}
        self.closed = False
        self._listeners: dict[str, list[Bell]] = {}

    @contextmanager
    def running(self, turn_id: str, number: int) -> Iterator[RunningAttempt]:
        """An attempt at the turn that asks an agent."""
        attempt = self.attempt(turn_id, number)
        with self.lock:
            self._running[turn_id] = attempt
        try:
            yield attempt
        finally:
            with self.lock:
                if self._running.get(turn_id) is attempt:
                    del self._running[turn_id]

    def so_far(self, turn_id: str) -> WorkSoFar | None:
        """The activity so far of the attempt that runs here; of one elsewhere, what it has used."""
        with self.lock:
            attempt = self._running.get(turn_id)
        if attempt is not None:
            return attempt.so_far()
        return None if self.turns is None else usage_elsewhere(self.turns, turn_id, self.clock())

    def attempt(self, turn_id: str, number: int = 1) -> RunningAttempt:
        """An attempt of the turn begins. Its frames continue the numbers of the previous one."""
        with self.lock:
            ring = self._rings.setdefault(turn_id, _Ring())
            self._rings.move_to_end(turn_id)
            self._since[turn_id] = self.clock()
            self._drop_oldest(spared=turn_id)
            return RunningAttempt(self, ring, turn_id, number)

    def forget(self, session_id: str | None) -> None:
        """Drop the frames of a session from which a text was taken out, or of all (None). Later ones continue their
        numbers."""
        with self.lock:
            for turn_id, ring in self._rings.items():
                if session_id in (None, turn_id.rpartition(".")[0]):
                    ring.frames.clear()

    def _drop_oldest(self, *, spared: str) -> None:
        """The turns that began longest ago, but never one that runs: someone may be watching it."""
        over = len(self._rings) - TURNS
        if over > 0:
            ended = (name for name in self._rings if name != spared and name not in self._running)
            for name in list(islice(ended, over)):
                del self._rings[name], self._since[name]

    def frames(self, turn_id: str, *, after: int = 0) -> tuple[Frame, ...]:
        """The frames with a higher number; empty for a turn that does not run here."""
        with self.lock:
            newest_first = takewhile(lambda entry: entry.seq > after, self._newest_first(turn_id))
            frames = list(newest_first)[::-1]
        return tuple(entry.frame() for entry in frames)

    def newest(self, turn_id: str, most: int) -> tuple[tuple[int, Activity], ...]:
        """The last activity, with its place in the turn; empty for a turn that does not run here."""
        with self.lock:
            newest_first = list(islice(self._newest_first(turn_id), most))
        return tuple((entry.seq, entry.seen) for entry in reversed(newest_first))

    def _newest_first(self, turn_id: str) -> Iterator[_KeptFrame]:
        ring = self._rings.get(turn_id)
        return reversed(ring.frames) if ring else iter(())

    def since(self, turn_id: str) -> int | None:
        """Returns when the present attempt began here, in milliseconds."""
        with self.lock:
            return self._since.get(turn_id)

    @contextmanager
    def listening(self, turn_id: str) -> Iterator[Bell]:
        """A bell in the caller's loop."""
        listener = Bell()
        with self.lock:
            self._listeners.setdefault(turn_id, []).append(listener)
        try:
            yield listener
        finally:
            with self.lock:
                others = [other for other in self._listeners[turn_id] if other is not listener]
                self._listeners[turn_id] = others
                if not others:
                    del self._listeners[turn_id]

    def wake(self, turn_id: str, *, over: bool = False) -> None:
        with self.lock:
            listeners = tuple(self._listeners.get(turn_id, ()))
        for listener in listeners:
            listener.ring(over=over)

    def close(self) -> None:
        """End the stream: listeners are notified."""
        self.closed = True
        for turn_id in tuple(self._listeners):
            self.wake(turn_id, over=True)

    def rewound(self, _: int) -> None:
        """Have the listeners of an attempt look again after the log has gone back: its turn may be gone."""
        for turn_id in tuple(self._listeners):
            self.wake(turn_id, over=True)

    def seen(self, page: Sequence[Recorded]) -> None:
        """New events: turns have ended."""
        for recorded in page:
            if isinstance(recorded.event, Settled):
                self.wake(recorded.event.turn_id, over=True)
