"""The single writer: every command of this process is decided here, many at a time, and answered after its commit.

Callers put commands into a bounded queue; one thread takes what waits, decides it one after another on cached
sessions, stores the batch in one transaction and then answers each. A refused or conflicting command fails alone.
"""

import asyncio
import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from queue import Empty, Full, Queue
from typing import Any

import orjson

from adapters.scene import Order, Scene
from adapters.store import Conflict, Fenced, Receipt, SqliteStore, Write
from domain.base import HansardError, Refused, Stale, Unknown
from domain.record import Recorded, kind_of
from domain.session import Session
from domain.sessions import fold

BATCH = 256
CACHED = 5_000
TRIES = 3
REFUSED = 0
"""The status of a receipt that keeps a refusal; which HTTP status that is, the API says."""


class Busy(HansardError):
    """More commands wait than the writer takes in; try again."""


class KeyReused(HansardError):
    """The same key came with another request."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a command: its status and body for the outside; `replayed` when it was answered before."""

    status: int
    body: bytes
    session_id: str = ""
    version: int = 0
    position: int = 0
    replayed: bool = False


@dataclass(slots=True)
class _Work:
    order: Order
    future: "Future[Answer]"
    write: Write | None = None
    sessions: dict[str, Session] = field(default_factory=dict)
    twin: "_Work | None" = None
    error: Exception | None = None
    tries: int = 0


Listener = Callable[[], None]
_STOP = object()


class Writer:
    """Carries out commands. `start` runs its thread; without it `do` carries out one command where it is called."""

    def __init__(self, store: SqliteStore, clock: Callable[[], int], *, waiting: int = 10_000) -> None:
        self.store, self._clock = store, clock
        self._queue: Queue[_Work | object] = Queue(maxsize=waiting)
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
        work = _Work(order, Future())
        if not self._queued(work):
            self._carry_out([work])
        return work.future

    def _queued(self, work: _Work) -> bool:
        with self._door:
            if self._thread is None:
                return False
            try:
                self._queue.put_nowait(work)
            except Full:
                raise Busy("Too many commands wait; try again in a moment.") from None
            return True

    async def do(self, order: Order) -> Answer:
        """The answer, after its commit. Raises what `do_now` raises."""
        return await asyncio.wrap_future(self.submit(order))

    def do_now(self, order: Order) -> Answer:
        """The answer, after its commit, for callers without a loop. Raises HansardErrors of all kinds."""
        return self.submit(order).result()

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
        batch = [work for work in taken if work.future.set_running_or_notify_cancel()]  # whoever left is left out
        with self._deciding:
            try:
                self._attempt(batch)
            except Exception as error:  # the outermost loop: the callers are told, the writer lives on
                self._cache.clear()
                for work in batch:
                    if not work.future.done():
                        work.future.set_exception(error)
        if any(work.write is not None for work in batch):
            for listener in self.listeners:
                listener()

    def _attempt(self, batch: Sequence[_Work]) -> None:
        """Decide and store a batch. When somebody else wrote first: each command alone, on what the log says now."""
        scene = Scene(self._cache, self._catch_up, self._history, self._clock)
        for work in batch:
            self._prepare(work, scene, batch)
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
            _answer(work)

    def _apart(self, batch: Sequence[_Work], error: HansardError) -> None:
        self.conflicts += 1
        for work in batch:
            for session_id in (work.order.session_id, *work.sessions):
                self._cache.pop(session_id, None)
        alone = len(batch) == 1
        for work in batch:
            if alone and (work.tries == TRIES or isinstance(error, Fenced)):
                work.future.set_exception(error)
            elif not work.future.done():
                work.write = work.twin = work.error = None
                work.sessions = {}
                work.tries += int(alone)
                self._attempt([work])

    # -- one command -----------------------------------------------------------------------------------------------

    def _prepare(self, work: _Work, scene: Scene, batch: Sequence[_Work]) -> None:
        try:
            if not self._answered_before(work, batch):
                self._decide(work, scene)
        except (Refused, Stale, Unknown) as error:
            work.error = error
            if work.order.key is not None and not error.replayed:
                work.write = Write(receipt=_refusal(work.order, error, self._clock()))
        except Exception as error:  # told to the caller
            work.error = error

    def _answered_before(self, work: _Work, batch: Sequence[_Work]) -> bool:
        order = work.order
        if order.key is None:
            return False
        for other in batch:
            if other is work:
                break
            if other.order.key == order.key:
                _same(other.order.fingerprint, order.fingerprint)
                work.twin = other
                return True
        receipt = self.store.receipt(order.key)
        if receipt is None:
            return False
        _same(receipt.fingerprint, order.fingerprint)
        work.future.set_result(_from_receipt(receipt))
        return True

    @staticmethod
    def _decide(work: _Work, scene: Scene) -> None:
        order, outcome = work.order, scene.play(work.order)
        work.sessions = outcome.sessions
        receipt = _receipt(order, outcome.sessions) if order.key else None
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
        position = recorded[-1].position
        body = _body(work.order, work.sessions, position)
        session = _told_of(work.order, work.sessions)
        work.future.set_result(Answer(work.order.status, body, session.id, session.version, position))


def _answer(work: _Work) -> None:
    if work.future.done():
        return
    if work.error is not None:
        work.future.set_exception(work.error)
    elif work.twin is not None:
        _answer_again(work.future, work.twin.future)


def _answer_again(future: "Future[Answer]", first: "Future[Answer]") -> None:
    """The answer of the same request that came a moment before."""
    match first.exception():
        case None:
            future.set_result(replace(first.result(), replayed=True))
        case Refused() | Stale() | Unknown() as error:
            future.set_exception(_first_refusal(_words(error)))
        case error:
            future.set_exception(error)


def _same(first: str, second: str) -> None:
    if first != second:
        raise KeyReused("This Idempotency-Key came with another request before.")


def _told_of(order: Order, sessions: Mapping[str, Session]) -> Session:
    """The session that the answer tells of: the one that was addressed, or that it turned to."""
    session = sessions[order.session_id]
    return sessions.get(str(session.receipt().get("sessionId")), session)


def _body(order: Order, sessions: Mapping[str, Session], position: int) -> bytes:
    """The answer to every command (contract §2)."""
    session, told = sessions[order.session_id], _told_of(order, sessions)
    answer = {"sessionId": told.id, "kind": told.kind, "version": told.version, "position": position}
    more = session.receipt() if told is session else session.receipt() | {"version": told.version}
    return orjson.dumps({name: value for name, value in (answer | more).items() if value is not None})


def _receipt(order: Order, sessions: Mapping[str, Session]) -> Callable[[int], Receipt]:
    key, at = order.key, sessions[order.session_id].updated_at
    assert key is not None, "only a command with a key leaves a receipt"
    return lambda position: Receipt(key, order.fingerprint, order.status, _body(order, sessions, position), at)


def _refusal(order: Order, error: HansardError, at: int) -> Callable[[int], Receipt]:
    """A refusal is an answer too: the same key is refused in the same words, whatever has happened since."""
    key = order.key
    assert key is not None, "only a command with a key leaves a receipt"
    body = orjson.dumps(_words(error))
    return lambda _: Receipt(key, order.fingerprint, REFUSED, body, at)


def _words(error: HansardError) -> dict[str, Any]:
    words: dict[str, Any] = {"error": type(error).__name__, "sentence": str(error)}
    match error:
        case Refused():
            words["allowed"] = error.allowed
        case Stale():
            words |= {"expected": error.expected, "actual": error.actual}
    return words


def _from_receipt(receipt: Receipt) -> Answer:
    """The first answer; raises the first refusal."""
    words = orjson.loads(receipt.body)
    if receipt.status != REFUSED:
        session_id, version = words.get("sessionId", ""), words.get("version", 0)
        return Answer(receipt.status, receipt.body, session_id, version, words["position"], replayed=True)
    raise _first_refusal(words)


def _first_refusal(words: Mapping[str, Any]) -> HansardError:
    error: HansardError
    match words["error"]:
        case "Stale":
            error = Stale(expected=words["expected"], actual=words["actual"])
        case "Unknown":
            error = Unknown(words["sentence"])
        case _:
            error = Refused(words["sentence"], allowed=tuple(words.get("allowed", ())))
    error.replayed = True
    return error


def fingerprint(*parts: bytes) -> str:
    """What identifies a request beside its key."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


__all__ = ["Answer", "Busy", "KeyReused", "Order", "Writer", "fingerprint"]
