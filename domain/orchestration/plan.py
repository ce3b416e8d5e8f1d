"""The plan of a run: how it is requested, read, debated and adopted; or the direct answer (S0, S1, K-16…K-24)."""

from collections.abc import Sequence

from domain import replies
from domain.discussion.strategies import STRATEGIES
from domain.orchestration.endings import Run, answer_again, complete, finish_answer, stop
from domain.orchestration.events import (
    PlanMade,
    PlanRefused,
)
from domain.orchestration.questions import ask_assistant, plan_places
from domain.orchestration.rounds import Places, ask_validation, begin_round
from domain.orchestration.state import Orchestration
from domain.session.attempts import ONCE, Failure
from domain.session.children import ChildRequested
from domain.session.comment_answers import asked_comments
from domain.session.decision import Events
from domain.session.shared_steps import headline, request_child
from domain.session.turns import RecordReply, TurnRequested
from domain.values.base import Text, Unreadable
from domain.values.phases import PhasePlan, Subtask, match, plan_agents
from domain.values.sentences import Sentence, coded, sentence_of

PLANS = 2
"""How often a plan is requested before the run stops as `partial` (K-16, K-18, contract §5)."""


def record_answer(now: Run, command: RecordReply, words: str) -> Events:
    """A direct answer; one that contains subtasks enters the same rounds as a plan (§1.6).

    If there is no employee to take subtasks, the reply is the answer, whatever it contains (§1.5).
    """
    if command.failure is not None:
        return stop(now, _code(now.state), now.state.last_error or "")
    try:
        plan = replies.subtasks(words)
    except Unreadable:
        prose = replies.parted(words, "comments")[0] if asked_comments(now.state) else words
        return answer_directly(now, now.text(_public_words(prose or words)))
    if not now.state.employees:
        return answer_directly(now, command.reply)
    return adopt(now, command, plan.subtasks, plan=now.text("Agent-initiated dispatch"), source="agent", words=words)


def answer_directly(now: Run, answer: Text) -> Events:
    """The direct answer. If it changed files and there are commands, they run first."""
    if now.state.needs_validation:
        yield ask_validation(now, answer=answer)
    else:
        yield from finish_answer(now, answer)


def _public_words(words: str) -> str:
    """The assistant's words for people: without its thinking, and unwrapped if all of it is in the planner's
    format."""
    try:
        if not replies.without_json(words):
            return replies.direct_answer(words).direct_answer
    except Unreadable:
        pass
    return spoken(words).strip() or words


def record_plan(now: Run, command: RecordReply, words: str) -> Events:
    """Adopt the plan of the planner. An answer without one may be the direct answer (K-16)."""
    if command.failure is not None:
        return record_no_plan(now, command, command.failure, words)
    try:
        plan = replies.subtasks(words)
    except Unreadable as problem:
        return record_planners_answer(now, command, words, sentence_of(problem))
    return adopt(now, command, plan.subtasks, plan=command.reply, source="planner", words=words)


def _code(run: Orchestration) -> str:
    return "agent_failed" if run.retry == ONCE else "turn_failed"


def record_no_plan(now: Run, command: RecordReply, failure: Failure, words: str) -> Events:
    """The planner's turn failed. Under the old rules, another plan is requested first."""
    error = now.state.last_error or Sentence("planner_silent")
    if now.state.retry == ONCE:
        return refuse_plan(now, command, [error], "")
    if failure.code == "unreadable":
        return refuse_plan(now, command, [failure.why], words, last=True)
    return stop(now, "turn_failed", error)


def record_planners_answer(now: Run, command: RecordReply, words: str, problem: str) -> Events:
    """The planner may answer by itself, but not if a person sent its plan back."""
    try:
        if not now.state.plan_version:
            answer = now.text(replies.direct_answer(words).direct_answer)
            return answer_again(now, answer) if now.state.has_queued_revision else complete(now, answer, by="answer")
    except Unreadable:
        pass
    return refuse_plan(now, command, [problem], words)


def refuse_plan(now: Run, command: RecordReply, reasons: Sequence[str], words: str, *, last: bool = False) -> Events:
    """An invalid plan is requested once more, with the reasons. After that, the run stops and can be continued."""
    attempt = now.state.refused_plans + 1
    yield PlanRefused(
        message="The plan does not hold.",
        reasons=tuple(map(str, reasons)),
        sentences=tuple(map(coded, reasons)),
        attempt=attempt,
    )
    if attempt < PLANS and not last:
        yield ask_again(now, command.reply, reasons)
    else:
        prose = replies.without_json(words)
        yield from stop(now, "plan_invalid", "\n\n".join(filter(None, (prose, "; ".join(reasons)))))


def adopt(
    now: Run, command: RecordReply, subtasks: Sequence[Subtask], *, plan: Text, source: str, words: str
) -> Events:
    """A plan whose agents are all employees, with their names corrected in case (K-18)."""
    names = [employee.name for employee in now.state.employees]
    meant = [match(subtask.agent, names) for subtask in subtasks]
    choices = names or [Sentence("nobody")]
    problems = [
        Sentence("no_such_employee", name=subtask.agent, names=choices)
        for subtask, name in zip(subtasks, meant, strict=True)
        if name is None
    ]
    if problems:
        return refuse_plan(now, command, problems, words)
    agents = plan_agents(subtask.changed(agent=name) for subtask, name in zip(subtasks, meant, strict=True))
    return make_plan(now, agents, plan=plan, source=source, words=words)


def make_plan(now: Run, planned: PhasePlan, *, plan: Text, source: str, words: str) -> Events:
    """Record the plan, then debate it or begin the first round."""
    run, debated = now.state, debate_rounds_left(now.state)
    yield now.move(
        "debate" if debated else "dispatch",
        PlanMade,
        message=_plan_sentence(run, len(planned.agents)),
        plan_version=run.plan_version + 1,
        plan=plan,
        agents=planned.agents,
        warnings=tuple(map(str, planned.warnings)),
        sentences=planned.warnings,
        last_round=run.last_round,
        source=source,
    )
    if debated:
        yield debate(now, debated, words)
    else:
        yield from begin_round(now)


def _plan_sentence(run: Orchestration, agents: int) -> str:
    def counted(number: int, thing: str) -> str:
        return f"{number} {thing}" if number == 1 else f"{number} {thing}s"

    return f"A plan for {counted(agents, 'agent')}, in at most {counted(run.last_round, 'round')}."


def ask_again(now: Run, answer: Text, reasons: Sequence[str]) -> TurnRequested:
    """Ask for a valid plan, and say why the previous one is not."""
    lines = "\n".join(f"- {reason}" for reason in reasons)
    context = {**plan_places(now.state), "answer": answer, "reasons": lines}
    if now.state.state == "direct":
        return ask_assistant(now, role="assistant", prompt="plan_repair", context=context, access="write")
    return ask_assistant(now, role="planner", prompt="plan_repair", reads="subtasks", context=context)


def revise_plan(now: Run, synthesis: Text) -> TurnRequested:
    """Ask the planner for a new version of the plan, with the outcome of the debate (K-24)."""
    run = now.state
    context: Places = {"task": run.prompt, "plan": run.plan or Text(), "synthesis": synthesis}
    return ask_assistant(now, role="planner", prompt="revise_plan", reads="subtasks", context=context)


def spoken(words: str) -> str:
    """A reply without its thinking; unchanged if no reader would try it."""
    try:
        return replies.spoken(words)
    except Unreadable:
        return words


def debate_rounds_left(run: Orchestration) -> int:
    """The number of rounds of debate that the plan may still have (K-24); 0 if they are too few for a debate (K-28)."""
    if run.plan_review is None:
        return 0
    left = run.plan_review.max_rounds - run.debate_rounds
    return left if left >= STRATEGIES[run.plan_review.strategy].minimum else 0


def debate(now: Run, max_rounds: int, words: str) -> ChildRequested:
    """The plan is debated before anybody works on it; `words` is the reply that contains it."""
    run, settings = now.state, now.state.plan_review
    assert settings is not None, "a plan that is to be debated"
    return request_child(
        now,
        kind="debate",
        about="plan",
        title=f"Plan: {run.title or headline(run.prompt)}",
        subject=f"Request:\n{run.prompt}\n\nPlan:\n{spoken(words).strip()}",
        settings=settings,
        max_rounds=max_rounds,
    )
