"""Debates about the plan and reviews of the work, as steps of an orchestration (S2; K-24, K-25)."""

from domain import replies
from domain.discussion.strategies import STRATEGIES
from domain.orchestration import judging, planning, rounds
from domain.orchestration.events import PlanReturned, ReviewStarted, VerdictOverturned
from domain.orchestration.parts import OrchestrationDraft, next_state
from domain.orchestration.phases import phase_name
from domain.orchestration.state import AGENT, Orchestration
from domain.session.children import CloseChild, fix_feedback, fix_issues
from domain.session.decision import headline
from domain.session.draft import close_child, request_child
from domain.values.base import Unreadable

REVIEWS = 4
"""How often an agent's work on one phase is reviewed at the most: once, and after each of three fixes (S2, K-25)."""


def left(session: Orchestration) -> int:
    """The rounds of debate that the plan may still have (K-24); none where they are too few for a debate (K-28)."""
    if session.plan_review is None:
        return 0
    rounds = session.plan_review.max_rounds - session.debate_rounds
    return rounds if rounds >= STRATEGIES[session.plan_review.strategy].minimum else 0


def begin(draft: OrchestrationDraft, max_rounds: int, words: str) -> None:
    """The plan goes to a debate before anybody works on it; `words` are those of whoever made it."""
    session = draft.session
    assert session.plan_review is not None, "a plan that is to be debated"
    request_child(
        draft,
        kind="debate",
        about="plan",
        title=f"Plan: {session.title or headline(session.prompt)}",
        subject=f"Request:\n{session.prompt}\n\nPlan:\n{_spoken(words)}",
        wish=session.plan_review,
        max_rounds=max_rounds,
    )


def _spoken(words: str) -> str:
    try:
        return replies.spoken(words).strip()
    except Unreadable:  # whoever read a plan in them has read them
        return words


def due(session: Orchestration) -> tuple[int, ...]:
    """The places of the agents whose work has passed in this round and is to be reviewed."""
    if session.work_review is None:
        return ()
    return tuple(place for place in session.passed if session.reviews.get(session.step(place), 0) < REVIEWS)


def review(draft: OrchestrationDraft, places: tuple[int, ...], *, all_done: bool, words: str) -> None:
    """Passed work goes to a review, each agent's to its own; the round counts when all are decided."""
    session = draft.session
    assert session.work_review is not None, "work that is to be reviewed"
    draft.record(
        ReviewStarted(
            message=f"The work of {len(places)} agents is reviewed.",
            state=next_state(draft, "review", sentence="Only judged work is reviewed."),
            round=session.round,
            all_done=all_done,
            words=draft.text(words),
        )
    )
    for place in places:
        request_child(
            draft,
            kind="review",
            about=f"{AGENT}{place}",
            title=f"{session.agents[place].agent}: {headline(session.agents[place].task)}",
            subject=_subject(session, place),
            wish=session.work_review,
            max_rounds=session.work_review.max_rounds,
        )


def _subject(session: Orchestration, place: int) -> str:
    """Step, action and result (behaviour §2.4)."""
    agent, report = session.agents[place], session.reports[place]
    phase = agent.phase_profile[session.passed[place]]
    step = f"{agent.agent} ({agent.role}), phase {phase} ({phase_name(phase)})"
    return f"Step:\n{step}\n\nAction:\n{agent.task}\n\nResult:\n{report.report.shown()}"


def close(draft: OrchestrationDraft, command: CloseChild) -> None:
    """A discussion has ended: the plan is accepted or revised, the work counts or is fixed.

    A run that has ended only takes down how its discussions were closed (K-33).
    """
    child = close_child(draft, command)
    if child is None or draft.session.ended:
        return
    if child.about == "plan":
        return _close_debate(draft, command)
    if command.choice == "apply_fix":
        _overturn(draft, int(child.about.removeprefix(AGENT)), command)
    if not draft.session.open_children:
        fixing = bool(draft.session.fixes)
        judging.close(draft, all_done=draft.session.all_done and not fixing, words=draft.session.judged.head)
    return None


def _close_debate(draft: OrchestrationDraft, command: CloseChild) -> None:
    if command.choice != "revise":
        next_state(draft, "approve", sentence="Only a debated plan is approved.")
        return rounds.begin(draft)
    draft.record(
        PlanReturned(
            message="The plan is to be revised.",
            state=next_state(draft, "rethink", sentence="Only a debated plan is revised."),
            synthesis=command.synthesis,
            child_id=command.child_id,
        )
    )
    return planning.revise(draft, command.synthesis)


def _overturn(draft: OrchestrationDraft, place: int, command: CloseChild) -> None:
    session = draft.session
    agent = session.agents[place]
    draft.record(
        VerdictOverturned(
            message=f"{agent.agent} has to mend what the review found.",
            role="person",
            round=session.round,
            index=place,
            agent=agent.agent,
            phase=agent.phase_profile[session.passed[place]],
            feedback=fix_feedback(command.feedback, command.synthesis),
            issues=fix_issues(command.feedback),
            synthesis=command.synthesis,
            child_id=command.child_id,
        )
    )
