"""The heads of the streams that a transaction writes to."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from itertools import repeat
from threading import Lock
from typing import NamedTuple

from eventsourcing.persistence import StoredEvent

from adapters.store.errors import Conflict, Rewound
from adapters.store.rows import Row, chained
from adapters.store.seal import FORM

KNOWN = 10_000
"""For how many streams the last hash is cached."""
Head = tuple[int, bytes]
"""A version of a stream and the hash of its row."""


class Newest(NamedTuple):
    """The last event of this process: its position, 0 before the first, and its hash. The era is how often the log was
    found to have gone back."""

    position: int
    hash: bytes
    era: int


class StreamHeads:
    """The ends of the streams as this process has seen them.

    Rows never change: the hash of version 7 is right for chaining version 8 even if another process has written version
    8 meanwhile; then the row is refused.
    """

    def __init__(self, size: int = KNOWN) -> None:
        self._size = size
        self._known: OrderedDict[str, Head] = OrderedDict()
        self._newest = Newest(0, b"", 0)
        self._changing = Lock()

    def get(self, stream: str) -> Head | None:
        return self._known.get(stream)

    @property
    def newest(self) -> Newest:
        """The last event that this process has committed. Other threads commit meanwhile: look once, and `check` it."""
        return self._newest

    def check(self, newest: Newest, digest: bytes | None) -> None:
        """Compare that event with what the log has at its position now. Raises Rewound where it is another one or none:
        the log was replaced by an older state of itself. All that this process knew is forgotten then."""
        if newest.position and (digest is None or bytes(digest) != newest.hash):
            with self._changing:
                if newest.era == self._newest.era:  # otherwise another thread has found the same
                    self._known.clear()
                    self._newest = Newest(0, b"", newest.era + 1)
            raise Rewound

    def keep(self, batch: "AppendBatch", positions: Sequence[int]) -> None:
        """Remember what was committed, at these positions; not if the log has gone back since. Two threads may come
        here in another order than they have committed in."""
        with self._changing:
            if batch.era != self._newest.era:
                return
            if positions and positions[-1] > self._newest.position:
                self._newest = Newest(positions[-1], batch.rows[-1].hash, batch.era)
            for stream, head in batch.heads.items():
                self._known[stream] = head
                self._known.move_to_end(stream)
            while len(self._known) > self._size:
                self._known.popitem(last=False)


class AppendBatch:
    """The rows of one transaction; `position` is the last assigned one."""

    def __init__(self, heads: StreamHeads, position: int, hash_of: Callable[[str, int], bytes | None]) -> None:
        self._known, self._hash_of, self.era = heads, hash_of, heads.newest.era
        self.position = position
        self.heads: dict[str, Head] = {}
        self.rows: list[Row] = []

    def add_all(self, events: Sequence[StoredEvent], kept: Sequence[tuple[bytes, int]] = ()) -> list[int]:
        """The positions of the events. Imported events come with their hashes and forms. Raises Conflict if
        the version before one of them is missing."""
        return [self._add(event, each) for event, each in zip(events, kept or repeat(None, len(events)), strict=True)]

    def _add(self, event: StoredEvent, kept: tuple[bytes, int] | None) -> int:
        stream, version = str(event.originator_id), event.originator_version
        previous = self._previous(stream, version)
        digest, form = kept or (chained(previous, stream, version, event.topic, event.state, FORM), FORM)
        self.position += 1
        self.rows.append(Row(self.position, stream, version, event.topic, event.state, digest, form))
        self.heads[stream] = (version, digest)
        return self.position

    def _previous(self, stream: str, version: int) -> bytes:
        """The hash that the row is chained to; empty for the first one."""
        if version == 1:
            return b""
        head = self.heads.get(stream) or self._known.get(stream)
        if head is not None and head[0] == version - 1:
            return head[1]
        digest = self._hash_of(stream, version - 1)
        if digest is None:
            raise Conflict(f"{stream} has no version {version - 1}.", streams=[stream])
        return digest
