"""The hub of all event streams: the newest events, encoded once for every client, and their subscribers.

There are no queues: a client is a cursor, and clients at the same position get the same bytes.
"""

import asyncio
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Final, Protocol

from api.node.frames import Interest, Piece, Pieces, SseFrame, pieces
from domain.session.record import Recorded
from domain.values.base import HansardError

KEPT: Final = 4_096
KEPT_BYTES: Final = 16 * 1024 * 1024
MISSED_BEATS: Final = 2
"""A connection that read nothing for this many heartbeats is closed; its client can reconnect and continue."""
STIR_SECONDS: Final = 1.0
"""The least time between two signs that agents are active, so that busy agents do not keep every page busy."""
LEAVE_SECONDS: Final = 0.3
"""At shutdown, a connection that has not read its last message after this many seconds is closed."""


class Wire(Protocol):
    """The connection to a client."""

    def push(self, data: bytes) -> bool:
        """Send at once; returns False, with nothing sent, if that is not possible now."""

    def cut(self) -> None:
        """Drop the connection immediately."""


@dataclass(eq=False, slots=True)
class Reader:
    """A client of the hub: its filter, its position, and how long it has read nothing.

    While it rests, it is up to date and waits to be woken; the hub may push events to it then.
    """

    interest: Interest
    position: int
    version: int | None
    end: Callable[[], int | None]
    wire: Wire
    rung: asyncio.Event = field(default_factory=asyncio.Event)
    gone: bool = False
    rewound: int | None = None
    """The position to which the log has gone back: then the stream ends."""
    beat: bool = False
    lively: bool = False
    """True if it wants a sign when agents are active."""
    stirred: bool = False
    sending: bool = False
    resting: bool = False
    missed: int = 0
    owner: str | None = None
    """The owner of the key that opened it; None on a server without keys."""

    async def rest(self) -> None:
        self.resting = True
        await self.rung.wait()
        self.resting = False

    def advance(self, piece: Piece) -> None:
        self.position = piece.position
        self.version = piece.version or self.version

    def leave(self) -> None:
        self.gone = True
        self.rung.set()


class Hub:
    """Belongs to one event loop, from `begin` on, except for `seen`, `frame`, `stir` and `forget`. Heartbeats in
    seconds; `spelled` fills in derived texts."""

    def __init__(self, heartbeat: float, spelled: Callable[[Recorded], Recorded] = lambda recorded: recorded) -> None:
        self._heartbeat, self._spelled = heartbeat, spelled
        self._loop: asyncio.AbstractEventLoop | None = None
        self.epoch = 0
        """How often the log has gone back."""
        self._frames: list[SseFrame] = []
        self._bytes = self._before = self.position = 0
        self._newest, self._older = Pieces(), Pieces()
        self._finding: dict[tuple[Interest, int], asyncio.Task[list[Piece]]] = {}
        self._forgotten = 0
        """How often pieces were dropped: what was read before is not kept."""
        self._ends: dict[str | None, int | None] = {}
        self._readers: dict[str | None, set[Reader]] = {}
        self._interests: dict[str | None, Counter[Interest]] = {}
        """How many readers want what, by session."""
        self._beating: asyncio.TimerHandle | None = None
        self._stirring = False
        self.clients = 0
        self._owners: Counter[str | None] = Counter()
        self.closed = False

    # -- what happens ----------------------------------------------------------------------------------------------

    def begin(self, position: int, epoch: int = 0) -> None:
        """Everything after this position arrives here, in the running loop; earlier events are read from the log."""
        self._loop = asyncio.get_running_loop()
        self.position, self.epoch = position, epoch
        self._before = position

    def rewound(self, position: int, epoch: int) -> None:
        """End every stream, since the log has gone back: everything after this position arrives again. Its clients
        hear of this position, not of the head that the log has by now: what it got meanwhile is new to them. From any
        thread."""
        self._soon(partial(self._rewind, position, epoch))

    def _rewind(self, position: int, epoch: int) -> None:
        self.position, self.epoch = position, epoch
        self._drop()
        self._finding.clear()
        self._ends.clear()
        for reader in self._everybody():
            reader.rewound = position
            reader.rung.set()

    def seen(self, page: Sequence[Recorded]) -> None:
        """A page of the log, from the follower's thread. Only what a reader wants is encoded; without readers, nothing
        is kept."""
        frames = [self._wanted(recorded) for recorded in page] if self.clients else None
        self._soon(partial(self._add, frames, page[-1].position))

    def forget(self, _: str | None) -> None:
        """Drop everything that is encoded, because it may quote a text that was taken out; the log has what is left
        of it. From any thread."""
        self._soon(self._drop)

    def _soon(self, act: Callable[[], None]) -> None:
        """In the loop, if there still is one."""
        if self._loop is not None:
            with suppress(RuntimeError):  # it was closed meanwhile
                self._loop.call_soon_threadsafe(act)

    def _drop(self) -> None:
        self._forgotten += 1
        self._newest.clear()
        self._older.clear()
        self._frames, self._bytes, self._before = [], 0, self.position

    def _wanted(self, recorded: Recorded) -> SseFrame:
        bare = SseFrame.bare(recorded)
        interests = (*self._interests.get(None, ()), *self._interests.get(recorded.session_id, ()))
        return self.frame(recorded) if any(interest.wants(bare) for interest in interests) else bare

    def frame(self, recorded: Recorded) -> SseFrame:
        return SseFrame.of(self._spelled(recorded), self.epoch)

    def _add(self, frames: list[SseFrame] | None, position: int) -> None:
        self.position = position
        self._newest.clear()
        if frames is None:
            self._frames, self._bytes, self._before = [], 0, position
            return self._wake(set(self._readers))
        self._frames += frames
        self._bytes += sum(len(frame.data) for frame in frames)
        self._trim()
        self._wake({None, *(frame.session_id for frame in frames)})

    def _trim(self) -> None:
        count, size = max(0, len(self._frames) - KEPT), self._bytes
        size -= sum(len(frame.data) for frame in self._frames[:count])
        while size > KEPT_BYTES:
            size -= len(self._frames[count].data)
            count += 1
        if count:
            self._before, self._bytes = self._frames[count - 1].position, size
            del self._frames[:count]

    def _wake(self, groups: set[str | None]) -> None:
        for group in groups:
            self._ends.pop(group, None)
            for reader in self._readers.get(group, ()):
                if not self._pushed(reader):
                    reader.rung.set()

    def _pushed(self, reader: Reader) -> bool:
        """True if a resting client is up to date again without being woken: usually, most are."""
        if not reader.resting or reader.rung.is_set() or reader.rewound is not None:
            return False
        piece = self.take(reader.interest, reader.position)
        if piece is None or piece.position < self.position or (piece.data and not reader.wire.push(piece.data)):
            return False
        reader.advance(piece)
        with suppress(HansardError):  # otherwise the client is woken, and reads it from its own stream
            return not self.has_ended(reader)
        return False

    # -- what is read ----------------------------------------------------------------------------------------------

    def take(self, interest: Interest, position: int) -> Piece | None:
        """The matching events after a position; None if that is older than what is kept, or not all is encoded."""
        if position < self._before:
            return self._older.find(interest, position)
        piece = self._newest.find(interest, position)
        if piece is None:
            first = bisect_right(self._frames, position, key=lambda frame: frame.position)
            piece = next(pieces(islice(self._frames, first, None), interest, max(position, self.position)), None)
            if piece is None:
                return self._older.find(interest, position)
            self._newest.keep(interest, position, piece)
        return piece

    async def find(self, interest: Interest, position: int, search: Callable[[], list[Piece]]) -> Piece:
        """Finds what `take` does not have, searched in a thread, once for all clients that ask now or soon."""
        key = (interest, position)
        if key not in self._finding:
            self._finding[key] = asyncio.create_task(asyncio.to_thread(search))
            self._finding[key].add_done_callback(lambda _: self._finding.pop(key, None))
        forgotten = self._forgotten
        results = await asyncio.shield(self._finding[key])
        if forgotten == self._forgotten:
            for each in results:
                self._older.keep(interest, position, each)
                position = each.position
        return results[0]

    def has_ended(self, reader: Reader) -> bool:
        """True if a client has everything of a session that has ended; determined once for all its clients."""
        session_id = reader.interest.session_id
        if session_id is None:
            return False
        if session_id not in self._ends:
            self._ends[session_id] = reader.end()
        end = self._ends[session_id]
        return end is not None and reader.position >= end

    # -- who reads -------------------------------------------------------------------------------------------------

    def streams_of(self, owner: str) -> int:
        """Returns how many streams are open for a key."""
        return self._owners[owner]

    def join(self, reader: Reader) -> None:
        self._readers.setdefault(reader.interest.session_id, set()).add(reader)
        self._interests.setdefault(reader.interest.session_id, Counter())[reader.interest] += 1
        self.clients += 1
        self._owners[reader.owner] += 1
        if self._beating is None:
            self._beating = self._later(self._heartbeat, self._beat)

    def part(self, reader: Reader) -> None:
        group = self._readers[reader.interest.session_id]
        group.remove(reader)
        interests = self._interests[reader.interest.session_id]
        interests[reader.interest] -= 1
        if not interests[reader.interest]:
            del interests[reader.interest]
        if not group:
            del self._readers[reader.interest.session_id], self._interests[reader.interest.session_id]
            self._ends.pop(reader.interest.session_id, None)
        self.clients -= 1
        self._owners[reader.owner] -= 1
        if not self._owners[reader.owner]:
            del self._owners[reader.owner]
        if not self.clients and self._beating is not None:
            self._beating.cancel()
            self._beating = None

    def _everybody(self) -> list[Reader]:
        return [reader for group in self._readers.values() for reader in group]

    def _beat(self) -> None:
        self._beating = self._later(self._heartbeat, self._beat)
        for reader in self._everybody():
            reader.beat = True
            reader.rung.set()
            reader.missed += reader.sending
            if reader.missed > MISSED_BEATS:
                reader.wire.cut()

    def stir(self) -> None:
        """From any thread: an agent did something that is not an event. Without readers, nothing happens."""
        if self.clients and not self._stirring:
            self._stirring = True
            self._soon(self._pass_on_later)

    def _pass_on_later(self) -> None:
        self._later(STIR_SECONDS, self._pass_on)

    def _later(self, seconds: float, act: Callable[[], None]) -> asyncio.TimerHandle:
        assert self._loop is not None, "it has begun"
        return self._loop.call_later(seconds, act)

    def _pass_on(self) -> None:
        self._stirring = False
        for reader in self._readers.get(None, ()):
            if reader.lively:
                reader.stirred = True
                reader.rung.set()

    def close(self) -> None:
        """Let every stream end politely."""
        if self.closed:
            return
        self.closed = True
        readers = self._everybody()
        for reader in readers:
            reader.rung.set()
        if readers:
            self._later(LEAVE_SECONDS, partial(self._cut, readers))

    def _cut(self, readers: Sequence[Reader]) -> None:
        """Drop those that have not read their last message. Who was not sent it yet, because this process was held up,
        has the same time again."""
        late = [reader for reader in readers if self._is_here(reader) and not reader.sending]
        for reader in set(readers).difference(late):
            reader.wire.cut()
        if late:
            self._later(LEAVE_SECONDS, partial(self._cut, late))

    def _is_here(self, reader: Reader) -> bool:
        return reader in self._readers.get(reader.interest.session_id, ())
