"""How fast long sessions are read, now and as of any event, and views are folded (`./dev test -m benchmark`)."""

import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from adapters.store.port import NewEvent, Store, Write
from adapters.store.sqlite.store import SqliteStore
from adapters.store.sqlite.views import SqliteViews
from adapters.writer.writer import Writer
from domain.kinds import kind
from domain.session.record import Causation
from domain.session.rules import carry_out
from domain.session.state import EventMetadata
from domain.values.base import changed
from projections.engine.snapshots import EVERY
from projections.follow import Follower
from tests.api.server import Server, serving, until
from tests.benchmarks.measuring import Tell, resident_bytes
from tests.benchmarks.test_speed import MORE, begin, written
from tests.projections.given import merged, store_events, wander

pytestmark = pytest.mark.benchmark

LONG = "delivery-long"
LIVES = 5
"""How often the server is restarted; of each request the best run counts, of all requests the worst."""
BATCH = 500


def lengthen(
    store: Store, writer: Writer, session_id: str, version: int, reasons: Callable[[], str] = lambda: "more"
) -> None:
    """Extend a budget until the session is at that version, many extensions a commit."""
    session = writer.load(session_id)
    while session is not None and session.version < version:
        writes = []
        for _ in range(min(BATCH, version - session.version)):
            at = session.updated_at + 1_000
            decision = carry_out(
                kind("delivery"), session, changed(MORE, reason=reasons()), EventMetadata(session_id, at)
            )
            causation = Causation("test", "more", session_id, "more")
            writes.append(Write([NewEvent(session_id, session.version + 1, at, causation, decision.events[0])]))
            session = decision.session
        store.append(writes)


def long_session(folder: Path, version: int, reasons: Callable[[], str] = lambda: "more") -> None:
    with written(folder) as (store, writer):
        begin(writer, LONG)
        lengthen(store, writer, LONG, version, reasons)


def live_again(server: Server, wanted: int) -> None:
    """A life in which nothing was read yet, and so many snapshots are kept from an earlier one."""

    def kept() -> bool:
        with closing(SqliteViews(server.data / "views" / "views.db")) as views, views.reading() as db:
            return bool(db.execute("SELECT count(*) FROM snapshots").fetchone()[0] >= wanted)

    until(kept, what=f"{wanted} snapshots", seconds=60)
    server.stop()
    server.start()


def milliseconds(server: Server, path: str, **query: object) -> float:
    began = time.perf_counter()
    answer = server.client.get(path, params={name: str(value) for name, value in query.items()})
    spent = time.perf_counter() - began
    assert answer.status_code == 200, answer.text
    return spent * 1_000


def best(lives: Sequence[Sequence[float]]) -> list[float]:
    """Of each request the fastest."""
    return [min(times) for times in zip(*lives, strict=True)]


def steps(upto: int, count: int = 24) -> Iterable[int]:
    """Versions all over a history, the ends of stretches between snapshots among them."""
    return sorted({1, EVERY - 1, upto // 2 // EVERY * EVERY - 1, upto, *range(upto // count, upto, upto // count)})


def test_any_version_of_a_session_of_10_000_events_is_read_within_50_ms(tmp_path: Path, tell: Tell) -> None:
    """Over HTTP, each version for the first time in the life of the server."""
    long_session(tmp_path, 10_000)
    lives = []
    with serving(tmp_path) as server:
        for _ in range(LIVES):
            live_again(server, 10_000 // EVERY)
            lives.append([milliseconds(server, f"/api/sessions/{LONG}", version=version) for version in steps(10_000)])
    result = best(lives)
    tell(f"GET as of version k of 10,000: {statistics.median(result):.1f} ms, at worst {max(result):.1f} ms")
    assert max(result) < 50


def test_a_page_of_20_000_events_opens_within_1_s_and_scrubs_within_200_ms(tmp_path: Path, tell: Tell) -> None:
    """Right after a restart: nothing was read yet."""
    long_session(tmp_path, 20_000)
    get, opened, lives, memory = [], [], [], []
    with serving(tmp_path) as server:
        for _ in range(LIVES):
            live_again(server, 20_000 // EVERY)
            get.append(milliseconds(server, f"/api/sessions/{LONG}"))
            opened.append(milliseconds(server, f"/sessions/{LONG}"))
            lives.append([milliseconds(server, f"/sessions/{LONG}/at", at=version) for version in steps(20_000)])
            memory.append(resident_bytes(server.pid))
    scrubs = best(lives)
    tell(
        f"20,000 events after a restart: GET {min(get):.0f} ms, page {min(opened):.0f} ms ({opened[0]:.0f} ms the first"
        f" time), a scrub {statistics.median(scrubs):.0f} ms, at most {max(scrubs):.0f} ms; {max(memory) / 1e6:.0f} MB",
    )
    assert min(opened) < 1_000
    assert max(scrubs) < 200


def test_the_first_command_on_a_long_session_takes_less_than_50_ms(tmp_path: Path, tell: Tell) -> None:
    """50,000 events, right after a restart, compared with a short session: nothing is folded from the start."""
    long_session(tmp_path, 50_000)
    with written(tmp_path) as (_, writer):
        begin(writer, "delivery-short")
    times: dict[str, list[float]] = {LONG: [], "delivery-short": []}
    with serving(tmp_path) as server:
        for _ in range(LIVES):
            live_again(server, 50_000 // EVERY)
            server.client.post("/api/sessions/delivery-none/budget", json={"addMinutes": 1, "reason": "more"})
            for name, result in times.items():
                began = time.perf_counter()
                body = {"addMinutes": 1, "reason": "more"}
                assert server.client.post(f"/api/sessions/{name}/budget", json=body).status_code == 200
                result.append((time.perf_counter() - began) * 1_000)
    long, short = (min(result) for result in times.values())
    tell(f"first command on 50,000 events after a restart: {long:.0f} ms; on a short session {short:.0f} ms")
    assert long < 50


def rate(folder: Path, store: Store, name: str) -> float:
    """Events a second of one core, read, decoded and folded into every view; the best of three."""
    spent = []
    for number in range(3):
        with closing(SqliteViews(folder / f"{name}-{number}.db")) as views:
            follower = Follower(store, views)
            began = time.process_time()
            assert follower.catch_up() == store.head()
            spent.append(time.process_time() - began)
            assert follower.problems() == []
    return store.head() / min(spent)


def test_views_are_folded_as_fast_for_a_long_session_as_for_many_short_ones(tmp_path: Path, tell: Tell) -> None:
    """What an event costs the views does not grow with its session (promise P13: a million in a minute)."""
    with closing(SqliteStore(str(tmp_path / "many.db"))) as store:
        stories = [wander(number, f"delivery-{number}") for number in range(100)]
        store_events(store, merged(*stories).events)
        many = rate(tmp_path, store, "views-of-many")
    rates = []
    for length in (2_000, 16_000):
        folder = tmp_path / str(length)
        folder.mkdir()
        long_session(folder, length)
        with closing(SqliteStore(str(folder / "hansard.db"))) as store:
            rates.append(rate(folder, store, "views"))
    tell(
        f"all views: {many:,.0f} events/s of mixed deliveries; {rates[0]:,.0f} of one of 2,000 events,"
        f" {rates[1]:,.0f} of one of 16,000",
    )
    assert rates[1] > rates[0] / 1.5
