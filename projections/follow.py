"""Following the log: one loop that updates the views and notifies listeners.

Views carry their own positions, shared with other processes; listeners follow this follower's own cursor, so that
each of them gets every event once whatever another process has folded meanwhile. Views that are far behind, as after an
upgrade, are folded a page at a time; only their readers wait for them.
"""

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from domain.session.record import Omitted, Recorded, Sight
from projections.catalogue import PROJECTIONS
from projections.engine import witness
from projections.engine.fold import PAGE, Folding, LogPage, ViewProblem, are_there, read
from projections.engine.ports import OMITTED, Database, EventLog, Projection, Views
from projections.engine.rebuild import merge, refold

GATHERING, LONGEST_GATHERING = 0.01, 0.05
"""Seconds for which events gather to a page, unless a reader waits for one: a page costs more than its events."""
SHARE: Final = 5
"""Events gather for so many times as long as the last pages took: following leaves the machine to those who work."""
YIELDING = 0.005
"""Seconds between two pages of views that are behind, while commands wait."""
_PATIENCE = 60.0
LONGEST_POLL = 1.0
"""Seconds: a wake-up is a hint that may get lost, the poll is not (P10)."""

TRAIL: Final = 1_000
"""Pages that are remembered by their last event, to know how far a log has gone back."""

Listener = Callable[[Sequence[Recorded]], None]

_log = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class _Waiter:
    position: int
    loop: asyncio.AbstractEventLoop
    arrived: "asyncio.Future[None]"

    def tell(self) -> None:
        with suppress(RuntimeError):  # its loop is closed: there are no waiters
            self.loop.call_soon_threadsafe(self._arrive)

    def _arrive(self) -> None:
        if not self.arrived.done():
            self.arrived.set_result(None)


class Follower:
    """Follows one log into one database of views. Listeners get the events after the log's current end."""

    def __init__(
        self,
        log: EventLog,
        views: Views,
        projections: Iterable[Projection] = PROJECTIONS,
        *,
        newest: EventLog | None = None,
        is_busy: Callable[[], bool] = lambda: False,
        listeners: Sequence[Listener] = (),
        rewound: Sequence[Callable[[int, int], None]] = (),
        page: int = PAGE,
        omitted: Omitted = OMITTED,
        poll_seconds: float = LONGEST_POLL,
        witnessed: witness.Fingerprints | None = None,
    ) -> None:
        """`newest` is where new events are read: the same log, perhaps with the latest events at hand. `is_busy`
        returns whether commands wait: then views that are behind take their time. `witnessed` is the log whose events
        the views remember, to find it out if they are rewritten."""
        self._source, self._views, self._folding = log, views, Folding(projections, omitted)
        self.newest, self._is_busy = newest or log, is_busy
        self._witnessed = witnessed
        self._page, self._poll = page, min(poll_seconds, LONGEST_POLL)
        self._rounds, self._waiting = threading.Lock(), threading.Lock()
        self._woken, self._stopped, self._asked = threading.Event(), threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None
        self._waiters: list[_Waiter] = []
        self._failure: str | None = None
        self.rewound: list[Callable[[int, int], None]] = list(rewound)
        """Called in the following thread once the log has gone back, before any event after that: with the position up
        to which the log is surely the same, and its head then."""
        self.listeners: list[Listener] = list(listeners)
        """Called in this order in the following thread with the events of a page: after the views' commit, or at once
        while the views are far behind."""
        with views.transaction() as db:
            if witnessed is not None:
                self._folding.lay_out(db)
                witness.prepare(db, witnessed, log.head())
            self._rewinding, noted = self._folding.prepare(db, log), self._folding.epoch(db)
            self.epoch = self._epoch(noted, gone_back=self._rewinding)
            """How often the log has gone back, so far as is known."""
            if self.epoch != noted:
                self._folding.rewind(db, log, self.epoch)
            lowest = self._folding.lowest(db)
            self._witness(db, lowest.position if lowest else 0)
        self._published, mark = self._end()
        self._trail = deque([(self._published, mark)], TRAIL)
        """Positions that were published and the marks of their events, the newest last."""
        self._position = self._published if lowest is None else min(self._published, lowest.position)
        self._begin = self._published

    def _epoch(self, noted: int, *, gone_back: bool) -> int:
        """The log's epoch, if `noted` is the last one: an older log may not have noted that one, either."""
        if gone_back:
            return self._source.gone_back(noted)
        now = self._source.sight().epoch
        return now if now >= noted else self._source.gone_back(noted - 1)

    def _end(self) -> tuple[int, str | None]:
        """The log's newest position and the mark of its event."""
        head = self._source.head()
        return head, self._source.sight(head).marks[0]

    @property
    def position(self) -> int:
        """The position up to which every active view has folded the log and every listener was called."""
        return self._position

    @property
    def published(self) -> int:
        """The position up to which the listeners were called."""
        return self._published

    @property
    def behind_start(self) -> bool:
        """Returns whether the views still lack events from before this follower: what they say is not yet what was."""
        return self._position < self._begin

    @property
    def rewinding(self) -> bool:
        """Returns whether the log has gone back and the views are not folded again yet."""
        return self._rewinding and self.behind_start

    # -- following -------------------------------------------------------------------------------------------------

    def catch_up(self, upto: int | None = None, *, seconds: float | None = None) -> int:
        """Fold and tell what there is, up to the head, to a position and a little more, or for so long; the position
        then. Where others keep writing, the head keeps moving. Raises what the log or the views raise."""
        until = None if seconds is None else time.monotonic() + seconds
        while (upto is None or self._position < upto) and self._round():
            if until is not None and time.monotonic() >= until:
                break
        return self._position

    def start(self) -> None:
        """Follow in a thread, until `stop`."""
        if self._thread is None:
            self._stopped.clear()
            self._woken.set()
            self._thread = threading.Thread(target=self._run, name="follower", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End after the current page."""
        if self._thread is not None:
            self._stopped.set()
            self._asked.set()
            self._woken.set()
            self._thread.join()
            self._thread = None

    def wake(self) -> None:
        """There may be something new. Cheap, from any thread."""
        self._woken.set()

    def _run(self) -> None:
        spent = 0.0
        while not self._stopped.is_set():
            self._woken.wait(self._poll)
            if not self._waiters:
                self._asked.wait(min(max(GATHERING, SHARE * spent), LONGEST_GATHERING))
            self._asked.clear()
            self._woken.clear()
            began = time.monotonic()
            try:
                while not self._stopped.is_set() and self._round() >= self._page:
                    if self.behind_start and self._is_busy():
                        self._stopped.wait(YIELDING)
                if self._failure is not None:
                    self._failure = None
                    _log.warning("the log is followed again, up to position %d", self._position)
            except Exception as error:  # the outermost loop: reported by `problems`, retried after a pause
                self._failure = f"{type(error).__name__}: {error}"
                _log.exception("following the log failed after position %d", self._position)
                self._stopped.wait(self._poll)
            spent = time.monotonic() - began

    def _round(self) -> int:
        """Fold one page; returns how many positions further it gets, or a whole page's if later events were left for
        the next one. A page that is not full may still not be the last (`ports.Log`)."""
        with self._rounds:
            with self._views.reading() as db:
                lowest = self._folding.lowest(db)
            start = self._published if lowest is None else min(self._published, lowest.position)
            page, is_old = self._next(start), start < self._published
            noted = [self._trail[-1]] if lowest is None else [self._trail[-1], (lowest.position, lowest.event_id)]
            sight = self.newest.sight(*(position for position, _ in noted), page.end)
            if sight.epoch != self.epoch or not are_there(sight, noted):
                return self._rewind(sight)
            page = replace(page, mark=sight.marks[-1])
            if page.unreadable or (lowest is not None and lowest.position < page.end):
                with self._views.transaction() as db:
                    self._folding.fold(db, page)
                    self._witness(db, page.end)
            if page.end < self._published:  # the views are behind: others hear meanwhile what happens
                newer = read(self.newest, after=self._published, limit=self._page)
                self._announce(replace(newer, mark=self._source.sight(newer.end).marks[0]))
            self._publish(page)
            return self._page if is_old and page.end > start else page.end - start

    def _rewind(self, sight: Sight) -> int:
        """Begin again with a log that has gone back: it lacks events that were published, or has others there. Also
        where only another process has seen that, since that one counts it for all. Returns a page's length."""
        gone_back = sight.epoch <= self.epoch
        epoch = self.newest.gone_back(self.epoch) if gone_back else sight.epoch
        fork: int | None = None
        with self._views.transaction() as db:
            by_others = self._folding.epoch(db) > self.epoch
            self._folding.rewind(db, self._source, epoch)
            if self._witnessed is not None:
                last = witness.forget_lost(db, self._witnessed, self._source.head())
                fork = None if by_others else min(last, self._published)
            lowest = self._folding.lowest(db)
        end = self._end()
        same = self._same_up_to(end, fork)
        self.epoch, self._published = epoch, same[0]
        self._trail.append(same)
        with self._waiting:
            self._begin = end[0]
            self._position = end[0] if lowest is None else min(end[0], lowest.position)
        self._rewinding = True
        for listener in tuple(self.rewound):
            listener(same[0], end[0])
        return self._page

    def _same_up_to(self, end: tuple[int, str | None], fork: int | None) -> tuple[int, str | None]:
        """The newest published event that the log still has; its end if it has none of them. Forgets the others.

        `fork` is the last event that the views remember and the log still has: the trail only has ends of pages. It is
        None where the views also remember what another process has seen since."""
        same: tuple[int, str | None] | None = None
        while self._trail and same is None:
            position, mark = self._trail.pop()
            if mark == self._source.sight(position).marks[0] and (mark is not None or not position):
                same = position, mark
        if fork is not None and (same is None or fork > same[0]):
            return fork, self._source.sight(fork).marks[0]
        return same or end

    def _next(self, start: int) -> LogPage:
        """The next page; what only the views read comes without what they do not use."""
        old = self._published - start
        if old <= 0:
            return read(self.newest, after=start, limit=self._page)
        return read(self._source, after=start, limit=min(old, self._page), omitted=self._folding.omitted)

    def _announce(self, page: LogPage) -> None:
        """Tell the listeners what is new to them."""
        fresh = [recorded for recorded in page.events if recorded.position > self._published]
        if page.end > self._published:
            self._published = page.end
            self._trail.append((page.end, page.mark))
        if fresh:
            for listener in tuple(self.listeners):
                self._tell(listener, fresh)

    def _publish(self, page: LogPage) -> None:
        self._announce(page)
        with self._waiting:
            self._position = max(self._position, page.end)
            arrived = [waiter for waiter in self._waiters if waiter.position <= self._position]
        for waiter in arrived:
            waiter.tell()

    @staticmethod
    def _tell(listener: Listener, events: Sequence[Recorded]) -> None:
        try:
            listener(events)
        except Exception:  # a listener's failure is its own; the others and the views continue
            _log.exception("a listener failed on events %d to %d", events[0].position, events[-1].position)

    def listen(self, listener: Listener) -> int:
        """Add a listener while the follower runs; it gets every event after the returned position."""
        with self._rounds:
            self.listeners.append(listener)
            return self._published

    # -- waiting ---------------------------------------------------------------------------------------------------

    async def wait_for(self, position: int, timeout: float) -> bool:  # noqa: ASYNC109 - the bound is the caller's
        """Returns whether the views got to `position` within `timeout` seconds (`Read-After`, contract §3)."""
        if self._position >= position:
            return True
        loop = asyncio.get_running_loop()
        waiter = _Waiter(position, loop, loop.create_future())
        with self._waiting:
            self._waiters.append(waiter)
            if self._position >= position:
                waiter.arrived.set_result(None)
        self._asked.set()
        self.wake()
        try:
            async with asyncio.timeout(timeout):
                await waiter.arrived
            return True
        except TimeoutError:
            return self._position >= position
        finally:
            with self._waiting:
                self._waiters.remove(waiter)

    async def has_begun(self) -> None:
        """Until the views have all events from before this follower."""
        while self.behind_start:
            await self.wait_for(self._begin, _PATIENCE)

    # -- care ------------------------------------------------------------------------------------------------------

    @property
    def failing(self) -> str | None:
        """Says why following does not get on now, which is tried again; None while it does."""
        return self._failure

    def lag(self) -> int:
        """Returns how many positions the following is behind the log."""
        return max(0, self._source.head() - self._position)

    def lags(self) -> dict[str, int]:
        """Returns how many positions each view is behind the log, parked ones too."""
        with self._views.reading() as db:
            progress = self._folding.progress(db)
        head = self._source.head()
        names = (projection.name for projection in self._folding.projections)
        return {name: max(0, head - progress[name].position) for name in names}

    def problems(self) -> list[ViewProblem]:
        """Returns what keeps views from following, empty when all is well. Rebuilding un-parks."""
        with self._views.reading() as db:
            problems = self._folding.problems(db)
        failure = self._failure
        return problems if failure is None else [*problems, ViewProblem("follower", self._position, failure)]

    def rebuild(self) -> int:
        """Rebuild from zero, in one transaction: readers see the old views until the new ones are ready.

        Other followers of the same views wait meanwhile. The position of the new views.
        """
        with self._views.transaction() as db:
            refold(self._folding, db, self._source)
            lowest = self._folding.lowest(db)
            self._witness(db, lowest.position if lowest else 0)
        self.wake()
        return self._source.head() if lowest is None else lowest.position

    def replace(self, parts: Sequence[Path], head: int) -> int:
        """Replace the views by what several processes folded up to `head` (`projections.parts`); that position."""
        with self._views.beside(parts) as (db, names):
            merge(self._folding, db, names, self._source, head)
            self._witness(db, head)
        self.wake()
        return head

    def _witness(self, db: Database, upto: int) -> None:
        if self._witnessed is not None:
            witness.follow(db, self._witnessed, upto)

    def empty(self) -> None:
        """Empty the views, parked ones too. They are folded again as the log is followed."""
        with self._views.transaction() as db:
            self._folding.empty(db)
        self.wake()
