"""`evolve` assigns on a copy."""

import copy
from contextlib import closing
from pathlib import Path

import pytest

from adapters.proof.transfer import take_in
from domain.kinds import kind
from domain.session.record import kind_of
from tests.golden.make import PLACE
from tests.kit.memory_store import MemoryStore


@pytest.mark.parametrize("log", sorted(PLACE.glob("*.jsonl")), ids=lambda log: log.stem)
def test_evolve_assigns_on_a_copy_and_leaves_the_state_before_as_it_was(log: Path) -> None:
    with closing(MemoryStore()) as store:
        take_in(store, log.read_bytes().splitlines(keepends=True))
        for name in store.rows.streams():
            evolve, state = kind(kind_of(name)).evolve, None
            for recorded in store.history(name):
                before = copy.deepcopy(state)
                after = evolve(state, recorded.event, recorded.metadata)
                assert state == before
                assert after is not state
                state = after
