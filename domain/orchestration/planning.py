"""From the request to a plan: the assistant's direct answer, or the planner's subtasks, asked once more if need be."""

from collections.abc import Sequence

from domain import replies
from domain.orchestration import debates, ends, rounds
from domain.orchestration.events import OrchestrateDone, PartialReached, PlanMade, PlanRefused
from domain.orchestration.matching import match
from domain.orchestration.parts import OrchestrationDraft, next_state, request, worklog
from domain.orchestration.phases import Subtask, plan_agents
from domain.orchestration.state import Orchestration
from domain.session.decision import content
from domain.session.draft import settle
from domain.session.turns import RecordReply
from domain.values.base import Text, Unreadable


def revise(draft: OrchestrationDraft, synthesis: Text) -> None:
    """Ask the planner for another version of the plan, with what the debate came to (K-24)."""
    session = draft.session
    context: dict[str, str | Text] = {"task": session.prompt, "plan": session.plan or Text(), "synthesis": synthesis}
    request(draft, role="planner", prompt="revise_plan", reads="subtasks", context=context)


PLANS = 2
"""How often a plan is asked for before the run stops as `partial` (K-16, K-18, contract §5)."""


def ask(draft: OrchestrationDraft) -> None:
    """Ask whoever is to answer first: the assistant of a direct request, else the planner."""
    session = draft.session
    if session.state == "direct":
        return request(draft, role="assistant", prompt="direct", reads="text", context=_asked(session), access="write")
    return request(draft, role="planner", prompt="plan", reads="subtasks", context=_asked(session) | _bounds(session))


def _asked(session: Orchestration) -> dict[str, str | Text]:
    employees = "\n".join(f"- {employee.name} ({employee.role})" for employee in session.employees)
    return {"task": session.prompt, "employees": employees}


def _bounds(session: Orchestration) -> dict[str, str | Text]:
    return {"max_rounds": str(session.max_rounds), "worklog": worklog(session)}


def record(draft: OrchestrationDraft, command: RecordReply) -> None:
    """The planner's or the assistant's answer."""
    direct = draft.session.state == "direct"
    if not settle(draft, command):
        if direct:
            return stop(draft, "agent_failed", draft.session.last_error or "")
        return _refuse(draft, command, [draft.session.last_error or "The planner did not answer."])
    words = content(command, command.reply)
    if direct:
        return _record_direct(draft, command, words)
    return _record_plan(draft, command, words)


def _record_direct(draft: OrchestrationDraft, command: RecordReply, words: str) -> None:
    """A direct answer; one that brings subtasks enters the same rounds as a plan would (§1.6).

    Where nobody is there to take subtasks, whatever comes is the answer (§1.5).
    """
    try:
        plan = replies.subtasks(words)
    except Unreadable:
        return _answer(draft, draft.text(_said(words)))
    if not draft.session.employees:
        return _answer(draft, command.reply)
    problems = _problems(draft, plan.subtasks)
    if problems:
        return _refuse(draft, command, problems)
    return _adopt(draft, plan.subtasks, draft.text("Agent-initiated dispatch"), source="agent", words=words)


def _said(words: str) -> str:
    """What the assistant tells people: without its thinking, and out of the planner's wrapping where it is all."""
    try:
        if not replies.without_json(words):
            return replies.direct_answer(words).direct_answer
    except Unreadable:
        pass
    try:
        return replies.spoken(words).strip() or words
    except Unreadable:
        return words


def _record_plan(draft: OrchestrationDraft, command: RecordReply, words: str) -> None:
    try:
        plan = replies.subtasks(words)
    except Unreadable as problem:
        if draft.session.plan_version:  # a plan that a person sent back is not answered away
            return _refuse(draft, command, [str(problem)])
        return _record_planners_answer(draft, command, words, str(problem))
    problems = _problems(draft, plan.subtasks)
    if problems:
        return _refuse(draft, command, problems)
    return _adopt(draft, plan.subtasks, command.reply, source="planner", words=words)


def _record_planners_answer(draft: OrchestrationDraft, command: RecordReply, words: str, problem: str) -> None:
    try:
        found = replies.direct_answer(words)
    except Unreadable:
        return _refuse(draft, command, [problem])
    return _answer(draft, draft.text(found.direct_answer))


def _problems(draft: OrchestrationDraft, subtasks: Sequence[Subtask]) -> list[str]:
    """Every agent has to be an employee, by its exact name in any case (K-18)."""
    names = [employee.name for employee in draft.session.employees]
    listed = ", ".join(names) or "none"
    return [
        f"There is no employee {subtask.agent!r}; there are: {listed}."
        for subtask in subtasks
        if match(subtask.agent, names) is None
    ]


def _refuse(draft: OrchestrationDraft, command: RecordReply, reasons: Sequence[str]) -> None:
    """An invalid plan is asked for once more, with the reasons; after that the run stops and can be continued."""
    session = draft.session
    attempt = session.refused_plans + 1
    draft.record(PlanRefused(message="The plan does not hold.", reasons=tuple(reasons), attempt=attempt))
    if attempt >= PLANS:
        return stop(draft, "plan_invalid", "; ".join(reasons))
    listed = "\n".join(f"- {reason}" for reason in reasons)
    context = _asked(session) | _bounds(session) | {"answer": command.reply, "reasons": listed}
    if session.state == "direct":
        return request(draft, role="assistant", prompt="plan_repair", reads="text", context=context, access="write")
    return request(draft, role="planner", prompt="plan_repair", reads="subtasks", context=context)


def _adopt(draft: OrchestrationDraft, subtasks: Sequence[Subtask], plan: Text, *, source: str, words: str) -> None:
    session = draft.session
    names = [employee.name for employee in session.employees]
    agents, warnings = plan_agents(
        subtask.model_copy(update={"agent": match(subtask.agent, names)}) for subtask in subtasks
    )
    left = debates.left(session)
    draft.record(
        PlanMade(
            message=_sentence(session, len(agents)),
            state=next_state(draft, "debate" if left else "dispatch", sentence="Only a plan dispatches."),
            plan_version=session.plan_version + 1,
            plan=plan,
            agents=agents,
            warnings=warnings,
            last_round=session.last_round,
            source=source,
        )
    )
    if left:
        return debates.begin(draft, left, words)
    return rounds.begin(draft)


def _sentence(session: Orchestration, agents: int) -> str:
    """`orchestration@1` has no singular."""
    single = session.policy != "orchestration@1"

    def counted(number: int, thing: str) -> str:
        return f"{number} {thing}" if single and number == 1 else f"{number} {thing}s"

    return f"A plan for {counted(agents, 'agent')}, in at most {counted(session.last_round, 'round')}."


def _answer(draft: OrchestrationDraft, words: Text) -> None:
    ends.complete(draft, words, all_done=False, event="answer")


def stop(draft: OrchestrationDraft, reason: str, words: str) -> None:
    """The run stops before its first round and can be continued (contract §5, details)."""
    session = draft.session
    summary = draft.text(words)
    draft.record(
        PartialReached(
            message=f"Stopped: {reason}.",
            state=next_state(draft, "stop", sentence="Only an active run stops."),
            reason=reason,
            summary=summary,
        )
    )
    draft.record(
        OrchestrateDone(message="Stopped.", text=summary, origin=session.origin, status="partial"),
    )
