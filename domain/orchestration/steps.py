"""The steps of a run that several commands lead to: asking, rounds, the end of a round and of the run (S0 2-B…2-D).

Each yields its events; `decide.py` says when it is taken.
"""

from collections.abc import Mapping, Sequence
from functools import partial

from domain import replies
from domain.orchestration import judging
from domain.orchestration.events import (
    AgentPhase,
    CheckpointReached,
    Completed,
    JudgingStarted,
    OrchestrateDone,
    PartialReached,
    RoundDone,
    RoundStart,
)
from domain.orchestration.matching import parallel
from domain.orchestration.phases import AgentPhases, phase_name
from domain.orchestration.state import Orchestration
from domain.session.decision import Events, Now, ask, clear_agents
from domain.session.handover import hand_over
from domain.session.turns import Access, TurnRequested
from domain.values.base import Text, Unreadable

Run = Now[Orchestration]
Places = Mapping[str, str | Text]

PREVIOUS = 150
"""Characters of an earlier report that the next agent sees."""
CHECKPOINT_DONE = "요청된 scope 완료"
ALL_DONE = "모든 작업 완료"
PAUSED = "Checkpoint: a person decides how it goes on."
HINT = '다음: "리뷰해봐", "이어서 해줘", "리셋해"'
TO_CONTINUE = '이어서 진행하려면 "이어서 해줘"라고 말씀하세요.'


# -- the planner and the assistant ---------------------------------------------------------------------------------


def ask_first(now: Run) -> TurnRequested:
    """Ask for the first answer: the assistant's of a direct request, else the planner's."""
    if now.state.state == "direct":
        return _asked(now, role="assistant", prompt="direct", context=request_places(now.state), access="write")
    return _asked(now, role="planner", prompt="plan", reads="subtasks", context=plan_places(now.state))


def ask_again(now: Run, answer: Text, reasons: Sequence[str]) -> TurnRequested:
    """Ask for a valid plan, with the reasons why the one before is not."""
    listed = "\n".join(f"- {reason}" for reason in reasons)
    context = {**plan_places(now.state), "answer": answer, "reasons": listed}
    if now.state.state == "direct":
        return _asked(now, role="assistant", prompt="plan_repair", context=context, access="write")
    return _asked(now, role="planner", prompt="plan_repair", reads="subtasks", context=context)


def revise_plan(now: Run, synthesis: Text) -> TurnRequested:
    """Ask the planner for another version of the plan, with the outcome of the debate (K-24)."""
    run = now.state
    context: Places = {"task": run.prompt, "plan": run.plan or Text(), "synthesis": synthesis}
    return _asked(now, role="planner", prompt="revise_plan", reads="subtasks", context=context)


def request_places(run: Orchestration) -> dict[str, str | Text]:
    employees = "\n".join(f"- {employee.name} ({employee.role})" for employee in run.employees)
    return {"task": run.prompt, "employees": employees}


def plan_places(run: Orchestration) -> dict[str, str | Text]:
    return {**request_places(run), "max_rounds": str(run.max_rounds), "worklog": worklog(run)}


def _asked(
    now: Run, *, role: str, prompt: str, context: Places, reads: str = "text", access: Access = "read"
) -> TurnRequested:
    run = now.state
    prompt = f"{prompt}@1"
    return ask(now, role=role, prompt=prompt, context=context, reads=reads, access=access, round=run.round or None)


def worklog(run: Orchestration) -> str:
    """Where the record of the run can be read (contract §2)."""
    return f"/api/sessions/{run.id}/worklog"


# -- a round -------------------------------------------------------------------------------------------------------


def begin_round(now: Run, *, by: str = "") -> Events:
    """The next round; `by` is the step of the chart that leads to it, if it has not been taken.

    Which agents may work at once depends on the files that each names (K-19).
    """
    run = now.state
    event = partial(now.move, by) if by else now.stay
    at_once = dict(zip(run.active, parallel(run.claims), strict=True))
    yield event(
        RoundStart,
        message=f"Round {run.round + 1} started.",
        round=run.round + 1,
        agent_phases=standing(run.agents),
        parallel=tuple(at_once.get(place, False) for place in range(len(run.agents))),
    )
    yield from distribute(now)


def distribute(now: Run) -> Events:
    """The parallel group at once, then the others one by one, each seeing what came before; then the judge (§1.8)."""
    run = now.state
    if run.at_work:
        return
    waiting = [place for place in run.active if place not in run.reports]
    together = [place for place in waiting if run.parallel[place]]
    for place in together or waiting[:1]:
        yield _assign(now, place)
    if not waiting:
        yield now.move("judge", JudgingStarted, message="The round is judged.", round=run.round)
        yield ask_judge(now)


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
        context=_fix_places(run, place) if fixing else _work_places(run, place),
        round=run.round or None,
    )


def _fix_places(run: Orchestration, place: int) -> Places:
    fix = run.fixes[place]
    issues = "\n\n".join(filter(None, (fix.issues, run.feedback.get(place))))
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
        "feedback": run.feedback.get(place, ""),
        "plan": run.plan or Text(),
    }


def _previous(run: Orchestration) -> str:
    reports = ((run.agents[place].agent, report) for place, report in run.reports.items())
    return "\n".join(f"- {agent} ({report.result}): {report.report.head[:PREVIOUS]}" for agent, report in reports)


def ask_judge(now: Run, prompt: str = "verdict", **more: str | Text) -> TurnRequested:
    run = now.state
    phases = sorted({phase for place in run.active for phase in judging.judged_phases(run, place)})
    context: Places = {
        "task": run.prompt,
        "round": str(run.round),
        "max_rounds": str(run.last_round),
        "results": judging.results(run),
        "agents": judging.standing(run),
        "rubric": ",".join(str(phase) for phase in phases),
        **more,
    }
    return ask(
        now,
        role="judge",
        prompt=f"{prompt}@1",
        reads="verdicts",
        expects=judging.expected(run),
        access="read",
        context=context,
        round=run.round or None,
    )


def standing(agents: tuple[AgentPhases, ...]) -> tuple[AgentPhase, ...]:
    """Where every agent stands, for the round's events."""
    return tuple(
        AgentPhase(agent=agent.agent, phase=agent.current_phase, completed=agent.completed) for agent in agents
    )


# -- the end of a round and of a run -------------------------------------------------------------------------------


def close_round(now: Run, *, all_done: bool, words: str) -> Events:
    """Scope done → checkpoint or done; rounds used up → partial; else the next round (§1.10)."""
    run = now.state
    scope_done = all_done or not run.active
    yield RoundDone(
        message=f"Round {run.round} finished.",
        round=run.round,
        action="complete" if scope_done else "next",
        agent_phases=standing(run.agents),
        all_done=all_done,
    )
    if scope_done and any(agent.checkpoint and not agent.checkpointed for agent in run.agents):
        yield from pause(now, words)
    elif scope_done:
        yield from complete(now, now.text(replies.without_json(words) or ALL_DONE), by="finish", all_done=all_done)
    elif run.round >= run.last_round:
        yield from run_out(now)
    else:
        yield from begin_round(now, by="proceed")


def pause(now: Run, words: str) -> Events:
    summary, round = now.text(replies.without_json(words) or CHECKPOINT_DONE), now.state.round
    yield now.move("pause", CheckpointReached, message=PAUSED, round=round, summary=summary, hint=HINT)
    yield from _done(now, HINT, summary, checkpoint=True)


def complete(now: Run, summary: Text, *, by: str, all_done: bool = False) -> Events:
    """The end: all agents completed, their conversations cleared (S1)."""
    yield now.move(by, Completed, message="Done.", round=now.state.round, summary=summary, all_done=all_done)
    yield clear_agents(now, "done")
    yield from _done(now, "Done.", summary)


def run_out(now: Run) -> Events:
    return rest(now, "rounds", "The rounds are used up.")


def rest(now: Run, reason: str, sentence: str) -> Events:
    """The run stops in a round and can be continued."""
    run = now.state
    done = [agent for agent in run.agents if agent.completed]
    pending = [agent for agent in run.agents if not agent.completed]
    summary = now.text(_unfinished(run, done, pending))
    yield now.move(
        "stop",
        PartialReached,
        message=sentence,
        round=run.round,
        reason=reason,
        summary=summary,
        done=tuple(agent.agent for agent in done),
        pending=tuple(agent.agent for agent in pending),
    )
    yield from _done(now, sentence, summary)


def _unfinished(run: Orchestration, done: list[AgentPhases], pending: list[AgentPhases]) -> str:
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
        TO_CONTINUE,
        f"Worklog: {worklog(run)}",
    ]
    return "\n".join(lines)


def stop(now: Run, reason: str, words: str) -> Events:
    """The run stops without a plan or an answer and can be continued (contract §5)."""
    summary = now.text(words)
    yield now.move("stop", PartialReached, message=f"Stopped: {reason}.", reason=reason, summary=summary)
    yield from _done(now, "Stopped.", summary)


def _done(now: Run, message: str, text: Text, *, checkpoint: bool = False) -> Events:
    """The seeds' broadcast at every end of a run (§1.13); what was changed is handed over."""
    run = now.state
    yield OrchestrateDone(
        message=message,
        round=run.round,
        text=text,
        origin=run.origin,
        status=run.status,
        checkpoint=checkpoint,
    )
    yield from hand_over(now, run.round)


def spoken(words: str) -> str:
    """A reply without its thinking; as it is, where no reader would try it."""
    try:
        return replies.spoken(words)
    except Unreadable:
        return words
