"""The single writer: every command of this process is decided here, many at a time, and answered after its commit.

Callers put commands into a bounded queue; one thread takes what waits, decides it one after another on cached
sessions, stores the batch in one transaction and then answers each. A refused or conflicting command fails alone.
"""

import asyncio
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Final, Protocol

from adapters.cached_texts import Forgetting
from adapters.store.errors import Conflict, Fenced, Rewound, StoreError
from adapters.store.port import Store, StoredReceipt, Write
from adapters.writer.answers import (
    Busy,
    CommandAnswer,
    KeyReused,
    Pending,
    answer_callers,
    answer_to,
    fingerprint,
    refusal_of,
)
from adapters.writer.newest import NewestEvents
from adapters.writer.unit_of_work import CommandEnvelope, UnitOfWork
from domain.kinds import fold
from domain.session.attempt_ends import SoFar, nothing
from domain.session.record import Recorded, kind_of, redacted_sessions
from domain.session.state import Moved, Session
from domain.values.base import HansardError, Refused, Stale, Unknown
from domain.values.sentences import Sentence

log = logging.getLogger(__name__)
BATCH = 256
LONG = 256
"""Events from which on a session is not folded from the first, where something further along is kept."""
TRIES = 3
KEPT: Final = 5_000
RESTING: Final = 200
"""How many sessions are kept, and how many of those in which no turn is open: the next command on one is a person's, if
there ever is one."""

Listener = Callable[[], None]


class Prelude(Protocol):
    """Commands of this process that come before all others, such as after a long sleep."""

    def due(self) -> Sequence[CommandEnvelope] | None:
        """Return the commands; None if it is not the time for any."""

    def done(self) -> None:
        """Note that they are recorded, or refused."""


Nearest = Callable[[str, int | None], Session | None]
"""Returns the newest snapshot of a session at or before a version, or None."""
CommitListener = Callable[[Sequence[Recorded]], None]
_STOP, _LOOK = object(), object()


def no_snapshot(_: str, __: int | None) -> None:
    """A `Nearest` for a process that keeps no snapshots."""


class Writer:
    """Runs commands: in its thread after `start`, before that in the caller's."""

    def __init__(
        self,
        store: Store,
        clock: Callable[[], int],
        *,
        waiting: int = 10_000,
        so_far: SoFar = nothing,
        nearest: Nearest = no_snapshot,
        forgetting: Forgetting | None = None,
    ) -> None:
        """`so_far` returns what an attempt has done that runs in this process. `forgetting` is the register of all
        caches of this log; the writer's own join it."""
        self.store, self._clock, self._size = store, clock, waiting
        self._so_far, self._nearest = so_far, nearest
        self.newest = NewestEvents(store)
        self._queue: SimpleQueue[Pending | object] = SimpleQueue()
        self._cache = _KeptSessions()
        self._thread: threading.Thread | None = None
        self._intake = threading.Lock()
        self._deciding = threading.RLock()
        """Also held while `forget` changes the cache, which a listener may call after a commit."""
        self.listeners: list[Listener] = []
        forgetting = forgetting or Forgetting()
        forgetting.join(self.forget, self.newest.forget)
        self.on_commit: list[CommitListener] = [forgetting.seen]
        """Called with the events of a batch right after their commit, by the thread that made it."""
        self.preludes: list[Prelude] = []
        self.batches = self.commands = self.conflicts = 0

    # -- the ways in -----------------------------------------------------------------------------------------------

    def start(self, *listeners: Listener) -> None:
        """Decide in a thread. The listeners are called there after each batch that wrote something."""
        self.listeners += listeners
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Drain the queue and stop. Later commands run in the caller's thread."""
        with self._intake:
            thread, self._thread = self._thread, None
        if thread is not None:
            self._queue.put(_STOP)
            thread.join()

    def submit(self, envelope: CommandEnvelope) -> "Future[CommandAnswer]":
        """The answer to come. Raises Busy when the queue is full."""
        future: Future[CommandAnswer] = Future()
        self._take_in(Pending(envelope, future))
        return future

    async def do(self, envelope: CommandEnvelope) -> CommandAnswer:
        """The answer, after its commit. Raises what `do_now` raises."""
        return await self.begin(envelope)

    def begin(self, envelope: CommandEnvelope) -> "asyncio.Future[CommandAnswer]":
        """The answer to come, for the running loop. Raises Busy when the queue is full."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[CommandAnswer] = loop.create_future()
        self._take_in(Pending(envelope, future, loop))
        return future

    def do_now(self, envelope: CommandEnvelope) -> CommandAnswer:
        """The answer, after its commit, for callers without a loop. Raises HansardErrors of all kinds."""
        return self.submit(envelope).result()

    def look(self) -> None:
        """See to what comes first, although no command has come."""
        with self._intake:
            if self._thread is not None:
                self._queue.put(_LOOK)
                return
        self._begin()

    def _take_in(self, pending: Pending) -> None:
        with self._intake:
            if self._thread is not None:
                if self._queue.qsize() >= self._size:
                    raise Busy(Sentence("too_busy"))
                self._queue.put(pending)
                return
        self._begin()
        self._carry_out([pending])

    def waiting(self) -> int:
        return self._queue.qsize()

    # -- the thread ------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while True:
            batch, stop = self._take()
            self._begin()
            if batch:
                self._carry_out(batch)
            if stop:
                return

    def _take(self) -> tuple[list[Pending], bool]:
        batch: list[Pending] = []
        while True:
            item = self._queue.get()
            if not isinstance(item, Pending):
                return batch, item is _STOP
            batch.append(item)
            if len(batch) >= BATCH or self._queue.empty():
                return batch, False

    def _begin(self) -> None:
        """Carry out what comes before everything else. What cannot be stored is tried again before the next batch."""
        for prelude in self.preludes:
            try:
                envelopes = prelude.due()
            except HansardError as error:
                log.warning("what comes first is not known yet: %s", error)
                continue
            if envelopes is None:
                continue
            futures: list[Future[CommandAnswer]] = [Future() for _ in envelopes]
            pending = [Pending(*each) for each in zip(envelopes, futures, strict=True)]
            for start in range(0, len(pending), BATCH):
                self._carry_out(pending[start : start + BATCH])
            if not any(isinstance(future.exception(), StoreError) for future in futures):
                prelude.done()

    def _carry_out(self, taken: Sequence[Pending]) -> None:
        batch = [pending for pending in taken if pending.wanted()]  # without callers that have left
        wrote = True  # also after an error, which may have come after the commit
        with self._deciding:
            try:
                wrote = self._commit(batch)
            except Exception as error:  # the outermost loop: the callers get the error, the writer continues
                self._cache.clear()
                for pending in batch:
                    if not pending.ended:
                        pending.error = error
        answer_callers(batch)
        if wrote:
            for listener in self.listeners:
                listener()

    def _commit(self, batch: Sequence[Pending]) -> bool:
        """Decide a batch and store it in one transaction; whether there was anything to store.

        After a conflict the whole batch is decided again on what the log says now: later commands may build on the one
        that conflicted.
        """
        while True:
            writes = self._decided(batch)
            try:
                recorded = self.store.append([write for _, write in writes]) if writes else []
            except (Conflict, Fenced) as error:
                batch = self._overtaken(batch, error)
            except Rewound:  # once: the store then goes on from the log as it is now
                self._cache.clear()
                self.newest.forget(None)
                for pending in batch:
                    pending.restart()
            else:
                break
        self.batches += 1
        self.commands += len(batch)
        for (pending, _), events in zip(writes, recorded, strict=True):
            self._accept(pending, events)
        page = [each for events in recorded for each in events]
        self.newest.keep(page)
        for listener in self.on_commit:  # who is woken finds the sessions as they are now
            listener(page)
        for pending in batch:
            pending.repeat()
        return bool(writes)

    def _decided(self, batch: Sequence[Pending]) -> list[tuple[Pending, Write]]:
        """The write of each command of a batch, or None."""
        turn_ids = [turn_id for pending in batch if (turn_id := vars(pending.envelope.command).get("turn_id"))]
        attempts = self.store.turns.attempts(turn_ids) if turn_ids else {}
        work = UnitOfWork(self._cache, self._catch_up, self._history, self._clock, attempts, self._so_far)
        receipts = self._receipts(batch)
        first: dict[str, Pending] = {}
        for pending in batch:
            self._prepare(pending, work, receipts, first)
        return [(pending, pending.write) for pending in batch if pending.write is not None]

    def _overtaken(self, batch: Sequence[Pending], error: Conflict | Fenced) -> list[Pending]:
        """The commands to decide again. Those that were overtaken too often, or lost their turn, end with the error."""
        self.conflicts += 1
        if isinstance(error, Conflict):
            for session_id in error.streams:
                self._cache.pop(session_id, None)
        overtaken = [pending for pending in batch if pending.is_overtaken(error)]
        if not overtaken:
            raise error
        for pending in overtaken:
            pending.tries += 1
        given_up = [pending for pending in overtaken if pending.tries > TRIES or isinstance(error, Fenced)]
        remaining = [pending for pending in batch if pending not in given_up]
        for pending in batch:
            pending.restart()
        for pending in given_up:
            pending.error = error
        return remaining

    # -- one command -----------------------------------------------------------------------------------------------

    def _receipts(self, batch: Sequence[Pending]) -> dict[str, StoredReceipt]:
        keys = [pending.envelope.key for pending in batch if pending.envelope.key is not None]
        return self.store.receipts(keys) if keys else {}

    def _prepare(
        self, pending: Pending, work: UnitOfWork, receipts: dict[str, StoredReceipt], first: dict[str, Pending]
    ) -> None:
        try:
            if pending.envelope.key is None or not pending.answered_before(pending.envelope.key, receipts, first):
                self._decide(pending, work)
        except (Refused, Stale, Unknown) as error:
            pending.error = error.with_traceback(None)  # whose frames would keep the batch until the next collection
            if pending.envelope.key is not None and not error.replayed and not isinstance(error, Moved):
                pending.write = Write(receipt=refusal_of(pending.envelope, error, self._clock()))
        except Fenced as error:
            pending.error = error.with_traceback(None)
        except Exception as error:  # the caller gets it
            pending.error = error

    @staticmethod
    def _decide(pending: Pending, work: UnitOfWork) -> None:
        effects = work.play(pending.envelope)
        pending.sessions = effects.sessions
        receipt = pending.receipt() if pending.envelope.key is not None else None
        pending.write = Write(effects.entries, tuple(effects.blobs.values()), receipt, adopted=effects.adopted)

    def _history(self, session_id: str, upto: int) -> list[Recorded]:
        return self.store.history(session_id, upto=upto)

    def cached(self, session_id: str) -> Session | None:
        """The session as this process knows it; another one may have moved it on. From any thread."""
        return self._cache.get(session_id)

    def load(self, session_id: str, *, upto: int | None = None, base: Session | None = None) -> Session | None:
        """A session as the log has it, or had it after its event `upto`. Reads only the events after the
        known state. From any thread."""
        if base is None and upto is None:
            base = self._cache.get(session_id)
        if base is not None:
            rest = self.store.history(session_id, after=base.version, upto=upto)
            if not redacted_sessions(rest):
                return _folded(session_id, base, rest)
        history = self.store.history(session_id, upto=upto, limit=LONG)
        if len(history) == LONG:
            stored = self._from_snapshot(session_id, upto)
            if stored is not None:
                return stored
            history += self.store.history(session_id, after=LONG, upto=upto)
        return _folded(session_id, None, history)

    def _from_snapshot(self, session_id: str, upto: int | None) -> Session | None:
        """A long session from what was kept of it; None where nothing was, or where it may quote a text that was taken
        out since."""
        stored = self._nearest(session_id, upto)
        if stored is None or stored.version < LONG:
            return None
        rest = self.store.history(session_id, after=stored.version, upto=upto)
        return None if redacted_sessions(rest) else _folded(session_id, stored, rest)

    def forget(self, session_id: str | None) -> None:
        """Drop what is cached of a session from which a text was taken out, or of all (None). From any thread."""
        with self._deciding:
            for each in list(self._cache) if session_id is None else [session_id]:
                self._cache.pop(each, None)

    def _catch_up(self, session_id: str, base: Session | None) -> Session | None:
        return self.load(session_id, base=base)

    def _accept(self, pending: Pending, recorded: Sequence[Recorded]) -> None:
        if not pending.sessions:
            return
        self._cache.keep(pending.sessions)
        pending.answer = pending.prepared or answer_to(pending.envelope, pending.sessions, recorded[-1].position)
        pending.write = None  # its receipt refers to `pending`: freed at once, not by the garbage collector


def _folded(session_id: str, base: Session | None, history: Sequence[Recorded]) -> Session | None:
    """The session after these events; the known one where there are none."""
    if not history:
        return base
    return fold(kind_of(session_id), ((recorded.event, recorded.metadata) for recorded in history), base)


class _KeptSessions(OrderedDict[str, Session]):
    """Sessions that were decided, the last one at the end, so that the next command on one folds nothing."""

    def __init__(self) -> None:
        super().__init__()
        self._resting: OrderedDict[str, None] = OrderedDict()
        """Perhaps with some that are not kept any more."""

    def keep(self, decided: Mapping[str, Session]) -> None:
        """Keep what was just decided, and drop what has not been used for longest."""
        for name, session in decided.items():
            self[name] = session
            self.move_to_end(name)
            self._resting.pop(name, None)
            if not session.outstanding:
                self._resting[name] = None
        while len(self._resting) > RESTING:
            self.pop(self._resting.popitem(last=False)[0], None)
        while len(self) > KEPT:
            self.popitem(last=False)


__all__ = ["Busy", "CommandAnswer", "CommandEnvelope", "KeyReused", "Writer", "fingerprint"]
