"""Frames: events encoded once, ready to be sent, and the pieces of them that clients at the same position share."""

import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import orjson

from domain.session.record import Recorded

PIECE_BYTES: Final = 64 * 1024
"""Pieces are not much larger than this: a client that stops reading can hold on to one piece."""
SHARED: Final = 256
SHARED_BYTES: Final = 16 * 1024 * 1024
"""Number of pieces kept for the next client at the same position: tabs that open a session all start at the same
one."""
_ID: Final = re.compile(r"(0|[1-9][0-9]{0,17})(?:-([1-9][0-9]{0,17}))?")


class StreamId(NamedTuple):
    """A position of the log in an epoch of it, as clients name it: `864`, and `864-1` once the log has gone back."""

    position: int
    epoch: int

    def __bytes__(self) -> bytes:
        return b"%d-%d" % self if self.epoch else b"%d" % self.position

    @classmethod
    def parse(cls, text: str) -> "StreamId | None":
        """The id of a client; None if it is not one."""
        match = _ID.fullmatch(text)
        return None if match is None else cls(int(match[1]), int(match[2] or 0))


class SseFrame(NamedTuple):
    """An event, ready to be sent, and the fields by which it is filtered. Without data, it is not encoded: no client
    wanted it when it came."""

    position: int
    session_id: str
    version: int
    kind: str
    topic: str
    data: bytes = b""

    @classmethod
    def bare(cls, recorded: Recorded) -> "SseFrame":
        return cls(recorded.position, recorded.session_id, recorded.version, recorded.kind, recorded.event.TOPIC)

    @classmethod
    def of(cls, recorded: Recorded, epoch: int = 0) -> "SseFrame":
        name = StreamId(recorded.position, epoch)
        data = b"id: %b\ndata: %b\n\n" % (bytes(name), orjson.dumps(recorded.wire()))
        return cls.bare(recorded)._replace(data=data)


class Interest(NamedTuple):
    """The events that a client wants: the whole log unless filtered."""

    session_id: str | None = None
    kind: str | None = None
    topic: str | None = None

    def wants(self, frame: SseFrame) -> bool:
        return (
            (self.session_id is None or frame.session_id == self.session_id)
            and (self.kind is None or frame.kind == self.kind)
            and (self.topic is None or frame.topic == self.topic)
        )


class Piece(NamedTuple):
    """Consecutive frames: all that was wanted up to a position, and the version of the last of them, 0 without any.

    It stays valid: any client at its start can get it at any time.
    """

    data: bytes
    position: int
    version: int


def pieces(frames: Iterable[SseFrame], interest: Interest, end: int) -> Iterator[Piece]:
    """The wanted frames, piece by piece, up to the first that is not encoded. `end` is the position up to which these
    are complete."""
    chosen: list[bytes] = []
    size = version = 0
    for frame in frames:
        if not interest.wants(frame):
            continue
        if not frame.data:
            if chosen:
                yield Piece(b"".join(chosen), frame.position - 1, version)
            return
        chosen.append(frame.data)
        size, version = size + len(frame.data), frame.version
        if size >= PIECE_BYTES:
            yield Piece(b"".join(chosen), frame.position, version)
            chosen, size = [], 0
    yield Piece(b"".join(chosen), end, version)


class Pieces:
    """The latest pieces, limited by number and size."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[Interest, int], Piece] = OrderedDict()
        self._bytes = 0

    def find(self, interest: Interest, position: int) -> Piece | None:
        return self._kept.get((interest, position))

    def clear(self) -> None:
        self._kept.clear()
        self._bytes = 0

    def keep(self, interest: Interest, position: int, piece: Piece) -> None:
        """Only pieces with progress are kept: that there is nothing new may change at any time."""
        if piece.position <= position or (interest, position) in self._kept:
            return
        self._kept[interest, position] = piece
        self._bytes += len(piece.data)
        while len(self._kept) > SHARED or self._bytes > SHARED_BYTES:
            self._bytes -= len(self._kept.popitem(last=False)[1].data)
