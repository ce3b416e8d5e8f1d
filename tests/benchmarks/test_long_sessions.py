"""A review of 1,000 rounds: what a step costs at its end, how much room it takes, and how soon any round is shown."""

import itertools
import statistics
import time
from contextlib import closing
from pathlib import Path

import pytest

from adapters.agents.port import Reply, Turn
from adapters.store.location import open_store
from adapters.store.sqlite.store import SqliteStore
from adapters.store.sqlite.views import SqliteViews
from adapters.writer.writer import Writer
from domain.discussion.events import RoundAdded
from projections.engine.snapshots import Snapshots
from projections.follow import Follower
from projections.record.sessions import Sessions
from tests.benchmarks.measuring import Tell
from tests.kit.endless import NAME, Disputing, review

pytestmark = pytest.mark.benchmark

ROUNDS = 1_000
MEGABYTES = 2.5


class Forgetful(Disputing):
    """Keeps of its prompts only how long the longest is: a thousand of them take 150 MB, which also takes time."""

    longest = 0

    async def ask(self, turn: Turn) -> Reply:
        reply = await super().ask(turn)
        self.longest = max(self.longest, len(self.asked.pop(turn.turn_id)))
        return reply


def test_a_thousand_rounds(tmp_path: Path, tell: Tell) -> None:
    """By the seconds of one core, each figure the median of fifty steps."""
    spent = {0: time.process_time()}
    store = open_store(f"sqlite:///{tmp_path / 'log.db'}")
    assert isinstance(store, SqliteStore)
    with closing(store):
        agent = Forgetful()
        review(store, tmp_path, ROUNDS, agent, done=lambda number: spent.setdefault(number, time.process_time()))

        def step(near: int) -> float:
            known = [number for number in sorted(spent) if near - 50 <= number <= near]
            steps = [(spent[b] - spent[a]) / (b - a) for a, b in itertools.pairwise(known)]
            return statistics.median(steps) * 1000

        began = time.process_time()
        writer = Writer(store, time.monotonic_ns)
        assert writer.load(NAME) is not None
        folded = time.process_time() - began
        states = shown(store, tmp_path)
    size = (tmp_path / "log.db").stat().st_size / 1e6
    early, late = step(60), step(ROUNDS)
    tell(
        f"{ROUNDS} rounds: {size:.1f} MB; a step {late:.1f} ms of a core at the end, {early:.1f} ms at round 10 to 60:"
        f" ratio {late / early:.2f}; the longest prompt {agent.longest:,} characters;"
        f" folded from nothing in {folded * 1000:.0f} ms; the state at any round"
        f" {statistics.median(states):.1f} ms, at worst {max(states):.1f} ms"
    )
    assert size < MEGABYTES
    assert late / early < 1.6
    assert statistics.median(states) < 10


def shown(store: SqliteStore, folder: Path) -> list[float]:
    """Milliseconds of a core for the state at rounds all over the review: the least of three readers that have read
    nothing before."""
    history = store.history(NAME)
    with closing(SqliteViews(folder / "views.db")) as views:
        Follower(store, views).catch_up()
        snapshots = Snapshots(store, views, store.rows.hash_of)
        snapshots.seen(history)
        assert snapshots.write() == 0
        assert snapshots.nearest(NAME) is not None

        def read(version: int) -> float:
            began = time.process_time()
            assert Sessions(store, snapshots).get(NAME, version) is not None
            return (time.process_time() - began) * 1000

        versions = [each.version for each in history if isinstance(each.event, RoundAdded)]
        return [min(read(version) for _ in range(3)) for version in versions[::37]]
