"""How fast a log is verified (`./dev test -m benchmark`)."""

import time
from pathlib import Path

import pytest

from adapters.audit.checkpoints import head
from adapters.store import SqliteStore, Write
from domain.turns import TurnCancelled
from tests.adapters.stores_under_test import entries

pytestmark = pytest.mark.benchmark

EVENTS = 60_000
FLOOR = 100_000


def test_chain_and_tree_are_checked_at_a_hundred_thousand_events_a_second(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Promise P23: reading, the hash of every row, and the tree over them."""
    store = SqliteStore(str(tmp_path / "log.db"))
    event = TurnCancelled(turn_id="t", attempt=1, agent="Ada", role="dev", reason="x" * 300)
    writes = [
        Write([entry])
        for stream in range(EVENTS // 1_000)
        for entry in entries([event] * 1_000, session_id=f"delivery-{stream}")
    ]
    store.turns.follow = lambda *_, **__: None  # type: ignore[method-assign]  # these turns were never requested
    store.append(writes)
    rates = []
    for _ in range(3):
        began = time.perf_counter()
        assert head(store).size == EVENTS
        rates.append(EVENTS / (time.perf_counter() - began))
    store.close()
    with capsys.disabled():
        print(f"\n  chain and tree: {max(rates):,.0f} events/s", end=" ")  # noqa: T201 - the figures are the result
    assert max(rates) >= FLOOR
