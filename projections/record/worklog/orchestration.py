"""How an orchestration is written down: the sections, columns and words of the seeds (behaviour §1.12; K-16, K-20)."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pydantic import TypeAdapter

from domain.orchestration.chart import status
from domain.orchestration.events import (
    CheckpointReached,
    Completed,
    Continued,
    OrchestrationEvent,
    PartialReached,
    PlanMade,
    PlanRefused,
    PlanReturned,
    RoundsAdded,
    RoundStart,
    SessionStarted,
    Transition,
    VerdictGiven,
    VerdictOverturned,
    VerdictRefused,
    VerdictUnreadable,
    WasReset,
    WorkReported,
)
from domain.orchestration.phases import PHASES, AgentPhases, phase_name
from domain.orchestration.state import AGENT
from domain.session.children import ChildClosed, ChildRequested
from domain.session.forks import SessionForked
from domain.session.record import Recorded
from domain.session.turns import Settled, TurnAnswered, TurnCancelled
from projections.record.markdown import cell, inline
from projections.record.session import GATES
from projections.record.worklog.before import Before
from projections.record.worklog.parts import (
    RESULT,
    Row,
    begun,
    block,
    chapter,
    child_begins,
    child_ends,
    execution,
    forked,
    heading,
    joined,
    point,
    result,
    said,
    summary,
    title,
)

_AGENTS = TypeAdapter(tuple[AgentPhases, ...])


def rows(before: Before, recorded: Recorded) -> Iterator[Row]:
    """What an event adds."""
    session_id = recorded.session_id
    match recorded.event:
        case SessionStarted() as event:
            yield from begun(event.opening.prompt, recorded.at)
            yield "round", "0"
            yield "last", str(event.opening.max_rounds)
        case Settled() as event:
            yield from _settled(before, session_id, event)
        case ChildRequested() as event:
            yield child_begins(event, _subject(before, session_id, event.about))
        case ChildClosed() as event:
            yield child_ends(event)
        case SessionForked() as event:
            yield forked(event)
        case OrchestrationEvent() as event:
            yield from _planned(event)
            yield from _worked(event)
            yield from _ended(event)
            yield from _standing(before, session_id, event)
    if isinstance(recorded.event, Transition):
        yield "status", _status(recorded.event.state, recorded.event.round)


def _status(state: str, number: int) -> str:
    """planning, round_1 …, checkpoint, partial, done or reset."""
    word: str = status(state)
    if word != "active":
        return word
    return f"round_{number}" if number and state in ("working", "judging", "reviewing") else "planning"


def _phase(number: int) -> str:
    return phase_name(number) if number in PHASES else str(number)


def _settled(before: Before, session_id: str, event: Settled) -> Iterator[Row]:
    """An agent's work is told by its report, a planner's or judge's by what comes of it: here only what fails."""
    place = before.turn(session_id, event.turn_id)
    if isinstance(event, TurnAnswered) or (place.lane and not isinstance(event, TurnCancelled)):
        return
    phase = _phase(int(place.phase)) if place.phase and place.phase.isdecimal() else None
    first = heading(f"Round {place.number}", event.agent, event.role, phase)
    yield "log", "\n".join([first, "", *result(event)])


def _subject(before: Before, session_id: str, about: str) -> str:
    if not about.startswith(AGENT):
        return f"the {cell(about)}"
    agents, place = _agents(before, session_id), int(about.removeprefix(AGENT))
    return f"the work of {cell(agents[place].agent)}" if place < len(agents) else "the work"


# -- what each event adds ------------------------------------------------------------------------------------------


def _planned(event: OrchestrationEvent) -> Iterator[Row]:
    match event:
        case PlanRefused():
            reasons = (point("Reason", reason) for reason in event.reasons)
            yield "log", "\n".join([f"### Plan refused (attempt {event.attempt})", "", *reasons])
        case PlanMade():
            yield "plan", _plan(event)
            yield "criteria", "\n".join(_criteria(event.agents))
            if event.last_round:
                yield "last", str(event.last_round)
        case PlanReturned():
            yield "log", "\n".join(["### Plan returned", "", *said("Synthesis", event.synthesis)])


def _plan(event: PlanMade) -> str:
    parts = [f"Version {event.plan_version}"] if event.plan_version > 1 else []
    parts.append(block(event.plan.head))
    parts += ["\n".join(point("Warning", warning) for warning in event.warnings)]
    return "\n\n".join(part for part in parts if part)


def _criteria(agents: Iterable[AgentPhases]) -> Iterator[str]:
    for agent in agents:
        wanted = agent.verification
        if wanted is None:
            continue
        files = ", ".join(wanted.affected_files or ())
        parts = (("pass", wanted.pass_criteria), ("fail", wanted.fail_criteria), ("files", files))
        words = "; ".join(f"{label}: {inline(said, RESULT)}" for label, said in parts if said)
        if words:
            yield f"- {cell(agent.agent)} ({cell(agent.role)}): {words}"


def _worked(event: OrchestrationEvent) -> Iterator[Row]:
    match event:
        case RoundStart():
            yield "round", str(event.round)
        case WorkReported():
            first = heading(f"Round {event.round}", event.agent, event.role, _phase(event.phase))
            lines = [first, "", f"- Status: {event.result}", *said("Result", event.report)]
            yield _place(event), "\n".join(lines)
        case VerdictGiven():
            words = f"PASS — {event.feedback}" if event.passed else f"FAIL — {event.feedback}"
            yield _place(event), point("Verdict", words.removesuffix(" — "))
        case VerdictOverturned():
            yield _place(event), point("Overturned by a person", event.feedback)
        case VerdictRefused():
            yield "log", point("Verdict refused", f"{event.agent} {event.reason}")
        case VerdictUnreadable():
            problem = point("Problem", event.problem)
            yield "log", f"### Round {event.round} — verdict unreadable (attempt {event.attempt})\n\n{problem}"


def _place(event: WorkReported | VerdictGiven | VerdictOverturned) -> str:
    """The entry of an agent's round; an agent has one in each."""
    return f"log:{event.round}.{event.index}"


def _ended(event: OrchestrationEvent) -> Iterator[Row]:
    match event:
        case CheckpointReached() | PartialReached() | Completed():
            yield "summary", event.summary.head
        case Continued():
            yield "log", f"### Continued after round {event.round}\n\n- Rounds: up to {event.last_round}"
            yield "last", str(event.last_round)
            yield "summary", ""
        case RoundsAdded():
            reason = point("Reason", event.why)
            yield "log", f"### Rounds extended by {event.add_rounds}\n\n{reason}"
            yield "last", str(event.last_round)
        case WasReset():
            lines = [point("Reason", event.reason)] if event.reason.strip() else []
            yield "log", "\n\n".join([f"### Reset in round {event.round}", *lines])
            yield "summary", event.summary.head


# -- the matrix ----------------------------------------------------------------------------------------------------


def _agents(before: Before, session_id: str) -> tuple[AgentPhases, ...]:
    found = before.newest(session_id, "matrix")
    return () if found is None else _AGENTS.validate_json(found)


def _standing(before: Before, session_id: str, event: OrchestrationEvent) -> Iterator[Row]:
    match event:
        case PlanMade() | Continued():
            yield _matrix_row(event.agents)
        case VerdictGiven():
            yield _matrix_row(_moved(before, session_id, event.index, event.phase_idx, completed=event.completed))
        case VerdictOverturned():
            agents = _agents(before, session_id)
            place = agents[event.index].phase_profile.index(event.phase)
            yield _matrix_row(_moved(before, session_id, event.index, place, completed=False))
        case CheckpointReached():
            yield _matrix_row(_paused(agent) for agent in _agents(before, session_id))
        case Completed():
            yield _matrix_row(_changed(agent, completed=True) for agent in _agents(before, session_id))


def _matrix_row(agents: Iterable[AgentPhases]) -> Row:
    """Only where everybody stands: what they were told and what was said of them is told elsewhere."""
    slim = tuple(_changed(agent, task="", verification=None, history=()) for agent in agents)
    return "matrix", _AGENTS.dump_json(slim).decode()


def _moved(before: Before, session_id: str, index: int, place: int, *, completed: bool) -> tuple[AgentPhases, ...]:
    agents = list(_agents(before, session_id))
    profile = agents[index].phase_profile
    agents[index] = _changed(agents[index], current_phase_idx=place, current_phase=profile[place], completed=completed)
    return tuple(agents)


def _paused(agent: AgentPhases) -> AgentPhases:
    """A checkpoint agent pauses, the others have finished what was asked of them (K-2)."""
    pauses = agent.checkpoint and not agent.checkpointed
    return _changed(agent, checkpointed=True, completed=False) if pauses else _changed(agent, completed=True)


def _changed(agent: AgentPhases, **fields: Any) -> AgentPhases:
    return agent.model_copy(update=fields)


def _matrix(latest: dict[str, str]) -> str:
    agents = _AGENTS.validate_json(latest.get("matrix", "[]"))
    lines = ["| Agent | Role | Phase | Gate |", "|---|---|---|---|"]
    for agent in agents:
        phase = f"Phase {agent.current_phase}: {_phase(agent.current_phase)}"
        lines.append(f"| {cell(agent.agent)} | {cell(agent.role)} | {phase} | {_gate(agent, latest['status'])} |")
    return "\n".join(lines)


def _gate(agent: AgentPhases, word: str) -> str:
    """Completed wins over paused; only a paused run has paused agents, and one that was reset has none at work."""
    paused = agent.checkpointed and word == "checkpoint"
    rest = "stopped" if word == "reset" else "paused" if paused else "active"
    return GATES["completed" if agent.completed else rest]


# -- rendering -----------------------------------------------------------------------------------------------------


def text(rows: Sequence[Row]) -> str:
    """The worklog of these rows."""
    latest = dict(rows)
    return joined(
        title(latest, f"Rounds: {latest['round']}/{latest['last']}"),
        chapter("Plan", latest.get("plan")),
        chapter("Verification Criteria", latest.get("criteria")),
        chapter("Agent Status Matrix", _matrix(latest)),
        execution(rows),
        chapter("Final Summary", summary(latest.get("summary", ""))),
    )
