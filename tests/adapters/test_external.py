"""Turns for external agents: which are theirs, which worker gets one, and what happens if none is left."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from adapters.agents.external import External, ExternalSettings
from adapters.agents.scripted import Scenario
from adapters.agents.team import Member, Team, build
from adapters.agents.team import load as load_team
from adapters.store.port import Store
from adapters.store.turns import Lease, OpenTurn, Turns
from adapters.turns.external.queue import TurnFilter, TurnQueue
from adapters.turns.lease.routing import Load, Place, Routing
from adapters.writer.writer import Writer
from domain.session.state import Session
from domain.values.base import Text
from tests.adapters.agents_under_test import ask, code
from tests.adapters.many_turns import SeenTurns
from tests.adapters.stores_under_test import delivery_story, write
from tests.kit.stories import START

LEASE = 60_000
TEAM = Team(
    agents=(
        Member(name="Remote", roles=("planner", "backend"), adapter="external", settings=ExternalSettings()),
        Member(name="Local", roles=("dev",), adapter="scripted", settings=Scenario()),
    )
)
NOBODY = Team(agents=TEAM.agents[1:])


def begin(store: Store, session_id: str = "delivery-1", *, at: int = START, **fields: object) -> None:
    """A delivery in the log whose planning waits."""
    story = delivery_story(session_id, **fields)
    store.append([write(story.begun, session_id=session_id, at=at)])


def load(store: Store) -> Load:
    return Writer(store, lambda: START).load


def open_turns(store: Store) -> list[OpenTurn]:
    return store.turns.open(START, limit=100).turns


# -- whose turns ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("team", "fields", "expected"),
    [
        (TEAM, {}, "outside"),
        (TEAM, {"crew": {"planner": "REMOTE"}}, "outside"),
        (TEAM, {"crew": {"planner": "Somebody"}}, "elsewhere"),
        (TEAM, {"crew": {"planner": "Local"}}, "here"),
        (TEAM, {"crew": {"dev": "Somebody"}}, "outside"),
        (TEAM, {"scenario": Text(head="{}", length=2)}, "here"),
        (NOBODY, {}, "elsewhere"),
        (load_team(None), {}, "here"),
        (load_team(None), {"crew": {"planner": "planner"}}, "elsewhere"),
        (load_team(None), {"crew": {"dev": "Dev"}}, "elsewhere"),
        (load_team(None), {"crew": {"dev": "Dev"}, "scenario": Text(head="{}", length=2)}, "here"),
    ],
)
def test_a_turn_belongs_to_the_named_agent_or_else_to_the_role(
    store: Store, team: Team, fields: dict[str, object], expected: Place
) -> None:
    """A session's own scenario replaces the team; nothing replaces a named agent, least of all the examples."""
    begin(store, **fields)
    assert [Routing(team, load(store)).place(turn) for turn in open_turns(store)] == [expected]


def test_commands_can_be_run_by_any_worker(store: Store) -> None:
    validation = OpenTurn("delivery-1.t9", "delivery-1", "validate", "Remote", "planner", START)
    assert Routing(TEAM, load(store)).place(validation) == "here"


def test_each_session_is_read_once(store: Store) -> None:
    begin(store)
    looked: list[tuple[str, int | None]] = []

    def seen(session_id: str, *, upto: int | None = None) -> Session | None:
        looked.append((session_id, upto))
        return load(store)(session_id, upto=upto)

    whose = Routing(TEAM, seen)
    for _ in range(3):
        assert [whose.place(turn) for turn in open_turns(store)] == ["outside"]
    assert looked == [("delivery-1", 1), ("delivery-1", None)]


def test_only_the_beginning_of_a_long_session_is_read(store: Store) -> None:
    begin(store, crew={"planner": "Local"})
    looked: list[int | None] = []

    def seen(session_id: str, *, upto: int | None = None) -> Session | None:
        looked.append(upto)
        return load(store)(session_id, upto=upto)

    assert [Routing(TEAM, seen).place(turn) for turn in open_turns(store)] == ["here"]
    assert looked == [1]


def test_a_turn_without_an_agent_here_is_reported_once(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    begin(store, crew={"planner": "Somebody"})
    whose = Routing(TEAM, load(store))
    for _ in range(3):
        assert [whose.place(turn) for turn in open_turns(store)] == ["elsewhere"]
    assert caplog.messages == [
        "delivery-1.t1 waits for Somebody (planner), which this team does not have; no other agent takes its place."
    ]


def test_an_unreadable_session_is_skipped_here_and_reported_elsewhere() -> None:
    def broken(_: str, *, upto: int | None = None) -> None:
        raise ValueError("an event of tomorrow")

    turn = OpenTurn("delivery-1.t1", "delivery-1", "ask", "Remote", "planner", START)
    assert Routing(TEAM, broken).place(turn) == "here"


def test_an_external_agent_explains_that_it_cannot_be_started(tmp_path: Path) -> None:
    agent = build(TEAM.agents[0], tmp_path)
    assert isinstance(agent, External)
    reply = ask(agent)
    assert code(reply) == "refused"
    assert reply.failure is not None and "claimed at POST /api/turns/claim" in reply.failure.detail


# -- waiting -------------------------------------------------------------------------------------------------------


class Table(SeenTurns):
    """Counts how often it is looked at."""

    looks = 0

    def waiting(self, now: int) -> bool:
        self.looks += 1
        return self.turns.waiting(now)


@pytest.fixture
def table(store: Store) -> Table:
    return Table(store)


async def soon(found: Callable[[], bool]) -> None:
    """Until it is so; within some seconds."""
    for _ in range(5_000):
        if found():
            return
        await asyncio.sleep(0.001)
    raise AssertionError("it did not come to that")


def queue(store: Store, table: Turns | SeenTurns) -> TurnQueue:
    return TurnQueue(table, Routing(TEAM, load(store)), lambda: START, LEASE)


def test_the_first_worker_gets_the_turn(store: Store, table: Table) -> None:
    async def story() -> tuple[Lease | None, Lease | None]:
        desk = queue(store, table)
        first = asyncio.create_task(desk.next("first", TurnFilter(), 20))
        second = asyncio.create_task(desk.next("second", TurnFilter(), 20))
        await soon(lambda: desk.length == 2)
        begin(store)
        desk.wake()
        value = await first
        desk.close()
        return value, await second

    value, none = asyncio.run(story())
    assert value is not None and value.worker == "first"
    assert none is None


def test_a_turn_goes_past_those_who_do_not_want_it(store: Store, table: Table) -> None:
    async def story() -> Lease | None:
        desk = queue(store, table)
        asyncio.create_task(desk.next("picky", TurnFilter(roles=frozenset({"dev"})), 20)).add_done_callback(
            lambda _: None
        )
        begin(store)
        value = await desk.next("anybody", TurnFilter(), 20)
        desk.close()
        return value

    value = asyncio.run(story())
    assert value is not None and value.worker == "anybody"


def test_a_hundred_waiting_workers_cost_one_query(store: Store, table: Table) -> None:
    async def story() -> None:
        desk = queue(store, table)
        waiting = [asyncio.create_task(desk.next(str(n), TurnFilter(), 20)) for n in range(100)]
        await soon(lambda: desk.length == 100 and table.looks > 0)
        for _ in range(100):
            await asyncio.sleep(0)
        desk.close()
        assert await asyncio.gather(*waiting) == [None] * 100

    asyncio.run(story())
    assert table.looks <= 3


def test_no_query_runs_while_no_worker_waits(store: Store, table: Table) -> None:
    async def story() -> int:
        desk = queue(store, table)
        assert await desk.next("me", TurnFilter(), 0) is None
        looks = table.looks
        for _ in range(5):
            desk.wake()
            await asyncio.sleep(0.01)
        return table.looks - looks

    assert asyncio.run(story()) == 0


def test_a_turn_claimed_for_a_worker_that_leaves_waits_again(store: Store) -> None:
    class Slow(SeenTurns):
        """The waiter leaves while the turn is being taken."""

        def take(self, turn_id: str, worker: str, *, now: int, lease_ms: int) -> Lease | None:
            lease = self.turns.take(turn_id, worker, now=now, lease_ms=lease_ms)
            asyncio.run_coroutine_threadsafe(leave(), loop[0]).result()
            return lease

    loop: list[asyncio.AbstractEventLoop] = []
    waiter: list[asyncio.Task[Lease | None]] = []

    async def leave() -> None:
        waiter[0].cancel()

    async def story() -> None:
        loop.append(asyncio.get_running_loop())
        desk = queue(store, Slow(store))
        begin(store)
        waiter.append(asyncio.create_task(desk.next("gone", TurnFilter(), 20)))
        with pytest.raises(asyncio.CancelledError):
            await waiter[0]
        await soon(lambda: store.turns.status("delivery-1.t1") == ("delivery-1", "queued", 1, "gone"))

    asyncio.run(asyncio.wait_for(story(), 10))


def test_waiting_workers_get_the_error_of_an_unreadable_table(store: Store) -> None:
    class Broken(SeenTurns):
        def waiting(self, now: int) -> bool:
            raise OSError("the disk is gone")

    async def story() -> None:
        await queue(store, Broken(store)).next("me", TurnFilter(), 20)

    with pytest.raises(OSError, match="the disk is gone"):
        asyncio.run(story())
