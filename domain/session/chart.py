"""Charts: python-statemachine declares which transitions exist; at run time, a table made from the declaration answers.

The engine itself never runs during commands (it is built for running machines and some 500 times slower than a
look-up). A test runs it over every state, event and guard and proves that the table says the same.
"""

from collections.abc import Callable
from dataclasses import dataclass

from statemachine import StateChart
from statemachine.callbacks import CallbackSpec
from statemachine.state import State

from domain.values.base import Refused

Guard = Callable[[str], bool]
"""Evaluates a guard, by its name, for the session."""


class Chart(StateChart[object]):
    """A flat chart whose engine refuses undeclared events and hides no errors."""

    allow_event_without_transition = False
    catch_errors_as_events = False
    enable_self_transition_entries = False


@dataclass(frozen=True, slots=True)
class Edge:
    """One transition out of a state: taken if its guard, if any, holds."""

    target: str
    guard: str | None


class ChartTable:
    """The transitions of a chart, as a look-up table. Raises TypeError at import for what it cannot express."""

    def __init__(self, chart: type[Chart]) -> None:
        self.chart = chart
        self.initial = next(state.id for state in chart.states if state.initial)
        self.finals = frozenset(state.id for state in chart.states if state.final)
        self._edges: dict[tuple[str, str], tuple[Edge, ...]] = {}
        for state in chart.states:
            self._read(state)
        self.states = tuple(state.id for state in chart.states)
        self.events = tuple(sorted({event for _, event in self._edges}))

    def _read(self, state: State) -> None:
        if state.states or state.parallel:
            raise TypeError(f"{self.chart.__name__}.{state.id}: only flat charts can be read")
        for transition in state.transitions:
            guards = [spec for spec in transition.cond if _names(spec)]
            if len(guards) != len(list(transition.cond)) or len(guards) > 1 or not transition.event:
                raise TypeError(f"{self.chart.__name__}.{state.id}: at most one guard, given by its name, and an event")
            edge = Edge(transition.target.id, str(guards[0].func) if guards else None)
            for event in transition.event.split():
                self._edges[state.id, event] = (*self._edges.get((state.id, event), ()), edge)

    def edges(self, state: str, event: str) -> tuple[Edge, ...]:
        return self._edges.get((state, event), ())

    def allowed(self, state: str, guard: Guard) -> tuple[str, ...]:
        """The events that are possible now."""
        return tuple(event for event in self.events if self.target(state, event, guard) is not None)

    def target(self, state: str, event: str, guard: Guard) -> str | None:
        """Returns where the event leads; None if it is not allowed."""
        for edge in self.edges(state, event):
            if edge.guard is None or guard(edge.guard):
                return edge.target
        return None

    def next(self, state: str, event: str, guard: Guard, *, sentence: str) -> str:
        """The state after the event; Refused, with `sentence`, when there is none."""
        target = self.target(state, event, guard)
        if target is None:
            raise Refused(sentence, allowed=self.allowed(state, guard))
        return target


def _names(guard: CallbackSpec) -> bool:
    """Returns whether the guard is a plain name: no function, no expression, not negated (`unless`)."""
    return isinstance(guard.func, str) and guard.func.isidentifier() and guard.expected_value is True
