"""`evolve` assigns fields: a field that does not exist, or a value of another type, is found before anything runs."""

import copy
from contextlib import closing
from pathlib import Path

import pytest
from mypy import api

import domain.delivery.evolve as delivery
from adapters.proof.transfer import take_in
from adapters.store.memory import MemoryStore
from domain.kinds import kind
from domain.session.record import kind_of
from tests.golden.make import PLACE

ROOT = Path(delivery.__file__).parents[2]
ASSIGNED = "            state.iteration = event.iteration\n"
PLANTED = "            state.iteraton = event.iteration\n            state.iteration = event.message\n"


def checked(source: str, place: Path) -> list[str]:
    """What mypy says of a module with this source, by the rules of the project."""
    planted = place / "planted_state.py"
    planted.write_text(source, "utf-8")
    words, _, _ = api.run(["--config-file", str(ROOT / "pyproject.toml"), "--no-error-summary", str(planted)])
    return [line.partition("error: ")[2] for line in words.splitlines()]


def test_a_wrong_field_and_a_wrong_type_fail_in_mypy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    source = Path(delivery.__file__).read_text("utf-8")
    assert source.count(ASSIGNED) == 1
    assert checked(source, tmp_path) == []
    name, kind = checked(source.replace(ASSIGNED, PLANTED), tmp_path)
    assert name.startswith('"Delivery" has no attribute "iteraton"')
    assert kind.startswith('Incompatible types in assignment (expression has type "str", variable has type "int")')


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
