"""What an orchestration answers to a command: events, or a refusal (S0, S1, S3; behaviour §1; K-1…K-25)."""

from collections.abc import Sequence
from functools import partial

from domain import replies
from domain.orchestration import judging
from domain.orchestration.chart import TABLE
from domain.orchestration.commands import (
    AddRounds,
    ClearAgentSessions,
    ContinueOrchestration,
    ResetOrchestration,
    StartOrchestration,
)
from domain.orchestration.events import (
    Continued,
    OrchestrateDone,
    OrchestrationRetried,
    OrchestrationStarted,
    PlanMade,
    PlanRefused,
    RoundsAdded,
    TriageSignals,
    WasReset,
)
from domain.orchestration.matching import match
from domain.orchestration.phases import PhasePlan, Subtask, plan_agents
from domain.orchestration.rounds import close_discussion, debate, debate_rounds_left, record_report, record_verdicts
from domain.orchestration.state import Orchestration
from domain.orchestration.steps import Run, ask_again, ask_first, begin_round, complete, spoken, stop
from domain.session.attempts import ONCE
from domain.session.children import CloseChild
from domain.session.decision import Events, cancel_turns, clear_agents, content, end_attempt, read
from domain.session.handover import hand_over
from domain.session.retry import retry_failed, retry_waiting
from domain.session.turns import Failure, RecordPackage, RecordReply, RetryTurn, TurnAttemptFailed, TurnFailed
from domain.session.workspace import ResultPublished
from domain.triage import triage
from domain.values.base import Command, Text, Unreadable
from domain.values.sentences import Sentence

TRIAGE = "seed-ko@1"
NOTHING_TO_CONTINUE = Sentence.foreign(
    "이어갈 worklog가 없습니다. (There is nothing to continue.)", "nothing_to_continue"
)
NOTHING_TO_RESET = Sentence.foreign("리셋할 worklog가 없습니다. (There is nothing to reset.)", "nothing_to_reset")
RESET = "유저 요청으로 페이즈 리셋됨."
RESET_DONE = "페이즈 리셋 완료. 새로 시작하려면 작업을 요청하세요."
ALREADY_DONE = "모든 작업이 이미 완료되었습니다."
PLANS = 2
"""How often a plan is asked for before the run stops as `partial` (K-16, K-18, contract §5)."""
ACTIONS = {"resume": ("continue",), "retry": ("retry",), "discard": ("reset", "cancel"), "extend": ("extend",)}
"""The actions of a person, by the step of the chart that they take (contract §2)."""


def decide(now: Run, command: Command) -> Events:
    match command:
        case StartOrchestration():
            return start(now, command)
        case RecordReply():
            return record_reply(now, command)
        case RecordPackage():
            return record_package(now, command)
        case ContinueOrchestration():
            return resume(now)
        case ResetOrchestration():
            return reset(now, command)
        case AddRounds():
            return add_rounds(now, command)
        case RetryTurn():
            return retry(now, command)
        case CloseChild():
            return close_discussion(now, command)
        case ClearAgentSessions():
            return iter((clear_agents(now, "a new request begins clean"),))
        case _:
            raise now.unfit(command)


def allowed_actions(run: Orchestration) -> tuple[str, ...]:
    """What a person may do now (contract §2)."""
    steps = TABLE.allowed(run.state, run.guard)
    return tuple(action for step, actions in ACTIONS.items() if step in steps for action in actions)


# -- a person ------------------------------------------------------------------------------------------------------


def start(now: Run, command: StartOrchestration) -> Events:
    opening = command.opening
    found = triage(opening.prompt, TRIAGE)
    wanted = {"auto": found.orchestrate, "orchestrate": True, "direct": False}[opening.triage]
    planned = wanted and bool(opening.employees)
    yield now.begin(
        OrchestrationStarted,
        by="" if planned else "skip_planning",
        message="A request came in.",
        policy=command.policy,
        opening=opening,
        mode="orchestrated" if planned else "direct",
        triage=TriageSignals(orchestrate=found.orchestrate, signals=found.signals, policy=TRIAGE),
    )
    yield clear_agents(now, "a new request begins clean")
    yield ask_first(now)


def resume(now: Run) -> Events:
    """A paused or partial run goes on from its cursor (K-7, K-9); one that is done or reset does not."""
    run = now.state
    if run.guard("nothing_left"):
        return complete(now, now.text(ALREADY_DONE), by="finish")
    now.next("resume", refusal=ContinueOrchestration.REFUSAL, before=NOTHING_TO_CONTINUE)
    return go_on(now, "resume", last_round=run.round + run.max_rounds)


def go_on(now: Run, step: str, *, last_round: int) -> Events:
    run = now.state
    yield now.move(
        step,
        Continued,
        message="Continued.",
        round=run.round,
        agents=run.resumed(),
        last_round=last_round,
        origin=run.origin,
    )
    if now.state.state == "working":
        yield from begin_round(now)
    else:
        yield ask_first(now)


def reset(now: Run, command: ResetOrchestration) -> Events:
    if command.action == "cancel":
        now.next("discard", refusal="cannot_be_cancelled")
    else:
        now.next("discard", refusal=command.REFUSAL, before=NOTHING_TO_RESET)
    yield from cancel_turns(now, "reset")
    run = now.state
    yield now.move(
        "discard",
        WasReset,
        message=command.reason or RESET,
        round=run.round,
        reason=command.reason,
        origin=run.origin,
        summary=now.text(RESET),
        children=tuple(run.open_children),
    )
    yield clear_agents(now, "reset")
    text = now.text(RESET_DONE)
    yield OrchestrateDone(message=RESET_DONE, round=run.round, text=text, origin=run.origin, status="reset")


def add_rounds(now: Run, command: AddRounds) -> Events:
    """More rounds for a run that goes on; one that had used up its rounds goes on with them."""
    run = now.state
    now.next("extend", refusal=command.REFUSAL)
    last = run.last_round + command.add_rounds
    yield RoundsAdded(
        message=f"{command.add_rounds} more rounds: {command.reason}",
        round=run.round,
        add_rounds=command.add_rounds,
        last_round=last,
        why=command.reason,
    )
    if run.status == "partial":
        yield from go_on(now, "extend", last_round=last)


def retry(now: Run, command: RetryTurn) -> Events:
    """The turns that wait are asked at once; a turn that failed is asked again, and what came before it stays."""
    waiting = retry_waiting(now, command)
    if waiting:
        return (yield from waiting)
    if now.state.failed_turn is None:
        raise now.refusal(command.REFUSAL)
    now.next("retry", refusal=command.REFUSAL)
    message = f"Retried: {command.reason}" if command.reason else "Retried."
    yield now.move("retry", OrchestrationRetried, message=message, round=now.state.round, why=command.reason)
    yield retry_failed(now, command, None)


# -- answers -------------------------------------------------------------------------------------------------------


def record_reply(now: Run, command: RecordReply) -> Events:
    """The place of the turn in the run says whose answer it is: a role is a word of the plan, and so of an agent."""
    lane, state = now.turn(command.turn_id).lane, now.state.state
    barred = now.state.wrote(now.state.reports) if state == "judging" else ()
    event = end_attempt(now, command, _failure(now.state, command, lane), barred=barred)
    yield event
    if isinstance(event, TurnAttemptFailed):
        return
    command = command.model_copy(update={"failure": event.failure if isinstance(event, TurnFailed) else None})
    words = content(command, command.reply)
    if lane:
        yield from record_report(now, command, lane - 1, words)
    elif state == "judging":
        yield from record_verdicts(now, command, words)
    elif state == "direct":
        yield from record_answer(now, command, words)
    else:
        yield from record_plan(now, command, words)


def _failure(run: Orchestration, command: RecordReply, lane: int) -> Failure | None:
    """Why there is no answer, or why the plan or the verdicts cannot be read. The old rules read them later."""
    if lane or run.retry == ONCE or run.state not in ("planning", "judging"):
        return command.failure
    found = read(command, partial(_legible, run))
    return found if isinstance(found, Failure) else None


def _legible(run: Orchestration, words: str) -> None:
    """Raises `Unreadable` for what is neither a verdict list nor a plan, nor an answer where one may stand for it."""
    if run.state == "judging":
        judging.judge(run, replies.verdicts(words))
        return
    try:
        replies.subtasks(words)
    except Unreadable:
        if run.plan_version or not _answers(words):
            raise


def _answers(words: str) -> bool:
    try:
        replies.direct_answer(words)
    except Unreadable:
        return False
    return True


def record_package(now: Run, command: RecordPackage) -> Events:
    """The branch of the result. Changes that were recorded meanwhile get theirs when the run rests again."""
    yield end_attempt(now, command, command.failure)
    if command.failure is not None or command.commit is None:
        return
    yield ResultPublished(branch=command.branch, commit=command.commit, problem=command.problem)
    if now.state.status in ("done", "checkpoint", "partial"):
        yield from hand_over(now, now.state.round)


def record_answer(now: Run, command: RecordReply, words: str) -> Events:
    """A direct answer; one that brings subtasks enters the same rounds as a plan would (§1.6).

    Where nobody is there to take subtasks, the reply is the answer whatever it holds (§1.5).
    """
    if command.failure is not None:
        return stop(now, _code(now.state), now.state.last_error or "")
    try:
        plan = replies.subtasks(words)
    except Unreadable:
        return complete(now, now.text(_said(words)), by="answer")
    if not now.state.employees:
        return complete(now, command.reply, by="answer")
    return adopt(now, command, plan.subtasks, plan=now.text("Agent-initiated dispatch"), source="agent", words=words)


def _said(words: str) -> str:
    """What the assistant says to people: without its thinking, and out of the planner's wrapping where it is all."""
    try:
        if not replies.without_json(words):
            return replies.direct_answer(words).direct_answer
    except Unreadable:
        pass
    return spoken(words).strip() or words


def record_plan(now: Run, command: RecordReply, words: str) -> Events:
    if command.failure is not None:
        return record_no_plan(now, command, command.failure, words)
    try:
        plan = replies.subtasks(words)
    except Unreadable as problem:
        return record_planners_answer(now, command, words, str(problem))
    return adopt(now, command, plan.subtasks, plan=command.reply, source="planner", words=words)


def _code(run: Orchestration) -> str:
    return "agent_failed" if run.retry == ONCE else "turn_failed"


def record_no_plan(now: Run, command: RecordReply, failure: Failure, words: str) -> Events:
    """The planner's turn failed. The old rules asked for another plan first."""
    error = now.state.last_error or "The planner did not answer."
    if now.state.retry == ONCE:
        return refuse_plan(now, command, [error], "")
    if failure.code == "unreadable":
        return refuse_plan(now, command, [failure.detail], words, last=True)
    return stop(now, "turn_failed", error)


def record_planners_answer(now: Run, command: RecordReply, words: str, problem: str) -> Events:
    """The planner may answer by itself, but a plan that a person sent back is not answered away."""
    try:
        if not now.state.plan_version:
            return complete(now, now.text(replies.direct_answer(words).direct_answer), by="answer")
    except Unreadable:
        pass
    return refuse_plan(now, command, [problem], words)


def refuse_plan(now: Run, command: RecordReply, reasons: Sequence[str], words: str, *, last: bool = False) -> Events:
    """An invalid plan is asked for once more, with the reasons; after that the run stops and can be continued."""
    attempt = now.state.refused_plans + 1
    yield PlanRefused(message="The plan does not hold.", reasons=tuple(reasons), attempt=attempt)
    if attempt < PLANS and not last:
        yield ask_again(now, command.reply, reasons)
    else:
        prose = replies.without_json(words)
        yield from stop(now, "plan_invalid", "\n\n".join(filter(None, (prose, "; ".join(reasons)))))


def adopt(
    now: Run, command: RecordReply, subtasks: Sequence[Subtask], *, plan: Text, source: str, words: str
) -> Events:
    """A plan whose agents are all employees, by their exact names in any case (K-18)."""
    names = [employee.name for employee in now.state.employees]
    meant = [match(subtask.agent, names) for subtask in subtasks]
    listed = ", ".join(names) or "none"
    problems = [
        f"There is no employee {subtask.agent!r}; there are: {listed}."
        for subtask, name in zip(subtasks, meant, strict=True)
        if name is None
    ]
    if problems:
        return refuse_plan(now, command, problems, words)
    agents = plan_agents(subtask.changed(agent=name) for subtask, name in zip(subtasks, meant, strict=True))
    return make_plan(now, agents, plan=plan, source=source, words=words)


def make_plan(now: Run, planned: PhasePlan, *, plan: Text, source: str, words: str) -> Events:
    run, debated = now.state, debate_rounds_left(now.state)
    yield now.move(
        "debate" if debated else "dispatch",
        PlanMade,
        message=_plan_sentence(run, len(planned.agents)),
        plan_version=run.plan_version + 1,
        plan=plan,
        agents=planned.agents,
        warnings=planned.warnings,
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
