"""Explains why a session is in its state, as a chain of causes starting with commands; and what is missing for another
state."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from domain.delivery.events import PhaseFailed, ReviewBlockingDetected, ValidationFailed
from domain.discussion.events import AgentFailed
from domain.discussion.state import Discussion
from domain.orchestration.events import RoundValidated, VerdictGiven
from domain.orchestration.state import Orchestration
from domain.session.attendance import SessionUnattended
from domain.session.forge import (
    ChecksEnded,
    Conflicted,
    ForgeLost,
    PullRequestClosed,
    PullRequestMerged,
    PullRequestOpened,
    PullRequestReopened,
    PullRequestRested,
    Pushed,
    PushRequested,
)
from domain.session.landing import LandingNotTried, WorkLanded, WorkSentBack
from domain.session.past_commands import RecordedCommand, commands_in
from domain.session.record import Recorded
from domain.session.state import Session
from domain.session.team_decisions import missing
from domain.session.turns import TurnAttemptFailed, TurnFailed
from domain.values.base import DomainEvent, iso
from domain.values.sentences import Sentence, in_language, recognized
from domain.values.words import Language, words
from projections.record.describe import ROOM, describe, person
from projections.record.describe import recorded as sentence
from projections.record.why_not import state_name, why_not
from projections.views.past import ExplainedCause, ExplainedCommand, ExplainedEvent, Explanation

_PULL_REQUEST: Final = (
    *(PullRequestOpened, PushRequested, Pushed, ChecksEnded, Conflicted, ForgeLost, PullRequestRested),
    *(PullRequestClosed, PullRequestReopened, PullRequestMerged),
)
_LANDINGS: Final = (WorkLanded, WorkSentBack, LandingNotTried)
INPUTS = (
    *("elapsedMs", "remainingIterations", "reason", "iteration", "phase", "round"),
    *("metrics", "pass", "allDone", "choice", "classification", "score", "errorType", "expiresAt"),
)
"""The inputs of the rules, taken from the events."""


def explain(
    history: Sequence[Recorded], session: Session, *, wished: str | None = None, language: Language = "en"
) -> Explanation:
    """The commands that led to the newest change of state, first cause first, and what each decision was based on; with
    `wished`, what is missing for that state."""
    owner = {recorded.event_id: decision for decision in commands_in(history) for recorded in decision.recorded}
    moved = [recorded for recorded in history if "state" in type(recorded.event).model_fields]
    chain: deque[ExplainedCommand] = deque()
    at = owner.get((moved or list(history))[-1].event_id)
    while at is not None:
        chain.appendleft(_link(at))
        before = owner.get(at.recorded[0].causation.causation_id)
        at = before if before and before.recorded[0].version < at.recorded[0].version else None  # a cause comes first
    return Explanation(
        session_id=session.id,
        kind=session.kind,
        version=session.version,
        state=session.state,
        chain=tuple(chain),
        text="\n".join(_text(history, session, chain, language)),
        cause=cause_of(history, session, language),
        why_not=None if wished is None else why_not(session, wished, language),
    )


def cause_of(history: Sequence[Recorded], session: Session, language: Language) -> ExplainedCause | None:
    """Returns the event that says what went wrong in a session that has stopped, or what delays one that waits."""
    return _cause(history, language) if stopped(session) else _delay(history, session, language)


def _cause(history: Sequence[Recorded], language: Language) -> ExplainedCause | None:
    """The last event that says what went wrong."""
    for recorded in reversed(history):
        event = recorded.event
        lines = evidence(event) if event.TOPIC in CAUSES else ()
        if isinstance(event, ValidationFailed) and lines[:1] == (event.sentence,):
            lines = (event.summary,)
        if lines:
            worded = tuple(in_language(line, language) for line in lines)
            return ExplainedCause(version=recorded.version, type=recorded.event.TOPIC, lines=worded)
    return None


def _delay(history: Sequence[Recorded], session: Session, language: Language) -> ExplainedCause | None:
    """The last failed attempt at a turn that waits for another one."""
    waiting = {name for name, turn in session.outstanding.items() if turn.tries.until is not None}
    for recorded in reversed(history if waiting else ()):
        event = recorded.event
        if isinstance(event, TurnAttemptFailed) and event.turn_id in waiting:
            why = _because(event.failure.code, event.failure.detail, event.failure.sentence)
            return ExplainedCause(version=recorded.version, type=event.TOPIC, lines=(in_language(why, language),))
    return None


def _link(decision: RecordedCommand) -> ExplainedCommand:
    """One command: who gave it, what caused it, and what it led to."""
    first = decision.recorded[0]
    return ExplainedCommand(
        version=first.version,
        timestamp=iso(first.at),
        actor=first.causation.actor,
        command_id=first.causation.command_id,
        causation_id=first.causation.causation_id,
        events=tuple(_event(recorded) for recorded in decision.recorded),
    )


def _event(recorded: Recorded) -> ExplainedEvent:
    data = recorded.event.model_dump(mode="json", by_alias=True)
    return ExplainedEvent(
        version=recorded.version,
        type=recorded.event.TOPIC,
        message=sentence(recorded.event, recorded.causation.actor),
        state=data.get("state"),
        inputs={name: data[name] for name in INPUTS if data.get(name) is not None},
    )


def _text(
    history: Sequence[Recorded], session: Session, chain: Iterable[ExplainedCommand], language: Language
) -> Iterator[str]:
    """The events that decide something, one per line; a command without such events is named by its first one."""
    events = {recorded.version: recorded.event for recorded in history}
    agents = [agent.agent for agent in session.agents] if isinstance(session, Orchestration) else []
    for link in chain:
        deciding = [event for event in link.events if event.state or "pass" in event.inputs or event.type in CAUSES]
        for event in deciding or link.events[:1]:
            data = events[event.version].model_dump(mode="json", by_alias=True)
            text = describe(event.type, data, language, agents=agents, actor=link.actor)
            led = f" → {state_name(event.state, language)}" if event.state else ""
            yield f"{event.version}. {person(link.actor, language)}: {text}{led}"
    yield from _votes(session, language)
    yield from _newest(history, (SessionUnattended,), language)
    yield from _newest(history, _LANDINGS, language)
    yield from _pull_request(history, session, language)


def _newest(history: Sequence[Recorded], events: tuple[type[DomainEvent], ...], language: Language) -> Iterator[str]:
    """Describes the newest of these events, which change no state."""
    recorded = next((each for each in reversed(history) if isinstance(each.event, events)), None)
    if recorded is not None:
        data = recorded.event.model_dump(mode="json", by_alias=True)
        yield f"{recorded.version}. {describe(recorded.event.TOPIC, data, language)}"


def _pull_request(history: Sequence[Recorded], session: Session, language: Language) -> Iterator[str]:
    """Says how the pull request stands: it ended, or what it waits for, with the last thing that was seen of it."""
    if session.forge is None:
        return
    seen = [each for each in history if isinstance(each.event, _PULL_REQUEST)]
    for recorded in seen[-2:]:
        data = recorded.event.model_dump(mode="json", by_alias=True)
        yield f"{recorded.version}. {describe(recorded.event.TOPIC, data, language)}"


def _votes(session: Session, language: Language) -> Iterator[str]:
    """The votes so far, and what is missing, if the team decides by votes."""
    if not isinstance(session, Discussion) or session.decisions is None:
        return
    say = words(language, ROOM)
    votes = session.decision.votes if session.decision else session.votes
    if votes:
        cast = (say.fill("explain.vote", {"choice": vote.choice, "actor": person(vote.actor)}) for vote in votes)
        yield say.fill("explain.votes", {"votes": ", ".join(cast)})
    for choice, more in missing(session.decisions, session.choices, session.votes).items():
        yield say.fill("explain.missing", {"choice": choice, "n": more})


# What stopped a session, or rejected its work last: the failing test, the blocking finding, the turn that failed.

CAUSES: Final = frozenset(
    {
        "delivery.validation_failed",
        "delivery.review_blocking_detected",
        "delivery.phase_failed",
        "turn.failed",
        "orchestration.validated",
        "orchestration.verdict_given",
        "review.agent_failed",
        "debate.agent_failed",
    }
)
"""Topics of events that give a reason."""
_STOPPED: Final = frozenset({"failed", "exhausted", "partial"})
_FAILURES: Final = (
    ValidationFailed,
    ReviewBlockingDetected,
    PhaseFailed,
    TurnFailed,
    AgentFailed,
    RoundValidated,
    VerdictGiven,
)


def stopped(session: Session) -> bool:
    """Returns whether it stopped or ended without success."""
    needs_choice = isinstance(session, Discussion) and bool(session.choices) and session.stop_reason == "error"
    return session.state in _STOPPED or needs_choice


def evidence(event: DomainEvent) -> tuple[str, ...]:
    """Returns what it was, line by line, as recorded: failing tests, findings, an error. Empty if it was no failure."""
    if not isinstance(event, _FAILURES):
        return ()
    match event:
        case ValidationFailed():
            lines = event.new_failures or event.reasons
            if event.cause == "only_passes_with_leftovers" and event.sentence is not None:
                return (event.sentence, *lines)
            return _summary(event) if lines in ((), (event.sentence,)) else lines
        case ReviewBlockingDetected():
            return tuple(_joined(issue.title, issue.detail) for issue in event.blocking_issues)
        case PhaseFailed():
            return (_because(event.error_type, event.error_message, event.sentence),)
        case TurnFailed():
            return (_because(event.failure.code, event.failure.detail, event.failure.sentence),)
        case AgentFailed():
            return (event.sentence or event.error,)
        case RoundValidated():
            return event.new_failures
        case VerdictGiven(passed=False):
            return (_verdict(event.agent, event.feedback),)
        case _:
            return ()


def _summary(event: ValidationFailed) -> tuple[str, ...]:
    """Returns how the command ended, and the end of its output."""
    if event.sentence is None:
        return (event.summary,)
    return tuple(filter(None, (event.sentence, event.summary.partition("\n")[2])))


def _because(code: str, detail: str, sentence: Sentence | None) -> str:
    text = _joined(code, detail)
    if sentence is None:
        return text
    return Sentence.foreign(text, "failure_because", failure=Sentence(f"failure_{code}"), detail=sentence)


def _verdict(agent: str, feedback: str) -> str:
    text, ours = _joined(agent, feedback), recognized(feedback)
    return Sentence.foreign(text, "at_place", place=agent, sentence=ours) if isinstance(ours, Sentence) else text


def _joined(name: str, detail: str) -> str:
    return f"{name}: {detail}" if detail and detail != name else name
