"""What happens in a review or a debate. Both have the same events, each under topics of its own."""

from typing import Any, ClassVar, Literal

from pydantic import Field

from domain.convergence import Metrics
from domain.session.children import DiscussionBrief, ParentLink
from domain.values.base import DomainEvent, Text
from domain.values.budget import Spent

StopReason = Literal["converged", "stalled", "limit", "error", "cancelled"]


class DiscussionEvent(DomainEvent):
    """Who says what in which round."""

    message: str = Field(default="", description="the event as a sentence")
    role: str = Field(default="supervisor", description="who speaks; the supervisor is Hansard itself")
    round: int = Field(default=0, description="0 before the first")


class DiscussionTransition(DiscussionEvent):
    """An event that leads to another state of the chart."""

    state: str = Field(description="the state of the chart that it leads to")


class DiscussionStarted(DiscussionTransition):
    """A discussion begins, under this policy, strategy and profile."""

    policy: str = Field(default="discussion@1", description="the version of the rules in force for this session")
    topic: DiscussionBrief = Field(description="what is discussed, and how")


class RoundAdded(DiscussionEvent):
    """Somebody spoke. `feedback` is what could be read of it; `problem` says why what was needed could not be."""

    agent: str = Field(description="its name")
    content: Text = Field(description="what was said, without thinking blocks")
    feedback: dict[str, Any] | None = Field(default=None, description="what could be read of it")
    problem: str | None = Field(default=None, description="why what was needed could not be read")
    counted: str | None = Field(default=None, description="of a text too long for an event: the talk that is counted")


class Assessed(DiscussionEvent):
    """Where the discussion stands after a round (K-26)."""

    metrics: Metrics = Field(description="agreement, stability, score, and what follows")


class Converged(DiscussionTransition):
    """The voices agree and repeat themselves."""


class Stalled(DiscussionTransition):
    """Nothing improves and nothing is said again."""


class LimitReached(DiscussionTransition):
    """The rounds are used up without an agreement (K-28)."""


class AgentFailed(DiscussionTransition):
    """An agent did not answer; a person has to decide on what there is (K-32)."""

    error: str = Field(description="what went wrong")


class DiscussionRetried(DiscussionTransition):
    """A person has the turn that failed asked again; every round before it stays."""

    why: str = Field(default="", description="as the person gave it")


class Synthesized(DiscussionTransition):
    """The discussion in one text; a `fallback` is only its rounds, joined."""

    synthesis: Text = Field(description="the text")
    fallback: bool = Field(description="whether it is only the rounds")
    counts: dict[str, Any] | None = Field(
        default=None, description="the verdict and tallies that the text ends with, where they could be read"
    )


class DecisionRequested(DiscussionEvent):
    """It waits for a person, who may choose one of `choices`."""

    feedback: dict[str, Any] = Field(description="the last judgement, and what is wrong with it")
    choices: tuple[str, ...] = Field(description="what is open")
    dissent: tuple[str, ...] = Field(default=(), description="what was never agreed, whatever the metrics say")
    expires_at: str | None = Field(default=None, description="ISO instant at which it expires, if it does")


class Ending(DiscussionTransition):
    """What a discussion came to, and what it cost."""

    choice: str = Field(description="what was chosen, or stands in for it")
    feedback: dict[str, Any] = Field(description="the last judgement")
    synthesis: Text = Field(description="the discussion in one text")
    parent: ParentLink | None = Field(default=None, description="who waits for it, if anybody")
    waited: int = Field(default=0, description="milliseconds for which a person was waited for")
    spent: Spent = Field(default=Spent(), description="what its turns cost")


class Decided(Ending):
    """A person has chosen."""

    actor: str = Field(default="", description="who chose")
    rationale: str = Field(default="", description="why, as the person gave it")


class Expired(Ending):
    """Nobody has chosen in time; the policy's default stands in. This is nobody's choice."""


class Cancelled(Ending):
    """Called off; `choice` is what a reset stands for (K-33)."""

    reason: str = Field(default="", description="as the person gave it")


# -- reviews ----------------------------------------------------------------------------------------------------------


class ReviewSessionStarted(DiscussionStarted):
    """A review begins, under this policy, strategy and profile."""

    TOPIC: ClassVar[str] = "review.session_started"


class ReviewRoundAdded(RoundAdded):
    """Somebody spoke. `feedback` is what could be read of it; `problem` says why what was needed could not be."""

    TOPIC: ClassVar[str] = "review.round_added"


class ReviewAssessed(Assessed):
    """Where the discussion stands after a round (K-26)."""

    TOPIC: ClassVar[str] = "review.assessed"


class ReviewConverged(Converged):
    """The voices agree and repeat themselves."""

    TOPIC: ClassVar[str] = "review.converged"


class ReviewStalled(Stalled):
    """Nothing improves and nothing is said again."""

    TOPIC: ClassVar[str] = "review.stalled"


class ReviewLimitReached(LimitReached):
    """The rounds are used up without an agreement (K-28)."""

    TOPIC: ClassVar[str] = "review.limit_reached"


class ReviewAgentFailed(AgentFailed):
    """An agent did not answer; a person has to decide on what there is (K-32)."""

    TOPIC: ClassVar[str] = "review.agent_failed"


class ReviewRetried(DiscussionRetried):
    """A person has the turn that failed asked again; every round before it stays."""

    TOPIC: ClassVar[str] = "review.retried"


class ReviewSynthesized(Synthesized):
    """The discussion in one text; a `fallback` is only its rounds, joined."""

    TOPIC: ClassVar[str] = "review.synthesized"


class ReviewDecisionRequested(DecisionRequested):
    """It waits for a person, who may choose one of `choices`."""

    TOPIC: ClassVar[str] = "review.decision_requested"


class ReviewDecided(Decided):
    """A person has chosen."""

    TOPIC: ClassVar[str] = "review.decided"


class ReviewExpired(Expired):
    """Nobody has chosen in time; the policy's default stands in. This is nobody's choice."""

    TOPIC: ClassVar[str] = "review.expired"


class ReviewCancelled(Cancelled):
    """Called off; `choice` is what a reset stands for (K-33)."""

    TOPIC: ClassVar[str] = "review.cancelled"


# -- debates ----------------------------------------------------------------------------------------------------------


class DebateSessionStarted(DiscussionStarted):
    """A debate begins, under this policy, strategy and profile."""

    TOPIC: ClassVar[str] = "debate.session_started"


class DebateRoundAdded(RoundAdded):
    """Somebody spoke. `feedback` is what could be read of it; `problem` says why what was needed could not be."""

    TOPIC: ClassVar[str] = "debate.round_added"


class DebateAssessed(Assessed):
    """Where the discussion stands after a round (K-26)."""

    TOPIC: ClassVar[str] = "debate.assessed"


class DebateConverged(Converged):
    """The voices agree and repeat themselves."""

    TOPIC: ClassVar[str] = "debate.converged"


class DebateStalled(Stalled):
    """Nothing improves and nothing is said again."""

    TOPIC: ClassVar[str] = "debate.stalled"


class DebateLimitReached(LimitReached):
    """The rounds are used up without an agreement (K-28)."""

    TOPIC: ClassVar[str] = "debate.limit_reached"


class DebateAgentFailed(AgentFailed):
    """An agent did not answer; a person has to decide on what there is (K-32)."""

    TOPIC: ClassVar[str] = "debate.agent_failed"


class DebateRetried(DiscussionRetried):
    """A person has the turn that failed asked again; every round before it stays."""

    TOPIC: ClassVar[str] = "debate.retried"


class DebateSynthesized(Synthesized):
    """The discussion in one text; a `fallback` is only its rounds, joined."""

    TOPIC: ClassVar[str] = "debate.synthesized"


class DebateDecisionRequested(DecisionRequested):
    """It waits for a person, who may choose one of `choices`."""

    TOPIC: ClassVar[str] = "debate.decision_requested"


class DebateDecided(Decided):
    """A person has chosen."""

    TOPIC: ClassVar[str] = "debate.decided"


class DebateExpired(Expired):
    """Nobody has chosen in time; the policy's default stands in. This is nobody's choice."""

    TOPIC: ClassVar[str] = "debate.expired"


class DebateCancelled(Cancelled):
    """Called off; `choice` is what a reset stands for (K-33)."""

    TOPIC: ClassVar[str] = "debate.cancelled"


VOICES: dict[str, dict[type[DiscussionEvent], type[DiscussionEvent]]] = {
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
"""The event of a kind for what is said in it."""

EVENTS: tuple[type[DomainEvent], ...] = tuple(event for voice in VOICES.values() for event in voice.values())
