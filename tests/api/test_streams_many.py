"""Many clients of one log: they cost only what they are sent, and slow ones delay no others (P25)."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator

import pytest

from api.node.frames import Interest, Piece, SseFrame, pieces
from api.node.hub import Hub, Reader
from domain.session.record import Causation, Recorded
from domain.session.turns import TurnCancelled
from tests.api.listening import SCENARIO, Listener, filled, path
from tests.api.server import Server, delivery, serving, start, until

ALL = Interest()
A, B = Interest("delivery-a"), Interest("delivery-b")


# -- the hub -------------------------------------------------------------------------------------------------------


class Wire:
    """A connection that accepts data until it is full."""

    def __init__(self, *, full: bool = False) -> None:
        self.full, self.taken, self.was_cut = full, list[bytes](), asyncio.Event()

    def push(self, data: bytes) -> bool:
        if not self.full:
            self.taken.append(data)
        return not self.full

    def cut(self) -> None:
        self.was_cut.set()


def recorded(position: int, session_id: str = "delivery-a", version: int | None = None) -> Recorded:
    causation = Causation(actor="a", command_id="c", correlation_id="c", causation_id="c")
    event = TurnCancelled(turn_id="t", attempt=0, agent="a", role="dev", reason="r")
    return Recorded(position, session_id, version or position, 0, causation, event)


def resting(hub: Hub, interest: Interest, wire: Wire, *, end: Callable[[], int | None] = lambda: None) -> Reader:
    reader = Reader(interest, hub.position, None, end, wire, resting=True)
    hub.join(reader)
    return reader


async def happened(hub: Hub, *page: Recorded) -> None:
    await asyncio.to_thread(hub.seen, page)
    await asyncio.sleep(0)


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The positions of the encoded events."""
    results: list[int] = []
    of = SseFrame.of

    def counted(one: Recorded, epoch: int = 0) -> SseFrame:
        results.append(one.position)
        return of(one, epoch)

    monkeypatch.setattr(SseFrame, "of", counted)
    return results


def begun(heartbeat: float) -> Hub:
    """A hub in the running loop, from the first event on."""
    hub = Hub(heartbeat)
    hub.begin(0)
    return hub


def test_an_event_is_encoded_once_and_its_bytes_are_shared(encoded: list[int]) -> None:
    """Three clients of a session and two of the log share two pieces, each a single object."""

    async def scene() -> tuple[list[Wire], list[Wire]]:
        hub = begun(15.0)
        mine, whole = [Wire() for _ in range(3)], [Wire() for _ in range(2)]
        for wire in mine:
            resting(hub, A, wire)
        for wire in whole:
            resting(hub, ALL, wire)
        await happened(hub, recorded(1), recorded(2, "delivery-b"))
        return mine, whole

    mine, whole = asyncio.run(scene())
    first, second = SseFrame.of(recorded(1)).data, SseFrame.of(recorded(2, "delivery-b")).data
    assert encoded == [1, 2, 1, 2]
    assert [wire.taken for wire in mine] == [[first]] * 3
    assert [wire.taken for wire in whole] == [[first + second]] * 2
    assert len({id(wire.taken[0]) for wire in mine}) == len({id(wire.taken[0]) for wire in whole}) == 1


def test_only_requested_events_are_encoded(encoded: list[int]) -> None:
    """A client that joins gets the encoded events up to the first missing one, and reads the rest from the log."""

    async def scene() -> list[Piece | None]:
        hub = begun(15.0)
        resting(hub, B, Wire())
        events = (recorded(1, "delivery-b"), recorded(2), recorded(3, "delivery-b"))
        await happened(hub, *events)
        return [hub.take(B, 0), hub.take(ALL, 0), hub.take(ALL, 1), hub.take(A, 0), hub.take(A, 2)]

    result = asyncio.run(scene())
    assert encoded == [1, 3]
    first, third = SseFrame.of(recorded(1, "delivery-b")).data, SseFrame.of(recorded(3, "delivery-b")).data
    assert [piece and piece[:2] for piece in result] == [(first + third, 3), (first, 1), None, None, (b"", 3)]


def test_nothing_is_encoded_without_readers(encoded: list[int]) -> None:
    async def scene() -> tuple[Piece | None, Piece | None]:
        hub = begun(15.0)
        await happened(hub, recorded(1), recorded(2))
        return hub.take(ALL, 1), hub.take(ALL, 2)

    assert asyncio.run(scene()) == (None, Piece(b"", 2, 0))
    assert encoded == []


def test_only_waiting_clients_are_woken() -> None:
    async def scene() -> list[tuple[int, bool]]:
        hub = begun(15.0)
        readers = [resting(hub, interest, Wire(full=True)) for interest in (A, B, ALL)]
        await happened(hub, recorded(1))
        return [(reader.position, reader.rung.is_set()) for reader in readers]

    assert asyncio.run(scene()) == [(0, True), (0, False), (0, True)]


def test_client_that_cannot_be_pushed_to_is_woken() -> None:
    """A full connection, a busy client, one that is behind, and one whose session has ended."""

    async def scene() -> list[tuple[int, bool, int]]:
        hub = begun(15.0)
        full, busy, late, done, fine = (Wire(full=number == 0) for number in range(5))
        readers = [resting(hub, ALL, wire) for wire in (full, busy, late)]
        readers += [resting(hub, A, done, end=lambda: 1), resting(hub, B, fine, end=lambda: 9)]
        readers[1].resting = False
        readers[2].position = -1
        await happened(hub, recorded(1), recorded(2, "delivery-b"))
        wires = (full, busy, late, done, fine)
        return [
            (reader.position, reader.rung.is_set(), len(wire.taken))
            for reader, wire in zip(readers, wires, strict=True)
        ]

    assert asyncio.run(scene()) == [(0, True, 0), (0, True, 0), (-1, True, 0), (2, True, 1), (2, False, 1)]


def test_the_hub_keeps_a_bounded_number_of_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Room for three events here: clients further behind read the log."""
    size = len(SseFrame.of(recorded(10)).data)
    monkeypatch.setattr("api.node.hub.KEPT_BYTES", 3 * size)

    async def scene() -> list[int]:
        hub = begun(15.0)
        resting(hub, ALL, Wire())
        await happened(hub, *(recorded(position) for position in range(10, 15)))
        await happened(hub, *(recorded(position) for position in range(15, 20)))
        return [position for position in range(20) if hub.take(ALL, position) is not None]

    assert asyncio.run(scene()) == [16, 17, 18, 19]


def test_evicted_events_are_read_from_the_log_once() -> None:
    """Five clients at the same position cause one search, which also serves the next one."""
    searches: list[int] = []

    def search() -> list[Piece]:
        searches.append(1)
        return [Piece(b"a", 3, 3), Piece(b"b", 5, 5), Piece(b"", 5, 0)]

    async def scene() -> tuple[list[Piece], Piece | None, Piece | None]:
        hub = begun(15.0)
        hub.begin(9)
        result = await asyncio.gather(*(hub.find(A, 1, search) for _ in range(5)))
        return result, hub.take(A, 3), hub.take(A, 5)

    assert asyncio.run(scene()) == ([Piece(b"a", 3, 3)] * 5, Piece(b"b", 5, 5), None)
    assert searches == [1]


def test_chunks_are_small_and_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    frames = [SseFrame.of(recorded(position, version=position - 10)) for position in range(11, 16)]
    monkeypatch.setattr("api.node.frames.PIECE_BYTES", len(frames[0].data) + 1)
    results = list(pieces(frames, A, 20))
    data = [frame.data for frame in frames]
    assert results == [Piece(data[0] + data[1], 12, 2), Piece(data[2] + data[3], 14, 4), Piece(data[4], 20, 5)]
    assert list(pieces(frames, B, 20)) == [Piece(b"", 20, 0)]


def test_stalled_connection_is_cut_after_two_heartbeats() -> None:
    """The third heartbeat ends it; an idle client gets every heartbeat."""

    async def scene() -> tuple[bool, bool]:
        hub = begun(0.01)
        stuck, well = Wire(), Wire()
        resting(hub, ALL, stuck).sending = True
        reader = resting(hub, ALL, well)
        async with asyncio.timeout(5):
            await stuck.was_cut.wait()
        return well.was_cut.is_set(), reader.beat

    assert asyncio.run(scene()) == (False, True)


def test_delayed_loop_says_goodbye_before_it_cuts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time for the last message ends before any could be sent; only clients that do not read are cut."""
    monkeypatch.setattr("api.node.hub.LEAVE_SECONDS", 0.01)

    async def scene() -> tuple[bool, bool, bool]:
        hub = begun(15.0)
        stuck, well = Wire(), Wire()
        resting(hub, ALL, stuck).sending = True
        reader = resting(hub, ALL, well)
        hub.close()
        time.sleep(0.05)  # noqa: ASYNC251 - it holds up the loop
        async with asyncio.timeout(5):
            await stuck.was_cut.wait()
        early = well.was_cut.is_set()
        hub.part(reader)
        async with asyncio.timeout(5):
            await well.was_cut.wait()
        return early, reader.rung.is_set(), reader.sending

    assert asyncio.run(scene()) == (False, True, False)


# -- the server ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Its log begins with 5 MB of one session: more than a kernel takes for a client that does not read."""
    folder = tmp_path_factory.mktemp("many")
    filled(folder, 800)
    with serving(folder, sse_heartbeat_seconds=0.5, worker_slots=8) as result:
        yield result


def extend(server: Server, session_id: str, count: int) -> list[int]:
    """Record this many more events; return their positions."""
    body = {"addMinutes": 1, "reason": "more"}
    results = []
    for _ in range(count):
        answer = server.client.post(f"/api/sessions/{session_id}/budget", json=body)
        assert answer.status_code == 200, answer.text
        results.append(answer.json()["position"])
    return results


def clients(server: Server) -> float:
    lines = server.client.get("/metrics").text.splitlines()
    return float(next(line.split()[1] for line in lines if line.startswith("hansard_stream_clients ")))


async def listening(server: Server, places: list[str], act: Callable[[], list[int]], *, already: int) -> list[str]:
    """The data that clients with these interests get while events with these positions are recorded."""
    listeners = [await Listener.open(server.port, place) for place in places]
    try:
        for listener in listeners:
            await listener.has(already)
        positions = await asyncio.to_thread(act)
        for listener in listeners:
            await listener.has(already + len(positions))
        assert {tuple(listener.ids()[already:]) for listener in listeners} == {tuple(positions)}
        return [listener.text() for listener in listeners]
    finally:
        for listener in listeners:
            listener.close()


def test_fifty_clients_get_the_same_events(server: Server) -> None:
    """Half of them follow the session, half the log: first history, then live events."""
    session_id = start(server.client, delivery(scenario=SCENARIO))
    until(lambda: _version(server, session_id) == 3, what="the planner's turn")
    begin = server.client.get("/readyz").json()["head"] - 3
    places = [path(session_id), f"/api/events?after={begin}"] * 25
    value = asyncio.run(listening(server, places, lambda: extend(server, session_id, 20), already=3))
    events = {"\n".join(line for line in text.splitlines() if line.startswith(("id:", "data:"))) for text in value}
    assert len(events) == 1


def test_old_client_gets_the_same_answer_without_chunks(server: Server) -> None:
    """HTTP/1.0 has no chunks: the stream ends with the connection."""
    session_id = start(server.client, delivery(scenario=SCENARIO))

    async def scene() -> str:
        listener = await Listener.open(server.port, path(session_id), version="1.0")
        await listener.has(3)
        await asyncio.to_thread(extend, server, session_id, 2)
        await listener.has(5)
        assert server.client.post(f"/api/sessions/{session_id}/cancel", json={}).status_code == 200
        await listener.ended()
        return listener.text()

    text = asyncio.run(scene())
    lines = [line.partition(":")[0] for line in text.split("\n") if line and not line.startswith(": alive")]
    count = _version(server, session_id)
    assert lines == ["retry", *["id", "data"] * count, "event", "data"]


def test_client_that_never_reads_is_cut_and_can_resume(server: Server) -> None:
    """Ten clients do not read their 5 MB and are cut after a few heartbeats; the eleventh misses nothing."""
    until(lambda: clients(server) == 0, what="clients of other tests to go")
    session_id = start(server.client, delivery(scenario=SCENARIO))
    until(lambda: _version(server, session_id) == 3, what="the planner's turn")

    async def scene() -> list[int]:
        lazy = [await Listener.open(server.port, "/api/events", reads=False) for _ in range(10)]
        eager = await Listener.open(server.port, path(session_id))
        with contextlib.ExitStack() as stack:
            for listener in (*lazy, eager):
                stack.callback(listener.close)
            await asyncio.to_thread(until, lambda: clients(server) == 11, what="eleven clients")
            positions = await asyncio.to_thread(extend, server, session_id, 20)
            await eager.has(23)
            assert eager.ids()[3:] == positions
            await asyncio.to_thread(until, lambda: clients(server) == 1, what="the lazy to be cut")
            again = await Listener.open(server.port, "/api/events", last=500)
            stack.callback(again.close)
            await again.has(positions[-1] - 500)
            return again.ids()

    assert asyncio.run(scene()) == list(range(501, server.client.get("/readyz").json()["head"] + 1))


def _version(server: Server, session_id: str) -> int:
    return int(server.client.get(f"/api/sessions/{session_id}").json()["session"]["version"])
