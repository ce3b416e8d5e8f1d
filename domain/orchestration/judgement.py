"""Decides what the verdicts on a round mean for each subtask (§1.9; K-12, K-14, K-18)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from domain.orchestration.events import VerdictGiven
from domain.orchestration.state import Orchestration, subtask_id
from domain.replies.judgement import JudgeVerdict, Verdicts
from domain.session.comment_answers import left_words, unchanged_comments
from domain.session.workspace import undo
from domain.values.base import Unreadable
from domain.values.phases import PHASES, match
from domain.values.sentences import Sentence

NO_ANSWER = "did not answer in this round, so its work cannot pass"
BROKEN = "has brought new failures into the validation, so its work cannot pass"
OUTSIDE = "has changed paths outside the scope of this repository, so its work cannot pass"
UNSETTLED = "has left comments of a person as they were, so its work cannot pass"


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict for each place of the round, which parts of the judge's answer do not count, and whether all is
    done."""

    verdicts: dict[int, JudgeVerdict]
    refused: tuple[tuple[str, str], ...]
    all_done: bool


def judge(run: Orchestration, answer: Verdicts) -> Judgement:
    """Assign every verdict to its subtask. Raises `Unreadable` if no agent of this round is judged (K-15).

    Work of a failed turn never passes (contract §10), nor does work outside the scope if that is refused, nor any while
    comments of a person were left as they were. Not all is done if a verdict fails or is missing (K-14).
    """
    accepted: dict[int, JudgeVerdict] = {}
    refused: list[tuple[str, str]] = []
    comments = unchanged_comments(run)
    for verdict in answer.verdicts:
        place, reason = _place(run, verdict)
        if place is None:
            refused.append((_named(verdict), reason))
            continue
        if verdict.passed and run.reports[place].result == "error":
            refused.append((_named(verdict), NO_ANSWER))
            verdict = verdict.changed(passed=False, feedback=_failed(verdict))
        if paths := run.refused_paths(place):
            if verdict.passed:
                refused.append((_named(verdict), OUTSIDE))
            verdict = verdict.changed(passed=False, feedback=f"{undo(paths)}\n{verdict.feedback}".strip())
        if reasons := run.broken.get(place):
            if verdict.passed:
                refused.append((_named(verdict), BROKEN))
            lines = "\n".join(["The validation fails with your changes:", *(f"- {reason}" for reason in reasons)])
            verdict = verdict.changed(passed=False, feedback=f"{lines}\n{verdict.feedback}".strip())
        if comments:
            if verdict.passed:
                refused.append((_named(verdict), UNSETTLED))
            verdict = verdict.changed(passed=False, feedback=f"{left_words(comments)}\n{verdict.feedback}".strip())
        accepted[place] = verdict
    if not accepted:
        raise Unreadable(Sentence("verdicts_judge_nobody"))
    passed = all(place in accepted and accepted[place].passed for place in run.active)
    contradicted = any(not verdict.passed and _subtasks(run, verdict) for verdict in answer.verdicts)
    return Judgement(
        verdicts=accepted, refused=tuple(refused), all_done=answer.all_done and passed and not contradicted
    )


def _place(run: Orchestration, verdict: JudgeVerdict) -> tuple[int | None, str]:
    """The place that the verdict is about; None, and why, if it does not count."""
    subtasks = _subtasks(run, verdict)
    if not subtasks:
        return None, "is not part of this run"
    active = [place for place in subtasks if place in run.active]
    if not active:
        return None, "has completed its phases"
    if len(active) > 1:
        return None, f"has several subtasks; the verdict has to name one of {', '.join(map(subtask_id, active))}"
    return active[0], ""


def _subtasks(run: Orchestration, verdict: JudgeVerdict) -> list[int]:
    """The places of the named agent, or only of the named subtask if there is one; names match as in a plan (K-18)."""
    name = match(verdict.agent, _names(run))
    places = [place for place, agent in enumerate(run.agents) if agent.agent == name]
    if verdict.subtask is None:
        return places
    return [place for place in places if subtask_id(place) == verdict.subtask.strip().lower()]


def _names(run: Orchestration) -> Iterable[str]:
    return (agent.agent for agent in run.agents)


def _named(verdict: JudgeVerdict) -> str:
    return verdict.agent if verdict.subtask is None else f"{verdict.agent} ({verdict.subtask})"


def _failed(verdict: JudgeVerdict) -> str:
    """The note for the agent: the judge's text no longer fits, but may still help."""
    return f"The turn failed: do the work again.\n{verdict.feedback}".strip()


def verdict(run: Orchestration, place: int, *, judged: tuple[int, ...], passed: bool, feedback: str) -> VerdictGiven:
    """The subtask after a verdict: `judged` are the phases that it covers (K-12)."""
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


def advance(profile: Sequence[int], idx: int, passed: bool, *, judged: int = 1) -> tuple[int, bool]:
    """The agent's phase after the verdict, and whether it has finished: FAIL stays, PASS moves past all judged phases.

    `judged` is how many phases from the current one the verdict covers (`widen`). A finished agent is at the last of
    its phases.
    """
    if not passed:
        return idx, False
    following = idx + max(1, judged)
    last = len(profile) - 1
    return (last, True) if following > last else (following, False)


def widen(profile: Sequence[int], idx: int, claimed: Iterable[int]) -> tuple[int, ...]:
    """The phases that the next verdict covers: the current one and, with a claim of `phases_completed`, all up to it.

    A claim says what to judge, never what is done (K-12). Its highest phase counts, and only if it names two or more
    (§1.8). Numbers that are not a phase are ignored.
    """
    valid = {phase for phase in claimed if phase in PHASES and not isinstance(phase, bool)}
    highest = max(valid) if len(valid) >= 2 else profile[idx]
    return (profile[idx], *(phase for phase in profile[idx + 1 :] if phase <= highest))


def judged_phases(run: Orchestration, place: int) -> tuple[int, ...]:
    """The phases that this round's verdict covers. A claim widens them; only the verdict advances the agent (K-12)."""
    agent, report = run.agents[place], run.reports.get(place)
    return widen(agent.phase_profile, agent.current_phase_idx, report.claimed if report else ())
