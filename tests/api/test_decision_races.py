"""Of two opposing decisions at the same moment, one is recorded and the other refused (S2 5)."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

import httpx2 as httpx
import pytest

from adapters.store.location import open_store
from adapters.store.port import Store
from adapters.writer.writer import CommandAnswer, CommandEnvelope, Writer
from domain.discussion.commands import CancelDiscussion, StartDiscussion
from domain.discussion.events import Ending
from domain.discussion.state import Discussion
from domain.kinds import fold
from domain.session.attempts import Failure
from domain.session.children import Decide
from domain.session.turns import ExpireTurn, RecordReply
from domain.values.base import Command, Refused
from tests.api.server import Json, events, serving, session, start
from tests.api.talks import child, decide, review, waits
from tests.kit.claiming import claim
from tests.kit.discussing import topic
from tests.kit.replies import plan, subtask, verdicts
from tests.kit.stories import START

PATIENCE = 30.0
"""Seconds after which a hanging race fails."""
SIDES = ("apply_fix", "skip")


@dataclass
class Clock:
    """The wall clock, moved by hand."""

    at: int = START

    def __call__(self) -> int:
        return self.at


@dataclass
class Arena:
    """Reviews that wait for a decision, with two sides that want to decide differently."""

    store: Store
    writers: tuple[Writer, ...]
    clock: Clock

    def waiting_reviews(self, count: int, *, expires_ms: int | None = None) -> list[str]:
        """Create this many waiting reviews, whose reviewers failed (K-32)."""
        names = [f"review-{number}" for number in range(count)]
        opened = topic(expires_ms=expires_ms)
        self._all((name, StartDiscussion(topic=opened)) for name in names)
        leases = [claim(self.store, "worker", now=START, lease_ms=60_000) for _ in names]
        failure = Failure(code="crash", detail="gone")
        self._all((held.session_id, _reply(held.turn_id, failure)) for held in leases if held is not None)
        return names

    def _all(self, commands: Iterator[tuple[str, Command]]) -> None:
        writer = self.writers[0]
        for answer in [writer.submit(_order(name, command, starts=True)) for name, command in commands]:
            answer.result(timeout=PATIENCE)

    def race(
        self, names: list[str], one: Callable[[str], Command], other: Callable[[str], Command]
    ) -> list[list[bool]]:
        """Both sides submit their commands for all sessions at once; return which were accepted, race by race."""
        begin = threading.Barrier(2)
        sides: list[list[Future[CommandAnswer]]] = [[], []]

        def submit(side: int, command: Callable[[str], Command]) -> None:
            begin.wait()
            writer = self.writers[side % len(self.writers)]
            sides[side] += [writer.submit(_order(name, command(name))) for name in names]

        threads = [threading.Thread(target=submit, args=(side, command)) for side, command in enumerate((one, other))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        return [[_made(answer) for answer in race] for race in zip(*sides, strict=True)]

    def ends(self, name: str) -> list[Ending]:
        return [recorded.event for recorded in self.store.history(name) if isinstance(recorded.event, Ending)]

    def talk(self, name: str) -> Discussion:
        result = fold("review", ((recorded.event, recorded.metadata) for recorded in self.store.history(name)))
        assert isinstance(result, Discussion)
        return result


def _reply(turn_id: str, failure: Failure) -> RecordReply:
    return RecordReply(turn_id=turn_id, attempt=1, failure=failure)


def _order(name: str, command: Command, *, starts: bool = False) -> CommandEnvelope:
    return CommandEnvelope(name, command, actor="person", command_id=f"{name} {type(command).__name__}", starts=starts)


def _made(answer: "Future[CommandAnswer]") -> bool:
    try:
        answer.result(timeout=PATIENCE)
    except Refused:
        return False
    return True


@pytest.fixture(params=[1, 2], ids=["one process", "two processes"])
def arena(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Arena]:
    """One writer, or two on the same log, which see each other's writes only as conflicts."""
    stores = [open_store(f"sqlite:///{tmp_path / 'log.db'}") for _ in range(request.param)]
    clock = Clock()
    writers = tuple(Writer(store, clock) for store in stores)
    for writer in writers:
        writer.start()
    yield Arena(stores[0], writers, clock)
    for writer in writers:
        writer.stop()
    for store in stores:
        store.close()


@pytest.mark.parametrize("many", [200, pytest.param(1_000, marks=pytest.mark.nightly)])
def test_one_of_two_opposing_decisions_wins(arena: Arena, many: int) -> None:
    names = arena.waiting_reviews(many)
    outcomes = arena.race(names, lambda _: Decide(choice="apply_fix"), lambda _: Decide(choice="skip"))
    assert Counter(map(sum, outcomes)) == {1: many}
    for name, outcome in zip(names, outcomes, strict=True):
        winner = SIDES[outcome.index(True)]
        assert [end.choice for end in arena.ends(name)] == [winner]
        decision = arena.talk(name).decision
        assert decision is not None and decision.choice == winner


def test_a_decision_and_a_cancel_do_not_both_happen(arena: Arena) -> None:
    names = arena.waiting_reviews(50)
    outcomes = arena.race(names, lambda _: Decide(choice="apply_fix"), lambda _: CancelDiscussion())
    assert Counter(map(sum, outcomes)) == {1: 50}
    for name, outcome in zip(names, outcomes, strict=True):
        assert arena.talk(name).status == ("decided" if outcome[0] else "cancelled")
        assert len(arena.ends(name)) == 1


def test_decision_racing_its_expiry_has_one_winner(arena: Arena) -> None:
    """The clock is past the expiry, so both commands are valid."""
    names = arena.waiting_reviews(50, expires_ms=0)
    turns = {name: next(iter(arena.talk(name).outstanding)) for name in names}
    arena.clock.at += 1
    outcomes = arena.race(names, lambda _: Decide(choice="apply_fix"), lambda name: ExpireTurn(turn_id=turns[name]))
    assert Counter(map(sum, outcomes)) == {1: 50}
    for name, outcome in zip(names, outcomes, strict=True):
        decision = arena.talk(name).decision
        assert decision is not None and decision.expired is not outcome[0]
        assert decision.choice == ("apply_fix" if outcome[0] else "skip")


# -- through the endpoints ---


def _at_once(client: httpx.Client, *asked: tuple[str, str]) -> list[httpx.Response]:
    """Several decisions at the same moment, each on its own connection."""
    begin = threading.Barrier(len(asked))
    answers: dict[int, httpx.Response] = {}

    def ask(place: int, session_id: str, choice: str) -> None:
        with httpx.Client(base_url=client.base_url, timeout=PATIENCE) as line:
            begin.wait()
            answers[place] = decide(line, session_id, choice)

    threads = [threading.Thread(target=ask, args=(place, *wanted)) for place, wanted in enumerate(asked)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    return [answers[place] for place in range(len(asked))]


def test_opposing_decisions_through_the_endpoints(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        for _ in range(5):
            session_id = waits(server.client, review(maxRounds=1))["id"]
            wanted = ["apply_fix", "skip"] * 4
            answers = _at_once(server.client, *((session_id, choice) for choice in wanted))
            assert Counter(answer.status_code for answer in answers) == {200: 1, 409: 7}
            [winner] = [choice for choice, answer in zip(wanted, answers, strict=True) if answer.status_code == 200]
            assert session(server.client, session_id)["decision"]["choice"] == winner
            ends = [event for event in events(server.client, session_id) if event["type"] == "review.decided"]
            assert [event["data"]["choice"] for event in ends] == [winner]
        _at_parent_and_child(server.client)


def _at_parent_and_child(client: httpx.Client) -> None:
    """One decides on the run, the other on its debate; the run takes one of the two ways."""
    replies: Json = {"planner": [plan(subtask("Backend"))], "judge": [verdicts(Backend=True)]}
    body: Json = {
        "kind": "orchestration",
        "prompt": "src/ API 만들어줘",
        "planReview": {},
        "scenario": {"replies": replies},
    }
    for _ in range(3):
        run = start(client, body | {"employees": [{"name": "Backend", "role": "backend"}]})
        debate = child(client, run)["id"]
        answers = _at_once(client, (run, "accept"), (debate, "revise"))
        assert sorted(answer.status_code for answer in answers) == [200, 409]
        made = session(client, debate)["decision"]["choice"]
        assert made == ("accept" if answers[0].status_code == 200 else "revise")
        closed = [event["data"] for event in events(client, run) if event["type"] == "session.child_closed"]
        assert [event["choice"] for event in closed] == [made]
