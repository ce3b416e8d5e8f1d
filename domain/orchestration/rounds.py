"""Rounds: who works when, and what comes back (behaviour §1.8)."""

from domain import replies
from domain.orchestration import judging
from domain.orchestration.events import RoundStart, WorkReported
from domain.orchestration.matching import FileClaim, parallel
from domain.orchestration.parts import OrchestrationDraft, request, standing
from domain.orchestration.phases import AgentPhases
from domain.orchestration.state import Orchestration
from domain.session.decision import content
from domain.session.draft import settle
from domain.session.turns import RecordReply
from domain.values.base import Text

PREVIOUS = 150
"""Characters of an earlier report that the next agent sees."""


def begin(draft: OrchestrationDraft) -> None:
    """The next round: who may work at once is settled by the files that each names (K-19)."""
    session = draft.session
    active = session.active
    claims = [_claim(session.agents[index]) for index in active]
    at_once = dict(zip(active, parallel(claims), strict=True))
    draft.record(
        RoundStart(
            message=f"Round {session.round + 1} started.",
            state="working",
            round=session.round + 1,
            agent_phases=standing(session.agents),
            parallel=tuple(at_once.get(index, False) for index in range(len(session.agents))),
        )
    )
    _distribute(draft)


def _claim(agent: AgentPhases) -> FileClaim:
    files = agent.verification.affected_files if agent.verification else None
    return FileClaim(agent=agent.agent, parallel=agent.parallel, affected_files=files)


def _distribute(draft: OrchestrationDraft) -> None:
    """The parallel group at once, then the others one by one, each seeing what came before; then the judge (§1.8)."""
    session = draft.session
    waiting = [index for index in session.active if index not in session.reports]
    if session.outstanding:
        return
    together = [index for index in waiting if session.parallel[index]]
    for index in together or waiting[:1]:
        _assign(draft, index)
    if not waiting:
        judging.ask(draft)


def _assign(draft: OrchestrationDraft, index: int) -> None:
    session = draft.session
    agent = session.agents[index]
    at_once = session.parallel[index]
    together = [other for place, other in enumerate(session.agents) if session.parallel[place] and place != index]
    rest = agent.phase_profile[agent.current_phase_idx + 1 :]
    verification = agent.verification
    fix = session.fixes.get(index)
    if fix is not None:
        return request(
            draft,
            role=agent.role,
            agent=agent.agent,
            prompt="fix",
            reads="text",
            access="write",
            lane=index + 1,
            phase=str(agent.current_phase),
            context={
                "task": agent.task,
                "issues": "\n\n".join(filter(None, (fix.issues, session.feedback.get(index)))),
                "synthesis": fix.synthesis,
            },
        )
    return request(
        draft,
        role=agent.role,
        agent=agent.agent,
        prompt="work",
        reads="text",
        access="write",
        lane=index + 1,
        phase=str(agent.current_phase),
        context={
            "task": agent.task,
            "phase_number": str(agent.current_phase),
            "remaining_phases": ",".join(str(phase) for phase in rest),
            "mode": "parallel" if at_once else "sequential",
            "previous_results": "" if at_once else _previous(session),
            "peers": "\n".join(f"- {peer.agent}: {', '.join(_files(peer))}" for peer in (together if at_once else ())),
            "pass_criteria": (verification.pass_criteria or "") if verification else "",
            "fail_criteria": (verification.fail_criteria or "") if verification else "",
            "feedback": session.feedback.get(index, ""),
            "plan": session.plan or Text(),
        },
    )


def _files(agent: AgentPhases) -> tuple[str, ...]:
    return (agent.verification.affected_files or ()) if agent.verification else ()


def _previous(session: Orchestration) -> str:
    return "\n".join(
        f"- {session.agents[index].agent} ({report.result}): {report.report.head[:PREVIOUS]}"
        for index, report in session.reports.items()
    )


# -- work comes back -----------------------------------------------------------------------------------------------


def record(draft: OrchestrationDraft, command: RecordReply) -> None:
    """An agent's report. One that failed is judged like the others, by what it brought (§1.8)."""
    session = draft.session
    index = session.turn(command.turn_id).lane - 1
    agent = session.agents[index]
    answered = settle(draft, command)
    words = content(command, command.reply)
    failure = "" if answered or command.failure is None else f"{command.failure.code}: {command.failure.detail}"
    draft.record(
        WorkReported(
            message=f"{agent.agent} reported ({'done' if answered else 'error'}).",
            role=agent.role,
            round=session.round,
            index=index,
            agent=agent.agent,
            phase=agent.current_phase,
            result="done" if answered else "error",
            report=command.reply if answered else draft.text("\n".join(filter(None, (failure, words)))),
            claimed=replies.phases_completed(words) if answered else (),
        )
    )
    _distribute(draft)
