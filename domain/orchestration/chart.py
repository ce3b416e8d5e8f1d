"""The steps of an orchestration that may follow each other (S0 2-B…2-D, S1 §2)."""

from typing import Literal

from statemachine import State

from domain.session.chart import Chart, ChartTable

Status = Literal["active", "checkpoint", "partial", "done", "reset"]


class OrchestrationChart(Chart):
    """direct, or planning → (working → judging)*, until done, checkpoint or partial; reset at any time before done.
    A person who wants changes has a run that has stopped go on."""

    planning = State(initial=True)
    direct = State()
    working = State()
    debating = State()
    judging = State()
    reviewing = State()
    checkpoint = State()
    partial = State()
    done = State()
    reset = State(final=True)

    skip_planning = planning.to(direct)
    dispatch = working.from_(planning, direct)
    debate = debating.from_(planning, direct)
    approve = debating.to(working)
    rethink = debating.to(planning)
    answer = done.from_(planning, direct)
    judge = working.to(judging)
    review = judging.to(reviewing)
    proceed = working.from_(judging, reviewing)
    pause = checkpoint.from_(direct, judging, reviewing)
    finish = done.from_(judging, reviewing) | checkpoint.to(done, cond="nothing_left")
    stop = partial.from_(planning, direct, working, judging, reviewing)
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
    retry = (
        planning.to(planning, cond="waits")
        | direct.to(direct, cond="waits")
        | working.to(working, cond="waits")
        | judging.to(judging, cond="waits")
        | partial.to(working, cond="commands_failed_for_agents")
        | partial.to(direct, cond="commands_failed_for_answer")
        | partial.to(planning, cond="commands_failed")
        | partial.to(planning, cond="planner_failed")
        | partial.to(planning, cond="plan_refused")
        | partial.to(direct, cond="assistant_failed")
        | partial.to(direct, cond="answer_refused")
        | partial.to(judging, cond="judge_failed")
    )
    revise = (
        working.from_(checkpoint, partial, done, cond="has_worked")
        | direct.from_(checkpoint, partial, done, cond="has_changed_directly")
        | planning.to(planning)
        | direct.to(direct)
        | debating.to(debating)
        | working.to(working)
        | judging.to(judging)
        | reviewing.to(reviewing)
    )
    discard = reset.from_(planning, direct, debating, working, reviewing, judging, checkpoint, partial)


TABLE = ChartTable(OrchestrationChart)


def status(state: str) -> Status:
    """The seeds' word for a state of the chart (S1 §2)."""
    match state:
        case "checkpoint" | "partial" | "done" | "reset":
            return state
        case _:
            return "active"
