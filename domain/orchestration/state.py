"""An orchestration as its events made it: assigns only, decides nothing."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from domain.orchestration.chart import Status, status
from domain.orchestration.events import (
    CheckpointReached,
    Completed,
    Continued,
    Employee,
    Forced,
    Mode,
    OrchestrationEvent,
    OrchestrationRequest,
    PartialReached,
    PlanMade,
    PlanRefused,
    ReviewStarted,
    RoundsAdded,
    RoundStart,
    SessionStarted,
    Signals,
    Transition,
    VerdictGiven,
    VerdictOverturned,
    VerdictUnreadable,
    WasReset,
    WorkReported,
)
from domain.orchestration.phases import AgentPhases, Judged, after_checkpoint
from domain.session.children import ChildClosed, ChildRequested, ReviewSettings
from domain.session.draft import changed, evolve_turn, stamped
from domain.session.state import EventMetadata, Session, without
from domain.values.base import DomainEvent, Text

AGENT = "agent:"
"""What a review of an agent's work is about: this and the agent's place in the plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What an agent brought back in this round."""

    result: str
    report: Text
    claimed: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """What a person wants mended, until a verdict says that it is."""

    issues: str
    synthesis: Text


@dataclass(kw_only=True)
class Orchestration(Session):
    """The state of an orchestration (behaviour §1.1). `agents` stand in the order of the plan."""

    policy: str
    prompt: str
    employees: tuple[Employee, ...]
    max_rounds: int
    forced: Forced
    mode: Mode
    triage: Signals
    repository: bool
    plan: Text | None = None
    plan_version: int = 0
    refusals: tuple[str, ...] = ()
    refused_plans: int = 0
    agents: tuple[AgentPhases, ...] = ()
    round: int = 0
    last_round: int = 0
    parallel: tuple[bool, ...] = ()
    reports: dict[int, Report] = field(default_factory=dict)
    unreadable_verdicts: int = 0
    verdict_problem: str = ""
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
        """A checkpoint and a partial run can be continued: they rest, and have not ended (S1 §2)."""
        return self.status in ("done", "reset")

    @property
    def active(self) -> tuple[int, ...]:
        """The places of the agents that still have phases to go through."""
        return tuple(index for index, agent in enumerate(self.agents) if not agent.completed)

    def guard(self, name: str) -> bool:
        """The chart's guards."""
        match name:
            case "planned":
                return bool(self.agents) and self.partial_reason == "rounds"
            case "answers_directly":
                return self.mode == "direct" and not self.agents
            case "out_of_rounds":
                return self.partial_reason == "rounds"
            case "nothing_left":
                return self.state == "checkpoint" and all(agent.completed for agent in self.resumed())
            case _:
                return False

    def step(self, place: int) -> str:
        """What a review of passed work is about: the agent's place, and the phase that it passed."""
        return f"{place}.{self.agents[place].phase_profile[self.passed[place]]}"

    def resumed(self) -> tuple[AgentPhases, ...]:
        """The agents as a continue finds them (K-7): whoever paused goes on with what the role has beyond, once."""
        return tuple(
            _resumed(agent, early=place in self.early) if agent.checkpointed else agent
            for place, agent in enumerate(self.agents)
        )


def evolve(session: Orchestration | None, event: DomainEvent, metadata: EventMetadata) -> Orchestration:
    """The orchestration after one more event."""
    if isinstance(event, SessionStarted):
        return _begin(event, metadata)
    assert session is not None, "an orchestration begins with session_started"
    if isinstance(event, OrchestrationEvent):
        changes = _changes(session, event)
        if isinstance(event, Transition):
            changes["state"] = event.state
        return stamped(session, metadata.at, **changes)
    turned = evolve_turn(session, event, metadata.at)
    return changed(turned, **_counted(session, event))


def _counted(session: Orchestration, event: DomainEvent) -> dict[str, object]:
    """Discussions have bounds of their own: rounds of debate about the plan, reviews of each piece of work."""
    match event:
        case ChildClosed(about="plan"):
            return {"debate_rounds": session.debate_rounds + event.rounds}
        case ChildRequested(about=about) if about.startswith(AGENT):
            step = session.step(int(about.removeprefix(AGENT)))
            return {"reviews": session.reviews | {step: session.reviews.get(step, 0) + 1}}
        case _:
            return {}


def _begin(event: SessionStarted, metadata: EventMetadata) -> Orchestration:
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


def _changes(session: Orchestration, event: OrchestrationEvent) -> dict[str, object]:
    match event:
        case PlanRefused():
            return {"refused_plans": session.refused_plans + 1, "refusals": event.reasons}
        case PlanMade():
            return {
                "mode": "orchestrated",
                "plan": event.plan,
                "plan_version": event.plan_version,
                "agents": event.agents,
                "warnings": (*session.warnings, *event.warnings),
                "refused_plans": 0,
                "refusals": (),
            }
        case RoundStart():
            return {
                "round": event.round,
                "parallel": event.parallel,
                "reports": {},
                "unreadable_verdicts": 0,
                "verdict_problem": "",
                "passed": {},
            }
        case WorkReported():
            report = Report(result=event.result, report=event.report, claimed=event.claimed)
            return {"reports": session.reports | {event.index: report}}
        case VerdictUnreadable():
            return {"unreadable_verdicts": event.attempt, "verdict_problem": event.problem}
        case VerdictGiven():
            return _judged(session, event)
        case ReviewStarted():
            return {"all_done": event.all_done, "judged": event.words}
        case VerdictOverturned():
            return _overturned(session, event)
        case CheckpointReached():
            paused = tuple(_paused(agent) for agent in session.agents)
            return {"agents": paused, "early": session.active, "summary": event.summary}
        case PartialReached():
            return {"summary": event.summary, "partial_reason": event.reason}
        case Completed():
            finished = tuple(agent.changed(completed=True) for agent in session.agents)
            return {"agents": finished, "summary": event.summary}
        case Continued():
            return {
                "agents": event.agents,
                "last_round": event.last_round,
                "summary": None,
                "partial_reason": None,
                "refused_plans": 0,
                "refusals": (),
            }
        case RoundsAdded():
            return {"last_round": event.last_round}
        case WasReset():
            return {"summary": event.summary}
        case _:
            return {}


def _verdicts(session: Orchestration, event: VerdictGiven) -> Iterator[Judged]:
    """What a verdict says of each phase that it was about; a FAIL is about the one that is stayed in."""
    phases = event.judged if event.passed and session.policy != "orchestration@1" else ()
    for phase in phases or (event.phase,):
        yield Judged(round=event.round, phase=phase, passed=event.passed, feedback=event.feedback)


def _judged(session: Orchestration, event: VerdictGiven) -> dict[str, object]:
    agent = session.agents[event.index]
    moved = agent.changed(
        history=(*agent.history, *_verdicts(session, event)),
        current_phase_idx=event.phase_idx,
        current_phase=agent.phase_profile[event.phase_idx],
        completed=event.completed,
    )
    agents: dict[str, object] = {"agents": (*session.agents[: event.index], moved, *session.agents[event.index + 1 :])}
    if not event.judged:
        return agents
    if not event.passed:
        return agents | {"feedback": session.feedback | {event.index: event.feedback}}
    return agents | {
        "passed": session.passed | {event.index: agent.current_phase_idx},
        "feedback": without(session.feedback, event.index),
        "fixes": without(session.fixes, event.index),
    }


def _overturned(session: Orchestration, event: VerdictOverturned) -> dict[str, object]:
    agent = session.agents[event.index]
    failed = Judged(round=event.round, phase=event.phase, passed=False, feedback=event.feedback)
    back = agent.changed(
        history=(*agent.history, failed),
        current_phase_idx=session.passed[event.index],
        current_phase=agent.phase_profile[session.passed[event.index]],
        completed=False,
    )
    return {
        "agents": (*session.agents[: event.index], back, *session.agents[event.index + 1 :]),
        "fixes": session.fixes | {event.index: Fix(issues=event.issues, synthesis=event.synthesis)},
    }


def _paused(agent: AgentPhases) -> AgentPhases:
    """A checkpoint agent pauses and is not completed; the others have finished what was asked of them (K-2)."""
    if not agent.checkpoint or agent.checkpointed:
        return agent.changed(completed=True)
    return agent.changed(checkpointed=True, completed=False)


def _resumed(agent: AgentPhases, *, early: bool) -> AgentPhases:
    """`early`: all was declared done before the agent had come to the end of its range; it stands at what is next."""
    if agent.completed or not agent.checkpoint:
        return agent
    finished = agent.phase_profile[: agent.current_phase_idx] if early else agent.phase_profile
    phases = after_checkpoint(agent.role, finished)
    if not phases:
        return agent.changed(completed=True, checkpoint=False)
    return agent.changed(phase_profile=phases, current_phase_idx=0, current_phase=phases[0], checkpoint=False)
