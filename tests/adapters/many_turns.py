"""What the tests share in which many turns wait: who is there to take them, and ways to ask for and to take some."""

from collections.abc import Iterator, Sequence
from typing import Any

from adapters.agents.external import ExternalSettings
from adapters.agents.scripted import Scenario
from adapters.agents.team import Member, Team
from adapters.store.port import Store
from adapters.store.turns import Lease, OpenTurn, TurnPage, Turns
from tests.adapters.stores_under_test import delivery_story, write
from tests.kit.stories import START

LEASE = 60_000
TEAM = Team(
    agents=(
        Member(name="Remote", roles=("planner",), adapter="external", settings=ExternalSettings()),
        Member(name="Local", roles=("dev",), adapter="scripted", settings=Scenario()),
    )
)


def begin(store: Store, *names: str, at: int = START, actor: str = "person", **fields: object) -> None:
    """Deliveries in the log whose planning waits; requested one millisecond after the other."""
    stories = [(name, delivery_story(name, **fields)) for name in names]
    writes = [write(story.begun, session_id=name, at=at + n, actor=actor) for n, (name, story) in enumerate(stories)]
    store.append(writes)


def many(count: int, name: str = "delivery-f") -> list[str]:
    return [f"{name}{number:04}" for number in range(count)]


def taken(store: Store, turn_id: str, worker: str = "me", *, now: int = START, lease_ms: int = LEASE) -> Lease:
    lease = store.turns.take(turn_id, worker, now=now, lease_ms=lease_ms)
    assert lease is not None
    return lease


def sessions(turns: Sequence[OpenTurn] | Iterator[OpenTurn]) -> list[str]:
    return [turn.session_id for turn in turns]


class SeenTurns:
    """The lease table of a store; subclasses watch or change single answers."""

    def __init__(self, store: Store) -> None:
        self.turns: Turns = store.turns

    def __getattr__(self, name: str) -> Any:
        return getattr(self.turns, name)


class Reading(SeenTurns):
    """Notes how many rows every look may read."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.read: list[int] = []

    def open(self, now: int, **bounds: Any) -> TurnPage:
        page = self.turns.open(now, **bounds)
        self.read.append(len(page.turns))
        return page
