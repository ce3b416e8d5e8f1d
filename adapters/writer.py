"""The single writer: every command of this process is decided here, many at a time, and answered after its commit.

Callers put commands into a bounded queue; one thread takes what waits, decides it one after another on cached
sessions, stores the batch in one transaction and then answers each. A refused or conflicting command fails alone.
"""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field, replace
from queue import Empty, SimpleQueue

from adapters.answers import (
    Answer,
    Busy,
    KeyReused,
    again,
    answer_to,
    fingerprint,
    first_answer,
    receipt_of,
    refusal_of,
    same,
)
from adapters.scene import Order, Scene
from adapters.store import Conflict, Fenced, Receipt, SqliteStore, Write
from domain.base import HansardError, Refused, Stale, Unknown
from domain.record import Recorded, kind_of
from domain.session import Moved, Session
from domain.sessions import fold

BATCH = 256
CACHED = 5_000
TRIES = 3


@dataclass(slots=True)
class _Work:
    """An order on its way. It ends with an answer or an error, told to `future` (of `loop`, if it has one)."""

    order: Order
    future: "Future[Answer] | asyncio.Future[Answer]"
    loop: asyncio.AbstractEventLoop | None = None
    write: Write | None = None
    sessions: dict[str, Session] = field(default_factory=dict)
    told: Answer | None = None
    twin: "_Work | None" = None
    answer: Answer | None = None
    error: Exception | None = None
    tries: int = 0

    @property
    def ended(self) -> bool:
        return self.answer is not None or self.error is not None

    def wanted(self) -> bool:
        """Whether somebody still waits for it, who from now on waits to the end."""
        if isinstance(self.future, Future):
            return self.future.set_running_or_notify_cancel()
        return not self.future.cancelled()

    def tell(self) -> None:
        if self.future.done():
            return  # whoever asked has left
        if self.answer is not None:
            self.future.set_result(self.answer)
        else:
            self.future.set_exception(self.error or RuntimeError("The command came to no end."))


Listener = Callable[[], None]
_STOP = object()


class Writer:
    """Carries out commands. `start` runs its thread; without it `do` carries out one command where it is called."""

    def __init__(self, store: SqliteStore, clock: Callable[[], int], *, waiting: int = 10_000) -> None:
        self.store, self._clock, self._size = store, clock, waiting
        self._queue: SimpleQueue[_Work | object] = SimpleQueue()
        self._cache: OrderedDict[str, Session] = OrderedDict()
        self._thread: threading.Thread | None = None
        self._door = threading.Lock()
        self._deciding = threading.Lock()
        self.listeners: list[Listener] = []
        self.batches = self.commands = self.conflicts = 0

    # -- the ways in -----------------------------------------------------------------------------------------------

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Carry out what waits, then end; what comes from now on is carried out where it is called."""
        with self._door:
            thread, self._thread = self._thread, None
        if thread is not None:
            self._queue.put(_STOP)
            thread.join()

    def submit(self, order: Order) -> "Future[Answer]":
        """The answer to come. Raises Busy when the queue is full."""
        future: Future[Answer] = Future()
        self._take_in(_Work(order, future))
        return future

    async def do(self, order: Order) -> Answer:
        """The answer, after its commit. Raises what `do_now` raises."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Answer] = loop.create_future()
        self._take_in(_Work(order, future, loop))
        return await future

    def do_now(self, order: Order) -> Answer:
        """The answer, after its commit, for callers without a loop. Raises HansardErrors of all kinds."""
        return self.submit(order).result()

    def _take_in(self, work: _Work) -> None:
        with self._door:
            if self._thread is not None:
                if self._queue.qsize() >= self._size:
                    raise Busy("Too many commands wait; try again in a moment.")
                self._queue.put(work)
                return
        self._carry_out([work])

    def waiting(self) -> int:
        return self._queue.qsize()

    # -- the thread ------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while True:
            batch, stop = self._take()
            if batch:
                self._carry_out(batch)
            if stop:
                return

    def _take(self) -> tuple[list[_Work], bool]:
        batch: list[_Work] = []
        item = self._queue.get()
        while True:
            if not isinstance(item, _Work):
                return batch, True
            batch.append(item)
            if len(batch) >= BATCH:
                return batch, False
            try:
                item = self._queue.get_nowait()
            except Empty:
                return batch, False

    def _carry_out(self, taken: Sequence[_Work]) -> None:
        batch = [work for work in taken if work.wanted()]  # whoever left is left out
        with self._deciding:
            try:
                self._attempt(batch)
            except Exception as error:  # the outermost loop: the callers are told, the writer lives on
                self._cache.clear()
                for work in batch:
                    if not work.ended:
                        work.error = error
        _tell(batch)
        if any(work.write is not None for work in batch):
            for listener in self.listeners:
                listener()

    def _attempt(self, batch: Sequence[_Work]) -> None:
        """Decide and store a batch. When somebody else wrote first: each command alone, on what the log says now."""
        scene = Scene(self._cache, self._catch_up, self._history, self._clock)
        receipts = self._receipts(batch)
        first: dict[str, _Work] = {}
        for work in batch:
            self._prepare(work, scene, receipts, first)
        writes = [(work, work.write) for work in batch if work.write is not None]
        try:
            recorded = self.store.append([write for _, write in writes]) if writes else []
        except (Conflict, Fenced) as error:
            return self._apart(batch, error)
        self.batches += 1
        self.commands += len(batch)
        for (work, _), events in zip(writes, recorded, strict=True):
            self._accept(work, events)
        for work in batch:
            _repeat(work)

    def _apart(self, batch: Sequence[_Work], error: HansardError) -> None:
        self.conflicts += 1
        for work in batch:
            for session_id in (work.order.session_id, *work.sessions):
                self._cache.pop(session_id, None)
        alone = len(batch) == 1
        for work in batch:
            if alone and (work.tries == TRIES or isinstance(error, Fenced)):
                work.error = error
            elif work.answer is None:
                work.write = work.twin = work.error = None
                work.sessions = {}
                work.tries += int(alone)
                self._attempt([work])

    # -- one command -----------------------------------------------------------------------------------------------

    def _receipts(self, batch: Sequence[_Work]) -> dict[str, Receipt]:
        keys = [work.order.key for work in batch if work.order.key is not None]
        return self.store.receipts(keys) if keys else {}

    def _prepare(self, work: _Work, scene: Scene, receipts: dict[str, Receipt], first: dict[str, _Work]) -> None:
        try:
            if work.order.key is None or not _answered_before(work, work.order.key, receipts, first):
                self._decide(work, scene)
        except (Refused, Stale, Unknown) as error:
            work.error = error
            if work.order.key is not None and not error.replayed and not isinstance(error, Moved):
                work.write = Write(receipt=refusal_of(work.order, error, self._clock()))
        except Exception as error:  # told to the caller
            work.error = error

    @staticmethod
    def _decide(work: _Work, scene: Scene) -> None:
        outcome = scene.play(work.order)
        work.sessions = outcome.sessions
        receipt = _receipt(work) if work.order.key is not None else None
        work.write = Write(outcome.entries, tuple(outcome.blobs.values()), receipt, adopted=outcome.adopted)

    def _history(self, session_id: str, upto: int) -> list[Recorded]:
        return self.store.history(session_id, upto=upto)

    def load(self, session_id: str, *, upto: int | None = None, known: Session | None = None) -> Session | None:
        """A session as the log has it (or as it stood after its event `upto`), read from behind what is known."""
        history = self.store.history(session_id, after=known.version if known else 0, upto=upto)
        if not history:
            return known
        return fold(kind_of(session_id), ((recorded.event, recorded.moment) for recorded in history), known)

    def _catch_up(self, session_id: str, known: Session | None) -> Session | None:
        return self.load(session_id, known=known)

    def _accept(self, work: _Work, recorded: Sequence[Recorded]) -> None:
        if not work.sessions:
            return
        for session_id, session in work.sessions.items():
            self._cache[session_id] = session
            self._cache.move_to_end(session_id)
        while len(self._cache) > CACHED:
            self._cache.popitem(last=False)
        work.answer = work.told or answer_to(work.order, work.sessions, recorded[-1].position)


def _answered_before(work: _Work, key: str, receipts: dict[str, Receipt], first: dict[str, _Work]) -> bool:
    """Whether the same request was answered before, or is being answered in this batch."""
    earlier = first.setdefault(key, work)
    if earlier is not work:
        same(earlier.order.fingerprint, work.order.fingerprint)
        work.twin = earlier
        return True
    receipt = receipts.get(key)
    if receipt is None:
        return False
    same(receipt.fingerprint, work.order.fingerprint)
    work.answer = first_answer(receipt)
    return True


def _receipt(work: _Work) -> Callable[[int], Receipt]:
    """The receipt is made where the position is known; the answer that stands in it is the one that is told."""

    def receipt(position: int) -> Receipt:
        work.told = answer_to(work.order, work.sessions, position)
        return receipt_of(work.order, work.told, work.sessions[work.order.session_id].updated_at)

    return receipt


def _repeat(work: _Work) -> None:
    """The answer of the same request that came a moment before."""
    if work.twin is None or work.ended:
        return
    if work.twin.answer is not None:
        work.answer = replace(work.twin.answer, replayed=True)
    elif work.twin.error is not None:
        work.error = again(work.twin.error)


def _tell(batch: Iterable[_Work]) -> None:
    """Each loop is woken once, however many of its callers are told."""
    loops: dict[asyncio.AbstractEventLoop, list[_Work]] = {}
    for work in batch:
        if work.loop is None:
            work.tell()
        else:
            loops.setdefault(work.loop, []).append(work)
    for loop, works in loops.items():
        with suppress(RuntimeError):  # the loop has ended, and whoever asked with it
            loop.call_soon_threadsafe(_tell_all, works)


def _tell_all(works: Iterable[_Work]) -> None:
    for work in works:
        work.tell()


__all__ = ["Answer", "Busy", "KeyReused", "Order", "Writer", "fingerprint"]
