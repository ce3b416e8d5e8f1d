"""Changes of an orchestration by events: `evolve` only assigns."""

from collections.abc import Iterator
from typing import Final

from domain.delivery.validation import Baseline, unready
from domain.orchestration.claims import hindrances
from domain.orchestration.events import (
    CheckpointReached,
    Completed,
    Continued,
    OrchestrationRequest,
    OrchestrationRetried,
    OrchestrationStarted,
    OrchestrationTransition,
    PartialReached,
    PlanMade,
    PlanRefused,
    ReviewStarted,
    RoundsAdded,
    RoundStart,
    RoundValidated,
    RunBaselineRecorded,
    RunRevisionBegun,
    VerdictGiven,
    VerdictOverturned,
    VerdictUnreadable,
    WasReset,
    WorkReported,
)
from domain.orchestration.state import AGENT, Fix, Orchestration, WorkReport
from domain.session.children import ChildClosed, ChildRequested
from domain.session.revisions import concluded
from domain.session.state import EventMetadata, evolve_shared, hear
from domain.session.turns import TurnAnswered, TurnFailed, TurnRequested
from domain.session.validation import Validated
from domain.values.base import DomainEvent, without
from domain.values.phases import AgentPhases, Judged, paused
from domain.values.sentences import Sentence, as_sentences


def evolve(run: Orchestration | None, event: DomainEvent, metadata: EventMetadata) -> Orchestration:
    """The orchestration after one more event."""
    if isinstance(event, OrchestrationStarted):
        return _begin(event, metadata)
    assert run is not None, "an orchestration begins with session_started"
    state = run.next(metadata)
    if isinstance(event, OrchestrationTransition):
        state.state = event.state
    match event:
        case PlanRefused():
            state.refused_plans += 1
            state.refusals = as_sentences(event.reasons, event.sentences)
        case RunBaselineRecorded():
            state.baseline, state.validation_env = event.commands, event.env
            baseline = Baseline(commands=event.commands, setup=event.setup, escapes=event.escapes)
            state.baselined = unready(baseline) is None
        case RoundValidated():
            state.checked, state.check, state.failures = True, event.summary, event.new_failures
            state.broken = {each.index: each.reasons for each in event.broken}
            state.weakened = event.weakened
            state.proves_nothing = "no_tests" if event.no_tests else None
            state.validated = None if event.no_tests else _validated(state, event)
            state.flaky = {flake.command: flake for flake in event.flaky}
            state.clean_room, state.coverage = event.clean_room, event.coverage
        case TurnRequested(work="validate"):
            evolve_shared(state, event, metadata.at)
            state.answer = event.context.get("answer", state.answer)
        case PlanMade():
            _planned(state, event)
        case RoundStart():
            _round(state, event)
        case WorkReported():
            report = WorkReport(result=event.result, report=event.report, claimed=event.claimed)
            state.reports = state.reports | {event.index: report}
        case VerdictUnreadable():
            state.unreadable_verdicts, state.verdict_problem = event.attempt, event.sentence or event.problem
            state.unjudged = event.round
            why = Sentence("verdict_unreadable_in", number=event.round, detail=state.verdict_problem)
            state.warnings = (*state.warnings, why)
        case VerdictGiven():
            _judged(state, event)
        case ReviewStarted():
            state.all_done, state.judged = event.all_done, event.words
        case VerdictOverturned():
            _overturned(state, event)
        case CheckpointReached():
            state.no_change = event.reason is not None
            state.early, state.summary = state.active, event.summary
            state.revisions = concluded(state.revisions)
            state.agents = tuple(paused(agent) for agent in state.agents)
        case PartialReached():
            state.summary, state.partial_reason = event.summary, event.reason
        case Completed():
            state.summary, state.last_error, state.no_change = event.summary, None, event.reason is not None
            state.agents = tuple(agent.changed(completed=True) for agent in state.agents)
            state.revisions = concluded(state.revisions)
        case Continued():
            if run.state == "checkpoint":
                state.scope_allowed = (*run.scope_allowed, *run.outside)
            state.agents, state.last_round = event.agents, event.last_round
            state.summary = state.partial_reason = None
            state.no_change = False
            state.refused_plans, state.refusals = 0, ()
        case RunRevisionBegun():
            state.agents, state.last_round, state.answered = event.agents, event.last_round, event.answer
            state.summary = state.partial_reason = state.last_error = state.failed_turn = state.landed = None
            state.no_change, state.early = False, ()
        case OrchestrationRetried():
            state.summary = state.partial_reason = None
            state.refused_plans = 0
        case RoundsAdded():
            state.last_round = event.last_round
            hear(state, "extended", event.why)
        case TurnAnswered() | TurnFailed():
            evolve_shared(state, event, metadata.at)
            _settled(state, run, event)
        case WasReset():
            state.summary = event.summary
        case ChildRequested() | ChildClosed():
            evolve_shared(state, event, metadata.at)
            _discussed(state, event)
        case _:
            evolve_shared(state, event, metadata.at)
    return state


_NOT_KEPT: Final = {"triage", "started_in"}
"""Fields of a request that the state has under another name, or does not need."""


def _begin(event: OrchestrationStarted, metadata: EventMetadata) -> Orchestration:
    opening = event.opening
    return Orchestration(
        id=metadata.session_id,
        kind="orchestration",
        state=event.state,
        version=1,
        created_at=metadata.at,
        updated_at=metadata.at,
        policy=event.policy,
        forced=opening.triage,
        mode=event.mode,
        triage=event.triage,
        last_round=opening.max_rounds,
        **{name: getattr(opening, name) for name in OrchestrationRequest.model_fields.keys() - _NOT_KEPT},
    )


def _validated(state: Orchestration, event: RoundValidated) -> Validated:
    return Validated(
        commands=tuple(step.command for step in state.steps),
        clean_room=event.clean_room is not None,
        version=state.version,
        passed=event.passed,
    )


def _settled(state: Orchestration, before: Orchestration, event: TurnAnswered | TurnFailed) -> None:
    """Only a turn of the planner, the judge or the assistant can be retried; the run continues without any other."""
    turn = before.outstanding[event.turn_id]
    if isinstance(event, TurnAnswered) and event.tree is not None:
        state.checked = False
        state.validated = state.proves_nothing = None
        state.weakened = ()
    if turn.lane and turn.work == "ask" and isinstance(event, TurnAnswered):
        place = turn.lane - 1
        state.authors = state.authors | {place: event.agent}
        if event.files:
            files = dict.fromkeys((*state.changed.get(place, ()), *event.files))
            state.changed = state.changed | {place: tuple(files)}
        if event.tree is not None:
            state.trees = without(state.trees, place) | {place: event.tree}
        if event.patch is not None:
            state.patches = state.patches | {place: (*state.patches.get(place, ()), event.patch)}
        paths = dict.fromkeys((*state.strayed.get(place, ()), *state.scope.outside_of(event.files)))
        state.strayed = state.strayed | {place: tuple(paths)} if paths else state.strayed
    if (turn.lane and turn.work == "ask") or turn.work in ("package", "land"):
        state.failed_turn = before.failed_turn


def _discussed(state: Orchestration, event: ChildRequested | ChildClosed) -> None:
    """Discussions have separate limits: rounds of debate about the plan, and reviews of each piece of work."""
    match event:
        case ChildClosed(about="plan"):
            state.debate_rounds += event.rounds
        case ChildRequested(about=about) if about.startswith(AGENT):
            step = state.step(int(about.removeprefix(AGENT)))
            state.reviews = state.reviews | {step: state.reviews.get(step, 0) + 1}


def _planned(state: Orchestration, event: PlanMade) -> None:
    state.mode = "orchestrated"
    state.plan, state.plan_version, state.agents = event.plan, event.plan_version, event.agents
    state.warnings = (*state.warnings, *as_sentences(event.warnings, event.sentences))
    state.refused_plans, state.refusals = 0, ()


def _round(state: Orchestration, event: RoundStart) -> None:
    state.round, state.parallel = event.round, event.parallel
    state.warnings = tuple(dict.fromkeys((*state.warnings, *hindrances(state.claims))))
    settled = state.passed.keys() - state.fixes.keys()
    state.patches = {place: patches for place, patches in state.patches.items() if place not in settled}
    state.reports, state.passed, state.trees = {}, {}, {}
    state.unreadable_verdicts, state.verdict_problem = 0, ""


def _judged(state: Orchestration, event: VerdictGiven) -> None:
    agent = state.agents[event.index]
    moved = agent.changed(
        history=(*agent.history, *_verdicts(event)),
        current_phase_idx=event.phase_idx,
        current_phase=agent.phase_profile[event.phase_idx],
        completed=event.completed,
    )
    _replace(state, event.index, moved)
    if not event.judged:
        return
    state.unjudged = None
    if not event.passed:
        state.feedback = state.feedback | {event.index: event.feedback}
        return
    state.passed = state.passed | {event.index: agent.current_phase_idx}
    state.feedback = without(state.feedback, event.index)
    state.fixes = without(state.fixes, event.index)


def _verdicts(event: VerdictGiven) -> Iterator[Judged]:
    """The verdict on each phase that it covers; a FAIL is about the phase that the agent stays in."""
    phases = event.judged if event.passed else ()
    for phase in phases or (event.phase,):
        yield Judged(round=event.round, phase=phase, passed=event.passed, feedback=event.feedback)


def _overturned(state: Orchestration, event: VerdictOverturned) -> None:
    agent, place = state.agents[event.index], state.passed[event.index]
    failed = Judged(round=event.round, phase=event.phase, passed=False, feedback=event.feedback)
    back = agent.changed(
        history=(*agent.history, failed),
        current_phase_idx=place,
        current_phase=agent.phase_profile[place],
        completed=False,
    )
    _replace(state, event.index, back)
    state.fixes = state.fixes | {event.index: Fix(issues=event.issues, synthesis=event.synthesis)}


def _replace(state: Orchestration, place: int, agent: AgentPhases) -> None:
    state.agents = (*state.agents[:place], agent, *state.agents[place + 1 :])
