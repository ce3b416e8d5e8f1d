"""The twin: a store in memory that passes the same tests as the others. Several may share one `MemoryLog`."""

import threading
from collections import ChainMap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from eventsourcing.persistence import Notification, StoredEvent

from adapters.store.append import NO_ATTACHMENTS, AppendBatch, Attachments, EventRecorder, StreamHeads
from adapters.store.mapper import decode_all
from adapters.store.port import PAGE, Conflict, Fenced, Receipt, Row, StoreError
from adapters.store.turns import (
    FIRST,
    LAST,
    Lease,
    NewTurn,
    OpenTurn,
    TurnChange,
    TurnEnd,
    TurnPage,
    TurnPlace,
    TurnState,
    TurnStatus,
)
from domain.session.record import Recorded, kind_of


@dataclass(frozen=True, slots=True)
class _Turn:
    """A line of the lease table."""

    request: NewTurn
    state: TurnState
    attempt: int = 0
    worker: str | None = None
    until: int | None = None

    @property
    def open(self) -> OpenTurn:
        request = self.request
        return OpenTurn(
            request.turn_id, request.session_id, request.work, request.agent, request.role, request.requested_at
        )

    def free(self, now: int) -> bool:
        """Whether it may be claimed."""
        ran_out = self.until is not None and self.until <= now
        return self.request.work != "wait" and (self.state == "queued" or ran_out)

    def lease(self) -> Lease | None:
        if self.state != "running" or self.worker is None or self.until is None:
            return None
        request = self.request
        return Lease(
            turn_id=request.turn_id,
            session_id=request.session_id,
            version=request.version,
            work=request.work,
            agent=request.agent,
            role=request.role,
            attempt=self.attempt,
            worker=self.worker,
            until=self.until,
            deadline=request.deadline,
        )


@dataclass(slots=True, weakref_slot=True)
class MemoryLog:
    """What is stored; `lock` makes one transaction at a time."""

    rows: list[Row] = field(default_factory=list)
    streams: dict[str, list[Row]] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    receipts: dict[str, Receipt] = field(default_factory=dict)
    turns: dict[str, _Turn] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)


class MemoryStore(EventRecorder):
    """A log that ends with the process."""

    failing = False

    def __init__(self, log: MemoryLog | None = None) -> None:
        self._log = log if log is not None else MemoryLog()
        self._heads, self._closed = StreamHeads(), False
        self.turns = MemoryTurns(self._log)
        self.rows = MemoryRows(self._log)

    def close(self) -> None:
        self._closed = True

    def failure(self) -> str | None:
        return None

    @contextmanager
    def _opened(self) -> Iterator[MemoryLog]:
        with self._log.lock:
            if self._closed:
                raise StoreError("The log in memory is closed.")
            yield self._log

    # -- writing ---------------------------------------------------------------------------------------------------

    def insert_events(
        self, stored_events: Sequence[StoredEvent], *, attachments: Attachments = NO_ATTACHMENTS, **_: Any
    ) -> Sequence[int]:
        with self._opened() as log:
            head = len(log.rows)
            batch = AppendBatch(self._heads, head, self.rows.hash_of)
            positions = [batch.add(event) for event in stored_events]
            receipts = attachments.made_receipts(head, positions)
            _check_free(log, batch.rows, receipts)
            turns = ChainMap[str, _Turn]({}, log.turns)
            for change in attachments.turns:
                _apply(turns, change)
            for row in batch.rows:
                log.streams.setdefault(row.stream, []).append(row)
            log.rows += batch.rows
            log.texts = dict(attachments.texts) | log.texts
            log.receipts.update((receipt.key, receipt) for receipt in receipts)
            log.turns.update(turns.maps[0])
        self._heads.keep(batch.heads)
        return positions

    # -- reading ---------------------------------------------------------------------------------------------------

    def history(
        self, session_id: str, *, after: int = 0, upto: int | None = None, limit: int | None = None
    ) -> list[Recorded]:
        with self._opened() as log:
            found = log.streams.get(session_id, [])[after:upto][:limit]
        return _decoded(found)

    def log(
        self,
        *,
        after: int = 0,
        limit: int = PAGE,
        kind: str | None = None,
        topic: str | None = None,
        session_id: str | None = None,
    ) -> list[Recorded]:
        with self._opened() as log:
            rows = log.rows[after:] if session_id is None else log.streams.get(session_id, [])
            found = [
                row
                for row in rows
                if row.position > after
                and (kind is None or kind_of(row.stream) == kind)
                and (topic is None or row.topic == topic)
            ]
        return _decoded(found[:limit])

    def head(self) -> int:
        with self._opened() as log:
            return len(log.rows)

    def version(self, session_id: str) -> int:
        with self._opened() as log:
            return len(log.streams.get(session_id, ()))

    def text(self, digest: str) -> str | None:
        with self._opened() as log:
            return log.texts.get(digest)

    def receipts(self, keys: Sequence[str]) -> dict[str, Receipt]:
        with self._opened() as log:
            return {key: log.receipts[key] for key in keys if key in log.receipts}

    # -- the library's recorder ------------------------------------------------------------------------------------

    def select_events(
        self,
        originator_id: Any,
        *,
        gt: int | None = None,
        lte: int | None = None,
        desc: bool = False,
        limit: int | None = None,
    ) -> Sequence[StoredEvent]:
        with self._opened() as log:
            found = [row.stored() for row in log.streams.get(str(originator_id), [])[gt or 0 : lte]]
        return (found[::-1] if desc else found)[:limit]

    def select_notifications(
        self,
        start: int | None,
        limit: int,
        stop: int | None = None,
        topics: Sequence[str] = (),
        *,
        inclusive_of_start: bool = True,
    ) -> Sequence[Notification]:
        begin = 0 if start is None else start - 1 if inclusive_of_start else start
        with self._opened() as log:
            rows = [row for row in log.rows[begin:stop] if not topics or row.topic in topics]
        return [Notification(row.stream, row.version, row.topic, row.state, row.position) for row in rows[:limit]]

    def max_notification_id(self) -> int | None:
        return self.head() or None


def _decoded(rows: Iterable[Row]) -> list[Recorded]:
    return decode_all([row[:5] for row in rows])


def _check_free(log: MemoryLog, rows: Sequence[Row], receipts: Sequence[Receipt]) -> None:
    """Raises Conflict with every version and key that is taken, in the log or twice in the batch."""
    streams = {row.stream for row in rows if row.version <= len(log.streams.get(row.stream, ()))}
    keys = {receipt.key for receipt in receipts} & log.receipts.keys()
    twice = len({row[1:3] for row in rows}) < len(rows) or len({kept.key for kept in receipts}) < len(receipts)
    if streams or keys or twice:
        raise Conflict("Another process wrote first: a version or key is taken.", streams=streams, keys=keys)


def _apply(turns: "ChainMap[str, _Turn]", change: TurnChange) -> None:
    if isinstance(change, NewTurn):
        if change.turn_id in turns:
            raise Conflict(f"The turn {change.turn_id} is there already.", streams=[change.session_id])
        turns[change.turn_id] = _Turn(change, change.state)
        return
    found = turns.get(change.turn_id)
    if found is not None and _may_end(found, change):
        turns[change.turn_id] = replace(found, state=change.state, until=None)
    elif change.fenced:
        raise Fenced(change.turn_id, change.said_by)


def _may_end(turn: _Turn, change: TurnEnd) -> bool:
    return turn.state in change.before and change.attempt in (None, turn.attempt)


class MemoryTurns:
    """The lease table."""

    def __init__(self, log: MemoryLog) -> None:
        self._log = log

    def _unsettled(self) -> list[_Turn]:
        with self._log.lock:
            return [turn for turn in self._log.turns.values() if turn.state in ("queued", "running")]

    def take(self, turn_id: str, worker: str, *, now: int, lease_ms: int) -> Lease | None:
        with self._log.lock:
            turn = self._log.turns.get(turn_id)
            if turn is None or turn.state not in ("queued", "running") or not turn.free(now):
                return None
            taken = replace(turn, state="running", attempt=turn.attempt + 1, worker=worker, until=now + lease_ms)
            self._log.turns[turn_id] = taken
        return taken.lease()

    def waiting(self, now: int) -> bool:
        return any(turn.free(now) for turn in self._unsettled())

    def open(self, now: int, *, limit: int, after: TurnPlace = FIRST, upto: TurnPlace = LAST) -> TurnPage:
        between = (turn for turn in self._unsettled() if after < turn.open.place <= upto)
        found = sorted(between, key=lambda turn: turn.open.place)[:limit]
        end = found[-1].open.place if len(found) == limit else None
        return TurnPage([turn.open for turn in found if turn.free(now)], end)

    def heartbeat(self, lease: Lease, *, until: int) -> bool:
        return self._change(lease, until=max(lease.until, until))

    def give_back(self, lease: Lease) -> bool:
        return self._change(lease, state="queued", until=None)

    def _change(self, lease: Lease, *, until: int | None, state: TurnState = "running") -> bool:
        with self._log.lock:
            turn = self._log.turns.get(lease.turn_id)
            if turn is None or turn.state != "running" or turn.attempt != lease.attempt:
                return False
            latest = until if until is None or turn.until is None else max(turn.until, until)
            self._log.turns[lease.turn_id] = replace(turn, state=state, until=latest)
            return True

    def release(self, worker: str) -> int:
        with self._log.lock:
            held = [turn for turn in self._unsettled() if turn.state == "running" and turn.worker == worker]
            for turn in held:
                self._log.turns[turn.request.turn_id] = replace(turn, state="queued", until=None)
        return len(held)

    def workers(self) -> tuple[str, ...]:
        return tuple({turn.worker for turn in self._unsettled() if turn.state == "running" and turn.worker is not None})

    def overdue(self, now: int) -> list[tuple[str, str]]:
        requests = (turn.request for turn in self._unsettled())
        return [(each.session_id, each.turn_id) for each in requests if each.deadline and each.deadline < now]

    def held(self, turn_id: str) -> Lease | None:
        turn = self._log.turns.get(turn_id)
        return None if turn is None else turn.lease()

    def attempts(self, turn_ids: Sequence[str]) -> dict[str, int | None]:
        leases = {turn_id: lease for turn_id in turn_ids if (lease := self.held(turn_id)) is not None}
        return {turn_id: leases[turn_id].attempt if turn_id in leases else None for turn_id in turn_ids}

    def status(self, turn_id: str) -> TurnStatus | None:
        turn = self._log.turns.get(turn_id)
        return None if turn is None else TurnStatus(turn.request.session_id, turn.state, turn.attempt, turn.worker)

    def count(self) -> dict[str, int]:
        states = [turn.state for turn in self._unsettled()]
        return {"queued": states.count("queued"), "running": states.count("running")}


class MemoryRows:
    """The log without decoding."""

    def __init__(self, log: MemoryLog) -> None:
        self._log = log

    @contextmanager
    def frozen(self) -> Iterator["MemoryRows"]:
        log = self._log
        with log.lock:
            copy = MemoryLog(list(log.rows), dict(log.streams), dict(log.texts), dict(log.receipts), dict(log.turns))
        yield MemoryRows(copy)

    def events(self, streams: Sequence[str] | None = None, *, after: int = 0, page: int = PAGE) -> Iterator[Row]:
        return (row for row in self._log.rows[after:] if streams is None or row.stream in streams)

    def hash_of(self, stream: str, version: int) -> bytes | None:
        rows = self._log.streams.get(stream, [])
        return rows[version - 1].hash if 0 < version <= len(rows) else None

    def streams(self) -> list[str]:
        return list(self._log.streams)

    def texts(self) -> Iterator[tuple[str, str]]:
        return iter(sorted(self._log.texts.items()))

    def integrity(self) -> list[str]:
        return []

    def last_given(self) -> int:
        return len(self._log.rows)

    def open_turns(self) -> dict[str, tuple[Any, ...]]:
        open_states = ("queued", "running", "held")
        return {name: turn.request[1:6] for name, turn in self._log.turns.items() if turn.state in open_states}

    def backup(self, target: Path) -> None:
        raise StoreError(f"The backup {target} cannot be written: a log in memory has no file.")
