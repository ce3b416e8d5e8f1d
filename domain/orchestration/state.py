"""An orchestration as its events made it: assigns only, decides nothing."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from domain.orchestration.chart import Status, status
from domain.orchestration.events import (
    CheckpointReached,
    Completed,
    Continued,
    Employee,
    Forced,
    Mode,
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
    TriageSignals,
    VerdictGiven,
    VerdictOverturned,
    VerdictUnreadable,
    WasReset,
    WorkReported,
)
from domain.orchestration.matching import FileClaim, hindrances
from domain.orchestration.phases import AgentPhases, Judged, paused, resumed
from domain.session.children import ChildClosed, ChildRequested, ReviewSettings
from domain.session.state import EventMetadata, Session, evolve_shared, without
from domain.session.turns import TurnAnswered, TurnFailed
from domain.values.base import DomainEvent, Text

AGENT = "agent:"
"""What a review of an agent's work is about: this and the agent's place in the plan."""


def subtask_id(place: int) -> str:
    """The id of a subtask, by its place in the plan: `s1`, `s2`, …"""
    return f"s{place + 1}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkReport:
    """What an agent brought back in this round."""

    result: str
    report: Text
    claimed: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """What a person wants fixed, until a verdict says that it is."""

    issues: str
    synthesis: Text


@dataclass(kw_only=True)
class Orchestration(Session):
    """The state of an orchestration (behaviour §1.1). `agents` are the subtasks in the order of the plan; their place
    in it is the key of `reports`, `feedback`, `passed` and `fixes`.
    """

    policy: str
    prompt: str
    employees: tuple[Employee, ...]
    max_rounds: int
    forced: Forced
    mode: Mode
    triage: TriageSignals
    repository: bool
    follows: str | None = None
    plan: Text | None = None
    plan_version: int = 0
    refusals: tuple[str, ...] = ()
    refused_plans: int = 0
    agents: tuple[AgentPhases, ...] = ()
    round: int = 0
    last_round: int = 0
    parallel: tuple[bool, ...] = ()
    reports: dict[int, WorkReport] = field(default_factory=dict)
    authors: dict[int, str] = field(default_factory=dict)
    """The agent who wrote the latest work of each place: its own, or who took its turn over."""
    unreadable_verdicts: int = 0
    verdict_problem: str = ""
    unjudged: int | None = None
    """The round whose verdict could not be read, until one can be."""
    feedback: dict[int, str] = field(default_factory=dict)
    early: tuple[int, ...] = ()
    summary: Text | None = None
    partial_reason: str | None = None
    warnings: tuple[str, ...] = ()
    plan_review: ReviewSettings | None = None
    work_review: ReviewSettings | None = None
    debate_rounds: int = 0
    all_done: bool = False
    judged: Text = field(default_factory=Text)
    passed: dict[int, int] = field(default_factory=dict)
    reviews: dict[str, int] = field(default_factory=dict)
    fixes: dict[int, Fix] = field(default_factory=dict)

    @property
    def status(self) -> Status:
        return status(self.state)

    @property
    def ended(self) -> bool:
        """A checkpoint and a partial run can be continued: they have not ended (S1 §2)."""
        return self.status in ("done", "reset")

    @property
    def at_work(self) -> bool:
        """Whether an agent is asked at this moment. A branch may be made beside the work."""
        return any(turn.work != "package" for turn in self.outstanding.values())

    @property
    def active(self) -> tuple[int, ...]:
        """The places of the agents that still have phases to go through."""
        return tuple(place for place, agent in enumerate(self.agents) if not agent.completed)

    @property
    def claims(self) -> list[FileClaim]:
        """What each active agent wants to touch, and whether it asks to work in parallel (K-19)."""
        agents = [self.agents[place] for place in self.active]
        return [
            FileClaim(agent=agent.agent, parallel=agent.parallel, affected_files=agent.affected_files)
            for agent in agents
        ]

    @property
    def affected_files(self) -> tuple[str, ...]:
        """The files that the plan names."""
        return tuple(path for agent in self.agents for path in agent.affected_files)

    def has_several(self, name: str) -> bool:
        """Whether the agent has more than one subtask of the plan."""
        return sum(agent.agent == name for agent in self.agents) > 1

    def guard(self, name: str) -> bool:
        """The chart's guards."""
        match name:
            case "planned":
                return bool(self.agents) and (self.partial_reason == "rounds" or self._failed("judge"))
            case "answers_directly":
                return self.mode == "direct" and not self.agents
            case "out_of_rounds":
                return self.partial_reason == "rounds"
            case "waits":
                return self.waits
            case "planner_failed" | "assistant_failed" | "judge_failed":
                return self._failed(name.removesuffix("_failed"))
            case "nothing_left":
                return self.state == "checkpoint" and all(agent.completed for agent in self.resumed())
            case _:
                return False

    def _failed(self, role: str) -> bool:
        return self.failed_turn is not None and self.failed_turn.role == role

    def wrote(self, places: Iterable[int]) -> tuple[str, ...]:
        """The agents who wrote the work of these places, by all their names."""
        names = [name for place in places for name in (self.agents[place].agent, self.authors.get(place, ""))]
        return tuple(dict.fromkeys(known for name in names for known in (name, self.crew.get(name, "")) if known))

    def step(self, place: int) -> str:
        """What a review of passed work is about: the agent's place, and the phase that it passed."""
        return f"{place}.{self.agents[place].phase_profile[self.passed[place]]}"

    def resumed(self) -> tuple[AgentPhases, ...]:
        """The agents as a continue finds them (K-7): those that paused have what their role has beyond, once."""
        return tuple(
            resumed(agent, early=place in self.early) if agent.checkpointed else agent
            for place, agent in enumerate(self.agents)
        )


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
            state.refusals = event.reasons
        case PlanMade():
            _planned(state, event)
        case RoundStart():
            _round(state, event)
        case WorkReported():
            report = WorkReport(result=event.result, report=event.report, claimed=event.claimed)
            state.reports = state.reports | {event.index: report}
        case VerdictUnreadable():
            state.unreadable_verdicts, state.verdict_problem = event.attempt, event.problem
            state.unjudged = event.round
            state.warnings = (*state.warnings, f"Round {event.round}: the verdict was unreadable. {event.problem}")
        case VerdictGiven():
            _judged(state, event)
        case ReviewStarted():
            state.all_done, state.judged = event.all_done, event.words
        case VerdictOverturned():
            _overturned(state, event)
        case CheckpointReached():
            state.early, state.summary = state.active, event.summary
            state.agents = tuple(paused(agent) for agent in state.agents)
        case PartialReached():
            state.summary, state.partial_reason = event.summary, event.reason
        case Completed():
            state.summary, state.last_error = event.summary, None
            state.agents = tuple(agent.changed(completed=True) for agent in state.agents)
        case Continued():
            state.agents, state.last_round = event.agents, event.last_round
            state.summary = state.partial_reason = None
            state.refused_plans, state.refusals = 0, ()
        case OrchestrationRetried():
            state.summary = state.partial_reason = None
            state.refused_plans, state.refusals = 0, ()
        case RoundsAdded():
            state.last_round = event.last_round
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
        **{name: getattr(opening, name) for name in OrchestrationRequest.model_fields if name != "triage"},
    )


def _settled(state: Orchestration, before: Orchestration, event: TurnAnswered | TurnFailed) -> None:
    """Only the planner's, the judge's and the assistant's turn can be retried; the run goes on without any other."""
    turn = before.outstanding[event.turn_id]
    if turn.lane and isinstance(event, TurnAnswered):
        state.authors = state.authors | {turn.lane - 1: event.agent}
    if turn.lane or turn.work == "package":
        state.failed_turn = before.failed_turn


def _discussed(state: Orchestration, event: ChildRequested | ChildClosed) -> None:
    """Discussions have bounds of their own: rounds of debate about the plan, reviews of each piece of work."""
    match event:
        case ChildClosed(about="plan"):
            state.debate_rounds += event.rounds
        case ChildRequested(about=about) if about.startswith(AGENT):
            step = state.step(int(about.removeprefix(AGENT)))
            state.reviews = state.reviews | {step: state.reviews.get(step, 0) + 1}


def _planned(state: Orchestration, event: PlanMade) -> None:
    state.mode = "orchestrated"
    state.plan, state.plan_version, state.agents = event.plan, event.plan_version, event.agents
    state.warnings = (*state.warnings, *event.warnings)
    state.refused_plans, state.refusals = 0, ()


def _round(state: Orchestration, event: RoundStart) -> None:
    state.round, state.parallel = event.round, event.parallel
    state.warnings = tuple(dict.fromkeys((*state.warnings, *hindrances(state.claims))))
    state.reports, state.passed = {}, {}
    state.unreadable_verdicts, state.verdict_problem = 0, ""


def _judged(state: Orchestration, event: VerdictGiven) -> None:
    agent = state.agents[event.index]
    moved = agent.changed(
        history=(*agent.history, *_verdicts(state, event)),
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


def _verdicts(state: Orchestration, event: VerdictGiven) -> Iterator[Judged]:
    """What a verdict says of each phase that it was about; a FAIL is about the one that the agent stays in."""
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
