"""The rows of the log without decoding: how each is chained to its predecessor, and how stores list them."""

import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from struct import Struct
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from eventsourcing.persistence import StoredEvent

from adapters.store.seal import sealed

if TYPE_CHECKING:
    from domain.session.record import Fingerprint


class Row(NamedTuple):
    """An event as it is stored; `hash` chains it to its predecessor in the stream."""

    position: int
    stream: str
    version: int
    topic: str
    state: bytes
    hash: bytes
    form: int = 1
    """The form in which it is hashed (`seal.py`)."""

    def stored(self) -> StoredEvent:
        return StoredEvent(self.stream, self.version, self.topic, self.state)

    def chained(self, previous: bytes) -> bytes:
        """The hash that it should have after its predecessor's (empty for the first): over that hash and each part of
        the row, all but the last with its length."""
        return chained(previous, self.stream, self.version, self.topic, self.state, self.form)


def chained(previous: bytes, stream: str, version: int, topic: str, state: bytes, form: int) -> bytes:
    """The hash of an event after its predecessor's."""
    return hashed(previous, stream, version, topic, sealed(state, form), form)


def hashed(previous: bytes, stream: str, version: int, topic: str, words: bytes, form: int) -> bytes:
    """The hash of an event whose sealed form has these bytes."""
    number = b"%d" % version
    parts = (previous, _sized(stream), SIZE(len(number)), number, _sized(topic))
    return sha256(b"".join((*parts, words) if form == 1 else (*parts, b"form %d" % form, words))).digest()


SIZE = Struct(">I").pack
_AT = re.compile(rb'\{(?:"v":\d+,)?"at":(\d{1,18}),')
"""The beginning of every state that we write."""


def time_of(state: bytes) -> int:
    """Returns when an event was recorded, without decoding it; 0 for a state that was not written by us."""
    found = _AT.match(state)
    return int(found[1]) if found else 0


@lru_cache(10_000)
def _sized(part: str) -> bytes:
    text = part.encode()
    return SIZE(len(text)) + text


def size_of(row: Sequence[Any]) -> int:
    """About how many bytes the values of a row have."""
    return sum(len(value) for value in row if isinstance(value, str | bytes))


class Rows(Protocol):
    """The log without decoding, for proofs, copies and exports."""

    def frozen(self) -> AbstractContextManager["Rows"]:
        """Consistent rows, whatever is written meanwhile."""

    def events(self, streams: Sequence[str] | None = None, *, after: int = 0, page: int = ...) -> Iterator[Row]:
        """The events after a position, of all sessions or of some. Raises StoreError for an unsound row."""

    def pages(self, *, after: int = 0, page: int = ...) -> Iterator[Sequence[Row]]:
        """All events after a position, many at a time. Raises StoreError where a row of a page is unsound."""

    def by_stream(self) -> Iterator[Row]:
        """All events, one session after another."""

    def row(self, stream: str, version: int) -> Row | None:
        """One event."""

    def hash_of(self, stream: str, version: int) -> bytes | None:
        """The chained hash of an event: it covers everything before it in its stream."""

    def streams(self) -> list[str]:
        """Every session and channel, oldest first."""

    def count(self, upto: int) -> int:
        """The number of events up to a position, whatever the indexes of the log say."""

    def fingerprints(self, *, after: int = 0, upto: int, limit: int) -> "Sequence[Fingerprint]":
        """Returns what identifies the events after a position, at most `limit`; unsound rows are left out."""

    def texts(self) -> Iterator[tuple[str, str]]:
        """Digest and content of every long text, by digest. Raises StoreError."""

    def known_texts(self, digests: Sequence[str]) -> set[str]:
        """Those of these digests that have a text."""

    def receipts(self) -> Iterator[Sequence[Any]]:
        """Key, fingerprint, status, body, time and digest (None: of an older version) of every receipt, by key."""

    def turns(self, stream: str | None = None) -> Iterator[Sequence[Any]]:
        """The lease table by turn: all of it, or what is named after a session."""

    def turn_count(self) -> int:
        """The number of rows in the lease table."""

    def api_keys(self) -> Iterator[Sequence[Any]]:
        """Name, digest, scope and end of every API key, by name."""

    def links(self) -> Iterator[Sequence[Any]]:
        """Digest, name and time of every link that signs in once, by digest."""

    def secrets(self) -> Iterator[tuple[str, bytes]]:
        """Name and value of every secret, by name."""

    @property
    def engine(self) -> str:
        """The name of what stores them."""

    def integrity(self, *, quick: bool = False) -> list[str]:
        """The faults that the storage itself finds; `quick` does not compare the indexes with their tables."""

    def last_given(self) -> int:
        """The newest position that was ever assigned, whether or not its event still exists."""

    def open_turns(self) -> dict[str, tuple[Any, ...]]:
        """Session, version, work, agent, role, time and deadline of each turn not settled in the lease table."""

    def backup(self, target: Path) -> None:
        """A complete copy while the log is in use. Raises StoreError and leaves nothing at the target."""
