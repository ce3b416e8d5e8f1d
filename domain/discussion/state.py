"""A review or a debate as its events made it: assigns only, decides nothing."""

from dataclasses import dataclass
from typing import Any

from domain.convergence import Metrics, Profile
from domain.discussion.events import (
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
    StopReason,
    Synthesized,
    Transition,
)
from domain.session.children import ParentLink
from domain.session.draft import changed, evolve_turn, stamped
from domain.session.forks import SessionForked
from domain.session.record import kind_of
from domain.session.state import EventMetadata, Session
from domain.values.base import DomainEvent, Text


@dataclass(frozen=True, slots=True, kw_only=True)
class Contribution:
    """What was said in one round."""

    round: int
    role: str
    agent: str
    content: Text
    feedback: dict[str, Any] | None = None
    problem: str | None = None
    counted: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """How it ended: `choice`, and whether a person made it."""

    choice: str
    actor: str = "policy"
    rationale: str = ""
    at: int
    expired: bool = False


@dataclass(kw_only=True)
class Discussion(Session):
    """The state of a review or a debate (behaviour §2.1)."""

    policy: str
    subject: Text
    strategy: str
    max_rounds: int
    profile: Profile
    repository: bool
    lane: int = 0
    about: ParentLink | None = None
    expires_ms: int | None = None
    expires_as: str | None = None
    rounds: tuple[Contribution, ...] = ()
    metrics: tuple[Metrics, ...] = ()
    stop_reason: StopReason | None = None
    synthesis: Text | None = None
    fallback: bool = False
    counts: dict[str, Any] | None = None
    feedback: dict[str, Any] | None = None
    choices: tuple[str, ...] = ()
    dissent: tuple[str, ...] = ()
    expires_at: str | None = None
    waiting_since: int | None = None
    decision: Decision | None = None

    @property
    def status(self) -> str:
        return self.state

    @property
    def ended(self) -> bool:
        return self.state in ("decided", "cancelled")

    def guard(self, _: str) -> bool:
        """The charts of discussions have no guards."""
        return False


_REASONS: dict[type[DiscussionEvent], StopReason] = {
    Converged: "converged",
    Stalled: "stalled",
    LimitReached: "limit",
}


def evolve(session: Discussion | None, event: DomainEvent, metadata: EventMetadata) -> Discussion:
    """The discussion after one more event."""
    if isinstance(event, SessionStarted):
        return _begin(event, metadata)
    assert session is not None, "a discussion begins with session_started"
    if isinstance(event, DiscussionEvent):
        changes = _changes(session, event, metadata.at)
        if isinstance(event, Transition):
            changes["state"] = event.state
        return stamped(session, metadata.at, **changes)
    turned = evolve_turn(session, event, metadata.at)
    return changed(turned, **_forked(session, event))


def _forked(session: Discussion, event: DomainEvent) -> dict[str, object]:
    """A fork reports to nobody, and may be judged by other thresholds from here on."""
    if not isinstance(event, SessionForked):
        return {}
    return {"about": None, "profile": event.profile or session.profile}


def _begin(event: SessionStarted, metadata: EventMetadata) -> Discussion:
    topic = event.topic
    return Discussion(
        id=metadata.session_id,
        kind=kind_of(metadata.session_id),
        state=event.state,
        version=1,
        created_at=metadata.at,
        updated_at=metadata.at,
        title=topic.title,
        origin=topic.origin,
        labels=topic.labels,
        scenario=topic.scenario,
        workspace=topic.workspace,
        home=topic.home,
        tree=topic.tree,
        lane=topic.lane,
        crew=topic.crew,
        parent=topic.parent.session_id if topic.parent else None,
        policy=event.policy,
        subject=topic.subject,
        strategy=topic.strategy,
        max_rounds=topic.max_rounds,
        profile=topic.profile,
        repository=topic.repository,
        about=topic.parent,
        expires_ms=topic.expires_ms,
        expires_as=topic.expires_as,
    )


def _changes(session: Discussion, event: DiscussionEvent, at: int) -> dict[str, object]:
    match event:
        case RoundAdded():
            said = Contribution(
                round=event.round,
                role=event.role,
                agent=event.agent,
                content=event.content,
                feedback=event.feedback,
                problem=event.problem,
                counted=event.counted,
            )
            return {"rounds": (*session.rounds, said)}
        case Assessed():
            return {"metrics": (*session.metrics, event.metrics)}
        case Synthesized():
            return {"synthesis": event.synthesis, "fallback": event.fallback, "counts": event.counts}
        case AgentFailed():
            return {"stop_reason": "error", "last_error": event.error}
        case DecisionRequested():
            return {
                "feedback": event.feedback,
                "choices": event.choices,
                "dissent": event.dissent,
                "expires_at": event.expires_at,
                "waiting_since": at,
            }
        case Decided():
            return {
                "decision": Decision(choice=event.choice, actor=event.actor, rationale=event.rationale, at=at),
                "choices": (),
            }
        case Expired():
            return {"decision": Decision(choice=event.choice, at=at, expired=True), "choices": ()}
        case Cancelled():
            decision = Decision(choice=event.choice, rationale=event.reason, at=at)
            return {"decision": decision, "choices": (), "stop_reason": session.stop_reason or "cancelled"}
        case _:
            reasons = [reason for kind, reason in _REASONS.items() if isinstance(event, kind)]
            return {"stop_reason": reasons[0]} if reasons else {}
