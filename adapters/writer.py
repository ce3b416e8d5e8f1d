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
from dataclasses import dataclass, replace
from queue import Empty, Full, Queue
from typing import Any

import orjson

from adapters.store import Conflict, Entry, Fenced, Receipt, SqliteStore, Write
from domain.base import Command, HansardError, Refused, Stale, Unknown
from domain.record import Cause, Recorded, kind_of
from domain.session import Moment, Session
from domain.sessions import carry_out, fold

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
class Order:
    """A command on its way: on which session, from whom, under which key, seen at which version."""

    session_id: str
    command: Command
    actor: str
    command_id: str
    starts: bool = False
    causation_id: str | None = None
    correlation_id: str | None = None
    expected: int | None = None
    key: str | None = None
    fingerprint: str = ""


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
class _Slot:
    """A session as the batch sees it."""

    session: Session | None
    fresh: bool = False
    changed: bool = False


@dataclass(slots=True)
class _Work:
    order: Order
    future: "Future[Answer]"
    write: Write | None = None
    session: Session | None = None
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
        self._deciding = threading.Lock()
        self.listeners: list[Listener] = []
        self.batches = self.commands = self.conflicts = 0

    # -- the ways in -----------------------------------------------------------------------------------------------

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Carry out what waits, then end."""
        if self._thread is not None:
            self._queue.put(_STOP)
            self._thread.join()
            self._thread = None

    def submit(self, order: Order) -> "Future[Answer]":
        """The answer to come. Raises Busy when the queue is full."""
        work = _Work(order, Future())
        if self._thread is None:
            self._carry_out([work])
        else:
            try:
                self._queue.put_nowait(work)
            except Full:
                raise Busy("Too many commands wait; try again in a moment.") from None
        return work.future

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

    def _carry_out(self, batch: Sequence[_Work]) -> None:
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
        slots: dict[str, _Slot] = {}
        for work in batch:
            self._prepare(work, slots, batch)
        writes = [(work, work.write) for work in batch if work.write is not None]
        try:
            recorded = self.store.append([write for _, write in writes])
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
            self._cache.pop(work.order.session_id, None)
        alone = len(batch) == 1
        for work in batch:
            if alone and (work.tries == TRIES or isinstance(error, Fenced)):
                work.future.set_exception(error)
            elif not work.future.done():
                work.write = work.session = work.twin = work.error = None
                work.tries += int(alone)
                self._attempt([work])

    # -- one command -----------------------------------------------------------------------------------------------

    def _prepare(self, work: _Work, slots: dict[str, _Slot], batch: Sequence[_Work]) -> None:
        try:
            if not self._answered_before(work, batch):
                self._decide(work, slots)
        except (Refused, Stale, Unknown) as error:
            work.error = error
            if work.order.key is not None:
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

    def _decide(self, work: _Work, slots: dict[str, _Slot]) -> None:
        order = work.order
        slot = slots.get(order.session_id) or self._slot(order, slots)
        try:
            self._decide_on(work, slot)
        except (Refused, Stale, Unknown):
            if slot.fresh or slot.changed:
                raise
            # Another process may have moved the session on: a refusal is only given on what the log says now.
            self._cache.pop(order.session_id, None)
            slots.pop(order.session_id)
            self._decide_on(work, self._slot(order, slots))

    def _slot(self, order: Order, slots: dict[str, _Slot]) -> _Slot:
        cached = self._cache.get(order.session_id)
        slot = _Slot(cached) if cached is not None else _Slot(self.load(order.session_id), fresh=True)
        slots[order.session_id] = slot
        return slot

    def load(self, session_id: str, *, upto: int | None = None) -> Session | None:
        """A session as the log has it (as it stood after its event `upto`, if given)."""
        history = self.store.history(session_id, upto=upto)
        if not history:
            return None
        return fold(kind_of(session_id), ((recorded.event, recorded.moment) for recorded in history))

    def _decide_on(self, work: _Work, slot: _Slot) -> None:
        order, before = work.order, slot.session
        if before is None and not order.starts:
            raise Unknown(f"There is no session {order.session_id!r}.")
        version = before.version if before else 0
        if order.expected is not None and order.expected != version:
            raise Stale(expected=order.expected, actual=version)
        at = max(self._clock(), before.updated_at if before else 0)
        decision = carry_out(kind_of(order.session_id), before, order.command, Moment(order.session_id, at))
        cause = Cause(
            order.actor,
            order.command_id,
            order.correlation_id or order.session_id,
            order.causation_id or order.command_id,
        )
        entries = [
            Entry(order.session_id, version + number, at, cause, event)
            for number, event in enumerate(decision.events, start=1)
        ]
        final = decision.session
        work.session = final
        work.write = Write(entries, decision.blobs, _receipt(order, final, at) if order.key else None)
        slot.session, slot.changed = final, True

    def _accept(self, work: _Work, recorded: Sequence[Recorded]) -> None:
        session = work.session
        if session is None:
            return
        self._cache[session.id] = session
        self._cache.move_to_end(session.id)
        while len(self._cache) > CACHED:
            self._cache.popitem(last=False)
        position = recorded[-1].position
        work.future.set_result(
            Answer(_status(work.order), _body(session, position), session.id, session.version, position)
        )


def _answer(work: _Work) -> None:
    if work.future.done():
        return
    error = work.error or (work.twin.future.exception() if work.twin else None)
    if error is not None:
        work.future.set_exception(error)
    elif work.twin is not None:
        work.future.set_result(replace(work.twin.future.result(), replayed=True))


def _same(first: str, second: str) -> None:
    if first != second:
        raise KeyReused("This Idempotency-Key came with another request before.")


def _status(order: Order) -> int:
    return 202 if order.starts else 200


def _body(session: Session, position: int) -> bytes:
    """The answer to every command (contract §2)."""
    return orjson.dumps(
        {"sessionId": session.id, "kind": session.kind, "version": session.version, "position": position}
    )


def _receipt(order: Order, session: Session, at: int) -> Callable[[int], Receipt]:
    key = order.key
    assert key is not None, "only a command with a key leaves a receipt"
    return lambda position: Receipt(key, order.fingerprint, _status(order), _body(session, position), at)


def _refusal(order: Order, error: HansardError, at: int) -> Callable[[int], Receipt]:
    """A refusal is an answer too: the same key is refused in the same words, whatever has happened since."""
    key = order.key
    assert key is not None, "only a command with a key leaves a receipt"
    words: dict[str, object] = {"error": type(error).__name__, "sentence": str(error)}
    match error:
        case Refused():
            words["allowed"] = error.allowed
        case Stale():
            words |= {"expected": error.expected, "actual": error.actual}
    body = orjson.dumps(words)
    return lambda _: Receipt(key, order.fingerprint, REFUSED, body, at)


def _from_receipt(receipt: Receipt) -> Answer:
    """The first answer; raises the first refusal."""
    words = orjson.loads(receipt.body)
    if receipt.status != REFUSED:
        return Answer(
            receipt.status, receipt.body, words["sessionId"], words["version"], words["position"], replayed=True
        )
    error = _first_refusal(words)
    error.replayed = True
    raise error


def _first_refusal(words: Mapping[str, Any]) -> HansardError:
    match words["error"]:
        case "Stale":
            return Stale(expected=words["expected"], actual=words["actual"])
        case "Unknown":
            return Unknown(words["sentence"])
        case _:
            return Refused(words["sentence"], allowed=tuple(words.get("allowed", ())))


def fingerprint(*parts: bytes) -> str:
    """What identifies a request beside its key."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()
