"""How fast a log is verified (`./dev test -n 0 -m benchmark`)."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from adapters.proof.checkpoints import ORIGIN, SignedHead, head
from adapters.proof.merkle import Tree
from adapters.store.port import Write
from adapters.store.rows import Row
from adapters.store.sqlite.store import SqliteStore
from domain.session.turns import TurnCancelled
from tests.adapters.stores_under_test import entries
from tests.benchmarks.measuring import Tell

pytestmark = pytest.mark.benchmark

EVENTS = 60_000
FLOOR = 100_000


def test_chain_and_tree_are_checked_at_a_hundred_thousand_events_a_second(tmp_path: Path, tell: Tell) -> None:
    """Promise P23: the hash of every row and the tree over them, by the second of one core: other work on the machine
    says nothing about ours. The figure that includes reading from disk is printed next to it."""
    store = SqliteStore(str(tmp_path / "log.db"))
    event = TurnCancelled(turn_id="t", attempt=1, agent="Ada", role="dev", reason="x" * 300)
    writes = [
        Write([entry])
        for stream in range(EVENTS // 1_000)
        for entry in entries([event] * 1_000, session_id=f"delivery-{stream}")
    ]
    store.append(writes)
    rows = list(store.rows.events())
    hashing = max(_rate(lambda: over(rows)) for _ in range(3))
    reading = max(_rate(lambda: head(store)) for _ in range(3))
    store.close()
    tell(f"chain and tree: {hashing:,.0f} events/s of one core, {reading:,.0f} with reading")
    assert hashing >= FLOOR


def over(rows: Sequence[Row]) -> SignedHead:
    """The checkpoint over these rows, each chained to its predecessor."""
    tree, heads = Tree(), dict[str, bytes]()
    for row in rows:
        assert row.chained(heads.get(row.stream, b"")) == row.hash
        heads[row.stream] = row.hash
        tree.add(row.hash)
    return SignedHead(ORIGIN, tree.size, tree.root())


def _rate(work: Callable[[], SignedHead]) -> float:
    began = time.process_time()
    assert work().size == EVENTS
    return EVENTS / (time.process_time() - began)
