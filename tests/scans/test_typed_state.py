"""`evolve` assigns fields: a field that does not exist, or a value of another type, is found before anything runs."""

from pathlib import Path

import pytest
from mypy import api

import domain.delivery.evolve as delivery
from tests.scans.sources import ROOT

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
