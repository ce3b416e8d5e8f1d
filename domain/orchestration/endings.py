"""Decides how a run ends or stops: paused, complete, out of rounds, stopped (S0 2-D)."""

from collections.abc import Sequence
from typing import Literal

from domain import replies
from domain.orchestration.events import (
    CheckpointReached,
    Completed,
    OrchestrateDone,
    PartialReached,
)
from domain.orchestration.phrases import CHECKPOINT_DONE
from domain.orchestration.questions import ask_first
from domain.orchestration.revision import begin_revision
from domain.orchestration.state import Orchestration
from domain.session.comment_answers import left_words, unchanged_comments
from domain.session.comments import Comment
from domain.session.decision import Events, Now, cancel_turn, clear_agents
from domain.session.shared_steps import hand_over
from domain.session.workspace import named, undo
from domain.values.base import Text
from domain.values.phases import AgentPhases, phase_name

Run = Now[Orchestration]

ANSWERS = 2
"""How often a direct answer is asked for while comments are left as they were."""
PAUSED = "Checkpoint: a person decides what happens next."
OUTSIDE = "These changes are outside the scope; continuing allows them:"
HINT = '다음: "리뷰해봐", "이어서 해줘", "리셋해"'
TO_CONTINUE = '이어서 진행하려면 "이어서 해줘"라고 말씀하세요.'


def pause(now: Run, words: str) -> Events:
    """A checkpoint. Where changes outside the scope need a person's consent, it names their paths."""
    run, text = now.state, replies.without_json(words)
    outside = run.outside if run.asks else ()
    paths = "\n".join([OUTSIDE, *named(outside)]) if outside else ""
    summary, round = now.text("\n\n".join(filter(None, (text, paths))) or CHECKPOINT_DONE), run.round
    more = {"hint": HINT, "outside": outside, "reason": _no_change(run)}
    yield now.move("pause", CheckpointReached, message=PAUSED, round=round, summary=summary, **more)
    yield from _done(now, HINT, summary, checkpoint=True)


def complete(now: Run, summary: Text, *, by: str, all_done: bool = False) -> Events:
    """The end: all agents completed, and their conversations are closed (S1). Commands that run beside a plan that is
    not needed are called off."""
    yield from _call_off(now)
    more = {"all_done": all_done, "reason": _no_change(now.state)}
    yield now.move(by, Completed, message="Done.", round=now.state.round, summary=summary, **more)
    yield clear_agents(now, "done")
    yield from _done(now, "Done.", summary)


def _no_change(run: Orchestration) -> Literal["no_change"] | None:
    """The reason of an end where planned work has changed no file. Scripted agents that change none need no folder, so
    that a base was perhaps never recorded."""
    if not run.agents or run.policy == "orchestration@1":
        return None
    no_folder = run.scripted and run.workspace is not None and run.base is None
    return "no_change" if run.unchanged or no_folder else None


def finish_answer(now: Run, answer: Text) -> Events:
    """The end of a direct answer, unless it changed paths outside the scope: then a person is asked, or it stops."""
    run = now.state
    if run.has_queued_revision:
        return answer_again(now, answer)
    if comments := unchanged_comments(run):
        return unsettled(now, answer, comments)
    if run.asks:
        return pause(now, answer.head)
    if run.scope.outside == "fail" and run.outside:
        return stop(now, "outside_scope", undo(run.outside))
    return complete(now, answer, by="answer")


def unsettled(now: Run, answer: Text, comments: Sequence[Comment]) -> Events:
    """Ask once more for an answer where comments were left as they were, then stop. A person may go on from there."""
    if all(len(each.newest_answers) < ANSWERS for each in comments):
        return answer_again(now, answer)
    return stop(now, "comments_unchanged", f"{answer.head}\n\n{left_words(comments)}")


def answer_again(now: Run, answer: Text) -> Events:
    """Ask for another answer instead of finishing, because of what a person wants changed."""
    yield begin_revision(now, by="revise", answer=answer)
    yield ask_first(now)


def run_out(now: Run) -> Events:
    return rest(now, "rounds", "The rounds are used up.")


def rest(now: Run, reason: str, sentence: str) -> Events:
    """Stop in a round; the run can be continued."""
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
        f"Worklog: {run.worklog}",
    ]
    return "\n".join(lines)


def stop(now: Run, reason: str, words: str) -> Events:
    """Stop without a plan or an answer; the run can be continued (contract §5)."""
    summary = now.text(words)
    yield from _call_off(now)
    yield now.move("stop", PartialReached, message=f"Stopped: {reason}.", reason=reason, summary=summary)
    yield from _done(now, "Stopped.", summary)


def _call_off(now: Run) -> Events:
    for turn in tuple(now.state.outstanding.values()):
        if turn.work == "prepare":
            yield cancel_turn(turn, "no agent works")


def _done(now: Run, message: str, text: Text, *, checkpoint: bool = False) -> Events:
    """The seeds' broadcast at every end of a run (§1.13); changes are published."""
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
