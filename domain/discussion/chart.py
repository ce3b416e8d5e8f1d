"""The steps of a review or a debate that may follow each other (S2, behaviour §2.1)."""

from typing import Literal

from statemachine import State

from domain.session.chart import Chart, ChartTable

Kind = Literal["review", "debate"]


class ReviewChart(Chart):
    """Rounds, then a synthesis, then a person decides. A failing agent leads to the decision, too (K-32)."""

    reviewing = State(initial=True)
    synthesizing = State()
    waiting_for_decision = State()
    decided = State(final=True)
    cancelled = State(final=True)

    close = reviewing.to(synthesizing)
    break_off = reviewing.to(waiting_for_decision)
    retry = (
        reviewing.to(reviewing, cond="waits")
        | synthesizing.to(synthesizing, cond="waits")
        | waiting_for_decision.to(reviewing, cond="broken_off")
    )
    synthesize = synthesizing.to(waiting_for_decision)
    decide = waiting_for_decision.to(decided)
    cancel = reviewing.to(cancelled) | synthesizing.to(cancelled) | waiting_for_decision.to(cancelled)


class DebateChart(Chart):
    """Rounds, then a synthesis, then a person decides. A failing agent leads to the decision, too (K-32)."""

    debating = State(initial=True)
    synthesizing = State()
    waiting_for_decision = State()
    decided = State(final=True)
    cancelled = State(final=True)

    close = debating.to(synthesizing)
    break_off = debating.to(waiting_for_decision)
    retry = (
        debating.to(debating, cond="waits")
        | synthesizing.to(synthesizing, cond="waits")
        | waiting_for_decision.to(debating, cond="broken_off")
    )
    synthesize = synthesizing.to(waiting_for_decision)
    decide = waiting_for_decision.to(decided)
    cancel = debating.to(cancelled) | synthesizing.to(cancelled) | waiting_for_decision.to(cancelled)


TABLES: dict[str, ChartTable] = {"review": ChartTable(ReviewChart), "debate": ChartTable(DebateChart)}
