"""The figures and drawings above the tables of the reports."""

from types import MappingProxyType

import pytest

from api.web.renderer import linker
from api.web.report_overview import axis_of, report_overview, state_of
from api.web.sentences import words
from projections.reports.costs import CostRow
from projections.reports.waits import WaitRow
from projections.sessions.standings import Standing

HOUR, DAY = 3_600_000, 86_400_000
BEGIN = 20_000 * DAY
NO_FILTERS = MappingProxyType({"kind": None, "label": None})


def standing(
    at: int, status: str, *, waits_for: str | None = None, cost: int | None = None, asks: bool = False
) -> Standing:
    return Standing(f"delivery-{at}", f"Task {at}", at, status, waits_for, cost, asks)


@pytest.mark.parametrize(
    ("session", "state"),
    [
        (standing(0, "success"), "good"),
        (standing(0, "decided"), "good"),
        (standing(0, "failed", waits_for="failed"), "bad"),
        (standing(0, "failed", waits_for="budget"), "warn"),
        (standing(0, "partial", waits_for="partial"), "warn"),
        (standing(0, "running"), "run"),
        (standing(0, "running", asks=True), "you"),
        (standing(0, "checkpoint", waits_for="checkpoint"), "you"),
        (standing(0, "cancelled"), "stop"),
    ],
)
def test_a_session_has_the_colour_of_its_badge(session: Standing, state: str) -> None:
    assert state_of(session) == state


@pytest.mark.parametrize(
    ("span", "size"), [(0, HOUR), (20 * HOUR, HOUR), (5 * DAY, 6 * HOUR), (20 * DAY, DAY), (200 * DAY, 7 * DAY)]
)
def test_the_axis_is_as_fine_as_there_is_room(span: int, size: int) -> None:
    axis = axis_of([BEGIN, BEGIN + span])
    assert axis is not None and axis.size == size and axis.columns <= 31
    assert axis.place(BEGIN) == 0 and axis.place(BEGIN + span) == axis.columns - 1


def test_nothing_begun_has_no_figures() -> None:
    made = report_overview([], [], [], words("en"), linker(None), NO_FILTERS)
    assert made.figures == () and made.outcomes is None and made.money == ()


def test_figures_are_sums_of_the_sessions() -> None:
    sessions = [
        standing(BEGIN, "success", cost=1_500_000),
        standing(BEGIN + 3 * DAY, "failed", waits_for="failed", cost=500_000),
        standing(BEGIN + 3 * DAY, "running"),
    ]
    waited = WaitRow(
        hour="2024-10-04T00:00:00.000Z",
        cause="overloaded",
        agent="Ada",
        attempts=1,
        failures=0,
        waits=1,
        waited_ms=90_000,
        lost_ms=0,
        tokens=None,
        cost_micros=None,
    )
    made = report_overview(sessions, [], [waited], words("en"), linker(None), NO_FILTERS)
    assert {figure.name: figure.value for figure in made.figures} == {
        "done": "1",
        "rate": "50%",
        "money": "$2.00",
        "waiting": "1:30",
    }
    assert dict(made.states) == {"good": 1, "bad": 1, "run": 1}
    assert made.outcomes is not None and made.outcomes.count('class="is-') == 3


def test_money_is_by_agent_and_model_with_its_dearest_sessions() -> None:
    def row(session: str, agent: str, model: str | None, cost: int) -> CostRow:
        figures = {
            name: 0 for name in CostRow.model_fields if name not in ("session_id", "kind", "agent", "role", "model")
        }
        return CostRow.model_validate(
            {**figures, "session_id": session, "kind": "delivery", "agent": agent, "role": agent, "model": model}
            | {"cost_micros": cost}
        )

    costs = [row("delivery-1", "dev", "big", 300_000), row("delivery-2", "dev", "big", 900_000)]
    costs.append(row("delivery-1", "reviewer", None, 100_000))
    made = report_overview([standing(BEGIN, "success")], costs, [], words("en"), linker(None), NO_FILTERS)
    assert [(each.name, each.cost) for each in made.money] == [("dev · big", "$1.20"), ("reviewer", "$0.10")]
    assert [each.id for each in made.money[0].sessions] == ["delivery-2", "delivery-1"]
