"""What comes back in a round, and where it leads: reports, verdicts, reviews and debates (§1.8–§1.10; K-12…K-15, K-24,
K-25).
"""

from domain import replies
from domain.discussion.strategies import STRATEGIES
from domain.orchestration import judging
from domain.orchestration.events import (
    PlanReturned,
    ReviewStarted,
    VerdictGiven,
    VerdictOverturned,
    VerdictRefused,
    VerdictUnreadable,
    WorkReported,
)
from domain.orchestration.phases import advance, phase_name
from domain.orchestration.state import AGENT, Orchestration
from domain.orchestration.steps import Run, ask_judge, begin_round, close_round, distribute, rest, revise_plan, spoken
from domain.session.attempts import ONCE
from domain.session.children import ChildRequested, CloseChild, fix_feedback, fix_issues
from domain.session.decision import Events
from domain.session.discussions import close_child, headline, request_child
from domain.session.turns import Failure, RecordReply
from domain.values.base import Unreadable

JUDGEMENTS = 2
"""How often the judge is asked in one round before its verdict counts as unreadable (K-15)."""
REVIEWS = 4
"""How often an agent's work on one phase is reviewed at most: once, and after each of three fixes (S2, K-25)."""


def record_report(now: Run, command: RecordReply, place: int, words: str) -> Events:
    """An agent's report. One whose turn failed has a report too: what went wrong, and what it had said (§1.8)."""
    run, failure = now.state, command.failure
    agent, result = run.agents[place], "done" if failure is None else "error"
    said = [f"{failure.code}: {failure.detail}" if failure else "", words]
    yield WorkReported(
        message=f"{agent.agent} reported ({result}).",
        role=agent.role,
        round=run.round,
        index=place,
        agent=agent.agent,
        phase=agent.current_phase,
        result=result,
        report=command.reply if failure is None else now.text("\n".join(filter(None, said))),
        claimed=replies.phases_completed(words) if failure is None else (),
    )
    yield from distribute(now)


# -- verdicts ------------------------------------------------------------------------------------------------------


def record_verdicts(now: Run, command: RecordReply, words: str) -> Events:
    """The judge's answer: booleans, one verdict for each subtask; what is unreadable is asked for once more (K-15)."""
    if command.failure is not None:
        return record_no_verdicts(now, command, command.failure)
    try:
        found = judging.judge(now.state, replies.verdicts(words))
    except Unreadable as problem:
        return refuse_verdicts(now, command, str(problem))
    return apply_verdicts(now, found, words)


def record_no_verdicts(now: Run, command: RecordReply, failure: Failure) -> Events:
    """The judge's turn failed. What could not be read advances nobody, but not in the last round and not twice in a
    row: then the run rests, as for any other failure. The old rules asked once more.
    """
    run, error = now.state, now.state.last_error or "The judge did not answer."
    if run.retry == ONCE:
        return (yield from refuse_verdicts(now, command, error))
    if failure.code == "unreadable":
        again = run.unjudged is not None and run.unjudged >= run.round - 1
        yield VerdictUnreadable(
            message="The verdict could not be read.",
            round=run.round,
            problem=failure.detail,
            attempt=run.unreadable_verdicts + 1,
        )
        if run.round < run.last_round and not again:
            return (yield from advance_nobody(now, failure.detail))
    yield from rest(now, "turn_failed", f"The judge's turn failed. {error}")


def advance_nobody(now: Run, problem: str) -> Events:
    run = now.state
    for place in run.active:
        yield verdict(run, place, judged=(), passed=False, feedback=f"verdict_unreadable: {problem}")
    yield from close_round(now, all_done=False, words="")


def refuse_verdicts(now: Run, command: RecordReply, problem: str) -> Events:
    run, attempt = now.state, now.state.unreadable_verdicts + 1
    sentence = "The verdict could not be read."
    yield VerdictUnreadable(message=sentence, round=run.round, problem=problem, attempt=attempt)
    if attempt < JUDGEMENTS:
        yield ask_judge(now, "verdict_repair", answer=command.reply, reasons=problem)
        return
    yield from advance_nobody(now, problem)


def apply_verdicts(now: Run, found: judging.Judgement, words: str) -> Events:
    run = now.state
    for name, reason in found.refused:
        yield VerdictRefused(message=f"{name} {reason}.", round=run.round, agent=name, reason=reason)
    for place, given in sorted(found.given.items()):
        judged = judging.judged_phases(run, place)
        yield verdict(run, place, judged=judged, passed=given.passed, feedback=given.feedback)
    places = to_review(now.state)
    if places:
        yield from review_work(now, places, all_done=found.all_done, words=words)
    else:
        yield from close_round(now, all_done=found.all_done, words=words)


def verdict(run: Orchestration, place: int, *, judged: tuple[int, ...], passed: bool, feedback: str) -> VerdictGiven:
    agent = run.agents[place]
    index, completed = advance(agent.phase_profile, agent.current_phase_idx, passed, judged=len(judged))
    return VerdictGiven(
        message=f"{agent.agent}: {'PASS' if passed else 'FAIL'} in phase {agent.current_phase}.",
        role="judge",
        round=run.round,
        index=place,
        agent=agent.agent,
        phase=agent.current_phase,
        judged=judged,
        passed=passed,
        feedback=feedback,
        phase_idx=index,
        completed=completed,
    )


# -- reviews of the work -------------------------------------------------------------------------------------------


def to_review(run: Orchestration) -> tuple[int, ...]:
    """The places whose work has passed in this round and is to be reviewed."""
    if run.work_review is None:
        return ()
    return tuple(place for place in run.passed if run.reviews.get(run.step(place), 0) < REVIEWS)


def review_work(now: Run, places: tuple[int, ...], *, all_done: bool, words: str) -> Events:
    """Passed work goes to a review, each subtask's to its own; the round counts when all are decided."""
    run, settings = now.state, now.state.work_review
    assert settings is not None, "work that is to be reviewed"
    yield now.move(
        "review",
        ReviewStarted,
        message=f"The work of {len(places)} agents is reviewed.",
        round=run.round,
        all_done=all_done,
        words=now.text(words),
    )
    for place in places:
        yield request_child(
            now,
            kind="review",
            about=f"{AGENT}{place}",
            title=f"{run.agents[place].agent}: {headline(run.agents[place].task)}",
            subject=_subject(run, place),
            settings=settings,
            max_rounds=settings.max_rounds,
            authors=run.wrote((place,)),
        )


def _subject(run: Orchestration, place: int) -> str:
    """Step, action and result (behaviour §2.4)."""
    agent, report = run.agents[place], run.reports[place]
    phase = agent.phase_profile[run.passed[place]]
    step = f"{agent.agent} ({agent.role}), phase {phase} ({phase_name(phase)})"
    return f"Step:\n{step}\n\nAction:\n{agent.task}\n\nResult:\n{report.report.shown()}"


# -- debates about the plan ----------------------------------------------------------------------------------------


def debate_rounds_left(run: Orchestration) -> int:
    """The rounds of debate that the plan may still have (K-24); none where they are too few for a debate (K-28)."""
    if run.plan_review is None:
        return 0
    left = run.plan_review.max_rounds - run.debate_rounds
    return left if left >= STRATEGIES[run.plan_review.strategy].minimum else 0


def debate(now: Run, max_rounds: int, words: str) -> ChildRequested:
    """The plan goes to a debate before anybody works on it; `words` are the reply that holds it."""
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


# -- a discussion has ended ----------------------------------------------------------------------------------------


def close_discussion(now: Run, command: CloseChild) -> Events:
    """The plan is accepted or revised, the work counts or is fixed.

    A run that has ended only records how its discussions were closed (K-33).
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
