"""Every event as a sentence, and which of them a reader should not miss (S4 §8, behaviour §3.5)."""

from collections.abc import Mapping

from domain.session.turns import TurnAnswered, TurnFailed, TurnRequested
from domain.values.base import DomainEvent

_TOLD = "{0.message}"
"""The event brings its own sentence."""

_TURNS = {
    "turn.requested": "{0.agent} is asked ({0.role}).",
    "turn.answered": "{0.agent} answered after {0.seconds:.1f} s.",
    "turn.failed": "{0.agent} failed after {0.seconds:.1f} s ({0.failure.code}).",
    "turn.cancelled": "The turn of {0.agent} was called off ({0.reason}).",
    "session.agent_sessions_cleared": "The agents' conversations are over ({0.reason}).",
    "session.forked": _TOLD,
    "session.diverged": _TOLD,
    "session.released": _TOLD,
    "session.child_requested": "A {0.child_kind} of {0.about} begins: {0.child_id}.",
    "session.child_closed": "{0.child_id}, about {0.about}, ended: {0.choice} (by {0.by}).",
}
_DELIVERY = dict.fromkeys(
    (
        "session_started", "phase_started", "phase_completed", "phase_failed", "phase_skipped", "artifact_created",
        "attempt_started", "tests_passed", "validation_failed", "review_blocking_detected", "review_approved",
        "review_held", "fix_requested", "budget_exhausted", "budget_extended", "branch_published", "session_finished",
    ),
    _TOLD,
)  # fmt: skip
_ORCHESTRATION = {
    "session_started": "A request came in; its mode is {0.mode}.",
    "plan_refused": "The plan does not hold (attempt {0.attempt}): {0.reasons[0]}",
    "plan_made": "Version {0.plan_version} of the plan. {0.message}",
    "round_start": _TOLD,
    "work_reported": "{0.agent} reported in round {0.round} ({0.result}).",
    "judging_started": "Round {0.round} is judged.",
    "verdict_unreadable": "The verdict of round {0.round} could not be read (attempt {0.attempt}): {0.problem}",
    "verdict_refused": "A verdict was refused: {0.agent} {0.reason}.",
    "verdict_given": _TOLD,
    "review_started": _TOLD,
    "verdict_overturned": _TOLD,
    "plan_returned": _TOLD,
    "round_done": _TOLD,
    "checkpoint_reached": _TOLD,
    "partial_reached": _TOLD,
    "completed": "The request is done.",
    "orchestrate_done": "The run rests: {0.status}.",
    "continued": "Continued, up to round {0.last_round}.",
    "rounds_added": _TOLD,
    "reset": "Reset: {0.message}",
}
_DISCUSSION = {
    "session_started": "The discussion begins ({0.topic.strategy}, at most {0.topic.max_rounds} rounds).",
    "round_added": "Round {0.round}: {0.agent} spoke ({0.role}).",
    "assessed": "Convergence {0.metrics.overall_score:.2f} after round {0.round} ({0.metrics.recommendation}).",
    "converged": _TOLD,
    "stalled": _TOLD,
    "limit_reached": _TOLD,
    "agent_failed": "An agent failed: {0.error}",
    "synthesized": _TOLD,
    "decision_requested": "A person decides.",
    "decided": "{0.message}",
    "expired": _TOLD,
    "cancelled": "Called off: {0.message}",
}
_CHANNEL = {
    "message_started": "A message starts {0.session_id}.",
    "message_queued": "A message waits; there are {0.pending}.",
    "message_unclear": "A message was unclear ({0.text}).",
    "message_rejected": "A message led to nothing ({0.reason}).",
    "continue_wanted": "{0.session_id} is to go on.",
    "reset_wanted": "{0.session_id} is to be reset.",
    "session_noted": "{0.session_id} is {0.status}.",
}


def _of(kind: str, sentences: Mapping[str, str]) -> dict[str, str]:
    return {f"{kind}.{last_part}": sentence for last_part, sentence in sentences.items()}


SENTENCES: dict[str, str] = {
    **_TURNS,
    **_of("delivery", _DELIVERY),
    **_of("orchestration", _ORCHESTRATION),
    **_of("review", _DISCUSSION),
    **_of("debate", _DISCUSSION),
    **_of("channel", _CHANNEL),
}
"""By topic; the places are fields of the event."""

HIGHLIGHTED = frozenset(
    {
        "delivery.review_blocking_detected", "delivery.review_approved", "delivery.budget_exhausted",
        "delivery.budget_extended", "delivery.phase_failed", "delivery.session_finished", "orchestration.plan_made",
        "orchestration.plan_refused", "orchestration.plan_returned", "orchestration.verdict_given",
        "orchestration.verdict_unreadable", "orchestration.verdict_overturned", "orchestration.checkpoint_reached",
        "orchestration.partial_reached", "orchestration.completed", "orchestration.continued",
        "orchestration.rounds_added", "orchestration.reset", "session.child_closed", "session.forked",
        "session.diverged",
        *(
            f"{kind}.{last_part}"
            for kind in ("review", "debate")
            for last_part in (
                "converged", "stalled", "limit_reached", "agent_failed", "decision_requested", "decided", "expired",
                "cancelled",
            )
        ),
    }
)  # fmt: skip

_WORK = {
    "validate": "The validation commands are to be run.",
    "package": "The work is to be handed over.",
    "wait": "It waits for a person.",
}


def message(event: DomainEvent) -> str:
    """The event as a sentence; one that an older log left without words is told by its name."""
    match event:
        case TurnRequested(work=work) if work in _WORK:
            return _WORK[work]
        case TurnRequested(phase=phase) if phase:
            return f"{event.agent} is asked ({event.role}, {phase})."
        case TurnAnswered() if not event.prompt.length:
            return f"{event.agent} finished after {event.seconds:.1f} s."
        case TurnFailed() if event.failure.detail:
            return f"{event.agent} failed after {event.seconds:.1f} s ({event.failure.code}): {event.failure.detail}"
        case _:
            return _sentence(event) or f"{event.TOPIC.rpartition('.')[2].replace('_', ' ').capitalize()}."


def _sentence(event: DomainEvent) -> str:
    try:
        return SENTENCES.get(event.TOPIC, "").format(event).strip()
    except IndexError:  # a list that was empty
        return ""
