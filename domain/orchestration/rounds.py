"""Rounds: who works when, what the judge says of it, and how a run ends (behaviour §1.8–§1.10)."""

from domain import replies
from domain.base import Text, Unreadable
from domain.matching import FileClaim, parallel
from domain.orchestration import debates
from domain.orchestration.events import (
    CheckpointReached,
    Completed,
    JudgingStarted,
    OrchestrateDone,
    PartialReached,
    RoundDone,
    RoundStart,
    VerdictGiven,
    VerdictRefused,
    VerdictUnreadable,
    WorkReported,
)
from domain.orchestration.parts import OrchestrationDraft, next_state, request, standing, worklog
from domain.orchestration.state import Orchestration
from domain.phases import AgentPhases, advance, phase_name, widen
from domain.replies.judge import Verdict, Verdicts
from domain.session import clear_agents, content, settle
from domain.triage.spelling import composed
from domain.turns import RecordReply

JUDGEMENTS = 2
"""How often the judge is asked in one round before its verdict counts as unreadable (K-15)."""
PREVIOUS = 150
RESULT = 1_200
CHECKPOINT_DONE = "요청된 scope 완료"
ALL_DONE = "모든 작업 완료"
HINT = '다음: "리뷰해봐", "이어서 해줘", "리셋해"'
GO_ON = '이어서 진행하려면 "이어서 해줘"라고 말씀하세요.'


# -- a round begins ------------------------------------------------------------------------------------------------


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
        _ask_judge(draft)


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


def record_work(draft: OrchestrationDraft, command: RecordReply) -> None:
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


# -- the judge -----------------------------------------------------------------------------------------------------


def _ask_judge(draft: OrchestrationDraft) -> None:
    state = next_state(draft, "judge", sentence="Only finished work is judged.")
    draft.record(JudgingStarted(message="The round is judged.", state=state, round=draft.session.round))
    _request_verdict(draft, "verdict")


def _request_verdict(draft: OrchestrationDraft, prompt: str, **more: str | Text) -> None:
    session = draft.session
    judged = sorted({phase for index in session.active for phase in _judged(session, index)})
    request(
        draft,
        role="judge",
        prompt=prompt,
        reads="verdicts",
        expects=tuple(dict.fromkeys(session.agents[index].agent for index in session.active)),
        context={
            "task": session.prompt,
            "round": str(session.round),
            "max_rounds": str(session.last_round),
            "results": _results(session),
            "agents": _standing(session),
            "rubric": ",".join(str(phase) for phase in judged),
            **more,
        },
    )


def _results(session: Orchestration) -> str:
    marks = {"done": "✅", "error": "❌"}
    return "\n\n".join(
        f"{marks[report.result]} {session.agents[index].agent}\n{report.report.head[:RESULT]}"
        for index, report in session.reports.items()
    )


def _standing(session: Orchestration) -> str:
    lines = []
    for index, agent in enumerate(session.agents):
        phases = ", ".join(f"{phase} ({phase_name(phase)})" for phase in _judged(session, index))
        verification = agent.verification
        wanted = [
            f"pass: {verification.pass_criteria}" if verification and verification.pass_criteria else "",
            f"fail: {verification.fail_criteria}" if verification and verification.fail_criteria else "",
        ]
        stand = "completed" if agent.completed else f"judged for phase {phases}"
        lines.append("; ".join(filter(None, (f"- {agent.agent} ({agent.role}): {stand}", *wanted))))
    return "\n".join(lines)


def _judged(session: Orchestration, index: int) -> tuple[int, ...]:
    """The phases that this round's verdict is about: a claim widens them, only the verdict moves (K-12)."""
    agent = session.agents[index]
    report = session.reports.get(index)
    return widen(agent.phase_profile, agent.current_phase_idx, report.claimed if report else ())


def record_verdict(draft: OrchestrationDraft, command: RecordReply) -> None:
    """The judge's answer: booleans, one verdict for each agent; what cannot be read is asked for once more (K-15)."""
    if not settle(draft, command):
        return _unreadable(draft, command, draft.session.last_error or "The judge did not answer.")
    words = content(command, command.reply)
    try:
        found = replies.verdicts(words)
    except Unreadable as problem:
        return _unreadable(draft, command, str(problem))
    return _apply(draft, found, words)


def _unreadable(draft: OrchestrationDraft, command: RecordReply, problem: str) -> None:
    session = draft.session
    attempt = session.unreadable_verdicts + 1
    draft.record(
        VerdictUnreadable(
            message="The verdict could not be read.", round=session.round, problem=problem, attempt=attempt
        )
    )
    if attempt < JUDGEMENTS:
        return _request_verdict(draft, "verdict_repair", answer=command.reply, reasons=problem)
    for index in session.active:
        _give(draft, index, judged=(), passed=False, feedback=f"verdict_unreadable: {problem}")
    return close(draft, all_done=False, words="")


def _apply(draft: OrchestrationDraft, found: Verdicts, words: str) -> None:
    session = draft.session
    by_name: dict[str, Verdict] = {composed(verdict.agent): verdict for verdict in found.verdicts}
    active = session.active
    known = {composed(agent.agent) for agent in session.agents}
    judged_now = {composed(session.agents[index].agent) for index in active}
    for name in by_name:
        if name in judged_now:
            continue
        reason = "has completed its phases" if name in known else "is not part of this run"
        draft.record(
            VerdictRefused(message=f"{name} {reason}.", round=session.round, agent=name, reason=reason),
        )
    passed = []
    for index in active:
        verdict = by_name.get(composed(session.agents[index].agent))
        passed.append(verdict is not None and verdict.passed)
        if verdict is not None:
            judged = _judged(session, index)
            _give(draft, index, judged=judged, passed=verdict.passed, feedback=verdict.feedback)
    all_done = found.all_done and all(passed) and not _contradicted(session, found)
    places = debates.due(draft.session)
    if places:
        return debates.review(draft, places, all_done=all_done, words=words)
    return close(draft, all_done=all_done, words=words)


def _contradicted(session: Orchestration, found: Verdicts) -> bool:
    """Whether somebody of this run fails, though his phases were behind him: then nothing is all done (K-14)."""
    names = {composed(agent.agent) for agent in session.agents}
    return any(not verdict.passed and composed(verdict.agent) in names for verdict in found.verdicts)


def _give(draft: OrchestrationDraft, index: int, *, judged: tuple[int, ...], passed: bool, feedback: str) -> None:
    session = draft.session
    agent = session.agents[index]
    place, completed = advance(agent.phase_profile, agent.current_phase_idx, passed, judged=len(judged))
    draft.record(
        VerdictGiven(
            message=f"{agent.agent}: {'PASS' if passed else 'FAIL'} in phase {agent.current_phase}.",
            role="judge",
            round=session.round,
            index=index,
            agent=agent.agent,
            phase=agent.current_phase,
            judged=judged,
            passed=passed,
            feedback=feedback,
            phase_idx=place,
            completed=completed,
        )
    )


# -- the round ends ------------------------------------------------------------------------------------------------


def close(draft: OrchestrationDraft, *, all_done: bool, words: str) -> None:
    """Scope done → checkpoint or done; rounds used up → partial; else the next round (§1.10)."""
    session = draft.session
    scope_done = all_done or not session.active
    used_up = not scope_done and session.round >= session.last_round
    draft.record(
        RoundDone(
            message=f"Round {session.round} finished.",
            round=session.round,
            action="next" if not scope_done and not used_up else "complete",
            agent_phases=standing(session.agents),
            all_done=all_done,
        )
    )
    if scope_done and any(agent.checkpoint and not agent.checkpointed for agent in session.agents):
        return _pause(draft, words)
    if scope_done:
        return complete(draft, draft.text(_spoken(words) or ALL_DONE), all_done=all_done)
    if used_up:
        return _run_out(draft)
    next_state(draft, "proceed", sentence="Only a judged round is followed by another.")
    return begin(draft)


def _pause(draft: OrchestrationDraft, words: str) -> None:
    session = draft.session
    summary = draft.text(_spoken(words) or CHECKPOINT_DONE)
    state = next_state(draft, "pause", sentence="Only a judged round reaches a checkpoint.")
    draft.record(
        CheckpointReached(
            message="Checkpoint: a person decides how it goes on.",
            state=state,
            round=session.round,
            summary=summary,
            hint=HINT,
        )
    )
    draft.record(
        OrchestrateDone(
            message=HINT,
            round=session.round,
            text=summary,
            origin=session.origin,
            status="checkpoint",
            checkpoint=True,
        )
    )


def complete(draft: OrchestrationDraft, summary: Text, *, all_done: bool, event: str = "finish") -> None:
    """The end: all agents completed, their conversations cleared (S1)."""
    session = draft.session
    state = next_state(draft, event, sentence=f"An orchestration that is {session.status} cannot be completed.")
    draft.record(Completed(message="Done.", state=state, round=session.round, summary=summary, all_done=all_done))
    clear_agents(draft, "done")
    draft.record(
        OrchestrateDone(message="Done.", round=session.round, text=summary, origin=session.origin, status="done")
    )


def _run_out(draft: OrchestrationDraft) -> None:
    session = draft.session
    done = [agent for agent in session.agents if agent.completed]
    pending = [agent for agent in session.agents if not agent.completed]
    lines = [
        f"## 완료 ({len(done)})",
        *(f"- ✅ {agent.agent} ({agent.role})" for agent in done),
        "",
        f"## 미완료 ({len(pending)})",
        *(
            f"- ⏳ {agent.agent} ({agent.role}) — Phase {agent.current_phase}: {phase_name(agent.current_phase)}"
            for agent in pending
        ),
        "",
        GO_ON,
        f"Worklog: {worklog(session)}",
    ]
    summary = draft.text("\n".join(lines))
    draft.record(
        PartialReached(
            message="The rounds are used up.",
            state=next_state(draft, "stop", sentence="Only a judged round runs out."),
            round=session.round,
            reason="rounds",
            summary=summary,
            done=tuple(agent.agent for agent in done),
            pending=tuple(agent.agent for agent in pending),
        )
    )
    draft.record(
        OrchestrateDone(
            message="The rounds are used up.",
            round=session.round,
            text=summary,
            origin=session.origin,
            status="partial",
        )
    )


def _spoken(words: str) -> str:
    """The judge's own words, without thinking and without the JSON (§1.10: review text without JSON)."""
    return replies.without_json(words).strip()
