"""One transaction of the log: events are numbered, chained, and stored together with everything that belongs to them.

Stores implement the `ApplicationRecorder` of the eventsourcing library. Everything is written through `insert_events`,
including commands and imports.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

from eventsourcing.persistence import ApplicationRecorder, StoredEvent, Subscription

from adapters.store.errors import Conflict
from adapters.store.keys import Vault
from adapters.store.mapper import decode, encode
from adapters.store.port import Access, Attendances, NameClaims, NewEvent, Node, StoredReceipt, Write
from adapters.store.rows import Row
from adapters.store.shares import Shares
from adapters.store.turn_changes import TURN_EVENTS, TurnChange, change_of
from domain.session.record import Causation, Recorded
from domain.session.redaction import TextRedacted
from domain.values.sentences import Sentence


@dataclass(frozen=True, slots=True)
class Redaction:
    """A text that is removed from the log, and from these versions of a stream."""

    digest: str
    stream: str
    versions: Sequence[int]


class Attachments(NamedTuple):
    """The rest of what is stored in the transaction of some events. Each receipt comes with the number of events before
    it in the batch, and is built from the position of the last of them."""

    texts: Sequence[tuple[str, str]] = ()
    receipts: Sequence[tuple[int, Callable[[int], StoredReceipt]]] = ()
    turns: Sequence[TurnChange] = ()
    redactions: Sequence[Redaction] = ()
    hashes: Sequence[tuple[bytes, int]] = ()
    """Hash and form of imported events: one that quoted a redacted text keeps the hash from before the redaction."""

    def made_receipts(self, head: int, positions: Sequence[int]) -> list[StoredReceipt]:
        """The receipts of a batch that follows the position `head`."""
        return [make(positions[count - 1] if count else head) for count, make in self.receipts]


NO_ATTACHMENTS = Attachments()


class EventRecorder(ApplicationRecorder, ABC):
    """The common part of all stores; each of them inserts and selects rows in its own way."""

    @abstractmethod
    def insert_events(
        self, stored_events: Sequence[StoredEvent], *, attachments: Attachments = NO_ATTACHMENTS, **_: Any
    ) -> Sequence[int]:
        """Store events and attachments in one transaction; the positions of the events.

        Raises Conflict (the library's IntegrityError) with every stream and key that is taken, Fenced or StoreError.
        """

    @abstractmethod
    def receipts(self, keys: Sequence[str]) -> dict[str, StoredReceipt]: ...

    def append(self, writes: Sequence[Write]) -> list[list[Recorded]]:
        """Store the writes of a batch in one transaction; the recorded events of each, in order."""
        if not writes:
            return []
        events, attachments = _rows_of(writes)
        positions = iter(self.insert_events(events, attachments=attachments))
        return [[entry.recorded(next(positions)) for entry in write.entries] for write in writes]

    def import_rows(self, rows: Sequence[Row], texts: Iterable[tuple[str, str]]) -> None:
        """Store histories of another log. Raises Conflict."""
        recorded = (decode(row.stored(), row.position) for row in rows)
        changes = (
            change_of(each.event, session_id=each.session_id, version=each.version, at=each.at, source="imported")
            for each in recorded
        )
        turns = [change for change in changes if change is not None]
        attachments = Attachments(texts=list(texts), turns=turns, hashes=[(row.hash, row.form) for row in rows])
        try:
            self.insert_events([row.stored() for row in rows], attachments=attachments)
        except Conflict as error:
            sentence = Sentence("log_holds_events", detail=error)
            raise Conflict(sentence, streams=error.streams) from error

    def receipt(self, key: str) -> StoredReceipt | None:
        """The first answer that was given under this key."""
        return self.receipts([key]).get(key)

    @property
    def shares(self) -> Shares | None:
        """None: all workspaces are on this machine."""
        return None

    @property
    def attendances(self) -> Attendances | None:
        """None: all who run turns are on this machine."""
        return None

    @property
    def claims(self) -> NameClaims | None:
        """None: locked files on this machine are enough."""
        return None

    @property
    def outbox(self) -> Access | None:
        """None: all who notify are on this machine."""
        return None

    @property
    def vault(self) -> Vault | None:
        """Keys are in files of this machine."""
        return None

    def attend(self, name: str, role: Literal["server", "worker"], agents: str = "") -> None:
        """Report that this process is alive."""
        self._attending[name] = Node(name, role, time.time_ns() // 1_000_000, agents)

    def leave(self, name: str) -> None:
        """Report that this process has ended."""
        self._attending.pop(name, None)

    def nodes(self) -> list[Node]:
        """Of this process: others are not known here."""
        return sorted(self._attending.values())

    @cached_property
    def _attending(self) -> dict[str, Node]:
        return {}

    def listen(self, woken: Callable[[], None]) -> None:
        """Other processes cannot notify this one."""

    def subscribe(self, gt: int | None = None, topics: Sequence[str] = ()) -> Subscription[ApplicationRecorder]:
        raise NotImplementedError("Follow the log with projections.follow: one way for every store.")


def _rows_of(writes: Sequence[Write]) -> tuple[list[StoredEvent], Attachments]:
    events: list[StoredEvent] = []
    texts: list[tuple[str, str]] = []
    receipts: list[tuple[int, Callable[[int], StoredReceipt]]] = []
    turns: list[TurnChange] = []
    redactions: list[Redaction] = []
    for write in writes:
        texts += [(blob.digest, blob.content) for blob in write.blobs]
        forker = write.entries[-1].causation if write.adopted else None
        for entry in write.entries:
            events.append(encode(entry))
            if isinstance(entry.event, TURN_EVENTS):
                turns += _changes(entry, forker)
            elif isinstance(entry.event, TextRedacted) and forker is None:
                versions = tuple(each.version for each in entry.event.events)
                redactions.append(Redaction(entry.event.digest, entry.session_id, versions))
        if write.receipt is not None:
            receipts.append((len(events), write.receipt))
    return events, Attachments(texts, receipts, turns, redactions)


def _changes(entry: NewEvent, forker: Causation | None) -> list[TurnChange]:
    """The change that an event makes in the table of turns. An adopted event has the causation of its fork."""
    by = forker or entry.causation
    change = change_of(
        entry.event,
        session_id=entry.session_id,
        version=entry.version,
        at=entry.at,
        source="adopted" if forker else "live",
        asked_by=by.actor,
        root=by.correlation_id,
    )
    return [] if change is None else [change]
