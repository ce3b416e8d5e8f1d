"""What stopped a session, or sent it back last: the failing test, the blocking finding, the turn that failed."""

from typing import Final

from domain.delivery.events import PhaseFailed, ReviewBlockingDetected, ValidationFailed
from domain.discussion.events import AgentFailed
from domain.discussion.state import Discussion
from domain.orchestration.events import VerdictGiven
from domain.session.state import Session
from domain.session.turns import TurnFailed
from domain.values.base import DomainEvent

CAUSES: Final = frozenset(
    {
        "delivery.validation_failed",
        "delivery.review_blocking_detected",
        "delivery.phase_failed",
        "turn.failed",
        "orchestration.verdict_given",
        "review.agent_failed",
        "debate.agent_failed",
    }
)
"""Topics of events that say why."""
_STOPPED: Final = frozenset({"failed", "exhausted", "partial"})


def stopped(session: Session) -> bool:
    """Whether it rests or ended without having done what was asked."""
    asked = isinstance(session, Discussion) and bool(session.choices) and session.stop_reason == "error"
    return session.state in _STOPPED or asked


def evidence(event: DomainEvent) -> tuple[str, ...]:
    """What it was, line by line, as recorded: failing tests, findings, an error. Empty where it was no failure."""
    match event:
        case ValidationFailed():
            return event.new_failures or event.reasons or (event.summary,)
        case ReviewBlockingDetected():
            return tuple(_joined(issue.title, issue.detail) for issue in event.blocking_issues)
        case PhaseFailed():
            return (_joined(event.error_type, event.error_message),)
        case TurnFailed():
            return (_joined(event.failure.code, event.failure.detail),)
        case AgentFailed():
            return (event.error,)
        case VerdictGiven(passed=False):
            return (_joined(event.agent, event.feedback),)
        case _:
            return ()


def _joined(name: str, detail: str) -> str:
    return f"{name}: {detail}" if detail and detail != name else name
