"""Rounds: who speaks next, where the discussion stands after each, and the synthesis at the end (S2, K-26…K-32)."""

from typing import Any

from domain import replies
from domain.convergence import Metrics, assess, stop_reason
from domain.convergence.stripping import talk
from domain.discussion import decision, findings
from domain.discussion.events import (
    AgentFailed,
    Assessed,
    Converged,
    DiscussionEvent,
    LimitReached,
    RoundAdded,
    Stalled,
    Synthesized,
)
from domain.discussion.parts import DiscussionDraft, next_state, request, say, terse_speaks
from domain.discussion.state import Discussion
from domain.discussion.strategies import STRATEGIES, Part
from domain.replies.shapes import wire
from domain.session.decision import content
from domain.session.draft import settle
from domain.session.turns import RecordReply
from domain.values.base import Text, Unreadable

_ENDS: dict[str, tuple[type[DiscussionEvent], str]] = {
    "converged": (Converged, "The discussion has converged."),
    "stalled": (Stalled, "The discussion has stalled."),
    "limit": (LimitReached, "The limit of rounds is reached."),
}


def ask_next(draft: DiscussionDraft) -> None:
    session = draft.session
    number = len(session.rounds) + 1
    part = STRATEGIES[session.strategy].part(number)
    words = {"rounds": findings.so_far(session), "round": str(number)}
    context = {name: draft.text(text) for name, text in words.items()} | {_place(session): session.subject}
    request(draft, part, context, number, reads=session.kind if part.judges else "text")


def _place(session: Discussion) -> str:
    return "subject" if session.kind == "review" else "plan"


def record(draft: DiscussionDraft, command: RecordReply) -> None:
    turn = draft.session.turn(command.turn_id)
    answered = settle(draft, command)
    if turn.role == "synthesizer":
        return _synthesize(draft, _said(content(command, command.reply)) if answered else "")
    if not answered:
        return _break_off(draft)
    return _add_round(draft, turn.agent, content(command, command.reply))


def _said(reply: str) -> str:
    """What was said, without what was only thought (behaviour §2.2); nothing where nobody should read it."""
    try:
        return replies.spoken(reply).strip()
    except Unreadable:
        return ""


def _add_round(draft: DiscussionDraft, agent: str, reply: str) -> None:
    session = draft.session
    number = len(session.rounds) + 1
    part = STRATEGIES[session.strategy].part(number)
    feedback, problem = _read(session.kind, reply)
    said = draft.text(_said(reply))
    say(
        draft,
        RoundAdded,
        message=f"Round {number}: {part.role}.",
        role=part.role,
        round=number,
        agent=agent,
        content=said,
        feedback=feedback,
        problem=problem if part.judges else None,
        counted=None if said.digest is None else Text.of(talk(_said(reply)))[0].head,
    )
    metrics = assess(findings.counted(draft.session), draft.session.profile, terse=terse_speaks(draft.session))
    say(draft, Assessed, message=f"Convergence {metrics.overall_score:.2f}.", round=number, metrics=metrics)
    _close_or_go_on(draft, number, metrics)


def _close_or_go_on(draft: DiscussionDraft, number: int, metrics: Metrics) -> None:
    """The strategy's own rounds are held; then whatever comes first ends the talk (K-26, K-28)."""
    session = draft.session
    reason = stop_reason(metrics.recommendation, len(session.rounds), session.max_rounds)
    if reason is None or (reason != "limit" and number < STRATEGIES[session.strategy].minimum):
        return ask_next(draft)
    event, message = _ENDS[reason]
    say(draft, event, message=message, round=number, state=next_state(draft, "close"))
    _ask_synthesis(draft)


def _read(kind: str, words: str) -> tuple[dict[str, Any] | None, str | None]:
    try:
        found = replies.review(words) if kind == "review" else replies.debate(words)
    except Unreadable as problem:
        return None, str(problem)
    value = wire(found)
    assert isinstance(value, dict), "feedback is an object"
    return value, None


# -- synthesis -----------------------------------------------------------------------------------------------------


def _ask_synthesis(draft: DiscussionDraft) -> None:
    session = draft.session
    last = session.metrics[-1]
    words = {"rounds": findings.so_far(session, "\n\n---\n\n"), "convergence": _told(session, last)}
    context = {name: draft.text(text) for name, text in words.items()} | {_place(session): session.subject}
    part = Part("synthesis", "synthesizer", f"{session.kind}_synthesis", judges=False)
    request(draft, part, context, len(session.rounds), reads="text")


def _told(session: Discussion, metrics: Metrics) -> str:
    return (
        f"{session.stop_reason}: agreement {metrics.agreement_ratio:.2f}, stability {metrics.avg_stability:.2f}, "
        f"score {metrics.overall_score:.2f}"
    )


def _synthesize(draft: DiscussionDraft, words: str) -> None:
    """A synthesis that failed is replaced by the rounds themselves, and says so (S2)."""
    session = draft.session
    fallback = not words
    counts = None if fallback else _counts(session.kind, words)
    say(
        draft,
        Synthesized,
        message="Synthesis failed: the rounds stand in for it." if fallback else "Synthesis.",
        role="synthesizer",
        round=len(session.rounds),
        state=next_state(draft, "synthesize"),
        synthesis=draft.text(findings.joined(session) if fallback else words),
        fallback=fallback,
        counts=counts,
    )
    decision.ask(draft)


def _counts(kind: str, words: str) -> dict[str, Any] | None:
    try:
        found = replies.review_synthesis(words) if kind == "review" else replies.debate_synthesis(words)
    except Unreadable:
        return None
    value = wire(found)
    return value if isinstance(value, dict) else None


def _break_off(draft: DiscussionDraft) -> None:
    """An agent that fails never means consent: a person decides, with the error before them (K-32)."""
    session = draft.session
    error = session.last_error or "An agent failed."
    say(
        draft,
        AgentFailed,
        message=error,
        round=len(session.rounds),
        state=next_state(draft, "break_off"),
        error=error,
    )
    decision.ask(draft)
