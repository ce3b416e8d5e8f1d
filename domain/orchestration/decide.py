"""The answers of an orchestration to commands: events, or a refusal (S0, S1, S3; behaviour §1; K-1…K-25)."""

from functools import partial

from domain import replies
from domain.delivery.commands import RecordBaseline
from domain.orchestration.chart import TABLE
from domain.orchestration.commands import (
    NOTHING_TO_CONTINUE,
    NOTHING_TO_RESET,
    AddRounds,
    ClearAgentSessions,
    ContinueOrchestration,
    RecordRound,
    ResetOrchestration,
    StartOrchestration,
)
from domain.orchestration.endings import Run, complete
from domain.orchestration.events import (
    Continued,
    OrchestrateDone,
    OrchestrationRequest,
    OrchestrationRetried,
    OrchestrationStarted,
    PlanReturned,
    RoundsAdded,
    TriageSignals,
    VerdictOverturned,
    WasReset,
)
from domain.orchestration.judgement import judge
from domain.orchestration.phrases import RESET, RESET_DONE
from domain.orchestration.plan import record_answer, record_plan, revise_plan
from domain.orchestration.questions import ask_first
from domain.orchestration.revision import begin_revision
from domain.orchestration.rounds import (
    ask_baseline,
    begin_round,
    close_round,
    record_checks,
    record_preparation,
    record_report,
    record_verdicts,
)
from domain.orchestration.state import AGENT, Orchestration
from domain.session.attempts import ONCE, Failure
from domain.session.children import CloseChild, fix_feedback, fix_issues
from domain.session.comment_answers import answer_comments, illegible_answers, leave_comments
from domain.session.decision import Events, cancel_turns, clear_agents, content, end_attempt, read
from domain.session.revision_rules import request_revision
from domain.session.revisions import ReviseSession
from domain.session.shared_steps import close_child, hand_over, retry_failed, retry_waiting
from domain.session.turns import RecordPackage, RecordReply, RetryTurn, Settled, TurnFailed
from domain.session.workspace import ResultPublished
from domain.triage import triage
from domain.values.base import Command, Unreadable

TRIAGE = "seed-ko@1"
ALREADY_DONE = "모든 작업이 이미 완료되었습니다."
ACTIONS = {
    "resume": ("continue",),
    "retry": ("retry",),
    "discard": ("reset", "cancel"),
    "extend": ("extend",),
    "revise": ("revise",),
}
"""The actions of a person, by the step of the chart that they take (contract §2)."""


def decide(now: Run, command: Command) -> Events:
    """The events of a command. Raises Refused where the chart or a rule does not allow it."""
    match command:
        case StartOrchestration():
            return start(now, command)
        case RecordReply():
            return record_reply(now, command)
        case RecordBaseline():
            return record_preparation(now, command)
        case RecordRound():
            return record_checks(now, command)
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
        case ReviseSession():
            return revise(now, command)
        case CloseChild():
            return close_discussion(now, command)
        case ClearAgentSessions():
            return iter((clear_agents(now, "a new request begins clean"),))
        case _:
            raise now.unfit(command)


def allowed_actions(run: Orchestration) -> tuple[str, ...]:
    """The commands that a person may send now (contract §2)."""
    steps = TABLE.allowed(run.state, run.guard)
    return tuple(action for step, actions in ACTIONS.items() if step in steps for action in actions)


# -- a person ------------------------------------------------------------------------------------------------------


def is_planned(opening: OrchestrationRequest) -> bool:
    """True if a request begins with a plan, and not with an answer."""
    wanted = {"auto": triage(opening.prompt, TRIAGE).orchestrate, "orchestrate": True, "direct": False}[opening.triage]
    return wanted and bool(opening.employees)


def start(now: Run, command: StartOrchestration) -> Events:
    """Triage the request, then ask for a plan or for the answer; earlier agent sessions are closed (S1, S3)."""
    opening = command.opening
    result = triage(opening.prompt, TRIAGE)
    planned = is_planned(opening)
    yield now.begin(
        OrchestrationStarted,
        by="" if planned else "skip_planning",
        message="A request came in.",
        policy=command.policy,
        opening=opening,
        mode="orchestrated" if planned else "direct",
        triage=TriageSignals(orchestrate=result.orchestrate, signals=result.signals, policy=TRIAGE),
    )
    yield clear_agents(now, "a new request begins clean")
    yield ask_first(now)
    if planned and now.state.needs_baseline:
        yield ask_baseline(now)


def resume(now: Run) -> Events:
    """A paused or partial run continues from its cursor (K-7, K-9). A finished or reset one does not."""
    run = now.state
    if run.guard("nothing_left"):
        summary = run.summary if run.mode == "direct" else None
        return complete(now, summary or now.text(ALREADY_DONE), by="finish")
    now.next("resume", refusal=ContinueOrchestration.REFUSAL, before=NOTHING_TO_CONTINUE)
    return go_on(now, "resume", last_round=run.round + run.max_rounds)


def go_on(now: Run, step: str, *, last_round: int) -> Events:
    """Continue from the cursor, up to `last_round` rounds (K-7, K-9)."""
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
    """End for good, also while agents work; their late answers are ignored (K-17, K-20)."""
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
    """More rounds for a running run; a run that was out of rounds continues with them."""
    run = now.state
    now.next("extend", refusal=command.REFUSAL)
    added = _more_rounds(now, command.add_rounds, command.reason)
    yield added
    if run.status == "partial":
        yield from go_on(now, "extend", last_round=added.last_round)


def _more_rounds(now: Run, rounds: int, why: str) -> RoundsAdded:
    return RoundsAdded(
        message=f"{rounds} more rounds: {why}",
        round=now.state.round,
        add_rounds=rounds,
        last_round=now.state.last_round + rounds,
        why=why,
    )


def revise(now: Run, command: ReviseSession) -> Events:
    """Go on with what a person wants changed: at once, or, while agents are at work, with the next turn that writes.
    Only a run that has stopped gets more rounds unasked."""
    run = now.state
    stopped = run.status != "active"
    rounds = command.add_rounds or (run.max_rounds if stopped else 0)
    yield from request_revision(now, command, rounds=rounds)
    if not stopped:
        if rounds:
            yield _more_rounds(now, rounds, command.text.head)
        return
    yield begin_revision(now, by="revise", last_round=run.round + rounds, answer=run.summary)
    if now.state.state == "working":
        yield from begin_round(now)
    else:
        yield ask_first(now)


def retry(now: Run, command: RetryTurn) -> Events:
    """Ask the waiting turns at once, or a failed turn again. What came before it is kept.

    If two plans were refused, no turn has failed: the planner is asked for a new plan.
    """
    waiting = retry_waiting(now, command)
    if waiting:
        return (yield from waiting)
    failed = now.state.failed_turn
    now.next("retry", refusal=command.REFUSAL)
    message = f"Retried: {command.reason}" if command.reason else "Retried."
    yield now.move("retry", OrchestrationRetried, message=message, round=now.state.round, why=command.reason)
    if failed is None:
        yield ask_first(now)
        return
    yield retry_failed(now, command, None)
    if failed.work == "prepare" and now.state.state == "planning":
        yield ask_first(now)


# -- answers -------------------------------------------------------------------------------------------------------


def record_reply(now: Run, command: RecordReply) -> Events:
    """The position of the turn in the run determines whose answer it is. The role does not: it comes from the plan, and
    so from an agent."""
    lane, state = now.turn(command.turn_id).lane, now.state.state
    barred = now.state.wrote(now.state.reports) if state == "judging" else ()
    event = end_attempt(now, command, _failure(now.state, command, lane), barred=barred)
    yield event
    if not isinstance(event, Settled):
        return
    command = command.model_copy(update={"failure": event.failure if isinstance(event, TurnFailed) else None})
    words = content(command, command.reply)
    if lane or state == "direct":
        yield from answer_comments(now, command)
    if lane:
        yield from record_report(now, command, lane - 1, words)
    elif state == "judging":
        yield from record_verdicts(now, command, words)
    elif state == "direct":
        yield from leave_comments(now, command.turn_id)
        yield from record_answer(now, command, words)
    else:
        yield from record_plan(now, command, words)


def _failure(run: Orchestration, command: RecordReply, lane: int) -> Failure | None:
    """Tells why there is no answer, or why the plan, the verdicts or the answers to comments are unreadable. Under the
    old rules, plans and verdicts are read later."""
    if lane or run.state == "direct":
        return illegible_answers(run, command)
    if run.retry == ONCE or run.state not in ("planning", "judging"):
        return command.failure
    answer = read(command, partial(_legible, run))
    return answer if isinstance(answer, Failure) else None


def _legible(run: Orchestration, words: str) -> None:
    """Raises `Unreadable` if a verdict list, a plan, or (if allowed) a direct answer cannot be read."""
    if run.state == "judging":
        judge(run, replies.verdicts(words))
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
    """The result's branch. Changes that are recorded in the meantime get a branch when the run stops again."""
    yield end_attempt(now, command, command.failure)
    if command.failure is not None or command.commit is None:
        return
    yield ResultPublished(
        branch=command.branch,
        commit=command.commit,
        made_of=command.made_of,
        branch_was=command.branch_was,
        problem=command.problem,
        sentence=command.sentence,
    )
    if now.state.status in ("done", "checkpoint", "partial"):
        yield from hand_over(now, now.state.round)


def close_discussion(now: Run, command: CloseChild) -> Events:
    """The plan is accepted or revised; the work counts or is fixed.

    A run that has already ended only records the outcome of its discussions (K-33).
    """
    child = now.state.open_children.get(command.child_id)
    if child is None:
        return
    yield close_child(child, command)
    if now.state.ended:
        return
    if child.about == "plan":
        yield from close_debate(now, command)
        return
    if command.choice == "apply_fix":
        yield overturn(now.state, int(child.about.removeprefix(AGENT)), command)
    run = now.state
    if not run.open_children:
        yield from close_round(now, all_done=run.all_done and not run.fixes, words=run.judged.head)


def close_debate(now: Run, command: CloseChild) -> Events:
    """A person decided about the plan: begin the first round, or have it revised with the synthesis (K-24)."""
    if command.choice != "revise":
        yield from begin_round(now, by="approve")
        return
    yield now.move(
        "rethink",
        PlanReturned,
        message="The plan is to be revised.",
        synthesis=command.synthesis,
        child_id=command.child_id,
    )
    yield revise_plan(now, command.synthesis)


def overturn(run: Orchestration, place: int, command: CloseChild) -> VerdictOverturned:
    """A person decided that work which passed has to be fixed: its agent goes back to that phase (K-25)."""
    agent = run.agents[place]
    return VerdictOverturned(
        message=f"{agent.agent} has to fix what the review found.",
        role="person",
        round=run.round,
        index=place,
        agent=agent.agent,
        phase=agent.phase_profile[run.passed[place]],
        feedback=fix_feedback(command.feedback, command.synthesis),
        issues=fix_issues(command.feedback),
        synthesis=command.synthesis,
        child_id=command.child_id,
    )
