"""What happens in a review or a debate. Both kinds say the same things, each under topics of its own."""

from typing import Any, ClassVar, Literal

from pydantic import Field

from domain.base import DomainEvent, Text
from domain.budget import Spent
from domain.convergence import Metrics
from domain.discussion.topic import Link, Topic

StopReason = Literal["converged", "stalled", "limit", "error", "cancelled"]


class DiscussionEvent(DomainEvent):
    message: str = ""
    role: str = "supervisor"
    round: int = 0


class Transition(DiscussionEvent):
    """An event that leads to another state of the chart."""

    state: str


class SessionStarted(Transition):
    """A discussion begins, under this policy, strategy and profile."""

    policy: str = "discussion@1"
    topic: Topic


class RoundAdded(DiscussionEvent):
    """Somebody spoke. `feedback` is what could be read of it; `problem` says why what was needed could not be."""

    agent: str
    content: Text = Field(description="what was said, without thinking blocks")
    feedback: dict[str, Any] | None = None
    problem: str | None = None
    counted: str | None = Field(default=None, description="of a text too long for an event: the talk that is counted")


class Assessed(DiscussionEvent):
    """Where the discussion stands after a round (K-26)."""

    metrics: Metrics


class Converged(Transition):
    """The voices agree and repeat themselves."""


class Stalled(Transition):
    """Nothing improves and nothing is said again."""


class LimitReached(Transition):
    """The rounds are used up without an agreement (K-28)."""


class AgentFailed(Transition):
    """An agent did not answer; a person has to decide on what there is (K-32)."""

    error: str


class Synthesized(Transition):
    """The discussion in one text; a `fallback` is only its rounds, joined."""

    synthesis: Text
    fallback: bool
    counts: dict[str, Any] | None = None


class DecisionRequested(DiscussionEvent):
    """It waits for a person, who may choose one of `choices`."""

    feedback: dict[str, Any]
    choices: tuple[str, ...]
    dissent: tuple[str, ...] = ()
    expires_at: str | None = None


class Ending(Transition):
    """What a discussion came to, and what it cost."""

    choice: str
    feedback: dict[str, Any]
    synthesis: Text
    parent: Link | None = None
    waited: int = Field(default=0, description="milliseconds for which a person was waited for")
    spent: Spent = Field(default=Spent(), description="what its turns cost")


class Decided(Ending):
    """A person has chosen."""

    actor: str = ""
    rationale: str = ""


class Expired(Ending):
    """Nobody has chosen in time; the policy's default stands in. This is nobody's choice."""


class Cancelled(Ending):
    """Called off; `choice` is what a reset stands for (K-33)."""

    reason: str = ""


_LAST_PARTS: dict[type[DiscussionEvent], str] = {
    SessionStarted: "session_started",
    RoundAdded: "round_added",
    Assessed: "assessed",
    Converged: "converged",
    Stalled: "stalled",
    LimitReached: "limit_reached",
    AgentFailed: "agent_failed",
    Synthesized: "synthesized",
    DecisionRequested: "decision_requested",
    Decided: "decided",
    Expired: "expired",
    Cancelled: "cancelled",
}


def _named(kind: str, event: type[DiscussionEvent], last_part: str) -> type[DiscussionEvent]:
    fields = {"TOPIC": f"{kind}.{last_part}", "__module__": __name__, "__doc__": event.__doc__}
    annotations = {"__annotations__": {"TOPIC": ClassVar[str]}}
    return type(f"{kind.title()}{event.__name__}", (event,), fields | annotations)


VOICES: dict[str, dict[type[DiscussionEvent], type[DiscussionEvent]]] = {
    kind: {event: _named(kind, event, last_part) for event, last_part in _LAST_PARTS.items()}
    for kind in ("review", "debate")
}
"""The event of a kind for what is said in it."""

EVENTS: tuple[type[DomainEvent], ...] = tuple(event for voice in VOICES.values() for event in voice.values())
