"""Claiming turns like a worker with every role: the oldest waiting turn first."""

from adapters.store.port import Store
from adapters.store.turns import Lease


def claim(store: Store, worker: str, *, now: int, lease_ms: int) -> Lease | None:
    """The oldest turn that waits or whose lease ran out; None if none does."""
    for turn in store.turns.open(now, limit=1_000).turns:
        lease = store.turns.take(turn.turn_id, worker, now=now, lease_ms=lease_ms)
        if lease is not None:
            return lease
    return None
