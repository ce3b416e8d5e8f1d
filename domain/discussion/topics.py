"""The events of reviews and of debates, each under its own topic."""

from typing import ClassVar

from domain.discussion.events import (
    AgentFailed,
    Assessed,
    Cancelled,
    Converged,
    Decided,
    DecisionRequested,
    DiscussionEvent,
    DiscussionRetried,
    DiscussionStarted,
    Expired,
    LimitReached,
    RoundAdded,
    Stalled,
    Synthesized,
)

# -- reviews ----------------------------------------------------------------------------------------------------------


class ReviewSessionStarted(DiscussionStarted):
    """A review started, with this policy, strategy and profile."""

    TOPIC: ClassVar[str] = "review.session_started"


class ReviewRoundAdded(RoundAdded):
    """An agent contributed. `feedback` is the parsed part; `problem` says why a required part could not be read."""

    TOPIC: ClassVar[str] = "review.round_added"


class ReviewAssessed(Assessed):
    """The convergence of the discussion after a round (K-26)."""

    TOPIC: ClassVar[str] = "review.assessed"


class ReviewConverged(Converged):
    """The agents agree and repeat themselves."""

    TOPIC: ClassVar[str] = "review.converged"


class ReviewStalled(Stalled):
    """Agreement does not improve and texts keep changing."""

    TOPIC: ClassVar[str] = "review.stalled"


class ReviewLimitReached(LimitReached):
    """The round limit was reached without agreement (K-28)."""

    TOPIC: ClassVar[str] = "review.limit_reached"


class ReviewAgentFailed(AgentFailed):
    """An agent failed; a person decides on what there is, or retries (K-32)."""

    TOPIC: ClassVar[str] = "review.agent_failed"


class ReviewRetried(DiscussionRetried):
    """A person retried the failed turn; every round before it stays."""

    TOPIC: ClassVar[str] = "review.retried"


class ReviewSynthesized(Synthesized):
    """The discussion in one text; a `fallback` is just the rounds, joined."""

    TOPIC: ClassVar[str] = "review.synthesized"


class ReviewDecisionRequested(DecisionRequested):
    """The discussion waits for a person to choose one of `choices`."""

    TOPIC: ClassVar[str] = "review.decision_requested"


class ReviewDecided(Decided):
    """A person decided."""

    TOPIC: ClassVar[str] = "review.decided"


class ReviewExpired(Expired):
    """Nobody decided in time, so the policy's default applies. It is not a person's choice."""

    TOPIC: ClassVar[str] = "review.expired"


class ReviewCancelled(Cancelled):
    """Cancelled; `choice` is what a reset counts as (K-33)."""

    TOPIC: ClassVar[str] = "review.cancelled"


# -- debates ----------------------------------------------------------------------------------------------------------


class DebateSessionStarted(DiscussionStarted):
    """A debate started, with this policy, strategy and profile."""

    TOPIC: ClassVar[str] = "debate.session_started"


class DebateRoundAdded(RoundAdded):
    """An agent contributed. `feedback` is the parsed part; `problem` says why a required part could not be read."""

    TOPIC: ClassVar[str] = "debate.round_added"


class DebateAssessed(Assessed):
    """The convergence of the discussion after a round (K-26)."""

    TOPIC: ClassVar[str] = "debate.assessed"


class DebateConverged(Converged):
    """The agents agree and repeat themselves."""

    TOPIC: ClassVar[str] = "debate.converged"


class DebateStalled(Stalled):
    """Agreement does not improve and texts keep changing."""

    TOPIC: ClassVar[str] = "debate.stalled"


class DebateLimitReached(LimitReached):
    """The round limit was reached without agreement (K-28)."""

    TOPIC: ClassVar[str] = "debate.limit_reached"


class DebateAgentFailed(AgentFailed):
    """An agent failed; a person decides on what there is, or retries (K-32)."""

    TOPIC: ClassVar[str] = "debate.agent_failed"


class DebateRetried(DiscussionRetried):
    """A person retried the failed turn; every round before it stays."""

    TOPIC: ClassVar[str] = "debate.retried"


class DebateSynthesized(Synthesized):
    """The discussion in one text; a `fallback` is just the rounds, joined."""

    TOPIC: ClassVar[str] = "debate.synthesized"


class DebateDecisionRequested(DecisionRequested):
    """The discussion waits for a person to choose one of `choices`."""

    TOPIC: ClassVar[str] = "debate.decision_requested"


class DebateDecided(Decided):
    """A person decided."""

    TOPIC: ClassVar[str] = "debate.decided"


class DebateExpired(Expired):
    """Nobody decided in time, so the policy's default applies. It is not a person's choice."""

    TOPIC: ClassVar[str] = "debate.expired"


class DebateCancelled(Cancelled):
    """Cancelled; `choice` is what a reset counts as (K-33)."""

    TOPIC: ClassVar[str] = "debate.cancelled"


EVENTS_OF: dict[str, dict[type[DiscussionEvent], type[DiscussionEvent]]] = {
    "review": {
        DiscussionStarted: ReviewSessionStarted,
        RoundAdded: ReviewRoundAdded,
        Assessed: ReviewAssessed,
        Converged: ReviewConverged,
        Stalled: ReviewStalled,
        LimitReached: ReviewLimitReached,
        AgentFailed: ReviewAgentFailed,
        DiscussionRetried: ReviewRetried,
        Synthesized: ReviewSynthesized,
        DecisionRequested: ReviewDecisionRequested,
        Decided: ReviewDecided,
        Expired: ReviewExpired,
        Cancelled: ReviewCancelled,
    },
    "debate": {
        DiscussionStarted: DebateSessionStarted,
        RoundAdded: DebateRoundAdded,
        Assessed: DebateAssessed,
        Converged: DebateConverged,
        Stalled: DebateStalled,
        LimitReached: DebateLimitReached,
        AgentFailed: DebateAgentFailed,
        DiscussionRetried: DebateRetried,
        Synthesized: DebateSynthesized,
        DecisionRequested: DebateDecisionRequested,
        Decided: DebateDecided,
        Expired: DebateExpired,
        Cancelled: DebateCancelled,
    },
}
"""For each kind, its own class of every event."""
