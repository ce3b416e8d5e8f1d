"""The events of a review or a debate, and the digest of what a person decides about.

`topics.py` lists both kinds' events under their own topics.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, ClassVar, Final, Literal

from pydantic import Field

from domain.convergence.assessment import Metrics
from domain.session.children import Choice, DiscussionBrief, ParentLink
from domain.session.team_decisions import DecisionComment
from domain.values.base import DomainEvent, Text, absent, none_listed
from domain.values.budget import Spent
from domain.values.sentences import Sentence

StopReason = Literal["converged", "stalled", "limit", "error", "cancelled"]


class DiscussionEvent(DomainEvent):
    """Role, agent and round."""

    message: str = Field(default="", description="the event as a sentence")
    role: str = Field(default="supervisor", description="who speaks; the supervisor is Hansard itself")
    round: int = Field(default=0, description="0 before the first")


class DiscussionTransition(DiscussionEvent):
    """An event that leads to another state of the chart."""

    state: str = Field(description="the state of the chart that it leads to")


class DiscussionStarted(DiscussionTransition):
    """A discussion started, with this policy, strategy and profile."""

    policy: str = Field(default="discussion@1", description="the version of the rules in force for this session")
    topic: DiscussionBrief = Field(description="what is discussed, and how")


class RoundAdded(DiscussionEvent):
    """An agent contributed. `feedback` is the parsed part; `problem` says why a required part could not be read."""

    agent: str = Field(description="its name")
    content: Text = Field(description="the text, without thinking blocks")
    feedback: dict[str, Any] | None = Field(default=None, description="the parsed feedback")
    problem: str | None = Field(default=None, description="why a required part could not be read")
    sentence: Sentence | None = Field(default=None, description="the problem as data; null in old logs")
    counted: str | None = Field(default=None, description="for a text too long for an event: the part that is scored")


class Assessed(DiscussionEvent):
    """The convergence of the discussion after a round (K-26)."""

    metrics: Metrics = Field(description="agreement, stability, score, and what follows")


class Converged(DiscussionTransition):
    """The agents agree and repeat themselves."""


class Stalled(DiscussionTransition):
    """Agreement does not improve and texts keep changing."""


class LimitReached(DiscussionTransition):
    """The round limit was reached without agreement (K-28)."""


class AgentFailed(DiscussionTransition):
    """An agent failed; a person decides on what there is, or retries (K-32)."""

    error: str = Field(description="what went wrong")
    sentence: Sentence | None = Field(default=None, description="the error as data; null in old logs")


class DiscussionRetried(DiscussionTransition):
    """A person retried the failed turn; every round before it stays."""

    why: str = Field(default="", description="as the person gave it")


class Synthesized(DiscussionTransition):
    """The discussion in one text; a `fallback` is just the rounds, joined."""

    synthesis: Text = Field(description="the text")
    fallback: bool = Field(description="whether it is just the rounds")
    counts: dict[str, Any] | None = Field(
        default=None, description="the verdict and counts at the end of the text, if readable"
    )


class DecisionRequested(DiscussionEvent):
    """The discussion waits for a person to choose one of `choices`."""

    feedback: dict[str, Any] = Field(description="the last judgement and its issues")
    choices: tuple[str, ...] = Field(description="what is open")
    dissent: tuple[str, ...] = Field(default=(), description="what was never agreed, regardless of the metrics")
    expires_at: str | None = Field(default=None, description="ISO instant at which it expires, if it does")


class DecisionVoted(DiscussionEvent):
    """A person voted. The decision falls when enough people chose the same; a later vote replaces an earlier one."""

    TOPIC: ClassVar[str] = "decision.voted"
    choice: str = Field(description="what the person chose")
    actor: str = Field(description="who voted")
    seen: str | None = Field(default=None, description="the digest of what the person had seen, if given")
    rationale: str = Field(default="", description="why, as the person gave it")
    comments: tuple[DecisionComment, ...] = Field(
        default=(), exclude_if=none_listed, description="the person's remarks with it"
    )


class Ending(DiscussionTransition):
    """The outcome of a discussion and its cost."""

    choice: str = Field(description="the choice, or its default")
    feedback: dict[str, Any] = Field(description="the last judgement")
    synthesis: Text = Field(description="the discussion in one text")
    parent: ParentLink | None = Field(default=None, description="the session that waits for it, if any")
    waited: int = Field(default=0, description="milliseconds spent waiting for a person")
    spent: Spent = Field(default=Spent(), description="usage of its turns")
    scripted: bool | None = Field(
        default=None, exclude_if=absent, description="true if a scripted agent took part, which does no real work"
    )


class Decided(Ending):
    """A person decided."""

    actor: str = Field(default="", description="who decided")
    rationale: str = Field(default="", description="why, as the person gave it")
    comments: tuple[DecisionComment, ...] = Field(
        default=(), exclude_if=none_listed, description="the person's remarks with it"
    )


class Expired(Ending):
    """Nobody decided in time, so the policy's default applies. It is not a person's choice."""


class Cancelled(Ending):
    """Cancelled; `choice` is what a reset counts as (K-33)."""

    reason: str = Field(default="", description="as the person gave it")


# -- what a person sees and decides about ------------------------------------------------------------------------------


_ENCODE: Final = json.JSONEncoder(sort_keys=True).encode


def seen_after(seen: str, event: DomainEvent) -> str:
    """The digest after one more event. It is chained, so it covers everything shown so far."""
    shown = _shown(event)
    if shown is None:
        return seen
    return hashlib.sha256((seen + _ENCODE(shown)).encode()).hexdigest()


def _shown(event: DomainEvent) -> list[Any] | None:
    match event:
        case DiscussionStarted(topic=topic):
            return ["subject", _text(topic.subject), topic.tree]
        case RoundAdded():
            return ["round", event.role, event.agent, _text(event.content), event.feedback, event.problem]
        case AgentFailed():
            return ["failed", event.error]
        case DiscussionRetried():
            return ["retried", event.round]
        case Synthesized():
            return ["synthesis", _text(event.synthesis), event.counts]
        case DecisionRequested():
            return ["asked", event.feedback, event.choices, event.dissent]
        case _:
            return None


def _text(text: Text) -> list[Any]:
    return [text.length, text.digest or text.head]


# What the last judgement of a discussion suggests to the person who decides, to show who was overruled (K-32).

_SUGGESTS: Mapping[str, Choice] = {
    "NEEDS_FIX": "apply_fix",
    "PASS": "skip",
    "CHALLENGE": "revise",
    "APPROVE": "accept",
}


def suggested(feedback: Mapping[str, Any] | None) -> Choice | None:
    """The choice that this feedback suggests; None if it is unreadable or the discussion was interrupted."""
    if feedback is None or feedback.get("problem") or feedback.get("error"):
        return None
    return _SUGGESTS.get(str(feedback.get("verdict")))


_GRAVEST_FIRST: Final = ("critical", "major", "minor")


def main_point(feedback: Mapping[str, Any] | None) -> str:
    """Returns what this feedback says in short: its summary, else its concerns, else its gravest issue."""
    feedback = feedback or {}
    concerns = "; ".join(map(str, feedback.get("concerns") or ()))
    issues = [issue for issue in feedback.get("issues") or () if isinstance(issue, Mapping)]
    ranked = {str(issue.get("severity")): str(issue.get("description") or "") for issue in reversed(issues)}
    gravest = next((ranked[severity] for severity in _GRAVEST_FIRST if ranked.get(severity)), "")
    return str(feedback.get("summary") or concerns or gravest)
