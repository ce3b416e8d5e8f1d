"""Lists what the checks of a result leave open, from the facts that its row keeps. Imports nothing, for the command
line."""

import json
from collections.abc import Iterator
from typing import Any, Final

_TO_LOOK_AT: Final = ("checkpoint", "partial", "failed", "budget", "landing", "checks", "forge")
"""The waits before which a person looks at the result."""
_ALL: Final = 100

Point = tuple[str, dict[str, Any]]
"""The code of a sentence, and its parameters."""


def open_points(checked: str | None, waits_for: str | None) -> tuple[Point, ...]:
    """Returns what a person has to know of a result that waits for them; empty where nothing was handed over. `checked`
    are the facts as `handover` writes them."""
    facts = json.loads(checked) if checked and waits_for in _TO_LOOK_AT else {}
    return tuple(_points(facts)) if facts.get("published") else ()


def _points(facts: dict[str, Any]) -> Iterator[Point]:
    if facts["validated"] is None:
        yield "result_without_tests" if facts["why"] == "no_tests" else "result_not_validated", {}
    elif facts["validated"] == "workspace":
        yield "result_not_cloned", {}
    if facts["red"]:
        yield "result_red", {}
    if facts["weakened"]:
        yield "result_weakened", {"number": facts["weakened"]}
    for command, (failed, runs) in facts["flaky"].items():
        yield "result_flaky", {"command": command, "failed": failed, "runs": runs}
    if facts["seen"] is not None and facts["seen"] < _ALL:
        yield "result_seen_in_part", {"percent": facts["seen"]}
