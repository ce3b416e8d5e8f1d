"""A round: who works, reports, verdicts, reviews of the work, and how it ends (§1.8–§1.10; K-12…K-15, K-25)."""

from collections.abc import Mapping
from functools import partial

from domain import replies
from domain.delivery.commands import RecordBaseline
from domain.orchestration.assignment import assignments, expected, results
from domain.orchestration.claims import parallel
from domain.orchestration.commands import RecordRound
from domain.orchestration.endings import Run, complete, finish_answer, pause, rest, run_out, stop
from domain.orchestration.events import (
    JudgingStarted,
    ReviewStarted,
    RoundDone,
    RoundStart,
    VerdictRefused,
    VerdictUnreadable,
    WorkReported,
)
from domain.orchestration.judgement import Judgement, judge, judged_phases, verdict
from domain.orchestration.phrases import ALL_DONE
from domain.orchestration.revision import begin_revision
from domain.orchestration.state import AGENT, COMMANDS_LANE, Orchestration
from domain.orchestration.validation import for_agents, for_the_judge, record_baseline, record_round
from domain.session.attempts import ONCE, Failure
from domain.session.comment_answers import leave_comments, object_to_answers
from domain.session.decision import Events, ask
from domain.session.revisions import to_judge, to_write
from domain.session.shared_steps import headline, request_child
from domain.session.turns import RecordReply, TurnRequested
from domain.values.base import Text, Unreadable
from domain.values.phases import phase_name
from domain.values.sentences import Sentence, coded, sentence_of

Places = Mapping[str, str | Text]

JUDGEMENTS = 2
"""How often the judge is asked in a round before its verdict counts as unreadable (K-15)."""
REVIEWS = 4
"""How often an agent's work on a phase is reviewed at most: once, and after each of three fixes (S2, K-25)."""
PREVIOUS = 150
"""How many characters of an earlier report the next agent sees."""

# -- a round ----------------------------------------------------------------------------------------------------------


def begin_round(now: Run, *, by: str = "") -> Events:
    """The next round; `by` is the step of the chart that leads to it, if it has not been taken yet.

    The files that each agent names determine which agents may work at the same time (K-19).
    """
    run = now.state
    event = partial(now.move, by) if by else now.stay
    at_once = dict(zip(run.active, parallel(run.claims), strict=True))
    yield event(
        RoundStart,
        message=f"Round {run.round + 1} started.",
        round=run.round + 1,
        agent_phases=run.agent_phases,
        parallel=tuple(at_once.get(place, False) for place in range(len(run.agents))),
    )
    yield from distribute(now)


def distribute(now: Run, *, after: str = "") -> Events:
    """First the parallel group at once, then the others one by one, each seeing the earlier reports; then the judge
    (§1.8). Once all have reported, comments that none of them has dealt with were left as they were, at the latest
    `after` that turn."""
    run = now.state
    if run.at_work:
        return
    if run.needs_baseline:
        yield ask_baseline(now)
        return
    waiting = [place for place in run.active if place not in run.reports]
    together = [place for place in waiting if run.parallel[place]]
    for place in together or waiting[:1]:
        yield _assign(now, place)
    if waiting:
        return
    if after:
        yield from leave_comments(now, after)
    if run.needs_validation:
        yield ask_validation(now)
    else:
        yield now.move("judge", JudgingStarted, message="The round is judged.", round=run.round)
        yield ask_judge(now)


def ask_baseline(now: Run) -> TurnRequested:
    """Have the workspace prepared and the commands run once, before any agent works."""
    return ask(now, role="setup", work="prepare", lane=COMMANDS_LANE)


def ask_validation(now: Run, **context: Text) -> TurnRequested:
    """Have the commands run on the work as it is now."""
    run = now.state
    return ask(now, role="test", work="validate", lane=COMMANDS_LANE, context=context, round=run.round or None)


def _assign(now: Run, place: int) -> TurnRequested:
    run = now.state
    agent = run.agents[place]
    fixing = place in run.fixes
    return ask(
        now,
        role=agent.role,
        agent=agent.agent,
        prompt="fix@1" if fixing else "work@1",
        access="write",
        lane=place + 1,
        phase=str(agent.current_phase),
        context={**(_fix_places(run, place) if fixing else _work_places(run, place)), **to_write(run.revisions)},
        round=run.round or None,
    )


def _fix_places(run: Orchestration, place: int) -> Places:
    fix = run.fixes[place]
    issues = "\n\n".join(filter(None, (fix.issues, _feedback(run, place))))
    return {"task": run.agents[place].task, "issues": issues, "synthesis": fix.synthesis}


def _work_places(run: Orchestration, place: int) -> Places:
    agent, at_once = run.agents[place], run.parallel[place]
    peers = [peer for other, peer in enumerate(run.agents) if at_once and run.parallel[other] and other != place]
    verification = agent.verification
    return {
        "task": agent.task,
        "phase_number": str(agent.current_phase),
        "remaining_phases": ",".join(str(phase) for phase in agent.phase_profile[agent.current_phase_idx + 1 :]),
        "mode": "parallel" if at_once else "sequential",
        "previous_results": "" if at_once else _previous(run),
        "peers": "\n".join(f"- {peer.agent}: {', '.join(peer.affected_files)}" for peer in peers),
        "pass_criteria": (verification.pass_criteria or "") if verification else "",
        "fail_criteria": (verification.fail_criteria or "") if verification else "",
        "feedback": _feedback(run, place),
        "plan": run.plan or Text(),
    }


def _feedback(run: Orchestration, place: int) -> str:
    """The judge's words on the agent's work; while the validation fails, also why, if the agent changed files."""
    failures = for_agents(run) if place in run.patches or place in run.broken else ""
    return "\n\n".join(filter(None, (run.feedback.get(place, ""), failures)))


def _previous(run: Orchestration) -> str:
    reports = ((run.agents[place].agent, report) for place, report in run.reports.items())
    return "\n".join(f"- {agent} ({report.result}): {report.report.head[:PREVIOUS]}" for agent, report in reports)


def ask_judge(now: Run, prompt: str = "verdict", **more: str | Text) -> TurnRequested:
    """Ask for a verdict on each subtask of the round; `more` fills further places of the prompt (§1.9)."""
    run = now.state
    phases = sorted({phase for place in run.active for phase in judged_phases(run, place)})
    context: Places = {
        "task": run.prompt,
        "round": str(run.round),
        "max_rounds": str(run.last_round),
        "results": "\n\n".join(filter(None, (results(run), for_the_judge(run)))),
        "agents": assignments(run),
        "rubric": ",".join(str(phase) for phase in phases),
        **to_judge(run.revisions),
        **more,
    }
    return ask(
        now,
        role="judge",
        prompt=f"{prompt}@1",
        reads="verdicts",
        expects=expected(run),
        access="read",
        context=context,
        round=run.round or None,
    )


def close_round(now: Run, *, all_done: bool, words: str) -> Events:
    """Scope done → checkpoint or done; rounds used up → partial; otherwise the next round (§1.10)."""
    run = now.state
    scope_done = (all_done or not run.active) and not run.failures
    yield RoundDone(
        message=f"Round {run.round} finished.",
        round=run.round,
        action="complete" if scope_done else "next",
        agent_phases=run.agent_phases,
        all_done=all_done and scope_done,
    )
    if scope_done and run.has_queued_revision:
        yield from take_up(now)
    elif scope_done and (run.asks or any(agent.checkpoint and not agent.checkpointed for agent in run.agents)):
        yield from pause(now, words)
    elif scope_done:
        yield from complete(now, now.text(replies.without_json(words) or ALL_DONE), by="finish", all_done=all_done)
    elif run.round >= run.last_round and run.failures:
        yield from rest(now, "validation_failed", "The validation fails, and the rounds are used up.")
    elif run.round >= run.last_round:
        yield from run_out(now)
    else:
        yield from begin_round(now, by="proceed")


def take_up(now: Run) -> Events:
    """Go on with what a person wants changed instead of finishing, if a round is left."""
    yield begin_revision(now, by="proceed")
    if now.state.round >= now.state.last_round:
        yield from run_out(now)
    else:
        yield from begin_round(now)


# -- reports ----------------------------------------------------------------------------------------------------------


def record_report(now: Run, command: RecordReply, place: int, words: str) -> Events:
    """An agent's report. If its turn failed, the report says what went wrong and what the agent had said (§1.8)."""
    run, failure = now.state, command.failure
    agent, result = run.agents[place], "done" if failure is None else "error"
    parts = [f"{failure.code}: {failure.detail}" if failure else "", words]
    yield WorkReported(
        message=f"{agent.agent} reported ({result}).",
        role=agent.role,
        round=run.round,
        index=place,
        agent=agent.agent,
        phase=agent.current_phase,
        result=result,
        report=command.reply if failure is None else now.text("\n".join(filter(None, parts))),
        claimed=replies.phases_completed(words) if failure is None else (),
    )
    yield from distribute(now, after=command.turn_id)


def record_checks(now: Run, command: RecordRound) -> Events:
    """The validation of the round's work: go on to the verdicts, with what it showed. A direct answer counts unless its
    changes brought new failures."""
    did_run = yield from record_round(now, command)
    run = now.state
    if not did_run:
        return
    if run.state == "working":
        yield from distribute(now)
    elif run.failures:
        yield from stop(now, "validation_failed", "\n".join([run.check, *(f"- {reason}" for reason in run.failures)]))
    else:
        yield from finish_answer(now, run.answer)


def record_preparation(now: Run, command: RecordBaseline) -> Events:
    """The baseline: agents that waited for it begin."""
    yield from record_baseline(now, command)
    if now.state.state == "working" and now.state.baselined:
        yield from distribute(now)


# -- verdicts ------------------------------------------------------------------------------------------------------


def record_verdicts(now: Run, command: RecordReply, words: str) -> Events:
    """The judge's answer: booleans, one verdict per subtask. If it is unreadable, the judge is asked again once
    (K-15)."""
    if command.failure is not None:
        return record_no_verdicts(now, command, command.failure)
    try:
        answer = replies.verdicts(words)
        judge(now.state, answer)
    except Unreadable as problem:
        return refuse_verdicts(now, command, sentence_of(problem))
    return judge_round(now, command.turn_id, answer, words)


def judge_round(now: Run, turn_id: str, answer: replies.Verdicts, words: str) -> Events:
    """Apply the verdicts, with what the judge objects to about comments."""
    yield from object_to_answers(now, turn_id, ((each.comment, each.why) for each in answer.open_comments))
    yield from apply_verdicts(now, judge(now.state, answer), words)


def record_no_verdicts(now: Run, command: RecordReply, failure: Failure) -> Events:
    """The judge's turn failed. An unreadable verdict advances no agent, but in the last round, or twice in a row, the
    run stops as for any other failure. Under the old rules, the judge was asked again once."""
    run, error = now.state, now.state.last_error or Sentence("judge_silent")
    if run.retry == ONCE:
        return (yield from refuse_verdicts(now, command, error))
    if failure.code == "unreadable":
        again = run.unjudged is not None and run.unjudged >= run.round - 1
        yield VerdictUnreadable(
            message="The verdict could not be read.",
            round=run.round,
            problem=failure.detail,
            sentence=failure.sentence,
            attempt=run.unreadable_verdicts + 1,
        )
        if run.round < run.last_round and not again:
            return (yield from advance_no_agent(now, failure.detail))
    yield from rest(now, "turn_failed", f"The judge's turn failed. {error}")


def advance_no_agent(now: Run, problem: str) -> Events:
    run = now.state
    for place in run.active:
        yield verdict(run, place, judged=(), passed=False, feedback=f"verdict_unreadable: {problem}")
    yield from close_round(now, all_done=False, words="")


def refuse_verdicts(now: Run, command: RecordReply, problem: str) -> Events:
    """Ask once more for an unreadable verdict; after that no agent advances in this round (K-15)."""
    attempt, message = now.state.unreadable_verdicts + 1, "The verdict could not be read."
    about = {"round": now.state.round, "attempt": attempt}
    yield VerdictUnreadable(message=message, problem=str(problem), sentence=coded(problem), **about)
    if attempt < JUDGEMENTS:
        yield ask_judge(now, "verdict_repair", answer=command.reply, reasons=problem)
        return
    yield from advance_no_agent(now, problem)


def apply_verdicts(now: Run, judgement: Judgement, words: str) -> Events:
    """Move the agents; then review the work that passed, or close the round (K-12, K-14)."""
    run = now.state
    for name, reason in judgement.refused:
        yield VerdictRefused(message=f"{name} {reason}.", round=run.round, agent=name, reason=reason)
    for place, opinion in sorted(judgement.verdicts.items()):
        judged = judged_phases(run, place)
        yield verdict(run, place, judged=judged, passed=opinion.passed, feedback=opinion.feedback)
    places = to_review(now.state)
    if places:
        yield from review_work(now, places, all_done=judgement.all_done, words=words)
    else:
        yield from close_round(now, all_done=judgement.all_done, words=words)


# -- reviews of the work -------------------------------------------------------------------------------------------


def to_review(run: Orchestration) -> tuple[int, ...]:
    """The places whose work has passed in this round and has to be reviewed."""
    if run.work_review is None:
        return ()
    return tuple(place for place in run.passed if run.reviews.get(run.step(place), 0) < REVIEWS)


def review_work(now: Run, places: tuple[int, ...], *, all_done: bool, words: str) -> Events:
    """Passed work is reviewed, each subtask separately. The round counts once all reviews are decided."""
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
    """Step, action and result (behaviour §2.4), and the changes of the files."""
    agent, report = run.agents[place], run.reports[place]
    phase = agent.phase_profile[run.passed[place]]
    step = f"{agent.agent} ({agent.role}), phase {phase} ({phase_name(phase)})"
    changes = "\n".join(patch.shown() for patch in run.patches.get(place, ()))
    subject = f"Step:\n{step}\n\nAction:\n{agent.task}\n\nResult:\n{report.report.shown()}"
    return f"{subject}\n\nChanges:\n{changes}" if changes else subject
