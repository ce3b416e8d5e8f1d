"""A store in memory that passes the same tests as the others. Several stores may share one `MemoryLog`."""

import threading
from collections import ChainMap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eventsourcing.persistence import Notification, StoredEvent

from adapters.clock import Clock
from adapters.store.append import NO_ATTACHMENTS, Attachments, EventRecorder, Redaction
from adapters.store.blanks import blanked
from adapters.store.errors import Conflict, StoreError
from adapters.store.heads import AppendBatch, StreamHeads
from adapters.store.mapper import decode_all
from adapters.store.outline import outline_all
from adapters.store.port import PAGE, StoredReceipt
from adapters.store.rows import Row, time_of
from domain.session.record import Fingerprint, Omitted, Recorded, Sight, kind_of
from domain.session.redaction import REDACTED
from tests.kit.memory_turns import MemoryTurn, MemoryTurns, TurnTable, apply


@dataclass(slots=True, weakref_slot=True)
class MemoryLog:
    """The stored data; `lock` allows one transaction at a time."""

    rows: list[Row] = field(default_factory=list)
    streams: dict[str, list[Row]] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    receipts: dict[str, StoredReceipt] = field(default_factory=dict)
    turns: TurnTable = field(default_factory=TurnTable)
    epoch: int = 0
    lock: threading.RLock = field(default_factory=threading.RLock)


class MemoryStore(EventRecorder):
    """A log that ends with the process."""

    failing = False

    def __init__(self, log: MemoryLog | None = None) -> None:
        self._log = log if log is not None else MemoryLog()
        self._heads, self._closed = StreamHeads(), False
        self.clock = Clock()
        self.turns = MemoryTurns(self._log.turns, self._log.lock)
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
            newest = self._heads.newest
            self._heads.check(newest, log.rows[newest.position - 1].hash if 0 < newest.position <= head else None)
            batch = AppendBatch(self._heads, head, self.rows.hash_of)
            positions = batch.add_all(stored_events, attachments.hashes)
            receipts = attachments.made_receipts(head, positions)
            _check_free(log, batch.rows, receipts)
            turns = ChainMap[str, MemoryTurn]({}, log.turns)
            for change in attachments.turns:
                apply(turns, change)
            for row in batch.rows:
                log.streams.setdefault(row.stream, []).append(row)
            log.rows += batch.rows
            log.texts = dict(attachments.texts) | log.texts
            for redaction in attachments.redactions:
                _redact(log, redaction)
            log.receipts.update((receipt.key, receipt) for receipt in receipts)
            log.turns.keep(turns.maps[0])
        self._heads.keep(batch, positions)
        return positions

    # -- reading ---------------------------------------------------------------------------------------------------

    def history(
        self,
        session_id: str,
        *,
        after: int = 0,
        upto: int | None = None,
        limit: int | None = None,
        topics: Sequence[str] | None = None,
    ) -> list[Recorded]:
        with self._opened() as log:
            rows = log.streams.get(session_id, [])[after:upto]
        return _decoded([row for row in rows if topics is None or row.topic in topics][:limit])

    def beginnings(self, sessions: Sequence[str]) -> list[Recorded]:
        with self._opened() as log:
            rows = [log.streams[session_id][0] for session_id in sessions if session_id in log.streams]
        return _decoded(rows)

    def log(
        self,
        *,
        after: int = 0,
        limit: int = PAGE,
        kind: str | None = None,
        topic: str | None = None,
        session_id: str | None = None,
        sessions: Sequence[str] | None = None,
        omitted: Omitted | None = None,
    ) -> list[Recorded]:
        among = None if sessions is None else set(sessions)
        with self._opened() as log:
            rows = log.rows[after:] if session_id is None else log.streams.get(session_id, [])
            entries = [
                row
                for row in rows
                if row.position > after
                and (kind is None or kind_of(row.stream) == kind)
                and (topic is None or row.topic == topic)
                and (among is None or row.stream in among)
            ]
        page = entries[:limit]
        return _decoded(page) if omitted is None else outline_all([row[:5] for row in page], omitted)

    def head(self) -> int:
        with self._opened() as log:
            return len(log.rows)

    def sight(self, *positions: int) -> Sight:
        with self._opened() as log:
            rows = [log.rows[each - 1] if 0 < each <= len(log.rows) else None for each in positions]
            return Sight(len(log.rows), log.epoch, tuple(None if row is None else row.hash.hex() for row in rows))

    def gone_back(self, since: int) -> int:
        with self._opened() as log:
            log.epoch = max(log.epoch, since + 1)
            return log.epoch

    def version(self, session_id: str) -> int:
        with self._opened() as log:
            return len(log.streams.get(session_id, ()))

    def text(self, digest: str) -> str | None:
        with self._opened() as log:
            return log.texts.get(digest)

    def receipts(self, keys: Sequence[str]) -> dict[str, StoredReceipt]:
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
            rows = [row.stored() for row in log.streams.get(str(originator_id), [])[gt or 0 : lte]]
        return (rows[::-1] if desc else rows)[:limit]

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


def _check_free(log: MemoryLog, rows: Sequence[Row], receipts: Sequence[StoredReceipt]) -> None:
    """Raises Conflict with every version and key that is taken, in the log or twice in the batch."""
    streams = {row.stream for row in rows if row.version <= len(log.streams.get(row.stream, ()))}
    keys = {receipt.key for receipt in receipts} & log.receipts.keys()
    twice = len({row[1:3] for row in rows}) < len(rows) or len({each.key for each in receipts}) < len(receipts)
    if streams or keys or twice:
        raise Conflict(streams=streams, keys=keys)


class MemoryRows:
    """The log without decoding."""

    def __init__(self, log: MemoryLog) -> None:
        self._log = log

    @contextmanager
    def frozen(self) -> Iterator["MemoryRows"]:
        log = self._log
        with log.lock:
            copy = MemoryLog(
                list(log.rows), dict(log.streams), dict(log.texts), dict(log.receipts), TurnTable(log.turns)
            )
        yield MemoryRows(copy)

    def events(self, streams: Sequence[str] | None = None, *, after: int = 0, page: int = PAGE) -> Iterator[Row]:
        return (row for row in self._log.rows[after:] if streams is None or row.stream in streams)

    def pages(self, *, after: int = 0, page: int = PAGE) -> Iterator[Sequence[Row]]:
        return (self._log.rows[begin : begin + page] for begin in range(after, len(self._log.rows), page))

    def by_stream(self) -> Iterator[Row]:
        return (row for _, rows in sorted(self._log.streams.items()) for row in rows)

    def row(self, stream: str, version: int) -> Row | None:
        rows = self._log.streams.get(stream, [])
        return rows[version - 1] if 0 < version <= len(rows) else None

    def hash_of(self, stream: str, version: int) -> bytes | None:
        rows = self._log.streams.get(stream, [])
        return rows[version - 1].hash if 0 < version <= len(rows) else None

    def streams(self) -> list[str]:
        return list(self._log.streams)

    def count(self, upto: int) -> int:
        return min(upto, len(self._log.rows))

    def fingerprints(self, *, after: int = 0, upto: int, limit: int) -> Sequence[Fingerprint]:
        return [
            Fingerprint(row.position, row.stream, row.version, row.hash.hex(), time_of(row.state))
            for row in self._log.rows[after:upto][:limit]
        ]

    def texts(self) -> Iterator[tuple[str, str]]:
        return iter(sorted(self._log.texts.items()))

    def receipts(self) -> Iterator[Sequence[Any]]:
        receipts = sorted(self._log.receipts.items())
        return ((key, each.fingerprint, each.status, each.body, each.at, each.digest) for key, each in receipts)

    def api_keys(self) -> Iterator[Sequence[Any]]:
        return iter(())

    def links(self) -> Iterator[Sequence[Any]]:
        return iter(())

    def secrets(self) -> Iterator[tuple[str, bytes]]:
        return iter(())

    def known_texts(self, digests: Sequence[str]) -> set[str]:
        return self._log.texts.keys() & set(digests)

    def turn_count(self) -> int:
        return len(self._log.turns)

    def turns(self, stream: str | None = None) -> Iterator[Sequence[Any]]:
        for turn_id, turn in sorted(self._log.turns.items()):
            if stream is not None and turn_id.rpartition(".")[0] != stream:
                continue
            lease = (turn.state, turn.attempt, turn.worker, turn.until)
            request = turn.request
            yield (*request[:6], *lease, request.deadline, request.requested_at, turn.owner, turn.rank)

    engine = "memory"

    def integrity(self, *, quick: bool = False) -> list[str]:
        return []

    def last_given(self) -> int:
        return len(self._log.rows)

    def open_turns(self) -> dict[str, tuple[Any, ...]]:
        open_states = ("queued", "running", "held")
        turns = {name: turn.request for name, turn in self._log.turns.items() if turn.state in open_states}
        return {name: (*each[1:6], each.requested_at, each.deadline) for name, each in turns.items()}

    def backup(self, target: Path) -> None:
        raise StoreError(f"The backup {target} cannot be written: a log in memory has no file.")


def _redact(log: MemoryLog, redaction: Redaction) -> None:
    """Remove the text from the log, and its beginning from the events that quote it."""
    if redaction.digest in log.texts:
        log.texts[redaction.digest] = REDACTED
    stream = log.streams[redaction.stream]
    for version in redaction.versions:
        row = stream[version - 1]
        row = row._replace(state=blanked(row.state, redaction.digest, row.form))
        stream[version - 1] = log.rows[row.position - 1] = row
