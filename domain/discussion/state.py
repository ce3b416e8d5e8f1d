"""The state of a review or a debate, folded from its events; only assigns and decides nothing."""

import json
from dataclasses import dataclass, replace
from typing import Any

from domain.convergence.assessment import Metrics
from domain.convergence.profiles import Profile
from domain.discussion.events import (
    AgentFailed,
    Assessed,
    Cancelled,
    Converged,
    Decided,
    DecisionRequested,
    DecisionVoted,
    DiscussionRetried,
    DiscussionStarted,
    DiscussionTransition,
    Expired,
    LimitReached,
    RoundAdded,
    Stalled,
    StopReason,
    Synthesized,
    seen_after,
)
from domain.session import waits
from domain.session.children import ParentLink
from domain.session.forks import SessionForked
from domain.session.record import kind_of
from domain.session.state import EventMetadata, Session, evolve_shared
from domain.session.team_decisions import DecisionComment, Vote
from domain.session.workspace import ReviewedDiff
from domain.values.base import DomainEvent, Text
from domain.values.sentences import Sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundContribution:
    """A contribution to a round."""

    round: int
    role: str
    agent: str
    content: Text
    feedback: dict[str, Any] | None = None
    problem: Sentence | str | None = None
    counted: str | None = None
    stand_in: bool = False
    """Whether a person wrote it, for the agent."""

    @property
    def line(self) -> str:
        """As the prompts of later rounds show it."""
        return f"[Round {self.round} - {self.role}]\n{self.quoted}"

    @property
    def quoted(self) -> str:
        """The text; for a very long one, the beginning and the feedback at the end."""
        shown = self.content.shown()
        if self.content.digest is None or self.feedback is None:
            return shown
        return f"{shown}\n\n{json.dumps(self.feedback, ensure_ascii=False)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRecord:
    """The decision that ended it: its `choice`, who made it, and when (milliseconds)."""

    choice: str
    actor: str = "policy"
    rationale: str = ""
    at: int
    expired: bool = False
    votes: tuple[Vote, ...] = ()
    comments: tuple[DecisionComment, ...] = ()


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
    authors: tuple[str, ...] = ()
    """The agents who wrote the work under review."""
    uncommitted: ReviewedDiff | None = None
    """The person's uncommitted changes, if it is about those."""
    rounds: tuple[RoundContribution, ...] = ()
    round_bytes: int = 0
    """UTF-8 bytes of all rounds, as prompts show them."""
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
    decision: DecisionRecord | None = None
    seen: str = ""
    """The digest of everything that a person sees."""
    votes: tuple[Vote, ...] = ()
    """One vote per person, until the decision is made."""

    @property
    def status(self) -> str:
        return self.state

    @property
    def ended(self) -> bool:
        return self.state in ("decided", "cancelled")

    @property
    def reason(self) -> str | None:
        """Returns why its rounds are over, as a short code; None while they are not."""
        return "turn_failed" if self.stop_reason == "error" else self.stop_reason

    @property
    def wait(self) -> waits.Need | None:
        if not self.choices:
            return None
        return waits.decision(self.stop_reason, self.choices, interrupted=self.guard("broken_off"))

    def guard(self, name: str) -> bool:
        match name:
            case "waits":
                return self.waits
            case "broken_off":
                return self.stop_reason == "error" and self.failed_turn is not None
            case _:
                return False


def evolve(discussion: Discussion | None, event: DomainEvent, metadata: EventMetadata) -> Discussion:
    """The discussion after one more event."""
    if isinstance(event, DiscussionStarted):
        return _begin(event, metadata)
    assert discussion is not None, "a discussion begins with session_started"
    state = discussion.next(metadata)
    state.seen = seen_after(state.seen, event)
    if isinstance(event, DiscussionTransition):
        state.state = event.state
    match event:
        case RoundAdded():
            entry = replace(contribution(event), stand_in=state.stand_in)
            state.rounds = (*state.rounds, entry)
            state.round_bytes += len(entry.line.encode())
        case Assessed():
            state.metrics = (*state.metrics, event.metrics)
        case Converged():
            state.stop_reason = "converged"
        case Stalled():
            state.stop_reason = "stalled"
        case LimitReached():
            state.stop_reason = "limit"
        case AgentFailed():
            state.stop_reason, state.last_error = "error", event.sentence or event.error
        case Synthesized():
            state.synthesis, state.fallback, state.counts = event.synthesis, event.fallback, event.counts
        case DecisionRequested():
            state.feedback, state.choices, state.dissent = event.feedback, event.choices, event.dissent
            state.expires_at, state.waiting_since = event.expires_at, metadata.at
        case DecisionVoted():
            vote = Vote(event.actor, event.choice, event.rationale, metadata.at, event.comments)
            state.votes = (*(each for each in state.votes if each.actor != event.actor), vote)
        case DiscussionRetried():
            state.stop_reason = state.feedback = state.expires_at = state.waiting_since = None
            state.choices = state.dissent = state.votes = ()
        case Decided() | Expired() | Cancelled():
            state.decision, state.choices = _decision(event, state.votes, metadata.at), ()
            state.votes = ()
            if isinstance(event, Cancelled):
                state.stop_reason = state.stop_reason or "cancelled"
        case SessionForked():
            evolve_shared(state, event, metadata.at)
            state.about = None  # a fork has no parent
            state.profile = event.profile or state.profile
            if event.wait is not None and state.choices:  # it waits for a person
                state.expires_at, state.waiting_since = event.wait.deadline, metadata.at
        case _:
            evolve_shared(state, event, metadata.at)
    return state


def _begin(event: DiscussionStarted, metadata: EventMetadata) -> Discussion:
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
        recast=topic.recast or {},
        models=topic.models or {},
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
        retry=topic.retry,
        authors=topic.authors,
        uncommitted=topic.reviewed,
        decisions=topic.decisions,
        seen=seen_after("", event),
    )


def contribution(event: RoundAdded) -> RoundContribution:
    """Returns what the state keeps of it."""
    return RoundContribution(
        round=event.round,
        role=event.role,
        agent=event.agent,
        content=event.content,
        feedback=event.feedback,
        problem=event.sentence or event.problem,
        counted=event.counted,
    )


def _decision(event: Decided | Expired | Cancelled, votes: tuple[Vote, ...], at: int) -> DecisionRecord:
    match event:
        case Decided():
            chosen = tuple(vote for vote in votes if vote.choice == event.choice)
            return DecisionRecord(
                choice=event.choice,
                actor=event.actor,
                rationale=event.rationale,
                at=at,
                votes=chosen,
                comments=event.comments,
            )
        case Expired():
            return DecisionRecord(choice=event.choice, at=at, expired=True)
        case Cancelled():
            return DecisionRecord(choice=event.choice, rationale=event.reason, at=at)
