"""Which step of an orchestration may follow which (S0 2-B…2-D, S1 §2)."""

from typing import Literal

from statemachine import State

from domain.chart import Chart, Table

Status = Literal["active", "checkpoint", "partial", "done", "reset"]


class OrchestrationChart(Chart):
    """direct, or planning → (working → judging)*, until done, checkpoint or partial; reset at any time before done."""

    planning = State(initial=True)
    direct = State()
    working = State()
    debating = State()
    judging = State()
    reviewing = State()
    checkpoint = State()
    partial = State()
    done = State(final=True)
    reset = State(final=True)

    skip_planning = planning.to(direct)
    dispatch = planning.to(working) | direct.to(working)
    debate = planning.to(debating) | direct.to(debating)
    approve = debating.to(working)
    rethink = debating.to(planning)
    answer = planning.to(done) | direct.to(done)
    judge = working.to(judging)
    review = judging.to(reviewing)
    proceed = judging.to(working) | reviewing.to(working)
    pause = judging.to(checkpoint) | reviewing.to(checkpoint)
    finish = judging.to(done) | reviewing.to(done) | checkpoint.to(done, cond="nothing_left")
    stop = planning.to(partial) | direct.to(partial) | judging.to(partial) | reviewing.to(partial)
    resume = (
        checkpoint.to(working)
        | partial.to(working, cond="planned")
        | partial.to(direct, cond="answers_directly")
        | partial.to(planning)
    )
    extend = (
        planning.to(planning)
        | debating.to(debating)
        | working.to(working)
        | judging.to(judging)
        | reviewing.to(reviewing)
        | partial.to(working, cond="out_of_rounds")
    )
    discard = (
        planning.to(reset)
        | direct.to(reset)
        | debating.to(reset)
        | working.to(reset)
        | reviewing.to(reset)
        | judging.to(reset)
        | checkpoint.to(reset)
        | partial.to(reset)
    )


TABLE = Table(OrchestrationChart)


def status(state: str) -> Status:
    """The seeds' word for a state of the chart (S1 §2)."""
    match state:
        case "checkpoint" | "partial" | "done" | "reset":
            return state
        case _:
            return "active"
