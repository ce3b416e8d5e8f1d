"""Frames: events ready to be sent, each encoded once, and the pieces of them that clients at one place are handed."""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import orjson

from domain.session.record import Recorded

PIECE_BYTES: Final = 64 * 1024
"""What is handed out at a time is not much more: it is all that a client which stops reading can hold on to."""
SHARED: Final = 256
SHARED_BYTES: Final = 16 * 1024 * 1024
"""Pieces kept for the next client at the same place: the tabs that open a session all begin at the same one."""


class SseFrame(NamedTuple):
    """An event, ready to be sent, and what it is chosen by."""

    position: int
    session_id: str
    version: int
    kind: str
    topic: str
    data: bytes

    @classmethod
    def of(cls, recorded: Recorded) -> "SseFrame":
        data = b"id: %d\ndata: %b\n\n" % (recorded.position, orjson.dumps(recorded.wire()))
        topic = recorded.event.TOPIC
        return cls(recorded.position, recorded.session_id, recorded.version, recorded.kind, topic, data)


class Interest(NamedTuple):
    """Which events a client wants: all of the log unless narrowed; of a session those above a version."""

    session_id: str | None = None
    kind: str | None = None
    topic: str | None = None
    above: int = 0

    def wants(self, frame: SseFrame) -> bool:
        return (
            (self.session_id is None or frame.session_id == self.session_id)
            and (self.kind is None or frame.kind == self.kind)
            and (self.topic is None or frame.topic == self.topic)
            and frame.version > self.above
        )


class Piece(NamedTuple):
    """Frames on end: all that was wanted up to a position, and the version of the last of them, 0 without any.

    It stays valid: any client at its start can get it at any time.
    """

    data: bytes
    position: int
    version: int


def pieces(frames: Iterable[SseFrame], interest: Interest, end: int) -> Iterator[Piece]:
    """The wanted frames, piece after piece. `end` is the position up to which these are all."""
    chosen: list[bytes] = []
    size = version = 0
    for frame in frames:
        if not interest.wants(frame):
            continue
        chosen.append(frame.data)
        size, version = size + len(frame.data), frame.version
        if size >= PIECE_BYTES:
            yield Piece(b"".join(chosen), frame.position, version)
            chosen, size = [], 0
    yield Piece(b"".join(chosen), end, version)


class Pieces:
    """What was handed out last, within bounds of number and bytes."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[Interest, int], Piece] = OrderedDict()
        self._bytes = 0

    def find(self, interest: Interest, position: int) -> Piece | None:
        return self._kept.get((interest, position))

    def clear(self) -> None:
        self._kept.clear()
        self._bytes = 0

    def keep(self, interest: Interest, position: int, found: Piece) -> None:
        """Only what leads on: that there is nothing new yet does not stay true."""
        if found.position <= position or (interest, position) in self._kept:
            return
        self._kept[interest, position] = found
        self._bytes += len(found.data)
        while len(self._kept) > SHARED or self._bytes > SHARED_BYTES:
            self._bytes -= len(self._kept.popitem(last=False)[1].data)
