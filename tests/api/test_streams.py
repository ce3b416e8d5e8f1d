"""Server-sent events as a client sees them: history, then live, nothing missed or repeated (contract §3, P11)."""

import contextlib
import http.client
import json
import random
import socket
import struct
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.clock import Clock
from adapters.store.location import open_store
from adapters.store.sqlite.views import SqliteViews
from adapters.writer.writer import CommandEnvelope, Writer
from api.node.frames import SseFrame
from domain.delivery.commands import CancelDelivery, ExtendBudget, StartDelivery
from domain.session.record import Causation, Recorded
from domain.session.turns import TurnCancelled
from domain.session.validation import ValidationStep
from domain.values.base import Text
from domain.values.budget import BudgetLimits
from projections.follow import Follower
from tests.api.server import PATIENCE, Json, Server, delivery, ended, events, inside, serving, session, start, until

SILENT = delivery({"planner": [{"text": "late", "delayMs": 86_400_000}]})
"""A team that does not answer for a day: the session stays at version 3."""


@dataclass(frozen=True)
class Message:
    """A message: the lines between two empty lines."""

    event: str = ""
    id: int | None = None
    """The position in the id."""
    name: str = ""
    """The whole id."""
    data: str = ""
    comment: str = ""
    retry: str = ""

    def json(self) -> Json:
        body: Json = json.loads(self.data)
        return body


def message(lines: list[str]) -> Message:
    """Parse a block of lines by the rules of the standard."""
    result: dict[str, list[str]] = {}
    for line in lines:
        name, _, value = line.partition(":")
        result.setdefault(name or "comment", []).append(value.removeprefix(" "))
    ids = result.get("id", [])
    return Message(
        event="".join(result.get("event", [])),
        id=int(ids[-1].partition("-")[0]) if ids else None,
        name=ids[-1] if ids else "",
        data="\n".join(result.get("data", [])),
        comment="".join(result.get("comment", [])),
        retry="".join(result.get("retry", [])),
    )


class Stream:
    """One connection to an event stream, open for at most this many seconds."""

    def __init__(self, server: Server, path: str, *, last: int | str | None = None, seconds: float = PATIENCE) -> None:
        self._line = http.client.HTTPConnection("127.0.0.1", server.port, timeout=seconds)
        headers = {"Accept": "text/event-stream"} | ({} if last is None else {"Last-Event-ID": str(last)})
        self._line.request("GET", path, headers=headers)
        self._answer = self._line.getresponse()
        self.status, self.kind = self._answer.status, self._answer.getheader("content-type")
        self._deadline = time.monotonic() + seconds

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def messages(self) -> Iterator[Message]:
        """Every block, until the server ends the stream."""
        lines: list[str] = []
        while line := self._answer.readline():
            assert line.endswith(b"\n"), "the stream ended inside of a line"
            assert time.monotonic() < self._deadline, "nothing but signs of life"
            if line != b"\n":
                lines.append(line.decode().removesuffix("\n"))
            elif lines:
                yield message(lines)
                lines = []
        assert lines == [], "the stream ended inside of a block"

    def said(self) -> list[Message]:
        """All messages until the end, without signs of life."""
        return [message for message in self.messages() if not message.comment]

    def events(self) -> Iterator[Message]:
        return (message for message in self.messages() if message.id is not None)

    def read(self, amount: int) -> bytes:
        return self._answer.read1(amount)

    def close(self) -> None:
        self._answer.close()
        self._line.close()

    def reset(self) -> None:
        """Disconnect abruptly: the server's next packet gets an RST."""
        line = self._line.sock
        if line is not None:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("streams")
    with serving(folder, sse_heartbeat_seconds=0.1, worker_slots=64) as result:
        yield result


def path(session_id: str, query: str = "") -> str:
    return f"/api/sessions/{session_id}/events{query}"


def take(stream: Stream, count: int) -> list[Message]:
    """The next events, limited by the connection's timeout."""
    results = []
    for event in stream.events():
        results.append(event)
        if len(results) == count:
            return results
    raise AssertionError(f"the stream ended after {len(results)} of {count} events")


def extend(server: Server, session_id: str) -> Json:
    answer = server.client.post(f"/api/sessions/{session_id}/budget", json={"addMinutes": 1, "reason": "more"})
    assert answer.status_code == 200, answer.text
    body: Json = answer.json()
    return body


def cancel(server: Server, session_id: str) -> None:
    assert server.client.post(f"/api/sessions/{session_id}/cancel", json={}).status_code == 200


def head(server: Server) -> int:
    return int(server.client.get("/readyz").json()["head"])


# -- content of a stream -------------------------------------------------------------------------------------------


def test_stream_sends_history_then_live_events_then_the_end(server: Server) -> None:
    """Each event once, with the same text as in the JSON page; `id` is its position."""
    session_id = start(server.client, SILENT)
    with Stream(server, path(session_id)) as stream:
        assert (stream.status, stream.kind) == (200, "text/event-stream; charset=utf-8")
        text = take(stream, 3)
        assert extend(server, session_id)["position"] == take(stream, 1)[0].id
        cancel(server, session_id)
        rest = stream.said()
    assert (rest[-1].event, rest[-1].data, rest[-1].id) == ("end", "{}", None)
    recorded = events(server.client, session_id)
    assert [item.json() for item in (*text, *rest[:-1])] == [recorded[i] for i in range(len(recorded)) if i != 3]
    assert [message.id for message in text] == [event["position"] for event in recorded[:3]]


def test_stream_of_an_ended_session_is_its_history(server: Server) -> None:
    session_id = start(server.client, delivery())
    ended(server.client, session_id)
    with Stream(server, path(session_id)) as stream:
        messages = stream.said()
    recorded = events(server.client, session_id)
    assert [message.json() for message in messages[:-1]] == recorded
    assert messages[-1].event == "end"
    with Stream(server, path(session_id), last=recorded[-1]["position"]) as stream:
        assert [message.event for message in stream.said()] == ["end"]


@pytest.mark.parametrize("replies", [{"planner": [{"error": "auth"}]}, {}], ids=["retry", "extend"])
def test_a_stream_does_not_end_while_a_failed_session_can_go_on(server: Server, replies: Json) -> None:
    body = delivery(replies, validationCommands=["false"], maxIterations=1)
    session_id = start(server.client, body)
    assert ended(server.client, session_id)["status"] == "failed"
    with Stream(server, path(session_id, "?after=1")) as stream:
        take(stream, len(events(server.client, session_id)) - 1)
        assert next(stream.messages()).comment  # a heartbeat


def test_a_stream_of_an_exhausted_delivery_goes_on_after_an_extension(server: Server) -> None:
    body = delivery({"dev": ["slow", {"text": "late", "delayMs": 86_400_000}]}, validationCommands=["false"])
    session_id = start(server.client, body | {"maxIterations": 1})
    ended(server.client, session_id)
    with Stream(server, path(session_id)) as stream:
        take(stream, len(events(server.client, session_id)))
        more = {"addIterations": 1, "reason": "again"}
        assert server.client.post(f"/api/sessions/{session_id}/budget", json=more).status_code == 200
        [first] = take(stream, 1)
        assert first.json()["type"] == "delivery.budget_extended"
        cancel(server, session_id)
        assert list(stream.messages())[-1].event == "end"


def test_after_counts_versions_of_a_session_and_positions_of_the_log(server: Server) -> None:
    start(server.client, SILENT)
    session_id = start(server.client, SILENT)
    recorded = events(server.client, session_id)
    with Stream(server, path(session_id, "?after=2")) as stream:
        assert take(stream, 1)[0].json() == recorded[2]
    with Stream(server, f"/api/events?after={recorded[1]['position']}") as stream:
        assert take(stream, 1)[0].json() == recorded[2]


def test_last_event_id_beats_after(server: Server) -> None:
    """A reconnecting browser repeats its first query."""
    session_id = start(server.client, SILENT)
    recorded = events(server.client, session_id)
    for query in ("?after=0", "?after=1", "?after=3"):
        with Stream(server, path(session_id, query), last=recorded[1]["position"]) as stream:
            assert take(stream, 1)[0].json() == recorded[2]


def test_the_log_can_be_followed_by_kind_and_type(server: Server) -> None:
    begin = head(server)
    with (
        Stream(server, f"/api/events?after={begin}&type=delivery.budget_extended") as extensions,
        Stream(server, f"/api/events?after={begin}&kind=delivery") as deliveries,
    ):
        session_id = start(server.client, SILENT)
        extend(server, session_id)
        assert take(extensions, 1)[0].json()["sessionId"] == session_id
        assert [message.json()["version"] for message in take(deliveries, 4)] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("accept", "streamed"),
    [
        (["text/event-stream"], True),
        (["TEXT/Event-Stream; Q=0.5"], True),
        (["application/json, text/event-stream"], True),
        (["*/*, text/event-stream"], True),
        (["application/json;q=0.5, text/event-stream;q=0.6"], True),
        (["application/json;q=0.1, */*, text/event-stream;q=0.5"], True),
        (["application/json;q=0", "text/event-stream;q=0.1"], True),
        (["text/event-stream;charset=utf-8;q=much"], True),
        (["text/event-stream;q=0"], False),
        (["text/event-stream;q=0.000, */*;q=0"], False),
        (["text/event-stream;q=0.1, application/json"], False),
        (["text/event-stream;q=0.1", "application/json"], False),
        (["text/event-stream; q=0.9, application/*"], False),
        (["text/event-stream;q=0.9,*/*"], False),
        (["text/*"], False),
        (["*/*"], False),
        (["text/event-streams"], False),
        ([""], False),
    ],
    ids=str,
)
def test_accept_header_chooses_the_event_stream(server: Server, accept: list[str], streamed: bool) -> None:
    """RFC 9110 §12.5.1: weight 0 is not acceptable, and a higher weight is preferred."""
    for place in (path(start(server.client, SILENT)), "/api/events"):
        answer = server.client.head(place, headers=[("Accept", line) for line in accept])
        assert answer.status_code == 200
        expected = "text/event-stream; charset=utf-8" if streamed else "application/json"
        assert answer.headers["content-type"] == expected


@pytest.mark.parametrize("last", ["x", "-1", "1.5", "0x1", "1 2", "01", "9" * 30])
def test_an_id_that_is_no_position_is_400(server: Server, last: str) -> None:
    session_id = start(server.client, SILENT)
    for place in (path(session_id), "/api/events"):
        with Stream(server, place, last=last) as stream:
            assert (stream.status, stream.kind) == (400, "application/problem+json")


def test_an_id_above_the_head_is_told_so_and_gets_everything_from_the_head_on(server: Server) -> None:
    """As after a restore: what the client has seen is no longer there (contract-3 §24)."""
    session_id = start(server.client, SILENT)
    newest = head(server)
    for place in (path(session_id), "/api/events"):
        with Stream(server, place, last=newest + 5) as stream:
            first = next(message for message in stream.messages() if message.event)
            assert (first.event, first.json()) == ("rewound", {"head": newest})
            newest = extend(server, session_id)["position"]
            assert take(stream, 1)[0].id == newest


def test_a_version_above_the_newest_is_told_so_and_gets_what_follows(server: Server) -> None:
    session_id = start(server.client, SILENT)
    with Stream(server, path(session_id, "?after=50")) as stream:
        first = next(message for message in stream.messages() if message.event)
        assert first.event == "rewound"
        extend(server, session_id)
        assert take(stream, 1)[0].json()["version"] == 4


def test_silent_stream_sends_heartbeats(server: Server) -> None:
    """`HANSARD_SSE_HEARTBEAT_SECONDS` is 0.1 here. A heartbeat is a comment, not an event."""
    session_id = start(server.client, SILENT)
    with Stream(server, path(session_id)) as stream:
        take(stream, 3)
        began, text = time.monotonic(), stream.messages()
        beats = [next(text) for _ in range(5)]
    assert {(beat.comment, beat.id, beat.data, beat.event) for beat in beats} == {("alive", None, "", "")}
    assert 0.3 < time.monotonic() - began < 15, "less than one heartbeat would take by default"


@pytest.mark.parametrize("place", ["/api/sessions/delivery-none/events", "/api/sessions/nobody-1/events"])
def test_stream_of_unknown_session_is_404(server: Server, place: str) -> None:
    with Stream(server, place) as stream:
        assert (stream.status, stream.kind) == (404, "application/problem+json")


# -- nothing missed, nothing repeated ------------------------------------------------------------------------------


@pytest.mark.nightly
def test_a_hundred_disconnects_miss_and_repeat_nothing(server: Server) -> None:
    """Three clients, while the log grows: closed politely, reset, or cut inside of a message, and each time resumed
    from the last whole message."""
    watched = start(server.client, SILENT)
    begin = head(server)
    stop = threading.Event()
    writing = threading.Thread(target=_keep_extending, args=(server, watched, stop))
    writing.start()
    seen: dict[str, list[Json]] = {}
    places = {"session": path(watched, "?after=3"), "log": f"/api/events?after={begin}", "more": "/api/events"}
    readers = [
        threading.Thread(target=_interrupted, args=(server, place, seen.setdefault(name, []), number))
        for number, (name, place) in enumerate(places.items())
    ]
    try:
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
    finally:
        stop.set()
        writing.join()
    whole = _whole_log(server)
    mine = [event for event in whole if event["sessionId"] == watched and event["version"] > 3]
    later = [event for event in whole if event["position"] > begin]
    for name, expected in (("session", mine), ("log", later), ("more", whole)):
        assert len(seen[name]) > 100, "the readers have read something"
        assert seen[name] == expected[: len(seen[name])], name


def _keep_extending(server: Server, watched: str, stop: threading.Event) -> None:
    other = start(server.client, SILENT)
    while not stop.is_set():
        for session_id in (watched, other):
            extend(server, session_id)


def _interrupted(server: Server, place: str, seen: list[Json], seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - a seed makes the test the same every time
    last: int | None = None
    for _ in range(100):
        stream = Stream(server, place, last=last)
        for message in take(stream, chance.randint(1, 8)):
            seen.append(message.json())
            last = message.id
        end = chance.choice(("close", "reset", "cut"))
        if end == "cut":
            stream.read(chance.randint(1, 200))
        stream.reset() if end == "reset" else stream.close()


def _whole_log(server: Server) -> list[Json]:
    results: list[Json] = []
    after: str | None = "0"
    while after is not None:
        page = server.client.get("/api/events", params={"after": after, "limit": "500"}).json()
        results += page["items"]
        after = page["nextCursor"]
    return results


def fill(folder: Path, count: int) -> tuple[str, str]:
    """A log of two silent sessions with this many alternating events, the first cancelled; their ids."""
    store = open_store(f"sqlite:///{folder / 'hansard.db'}")
    writer = Writer(store, Clock())
    ids = ("delivery-first", "delivery-second")
    step = ValidationStep(stage="custom", command="true", argv=("true",))
    for session_id in ids:
        scenario, _ = Text.of(json.dumps(SILENT["scenario"]))
        begin = StartDelivery(task="t", file_paths=("a",), steps=(step,), limits=BudgetLimits(), scenario=scenario)
        writer.do_now(CommandEnvelope(session_id, begin, actor="test", command_id=session_id, starts=True))
    for number in range(count):
        for session_id in ids:
            more = ExtendBudget(add_minutes=1, reason="more")
            writer.do_now(CommandEnvelope(session_id, more, actor="test", command_id=f"{session_id}-{number}"))
    writer.do_now(CommandEnvelope(ids[0], CancelDelivery(), actor="test", command_id="end"))
    store.close()
    return ids


@pytest.mark.parametrize(("views", "count"), [("behind", 3), ("gone", 700)])
def test_a_stream_does_not_depend_on_how_far_the_views_are(tmp_path: Path, views: str, count: int) -> None:
    """After a crash the views may be behind the log; a stream still sends the whole log, over many pages,
    even from a server that recorded none of it."""
    first, second = fill(tmp_path, count)
    if views == "behind":
        fold(tmp_path)
        fill_more(tmp_path, 3)
    with serving(tmp_path) as server:
        newest = head(server)
        with Stream(server, path(first)) as stream:
            messages = list(stream.messages())
        assert messages[-1].event == "end"
        versions = session(server.client, first)["version"]
        assert [message.json()["version"] for message in messages[:-1]] == list(range(1, versions + 1))
        with Stream(server, "/api/events?after=0") as whole, Stream(server, "/api/events", last=newest - 1) as last:
            assert [message.id for message in take(whole, newest)] == list(range(1, newest + 1))
            assert take(last, 1)[0].id == newest
            position = extend(server, second)["position"]
            assert take(whole, 1)[0].id == take(last, 1)[0].id == position == newest + 1
        with Stream(server, path(second, f"?after={count}")) as stream:
            assert take(stream, 1)[0].json()["version"] == count + 1


def test_client_behind_the_hub_reads_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hub caches the newest events, eight here; a client may start before, among or after them."""
    monkeypatch.setattr("api.node.hub.KEPT", 8)
    with inside(tmp_path) as client:
        session_id = start(client, delivery())
        count = ended(client, session_id)["version"]
        for last in (0, 1, count - 9, count - 8, count - 7, count - 1):
            headers = {"Accept": "text/event-stream", "Last-Event-ID": str(last)}
            blocks = client.get(path(session_id), headers=headers).text.split("\n\n")
            messages = [message(block.split("\n")) for block in blocks]
            assert [entry.id for entry in messages if entry.id] == list(range(last + 1, count + 1))


def fold(folder: Path) -> None:
    """The views of the log as it is now."""
    store = open_store(f"sqlite:///{folder / 'hansard.db'}")
    with contextlib.closing(store), contextlib.closing(SqliteViews(folder / "node" / "views" / "views.db")) as views:
        assert Follower(store, views).catch_up() == store.head()


def fill_more(folder: Path, count: int) -> None:
    """Events that no view has seen yet, as after a crash between a commit and its fold."""
    store = open_store(f"sqlite:///{folder / 'hansard.db'}")
    writer = Writer(store, Clock())
    for number in range(count):
        more = ExtendBudget(add_minutes=1, reason="more")
        writer.do_now(CommandEnvelope("delivery-second", more, actor="test", command_id=f"again-{number}"))
    store.close()


def test_a_stream_goes_on_over_a_crash_of_the_server(server: Server) -> None:
    """One connection per start of the server; none misses events committed earlier."""
    session_id = start(server.client, SILENT)
    messages: list[int] = []
    last: int | None = None
    newest = 0
    for _ in range(2):
        with Stream(server, path(session_id), last=last) as stream:
            newest = extend(server, session_id)["version"]
            for event in stream.events():
                messages.append(event.json()["version"])
                last = event.id
                if messages[-1] == newest:
                    break
            extend(server, session_id)
            server.kill()
        server.start()
    # On a slow machine the server may also note that nobody works on the session.
    assert newest >= 6
    assert messages == list(range(1, newest + 1))


# -- clients of all kinds ------------------------------------------------------------------------------------------


def test_client_that_does_not_read_delays_no_other(tmp_path: Path) -> None:
    """It misses nothing once it reads again within two heartbeats, which are 15 s here."""
    long = {"addMinutes": 1, "reason": "x" * 1_900}
    with serving(tmp_path) as server:
        session_id = start(server.client, SILENT)
        begin = head(server)
        with (
            Stream(server, f"/api/events?after={begin}") as lazy,
            Stream(server, path(session_id, "?after=3")) as eager,
        ):
            for _ in range(300):
                assert server.client.post(f"/api/sessions/{session_id}/budget", json=long).status_code == 200
            assert [message.json()["version"] for message in take(eager, 300)] == list(range(4, 304))
            assert [message.json()["version"] for message in take(lazy, 300)] == list(range(4, 304))


def test_server_counts_connected_clients(server: Server) -> None:
    session_id = start(server.client, SILENT)
    until(lambda: _clients(server) == 0, what="streams of other tests to end")
    with contextlib.ExitStack() as stack:
        for number in range(12):
            stream = stack.enter_context(Stream(server, path(session_id)))
            stack.callback(stream.reset if number % 2 else stream.close)
        until(lambda: _clients(server) == 12, what="twelve clients")
    until(lambda: _clients(server) == 0, what="no client")


def _clients(server: Server) -> float:
    lines = server.client.get("/metrics").text.splitlines()
    return float(next(line.split()[1] for line in lines if line.startswith("hansard_stream_clients ")))


@pytest.mark.alone
def test_server_shutdown_ends_streams_at_once(server: Server) -> None:
    """Every stream ends between two messages and asks to reconnect in a second; the restarted server sends the rest."""
    session_id = start(server.client, SILENT)
    with contextlib.ExitStack() as stack:
        streams = [stack.enter_context(Stream(server, path(session_id))) for _ in range(20)]
        begun = [take(stream, 3) for stream in streams]
        assert server.stop() < 2.0
        rests = [stream.said() for stream in streams]
    assert [[message.retry for message in rest] for rest in rests] == [["1000"]] * 20
    assert [[entry.json()["version"] for entry in message] for message in begun] == [[1, 2, 3]] * 20
    server.start()
    newest = extend(server, session_id)["position"]
    with Stream(server, path(session_id), last=begun[0][-1].id) as stream:
        assert [message.id for message in take(stream, 1)] == [newest]


# -- hostile text --------------------------------------------------------------------------------------------------

FORGERIES = (
    "\n\nid: 999999\ndata: {}\n\n",
    "\r\rid: 999999\rdata: {}\r\r",
    "\r\n\r\nevent: end\r\ndata: {}\r\n\r\n",
    "\ndata: forged\nretry: 0\n: comment\n",
    "\u2028\u2028id: 1\u2029data: x\x85\x0b\x0c",
    "</script><script>alert(1)</script>",
    '"}\n\ndata: {"position": 1',
    "\ufeffid: 7\n\n",
)


def test_text_cannot_forge_a_message(server: Server) -> None:
    """Neither in the history nor live, neither from an agent nor in a reason."""
    with Stream(server, f"/api/events?after={head(server)}") as whole:
        for words in FORGERIES:
            body = delivery({"planner": [words]}, task=f"x{words}", title=words)
            session_id = start(server.client, body | {"labels": ["l" + words]})
            ended(server.client, session_id)
            recorded = events(server.client, session_id)
            assert recorded[0]["data"]["task"] == f"x{words}"
            with Stream(server, path(session_id)) as stream:
                messages = stream.said()
            assert [message.json() for message in messages[:-1]] == recorded
            assert [message.event for message in messages] == [""] * len(recorded) + ["end"]
            assert [message.json() for message in take(whole, len(recorded))] == recorded


@given(words=st.text(st.characters(exclude_categories=["Cs"])))
def test_every_text_makes_one_message(words: str) -> None:
    causation = Causation(actor=words, command_id=words, correlation_id="c", causation_id="c")
    event = TurnCancelled(turn_id="t", attempt=0, agent=words, role="dev", reason=words)
    recorded = Recorded(position=7, session_id="delivery-1", version=1, at=0, causation=causation, event=event)
    block = SseFrame.of(recorded).data
    assert block.endswith(b"\n\n")
    lines = block[:-2].decode().replace("\r", "\n").split("\n")
    assert [line.partition(":")[0] for line in lines] == ["id", "data"]
    assert message(lines).json() == recorded.wire()
