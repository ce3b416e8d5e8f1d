"""What the tests of the log share: the stores under the contract, and writes made from the events of deliveries."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from weakref import WeakValueDictionary

from eventsourcing.persistence import StoredEvent

from adapters.store.location import open_store
from adapters.store.port import NewEvent, Store, StoredReceipt, Write
from adapters.store.rows import Row
from adapters.store.seal import FORM
from domain.session.record import Causation
from domain.session.state import EventMetadata
from domain.values.base import Blob, DomainEvent
from tests.kit.memory_store import MemoryLog, MemoryStore
from tests.kit.postgres import cluster
from tests.kit.stories import START, DeliveryStory

CAUSE = Causation(actor="person", command_id="command-1", correlation_id="delivery-1", causation_id="command-1")

Opener = Callable[[Path], Store]


def _sqlite(path: Path) -> Store:
    return open_store(f"sqlite:///{path / 'log.db'}")


_in_memory: WeakValueDictionary[Path, MemoryLog] = WeakValueDictionary()


def _memory(path: Path) -> Store:
    return MemoryStore(_in_memory.setdefault(path, MemoryLog()))


def _postgres(path: Path) -> Store:
    return open_store(cluster().database(path))


STORES: dict[str, Opener] = {"sqlite": _sqlite, "memory": _memory, "postgres": _postgres}
"""Every store has to pass the same tests; another one joins here."""


def chain(previous: bytes, row: StoredEvent) -> bytes:
    """The hash of a row after its predecessor's."""
    return Row(0, str(row.originator_id), row.originator_version, row.topic, row.state, b"", FORM).chained(previous)


@dataclass
class Database:
    """One log, opened as often as a test likes; each opening acts as a process."""

    opener: Opener
    path: Path
    opened: list[Store] = field(default_factory=list)

    def open(self) -> Store:
        self.opened.append(self.opener(self.path))
        return self.opened[-1]

    def close(self) -> None:
        for store in self.opened:
            store.close()


def entries(
    events: Sequence[DomainEvent], *, session_id: str = "delivery-1", after: int = 0, at: int = START
) -> list[NewEvent]:
    """Events as the versions after `after` of a session."""
    return [NewEvent(session_id, version, at, CAUSE, event) for version, event in enumerate(events, start=after + 1)]


def write(
    events: Sequence[DomainEvent] = (),
    *,
    session_id: str = "delivery-1",
    after: int = 0,
    at: int = START,
    blobs: Sequence[Blob] = (),
    key: str | None = None,
    actor: str = CAUSE.actor,
) -> Write:
    """What one command stores; with a key also its receipt."""
    cause = CAUSE._replace(actor=actor, correlation_id=session_id)
    items = [entry._replace(causation=cause) for entry in entries(events, session_id=session_id, after=after, at=at)]
    return Write(items, blobs, None if key is None else lambda position: receipt(key, position))


def receipt(key: str, position: int = 0) -> StoredReceipt:
    return StoredReceipt(key, "fingerprint", 202, b'{"position":%d}' % position, START)


def delivery_story(session_id: str = "delivery-1", **fields: object) -> DeliveryStory:
    """A delivery that has only begun; its events are 1 session_started, 2 phase_started, 3 turn.requested."""
    return DeliveryStory(session_id, **fields)


def store_events(store: Store, story: DeliveryStory, events: Sequence[DomainEvent]) -> None:
    """Store the newest events of a story."""
    version = len(story.history) - len(events)
    store.append([write(events, session_id=story.id, after=version, at=story.at)])


def moments(store: Store, session_id: str) -> list[tuple[DomainEvent, EventMetadata]]:
    return [(recorded.event, recorded.metadata) for recorded in store.history(session_id)]
