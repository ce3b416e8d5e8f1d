"""The answers of a review or a debate to commands: events, or a refusal (S2, behaviour §2, K-24…K-35)."""

from functools import partial

from domain import replies
from domain.convergence.assessment import Metrics, assess_next, stop_reason
from domain.convergence.prose import talk
from domain.discussion import findings
from domain.discussion.chart import TABLES
from domain.discussion.commands import CancelDiscussion, StartDiscussion
from domain.discussion.ending import Talk, cancel, expire, record_decision
from domain.discussion.events import (
    AgentFailed,
    Assessed,
    Converged,
    DecisionRequested,
    DiscussionEvent,
    DiscussionRetried,
    DiscussionStarted,
    LimitReached,
    RoundAdded,
    Stalled,
    Synthesized,
)
from domain.discussion.state import Discussion
from domain.discussion.strategies import CHOICES, REWRITTEN, STRATEGIES, Part
from domain.discussion.topics import EVENTS_OF
from domain.session.actions import NO_BUDGET
from domain.session.attempts import ONCE, Failure
from domain.session.children import Decide
from domain.session.decision import Events, ask, cancel_turns, content, end_attempt, read
from domain.session.shared_steps import retry_failed, retry_waiting
from domain.session.turns import ExpireTurn, RecordReply, RetryTurn, Settled, TurnRequested
from domain.values.base import Command, Text, iso
from domain.values.budget import Extension
from domain.values.sentences import Sentence, coded

ACTIONS = {"decide": "decision", "retry": "retry", "cancel": "cancel"}
"""The actions of a person, by the step of the chart that they take (contract §2)."""
ENDS: dict[str, tuple[type[DiscussionEvent], str]] = {
    "converged": (Converged, "The discussion has converged."),
    "stalled": (Stalled, "The discussion has stalled."),
    "limit": (LimitReached, "The limit of rounds is reached."),
}


def decide(now: Talk, command: Command) -> Events:
    """The events of a command. Raises Refused where the chart or a rule does not allow it (S2)."""
    match command:
        case StartDiscussion():
            return start(now, command)
        case RecordReply():
            return record_reply(now, command)
        case Decide():
            return record_decision(now, command)
        case ExpireTurn():
            return expire(now, command)
        case RetryTurn():
            return retry(now, command)
        case CancelDiscussion():
            return cancel(now, command)
        case Extension():
            raise now.refusal(NO_BUDGET)
        case _:
            raise now.unfit(command)


def allowed_actions(discussion: Discussion) -> tuple[str, ...]:
    """Returns what a person may do now (contract §2)."""
    steps = TABLES[discussion.kind].allowed(discussion.state, discussion.guard)
    return tuple(action for step, action in ACTIONS.items() if step in steps)


def voice(now: Talk, event: type[DiscussionEvent]) -> type[DiscussionEvent]:
    """The event under the topic of this kind."""
    return EVENTS_OF[now.kind.name][event]


def start(now: Talk, command: StartDiscussion) -> Events:
    yield now.begin(voice(now, DiscussionStarted), message="Started.", topic=command.topic, policy=command.policy)
    yield ask_next(now)


def retry(now: Talk, command: RetryTurn) -> Events:
    """Ask the waiting turn at once. A turn that interrupted the discussion is asked again, instead of a decision."""
    waiting = retry_waiting(now, command)
    if waiting:
        return (yield from waiting)
    now.next("retry", refusal=command.REFUSAL)
    yield from cancel_turns(now, "retried")
    message = f"Retried: {command.reason}" if command.reason else "Retried."
    event = voice(now, DiscussionRetried)
    yield now.move("retry", event, message=message, round=len(now.state.rounds), why=command.reason)
    yield retry_failed(now, command, None)


# -- rounds --------------------------------------------------------------------------------------------------------


def ask_next(now: Talk) -> TurnRequested:
    """Ask for the next contribution."""
    state = now.state
    number = len(state.rounds) + 1
    part = STRATEGIES[state.strategy].part(number)
    words: dict[str, str | Text] = {"rounds": findings.rounds(state), "round": str(number)}
    return ask_part(now, part, words, number, reads=state.kind if part.judges else "text")


def ask_part(now: Talk, part: Part, words: dict[str, str | Text], number: int, *, reads: str = "text") -> TurnRequested:
    """Ask for a contribution or for the synthesis; `words` fill the places of the prompt."""
    state = now.state
    return ask(
        now,
        role=part.asked,
        prompt=f"{part.prompt}@{REWRITTEN.get(part.prompt, 1)}",
        context={**words, "subject" if state.kind == "review" else "plan": findings.subject(state)},
        reads=reads,
        lane=state.lane,
        access="read",
        phase=part.role,
        round=number,
    )


def record_reply(now: Talk, command: RecordReply) -> Events:
    """A round or the synthesis; a failed turn without a further attempt ends the discussion (K-32)."""
    turn, authors = now.turn(command.turn_id), now.state.authors
    failure = command.failure or _contradiction(now, command, turn.role)
    event = end_attempt(now, command, failure, barred=authors if turn.role == "reviewer" else ())
    yield event
    if not isinstance(event, Settled):
        return
    command = command.model_copy(update={"failure": failure})
    words = content(command, command.reply)
    if turn.role == "synthesizer":
        yield from synthesize(now, replies.without_thinking(words) if command.failure is None else "")
    elif command.failure is not None:
        yield from break_off(now)
    else:
        yield from add_round(now, turn.agent, words)


def _contradiction(now: Talk, command: RecordReply, role: str) -> Failure | None:
    """Tells that a judging voice decides in two ways, for which it is asked once more. It may answer in prose, so a
    reply without a verdict is no contradiction. Under the old rules, nobody is asked again."""
    state = now.state
    part = STRATEGIES[state.strategy].part(len(state.rounds) + 1)
    if role == "synthesizer" or not part.judges or state.retry == ONCE:
        return None
    answer = read(command, partial(findings.check_decision, state.kind))
    return answer if isinstance(answer, Failure) else None


def add_round(now: Talk, agent: str, reply: str) -> Events:
    """Record the round, assess convergence, then close or ask for the next one (K-26, K-30)."""
    number, before = len(now.state.rounds) + 1, now.state.seen
    part = STRATEGIES[now.state.strategy].part(number)
    feedback, problem = findings.read(now.state.kind, reply)
    content = now.text(replies.without_thinking(reply))
    yield voice(now, RoundAdded)(
        message=f"Round {number}: {part.role}.",
        role=part.role,
        round=number,
        agent=agent,
        content=content,
        feedback=feedback,
        problem=problem if part.judges else None,
        sentence=coded(problem) if part.judges else None,
        counted=None if content.digest is None else Text.of(talk(replies.without_thinking(reply)))[0].head,
    )
    state = now.state
    newest = findings.counted_round(state.rounds[-1])
    metrics = assess_next(before, state.seen, partial(findings.counted, state), newest, state.profile)
    yield voice(now, Assessed)(message=f"Convergence {metrics.overall_score:.2f}.", round=number, metrics=metrics)
    yield from close_or_continue(now, number, metrics)


def close_or_continue(now: Talk, number: int, metrics: Metrics) -> Events:
    """The strategy's minimum rounds always take place; after them, the first reason to stop ends the discussion (K-26,
    K-28)."""
    state = now.state
    reason = stop_reason(metrics.recommendation, len(state.rounds), state.max_rounds)
    if reason is None or (reason != "limit" and number < STRATEGIES[state.strategy].minimum):
        yield ask_next(now)
        return
    event, message = ENDS[reason]
    yield now.move("close", voice(now, event), message=message, round=number)
    yield ask_synthesis(now, metrics)


def break_off(now: Talk) -> Events:
    """An agent that fails never means consent: a person decides and sees the error (K-32)."""
    error = now.state.last_error or Sentence("agent_failed")
    event = voice(now, AgentFailed)
    yield now.move(
        "break_off", event, message=str(error), round=len(now.state.rounds), error=str(error), sentence=coded(error)
    )
    yield from ask_person(now)


# -- synthesis -----------------------------------------------------------------------------------------------------


def ask_synthesis(now: Talk, metrics: Metrics) -> TurnRequested:
    """Ask one agent to sum up the rounds, with the figures of convergence (S2)."""
    state = now.state
    part = Part("synthesis", "synthesizer", f"{state.kind}_synthesis", judges=False)
    convergence = (
        f"{state.stop_reason}: agreement {metrics.agreement_ratio:.2f}, stability {metrics.avg_stability:.2f}, "
        f"score {metrics.overall_score:.2f}"
    )
    words: dict[str, str | Text] = {"rounds": findings.rounds(state, "\n\n---\n\n"), "convergence": convergence}
    return ask_part(now, part, words, len(state.rounds))


def synthesize(now: Talk, words: str) -> Events:
    """A failed synthesis is replaced by the rounds themselves, and the record says so (S2)."""
    state, fallback = now.state, not words
    yield now.move(
        "synthesize",
        voice(now, Synthesized),
        message="Synthesis failed: the rounds take its place." if fallback else "Synthesis.",
        role="synthesizer",
        round=len(state.rounds),
        synthesis=now.text(findings.joined(state) if fallback else words),
        fallback=fallback,
        counts=None if fallback else findings.tallies(state.kind, words),
    )
    yield from ask_person(now)


def ask_person(now: Talk) -> Events:
    """Wait for a decision; it expires if the request says so (K-47)."""
    state = now.state
    expires_at = None if state.expires_ms is None else iso(now.at + state.expires_ms)
    yield voice(now, DecisionRequested)(
        message="A person decides.",
        round=len(state.rounds),
        feedback=findings.feedback(state),
        choices=CHOICES[state.kind],
        dissent=findings.dissent(state),
        expires_at=expires_at,
    )
    if expires_at is not None:
        yield ask(now, role="person", agent="person", work="wait", deadline=expires_at, round=len(state.rounds))
