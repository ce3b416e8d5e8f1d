"""Charts: the table that answers at run time says what the engine of the library would do."""

import contextlib
from itertools import product

import pytest
from statemachine import State
from statemachine.exceptions import TransitionNotAllowed

from domain.delivery import chart as delivery
from domain.discussion import chart as discussion
from domain.kinds import KINDS
from domain.orchestration import chart as orchestration
from domain.session.chart import Chart, ChartTable
from domain.values.base import Refused

TABLES = {"delivery": delivery.TABLE, "orchestration": orchestration.TABLE, **discussion.TABLES}


class Model:
    """What the engine needs of a session: its state, and guards with the given values, all or only one of them."""

    def __init__(self, state: str, true: frozenset[str], guards: frozenset[str]) -> None:
        self.state = state
        for guard in guards:
            setattr(self, guard, guard in true)


def guards_of(table: ChartTable) -> frozenset[str]:
    result = (edge.guard for state, event in product(table.states, table.events) for edge in table.edges(state, event))
    return frozenset(guard for guard in result if guard is not None)


def engine_says(table: ChartTable, state: str, event: str, true: frozenset[str]) -> str | None:
    """Where the library's engine goes from a state, None where it refuses."""
    model = Model(state, true, guards_of(table))
    machine = table.chart(model, state_field="state")
    with contextlib.suppress(TransitionNotAllowed):
        machine.send(event)
        return str(model.state)
    return None


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES.keys())
def test_table_and_engine_agree_on_every_state_event_and_guard(table: ChartTable) -> None:
    guards = guards_of(table)
    truths = [frozenset[str](), guards, *(frozenset({guard}) for guard in sorted(guards))]
    asked = 0
    for state, event, true in product(table.states, table.events, truths):
        expected = engine_says(table, state, event, true) if state not in table.finals else None
        assert table.target(state, event, true.__contains__) == expected, (state, event, true)
        asked += 1
    assert asked == len(table.states) * len(table.events) * len(truths) > 0


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES.keys())
def test_no_event_leads_out_of_an_end(table: ChartTable) -> None:
    for state in table.finals:
        assert table.allowed(state, lambda _: True) == ()


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES.keys())
def test_the_diagram_is_drawn_from_the_same_declaration(table: ChartTable) -> None:
    diagram = f"{table.chart:mermaid}"
    assert diagram.startswith("stateDiagram-v2")
    for state in table.states:
        assert state in diagram
    for event in table.events:
        assert f": {event.replace('_', ' ').capitalize()}" in diagram


def test_the_delivery_chart_is_the_way_of_the_seed() -> None:
    """S4 §6, as a table of what completes, what sends back and what ends."""

    def way(event: str) -> dict[str, str]:
        result = {state: delivery.TABLE.target(state, event, lambda _: False) for state in delivery.TABLE.states}
        return {state: target for state, target in result.items() if target is not None}

    assert way("complete") == {
        "preparing": "planning",
        "planning": "architecture",
        "architecture": "design",
        "design": "implementation",
        "implementation": "validation",
        "awaiting_scope": "validation",
        "validation": "review",
        "review": "packaging",
        "under_review": "packaging",
        "packaging": "success",
    }
    assert way("hold") == {"review": "under_review"}
    assert way("send_back") == dict.fromkeys(
        ("implementation", "awaiting_scope", "validation", "review", "under_review", "packaging"), "implementation"
    )
    assert way("fail") == dict.fromkeys(("preparing", *delivery.PHASES), "failed")
    running = (*delivery.PHASES, "awaiting_scope", "under_review")
    assert way("exhaust") == dict.fromkeys(running, "exhausted")
    assert way("cancel") == dict.fromkeys(("preparing", *running), "cancelled")
    assert way("extend") == {state: state for state in ("preparing", *running)}
    assert way("revise") == {state: state for state in ("preparing", *running)}
    assert delivery.TABLE.initial == "preparing"
    assert delivery.TABLE.finals == {"cancelled"}


@pytest.mark.parametrize("phase", delivery.PHASES)
def test_an_exhausted_delivery_continues_where_its_guard_says(phase: str) -> None:
    assert delivery.TABLE.target("exhausted", "extend", lambda guard: guard == f"resumes_{phase}") == phase


@pytest.mark.parametrize("state", ["success", "failed", "exhausted"])
def test_a_delivery_that_has_stopped_goes_on_with_changes_if_it_has_implemented_something(state: str) -> None:
    assert delivery.TABLE.target(state, "revise", lambda guard: guard == "has_implemented") == "implementation"
    assert delivery.TABLE.target(state, "revise", lambda _: False) is None


@pytest.mark.parametrize(
    ("state", "status"),
    [
        *((state, "running") for state in (*delivery.PHASES, "under_review")),
        ("success", "success"),
        ("failed", "failed"),
        ("exhausted", "failed"),
        ("cancelled", "cancelled"),
    ],
)
def test_a_state_has_the_status_word_of_the_seed(state: str, status: str) -> None:
    assert delivery.status(state) == status


def test_a_forbidden_event_is_refused_with_the_allowed_ones() -> None:
    with pytest.raises(Refused, match=r"^Only a review approves\.$") as refusal:
        delivery.TABLE.next("planning", "send_back", lambda _: False, sentence="Only a review approves.")
    assert refusal.value.allowed == ("cancel", "complete", "exhaust", "extend", "fail", "revise")


def test_a_chart_refuses_in_its_engine_what_is_not_declared() -> None:
    model = Model("planning", frozenset(), guards_of(delivery.TABLE))
    with pytest.raises(TransitionNotAllowed):
        delivery.DeliveryChart(model, state_field="state").send("send_back")
    assert model.state == "planning"


def test_the_chart_of_every_kind_of_session_is_under_test() -> None:
    assert set(TABLES) == set(KINDS)


# -- what a table cannot express -----------------------------------------------------------------------------------


def test_a_negated_guard_is_refused() -> None:
    class Negated(Chart):
        a = State(initial=True)
        b = State(final=True)
        go = a.to(b, unless="tired")

    with pytest.raises(TypeError, match=r"Negated\.a"):
        ChartTable(Negated)


def test_an_expression_is_not_accepted_as_a_guard() -> None:
    class Expressed(Chart):
        a = State(initial=True)
        b = State(final=True)
        go = a.to(b, cond="rested and fed")

    with pytest.raises(TypeError, match=r"Expressed\.a"):
        ChartTable(Expressed)


def test_two_guards_are_refused() -> None:
    class Guarded(Chart):
        a = State(initial=True)
        b = State(final=True)
        go = a.to(b, cond=["rested", "fed"])

    with pytest.raises(TypeError, match=r"Guarded\.a"):
        ChartTable(Guarded)


def test_a_function_is_not_accepted_as_a_guard() -> None:
    class Called(Chart):
        a = State(initial=True)
        b = State(final=True)
        go = a.to(b, cond=lambda: True)

    with pytest.raises(TypeError, match=r"Called\.a"):
        ChartTable(Called)


def test_a_nested_chart_is_refused() -> None:
    class Nested(Chart):
        class outer(State.Compound):
            inner = State(initial=True)
            last = State(final=True)
            step = inner.to(last)

        end = State(final=True)
        go = outer.to(end)

    with pytest.raises(TypeError, match="only flat charts"):
        ChartTable(Nested)


def test_a_step_without_an_event_is_refused() -> None:
    class Eventless(Chart):
        a = State(initial=True)
        b = State(final=True)
        a.to(b, cond="rested")

    with pytest.raises(TypeError, match=r"Eventless\.a"):
        ChartTable(Eventless)


def test_the_first_open_way_is_taken() -> None:
    class Forked(Chart):
        a = State(initial=True)
        b = State(final=True)
        c = State(final=True)
        go = a.to(b, cond="left") | a.to(c)

    table = ChartTable(Forked)
    assert table.target("a", "go", lambda _: True) == "b"
    assert table.target("a", "go", lambda _: False) == "c"
    assert table.target("b", "go", lambda _: True) is None
