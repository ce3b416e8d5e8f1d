"""The worklog of an orchestration: the sections, columns and words of the seeds (behaviour §1.12; K-16, K-20)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest

from domain.orchestration.chart import status
from domain.orchestration.events import (
    CheckpointReached,
    Completed,
    Continued,
    OrchestrationEvent,
    OrchestrationRetried,
    OrchestrationStarted,
    OrchestrationTransition,
    PartialReached,
    PlanMade,
    PlanRefused,
    PlanReturned,
    RoundsAdded,
    RoundStart,
    RoundValidated,
    RunRevisionBegun,
    VerdictGiven,
    VerdictOverturned,
    VerdictRefused,
    VerdictUnreadable,
    WasReset,
    WorkReported,
)
from domain.orchestration.state import AGENT, Orchestration
from domain.session.children import ChildClosed, ChildRequested
from domain.session.forks import SessionForked
from domain.session.record import Recorded
from domain.session.revisions import RevisionRequested
from domain.session.turns import Settled, TurnAnswered, TurnCancelled
from domain.values.phases import PHASES, AgentPhases
from domain.values.sentences import Sentence
from domain.values.words import Words
from projections.record.markdown import cell, code, inline, mark, name, worded
from projections.record.session import agent_status
from projections.record.turns import Turns, stand_in
from projections.record.worklog.parts import (
    RESULT,
    Row,
    Worklog,
    begun,
    block,
    changes_wanted,
    chapter,
    child_begins,
    child_ends,
    execution,
    forked,
    heading,
    joined,
    point,
    quotation,
    reason,
    result,
    spoken,
    summary,
    table,
    title,
)
from projections.record.worklog.parts import status as ended


def rows(log: Worklog, turns: Turns, recorded: Recorded) -> Iterator[Row]:
    """The items that an event adds."""
    match recorded.event:
        case OrchestrationStarted() as event:
            yield from begun(event.opening.prompt, recorded.at)
            yield "round", "0"
            yield "last", str(event.opening.max_rounds)
        case Settled() as event:
            yield from _settled(turns, recorded, event)
        case ChildRequested() as event:
            yield child_begins(event, _subject(log, event.about))
        case ChildClosed() as event:
            yield child_ends(event)
        case SessionForked() as event:
            yield from forked(event, recorded.at)
        case RevisionRequested() as event:
            yield changes_wanted(event)
        case OrchestrationEvent() as event:
            yield from _planned(log, event)
            yield from _worked(recorded, event)
            yield from _ended(recorded, event)
    if isinstance(recorded.event, OrchestrationTransition):
        yield "status", _status(recorded.event.state, recorded.event.round)


def _status(state: str, number: int) -> str:
    """planning, round_1 …, checkpoint, partial, done or reset."""
    word: str = status(state)
    if word != "active":
        return word
    return f"round_{number}" if number and state in ("working", "judging", "reviewing") else "planning"


def _phase(number: int) -> str:
    return mark(f"phase_{number}") if number in PHASES else str(number)


def _settled(turns: Turns, recorded: Recorded, event: Settled) -> Iterator[Row]:
    """An agent's work is shown by its report, a planner's or judge's by its result; this only shows failures."""
    turn = turns.get(event.turn_id)
    reported = turn is not None and turn.lane and turn.work == "ask"
    if isinstance(event, TurnAnswered) or (reported and not isinstance(event, TurnCancelled)):
        return
    phase = _phase(int(turn.phase)) if turn and turn.phase and turn.phase.isdecimal() else None
    first = heading(mark("round", turn.number if turn else 0), event.agent, event.role, phase, by=stand_in(recorded))
    yield "log", "\n".join([first, "", *result(event)])


def _subject(log: Worklog, about: str) -> str:
    if not about.startswith(AGENT):
        return name("subject", cell(about), f"the {cell(about)}")
    place = int(about.removeprefix(AGENT))
    return mark("work_of", cell(log.agents[place])) if place < len(log.agents) else mark("the_work")


# -- what each event adds ------------------------------------------------------------------------------------------


def _planned(log: Worklog, event: OrchestrationEvent) -> Iterator[Row]:
    match event:
        case PlanRefused():
            pairs = zip_longest(event.reasons, event.sentences or ())
            reasons = (point(mark("reason"), reason, data) for reason, data in pairs if reason)
            yield "log", "\n".join([f"### {mark('plan_rejected', event.attempt)}", "", *reasons])
        case PlanMade():
            log.agents = [agent.agent for agent in event.agents]
            yield "plan", _plan(event)
            yield "criteria", "\n".join(_criteria(event.agents))
            if event.last_round:
                yield "last", str(event.last_round)
        case PlanReturned():
            yield "log", "\n".join([f"### {mark('plan_returned')}", "", *quotation(mark("synthesis"), event.synthesis)])


def _plan(event: PlanMade) -> str:
    parts: list[str] = [mark("version", event.plan_version)] if event.plan_version > 1 else []
    parts += [block(_prose(event.plan.head)), "\n".join(_assigned(event.agents))]
    parts += ["\n".join(point(mark("warning"), *warning) for warning in _warnings(event))]
    return "\n\n".join(part for part in parts if part)


def _prose(plan: str) -> str:
    """Returns what a planner wrote before the JSON of its plan; the list of subtasks shows what is in it."""
    return plan[: plan.index("{")].removesuffix("```json\n") if '"subtasks"' in plan and "{" in plan else plan


def _assigned(agents: Iterable[AgentPhases]) -> Iterator[str]:
    """A list: the only table of a worklog is the matrix of its agents."""
    for agent in agents:
        phases = " → ".join(map(_phase, dict.fromkeys(agent.phase_profile[:1] + agent.phase_profile[-1:])))
        yield point(f"{cell(agent.agent)} ({cell(agent.role)}), {phases}", agent.task)


def _warnings(event: PlanMade) -> Iterator[tuple[str, Sentence | None]]:
    return ((text, data) for text, data in zip_longest(event.warnings, event.sentences or ()) if text)


def _criteria(agents: Iterable[AgentPhases]) -> Iterator[str]:
    for agent in agents:
        wanted = agent.verification
        if wanted is None:
            continue
        files = ", ".join(wanted.affected_files or ())
        parts = (("pass_if", wanted.pass_criteria), ("fail_if", wanted.fail_criteria), ("files", files))
        words = "; ".join(f"{mark(label)}: {inline(text, RESULT)}" for label, text in parts if text)
        if words:
            yield f"- {cell(agent.agent)} ({cell(agent.role)}): {words}"


def _checked(event: RoundValidated) -> Iterator[str]:
    """The new failures in the validation of a round, line by line."""
    if not event.new_failures:
        yield f"- {mark('validation_passed')}" if event.passed else f"- {mark('validation_red')}"
        return
    yield f"- {mark('validation_broken')}"
    yield from (f"  - {code(line)}" for line in event.new_failures)


def _worked(recorded: Recorded, event: OrchestrationEvent) -> Iterator[Row]:
    match event:
        case RoundStart():
            yield "round", str(event.round)
        case WorkReported():
            first = heading(
                mark("round", event.round), event.agent, event.role, _phase(event.phase), by=stand_in(recorded)
            )
            lines = [first, "", ended(event.result), *spoken(event.report)]
            yield _place(event), "\n".join(lines)
        case RoundValidated():
            yield "log", "\n".join(_checked(event))
        case VerdictGiven():
            word = "PASS" if event.passed else "FAIL"
            before = f"{word} — " if event.feedback else word
            yield _place(event), point(mark("verdict"), event.feedback, before=before)
        case VerdictOverturned():
            yield _place(event), point(mark("overturned"), event.feedback)
        case VerdictRefused():
            yield "log", point(mark("verdict_refused"), event.reason, before=f"{event.agent} ")
        case VerdictUnreadable():
            problem = point(mark("problem"), event.problem, event.sentence)
            yield "log", f"### {mark('unreadable_verdict', event.round, event.attempt)}\n\n{problem}"


def _place(event: WorkReported | VerdictGiven | VerdictOverturned) -> str:
    """The entry of an agent's round; each agent has one per round."""
    return f"log:{event.round}.{event.index}"


def _ended(recorded: Recorded, event: OrchestrationEvent) -> Iterator[Row]:
    match event:
        case CheckpointReached() | PartialReached() | Completed():
            yield "summary", event.summary.head
        case Continued():
            yield "log", f"### {mark('continued', event.round)}\n\n- {mark('rounds_up_to', event.last_round)}"
            yield "last", str(event.last_round)
            yield "summary", ""
        case RunRevisionBegun():
            yield "log", f"### {mark('revision_begun')}\n\n- {mark('rounds_up_to', event.last_round)}"
            yield "last", str(event.last_round)
            yield "summary", ""
        case OrchestrationRetried():  # `asked_again` names the turn
            yield "summary", ""
        case RoundsAdded():
            yield "log", "\n\n".join([f"### {mark('rounds_extended', event.add_rounds)}", *reason(recorded, event.why)])
            yield "last", str(event.last_round)
        case WasReset():
            yield "log", "\n\n".join([f"### {mark('reset', event.round)}", *reason(recorded, event.reason)])
            yield "summary", event.summary.head


# -- rendering -----------------------------------------------------------------------------------------------------


def _matrix(session: Orchestration, say: Words) -> str:
    """The status of every agent, by the same rule as in the session's view."""
    lines = table(say, "agent", "role", "phase", "gate")
    for agent in session.agents:
        phase = f"{say('worklog.phase')} {agent.current_phase}: {worded(_phase(agent.current_phase), say)}"
        gate = say(f"gate.{agent_status(session, agent)}")
        lines.append(f"| {cell(agent.agent)} | {cell(agent.role)} | {phase} | {gate} |")
    return "\n".join(lines)


def text(session: Orchestration, latest: Mapping[str, str], log: Sequence[Row], say: Words) -> str:
    """The worklog: all sections, and the log. A direct answer has no plan and no rounds."""
    end = chapter("summary", summary(latest.get("summary", ""), say), say)
    if _is_answer(session):
        return joined(title(latest, say), *([execution(log, say)] if log else []), end)
    return joined(
        title(latest, say, rounds=f"{latest['round']}/{latest['last']}"),
        chapter("plan", latest.get("plan"), say),
        chapter("criteria", latest.get("criteria"), say),
        chapter("agents", _matrix(session, say), say),
        execution(log, say),
        end,
    )


def _is_answer(session: Orchestration) -> bool:
    """Returns whether the request is answered directly, or was in the end."""
    return not session.agents and (session.mode == "direct" or session.status == "done")
