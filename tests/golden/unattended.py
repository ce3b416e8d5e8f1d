"""Scenes of the golden logs: nobody is there to work on a session."""

from collections.abc import Callable
from typing import Final

from domain.session.attendance import Absence, RecordUnattended
from domain.session.turns import ExpireTurn
from domain.values.budget import BudgetLimits
from tests.projections.stage import Stage

HOUR: Final = 3_600_000


def unattended(stage: Stage) -> None:
    """A delivery whose deadline moves twice, then passes; and one that is answered in the time given back."""
    for name in ("delivery-left-alone", "delivery-slept"):
        stage.delivers(name, limits=BudgetLimits(max_minutes=5, max_iterations=1))
    for name in ("delivery-left-alone", "delivery-slept"):
        _away(stage, name, "no_worker")
        _away(stage, name, "asleep")
    stage.answers("delivery-slept", "A plan.")
    stage.at += HOUR
    for turn in stage.session("delivery-left-alone").outstanding:
        stage.do("delivery-left-alone", ExpireTurn(turn_id=turn))


def _away(stage: Stage, name: str, why: Absence) -> None:
    since = stage.at
    stage.at += HOUR
    stage.do(name, RecordUnattended(since=since, until=stage.at, why=why))


SCENES: Final[dict[str, Callable[[Stage], None]]] = {"unattended": unattended}
