"""What the judge says of a round, and where that leads (behaviour §1.9, §1.10; K-12, K-14, K-15)."""

from domain import replies
from domain.orchestration import debates, ends, rounds
from domain.orchestration.events import JudgingStarted, RoundDone, VerdictGiven, VerdictRefused, VerdictUnreadable
from domain.orchestration.matching import match
from domain.orchestration.parts import OrchestrationDraft, next_state, request, standing
from domain.orchestration.phases import advance, phase_name, widen
from domain.orchestration.state import Orchestration
from domain.replies.judge import Verdict, Verdicts
from domain.session.decision import content
from domain.session.draft import settle
from domain.session.turns import RecordReply
from domain.values.base import Text, Unreadable

JUDGEMENTS = 2
"""How often the judge is asked in one round before its verdict counts as unreadable (K-15)."""
RESULT = 1_200
"""Characters of a report that the judge sees."""


def ask(draft: OrchestrationDraft) -> None:
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


def record(draft: OrchestrationDraft, command: RecordReply) -> None:
    """The judge's answer: booleans, one verdict for each agent; what cannot be read is asked for once more (K-15)."""
    if not settle(draft, command):
        return _unreadable(draft, command, draft.session.last_error or "The judge did not answer.")
    words = content(command, command.reply)
    try:
        found = replies.verdicts(words)
        _check_judges_somebody(draft.session, found)
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


def _check_judges_somebody(session: Orchestration, found: Verdicts) -> None:
    active = {session.agents[index].agent for index in session.active}
    if not any(_meant(session, verdict) in active for verdict in found.verdicts):
        raise Unreadable("The list of verdicts judges nobody who worked in this round.")


def _meant(session: Orchestration, verdict: Verdict) -> str | None:
    """The agent of this run that the verdict names, matched as in a plan (K-18)."""
    return match(verdict.agent, [agent.agent for agent in session.agents])


def _apply(draft: OrchestrationDraft, found: Verdicts, words: str) -> None:
    session = draft.session
    active = session.active
    judged_now = {session.agents[index].agent for index in active}
    by_name: dict[str, Verdict] = {}
    for verdict in found.verdicts:
        meant = _meant(session, verdict)
        if meant in judged_now:
            by_name[meant] = verdict
            continue
        name, reason = verdict.agent, "is not part of this run" if meant is None else "has completed its phases"
        draft.record(
            VerdictRefused(message=f"{name} {reason}.", round=session.round, agent=name, reason=reason),
        )
    passed = []
    for index in active:
        given = by_name.get(session.agents[index].agent)
        passed.append(given is not None and given.passed)
        if given is not None:
            judged = _judged(session, index)
            _give(draft, index, judged=judged, passed=given.passed, feedback=given.feedback)
    all_done = found.all_done and all(passed) and not _contradicted(session, found)
    places = debates.due(draft.session)
    if places:
        return debates.review(draft, places, all_done=all_done, words=words)
    return close(draft, all_done=all_done, words=words)


def _contradicted(session: Orchestration, found: Verdicts) -> bool:
    """Whether an agent fails that had completed its phases: then nothing is all done (K-14)."""
    return any(not verdict.passed and _meant(session, verdict) is not None for verdict in found.verdicts)


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


def close(draft: OrchestrationDraft, *, all_done: bool, words: str) -> None:
    """Scope done → checkpoint or done; rounds used up → partial; else the next round (§1.10)."""
    session = draft.session
    scope_done = all_done or not session.active
    used_up = not scope_done and session.round >= session.last_round
    over = scope_done or (used_up and session.policy == "orchestration@1")
    draft.record(
        RoundDone(
            message=f"Round {session.round} finished.",
            round=session.round,
            action="complete" if over else "next",
            agent_phases=standing(session.agents),
            all_done=all_done,
        )
    )
    if scope_done and any(agent.checkpoint and not agent.checkpointed for agent in session.agents):
        return ends.pause(draft, words)
    if scope_done:
        return ends.complete(draft, draft.text(ends.spoken(words) or ends.ALL_DONE), all_done=all_done)
    if used_up:
        return ends.run_out(draft)
    next_state(draft, "proceed", sentence="Only a judged round is followed by another.")
    return rounds.begin(draft)
