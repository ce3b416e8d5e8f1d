"""What a review or a debate answers to a command: events, or a refusal (S2, behaviour §2, K-24…K-35)."""

from typing import Any

from domain import replies
from domain.base import Command, Refused, Text, Unreadable
from domain.convergence import Metrics, Round, assess, stop_reason
from domain.delivery.commands import ExpireTurn
from domain.discussion.chart import TABLES
from domain.discussion.commands import CancelDiscussion, Decide, StartDiscussion
from domain.discussion.events import (
    VOICES,
    AgentFailed,
    Assessed,
    Cancelled,
    Converged,
    Decided,
    DecisionRequested,
    DiscussionEvent,
    Expired,
    LimitReached,
    RoundAdded,
    SessionStarted,
    Stalled,
    Synthesized,
)
from domain.discussion.state import Contribution, Discussion
from domain.discussion.strategies import CHOICES, PASSING, STRATEGIES, Part
from domain.instant import iso, milliseconds
from domain.record import kind_of
from domain.replies.shapes import wire
from domain.session import Draft, cancel_turns, cancelled, clear_agents, content, settle
from domain.turns import RecordReply, TurnRequested

DiscussionDraft = Draft[Discussion]

_ENDS: dict[str, tuple[type[DiscussionEvent], str]] = {
    "converged": (Converged, "The discussion has converged."),
    "stalled": (Stalled, "The discussion has stalled."),
    "limit": (LimitReached, "The limit of rounds is reached."),
}
_NOTHING_READ: dict[str, dict[str, Any]] = {
    "review": {"verdict": "NEEDS_FIX", "summary": "Review completed", "issues": []},
    "debate": {"verdict": "CHALLENGE", "concerns": [], "suggestions": []},
}


def decide(draft: DiscussionDraft, command: Command) -> None:
    """Record into the draft what the command leads to; raises Refused where the discussion does not allow it."""
    match command:
        case StartDiscussion():
            _start(draft, command)
        case RecordReply():
            _record_reply(draft, command)
        case Decide():
            _decide(draft, command)
        case ExpireTurn():
            _expire(draft, command)
        case CancelDiscussion():
            _cancel(draft, command)
        case _:
            raise Refused(f"A {draft.session.kind} does not know the command {type(command).__name__}.")


def available(session: Discussion) -> tuple[str, ...]:
    """What a person may do now, by the names of the doors (contract §2)."""
    allowed = TABLES[session.kind].allowed(session.state, session.guard)
    doors = {"decide": "decision", "cancel": "cancel"}
    return tuple(door for event, door in doors.items() if event in allowed)


# -- rounds --------------------------------------------------------------------------------------------------------


def _start(draft: DiscussionDraft, command: StartDiscussion) -> None:
    if draft.before is not None:
        raise Refused("This session has already started.", allowed=available(draft.session))
    kind = kind_of(draft.moment.session_id)
    draft.record(VOICES[kind][SessionStarted](message="Started.", state=TABLES[kind].initial, topic=command.topic))
    _ask_next(draft)


def _ask_next(draft: DiscussionDraft) -> None:
    session = draft.session
    number = len(session.rounds) + 1
    part = STRATEGIES[session.strategy].part(number)
    words = {"rounds": _so_far(session), "round": str(number)}
    context = {name: draft.text(text) for name, text in words.items()} | {_place(session): session.subject}
    _request(draft, part, context, number, reads=session.kind if part.judges else "text")


def _place(session: Discussion) -> str:
    return "subject" if session.kind == "review" else "plan"


def _so_far(session: Discussion, between: str = "\n\n") -> str:
    """Everybody sees everything that was said (behaviour §2.4)."""
    return between.join(f"[Round {said.round} - {said.role}]\n{said.content.head}" for said in session.rounds)


def _request(draft: DiscussionDraft, part: Part, context: dict[str, Text], number: int, *, reads: str) -> None:
    session = draft.session
    agent = session.crew.get(part.asked, part.asked)
    draft.record(
        TurnRequested(
            turn_id=f"{session.id}.t{session.turns + 1}",
            work="ask",
            agent=agent,
            role=part.asked,
            prompt=f"{part.prompt}@1",
            reads=reads,
            context=context,
            access="read",
            ordinal=session.asked.get(agent, 0),
            role_ordinal=session.asked_roles.get(part.asked, 0),
            agent_session=session.agent_sessions.get(agent),
            phase=part.role,
            round=number,
        )
    )


def _record_reply(draft: DiscussionDraft, command: RecordReply) -> None:
    turn = draft.session.turn(command.turn_id)
    answered = settle(draft, command)
    if turn.role == "synthesizer":
        return _synthesize(draft, content(command, command.reply) if answered else "")
    if not answered:
        return _break_off(draft)
    return _add_round(draft, turn.agent, command)


def _add_round(draft: DiscussionDraft, agent: str, command: RecordReply) -> None:
    session = draft.session
    number = len(session.rounds) + 1
    part = STRATEGIES[session.strategy].part(number)
    feedback, problem = _read(session.kind, content(command, command.reply))
    _say(
        draft,
        RoundAdded,
        message=f"Round {number}: {part.role}.",
        role=part.role,
        round=number,
        agent=agent,
        content=command.reply,
        feedback=feedback,
        problem=problem if part.judges else None,
    )
    metrics = assess(_spoken(draft.session), draft.session.profile)
    _say(draft, Assessed, message=f"Convergence {metrics.overall_score:.2f}.", round=number, metrics=metrics)
    _close_or_go_on(draft, number)


def _close_or_go_on(draft: DiscussionDraft, number: int) -> None:
    """The strategy's own rounds are held; then whatever comes first ends the talk (K-26, K-28)."""
    session = draft.session
    reason = stop_reason(_spoken(session), session.profile, session.max_rounds)
    if reason is None or (reason != "limit" and number < STRATEGIES[session.strategy].minimum):
        return _ask_next(draft)
    event, message = _ENDS[reason]
    _say(draft, event, message=message, round=number, state=_next(draft, "close"))
    _ask_synthesis(draft)


def _spoken(session: Discussion) -> list[Round]:
    return [Round(round=said.round, role=said.role, content=said.content.head) for said in session.rounds]


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
    words = {"rounds": _so_far(session, "\n\n---\n\n"), "convergence": _told(session, last)}
    context = {name: draft.text(text) for name, text in words.items()} | {_place(session): session.subject}
    part = Part("synthesis", "synthesizer", f"{session.kind}_synthesis", judges=False)
    _request(draft, part, context, len(session.rounds), reads="text")


def _told(session: Discussion, metrics: Metrics) -> str:
    return (
        f"{session.stop_reason}: agreement {metrics.agreement_ratio:.2f}, stability {metrics.avg_stability:.2f}, "
        f"score {metrics.overall_score:.2f}"
    )


def _synthesize(draft: DiscussionDraft, words: str) -> None:
    """A synthesis that failed is replaced by the rounds themselves, and says so (S2)."""
    session = draft.session
    fallback = not words.strip()
    counts = None if fallback else _counts(session.kind, words)
    _say(
        draft,
        Synthesized,
        message="Synthesis failed: the rounds stand in for it." if fallback else "Synthesis.",
        role="synthesizer",
        round=len(session.rounds),
        state=_next(draft, "synthesize"),
        synthesis=draft.text(_joined(session.rounds) if fallback else words),
        fallback=fallback,
        counts=counts,
    )
    _ask_decision(draft)


def _joined(rounds: tuple[Contribution, ...]) -> str:
    return "\n\n".join(f"[{said.role}]: {said.content.head}" for said in rounds)


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
    _say(
        draft,
        AgentFailed,
        message=error,
        round=len(session.rounds),
        state=_next(draft, "break_off"),
        error=error,
    )
    _ask_decision(draft)


# -- the decision --------------------------------------------------------------------------------------------------


def _ask_decision(draft: DiscussionDraft) -> None:
    session = draft.session
    expires_at = None if session.expires_ms is None else iso(draft.at + session.expires_ms)
    _say(
        draft,
        DecisionRequested,
        message="A person decides.",
        round=len(session.rounds),
        feedback=_feedback(session),
        choices=CHOICES[session.kind],
        dissent=_dissent(session),
        expires_at=expires_at,
    )
    if expires_at is not None:
        draft.record(
            TurnRequested(
                turn_id=f"{session.id}.t{session.turns + 1}",
                work="wait",
                agent="person",
                role="person",
                deadline=expires_at,
                round=len(session.rounds),
            )
        )


def _feedback(session: Discussion) -> dict[str, Any]:
    """That of the last contribution that judges; where it could not be read, or there is none, nothing is waved on."""
    judging = [said for said in session.rounds if STRATEGIES[session.strategy].part(said.round).judges]
    if judging and judging[-1].feedback is not None:
        return judging[-1].feedback
    found = dict(_NOTHING_READ[session.kind])
    if judging and judging[-1].problem:
        found["problem"] = judging[-1].problem
    if session.stop_reason == "error":
        found["error"] = session.last_error
    return found


def _dissent(session: Discussion) -> tuple[str, ...]:
    """What was never agreed: the last word of each side on it."""
    if session.stop_reason == "converged":
        return ()
    latest = {said.role: said.feedback for said in session.rounds if said.feedback}
    claims = [point["claim"] for feedback in latest.values() for point in feedback.get("pointsOfDisagreement") or ()]
    concerns = [concern for feedback in latest.values() for concern in feedback.get("concerns") or ()]
    issues = [issue["description"] for feedback in latest.values() for issue in feedback.get("issues") or ()]
    return tuple(dict.fromkeys([*claims, *concerns, *issues]))


def _decide(draft: DiscussionDraft, command: Decide) -> None:
    """Once only, on the version that the person had seen, by one of the choices that are open."""
    session = draft.session
    choices = CHOICES[session.kind]
    if session.decision is not None:
        raise Refused(f"It is decided: {session.decision.choice}.")
    state = _next(draft, "decide")
    if command.version is not None and command.version != session.version:
        raise Refused(
            f"The decision answers version {command.version}, but the {session.kind} is at {session.version}.",
            allowed=choices,
        )
    if command.choice not in choices:
        raise Refused(f"A {session.kind} is decided by one of {', '.join(choices)}.", allowed=choices)
    cancel_turns(draft, "decided")
    _say(
        draft,
        Decided,
        message=f"Decided: {command.choice}.",
        role="person",
        round=len(session.rounds),
        state=state,
        choice=command.choice,
        actor=command.actor,
        rationale=command.rationale,
        **_outcome(session),
    )
    clear_agents(draft, "decided")


def _outcome(session: Discussion) -> dict[str, Any]:
    synthesis = session.synthesis or Text.of(_joined(session.rounds))[0]
    return {
        "feedback": session.feedback or _NOTHING_READ[session.kind],
        "synthesis": synthesis,
        "parent": session.about,
    }


def _expire(draft: DiscussionDraft, command: ExpireTurn) -> None:
    """A decision that nobody made in time: recorded as expired, never as a person's choice."""
    session = draft.session
    turn = session.turn(command.turn_id)
    if turn.work != "wait" or session.expires_at is None or draft.at <= milliseconds(session.expires_at):
        raise Refused("The decision may still be made.", allowed=available(session))
    choice = session.expires_as or PASSING[session.kind]
    draft.record(cancelled(turn, "expired"))
    _say(
        draft,
        Expired,
        message=f"Nobody decided in time; {choice} by default.",
        round=len(session.rounds),
        state=_next(draft, "decide"),
        choice=choice,
        **_outcome(session),
    )
    clear_agents(draft, "expired")


def _cancel(draft: DiscussionDraft, command: CancelDiscussion) -> None:
    state = _next(draft, "cancel")
    cancel_turns(draft, "cancelled")
    _say(
        draft,
        Cancelled,
        message=command.reason or "Cancelled.",
        round=len(draft.session.rounds),
        state=state,
        choice=PASSING[draft.session.kind],
        reason=command.reason,
        **_outcome(draft.session),
    )
    clear_agents(draft, "cancelled")


# -- parts ---------------------------------------------------------------------------------------------------------


def _next(draft: DiscussionDraft, event: str) -> str:
    session = draft.session
    words = session.state.replace("_", " ")
    sentence = f"A {session.kind} that is {words} does not allow this."
    return TABLES[session.kind].next(session.state, event, session.guard, sentence=sentence)


def _say(draft: DiscussionDraft, event: type[DiscussionEvent], **fields: Any) -> None:
    draft.record(VOICES[draft.session.kind][event](**fields))
