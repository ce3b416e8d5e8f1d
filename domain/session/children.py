"""Parents and children: a session requests a discussion, and the discussion reports back (S2, K-24, K-25)."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from pydantic import Field

from domain.convergence.profiles import Profile
from domain.session.attempts import ONCE, RetryPolicy
from domain.session.team_decisions import DecisionComment, TeamPolicy
from domain.session.workspace import ReviewedDiff
from domain.values.base import Command, DomainEvent, Text, Value, absent
from domain.values.budget import Spent


@dataclass(frozen=True, slots=True)
class OpenChild:
    """A discussion that is still open."""

    kind: str
    about: str
    requested_at: int


NO_DECISION = "waits_for_no_decision"
Choice = Literal["apply_fix", "skip", "revise", "accept"]
"""What a person may choose at the end of a review or a debate."""


class ReviewSettings(Value):
    """How a session has its plan or work discussed."""

    strategy: str = Field(description="review, red-team, debate or perspectives")
    max_rounds: int = Field(description="the effective limit")
    profile: Profile = Field(description="the convergence thresholds")
    expires_ms: int | None = Field(default=None, description="how long a decision may wait")
    expires_as: str | None = Field(default=None, description="the default decision in that case")


class ParentLink(Value):
    """The session that asked for this discussion, and what of it is discussed."""

    session_id: str = Field(description="the parent")
    about: str = Field(description="plan, agent:<place> or delivery")


class DiscussionBrief(Value):
    """The start request of a discussion."""

    subject: Text = Field(description="the text to discuss")
    strategy: str = Field(description="review, red-team, debate or perspectives")
    max_rounds: int = Field(description="the effective limit: the larger of setting and the strategy's minimum")
    profile: Profile = Field(description="the convergence thresholds")
    title: str = ""
    origin: str = Field(default="", description="where the request came from")
    labels: tuple[str, ...] = ()
    workspace: str | None = Field(default=None, description="the given folder; null for a new one")
    repository: bool = Field(default=False, description="whether that folder is in a git repository")
    started_in: str | None = Field(
        default=None, exclude_if=absent, description="the top folder of the repository that it was started in"
    )
    home: str | None = Field(default=None, description="the session whose workspace is used; default: its own")
    tree: str | None = Field(default=None, description="the state of that workspace under discussion")
    lane: int = Field(default=0, description="the discussion's own worktree in that workspace")
    scenario: Text | None = Field(default=None, description="the replies of scripted agents in this session")
    crew: dict[str, str] = Field(default={}, description="the agent's name for each role")
    recast: dict[str, str] | None = Field(
        default=None, exclude_if=absent, description="the agents that a fork gave a role, by role"
    )
    models: dict[str, str] | None = Field(
        default=None, exclude_if=absent, description="the models that a fork chose, by agent"
    )
    parent: ParentLink | None = Field(default=None, description="the parent session, if any")
    expires_ms: int | None = Field(default=None, description="how long a decision may wait")
    expires_as: str | None = Field(default=None, description="the default decision in that case")
    retry: RetryPolicy = Field(default=ONCE, description="how failed turns are retried")
    authors: tuple[str, ...] = Field(default=(), description="the agents who wrote what is reviewed")
    decisions: TeamPolicy = None
    reviewed: ReviewedDiff | None = Field(
        default=None, exclude_if=absent, description="the uncommitted changes that are reviewed, if it is about those"
    )


class ChildRequested(DomainEvent):
    """A review or debate was requested; the child session starts in the same transaction."""

    TOPIC: ClassVar[str] = "session.child_requested"
    message: str = Field(default="", description="the event as a sentence")
    role: str = Field(default="supervisor", description="who speaks; the supervisor is Hansard itself")
    child_id: str = Field(description="the review or debate")
    child_kind: str = Field(description="review or debate")
    about: str = Field(description="plan, agent:<place> or delivery")
    topic: DiscussionBrief = Field(description="its start request")


class ChildClosed(DomainEvent):
    """The discussion is over, with the choice of a person or the default."""

    TOPIC: ClassVar[str] = "session.child_closed"
    message: str = Field(default="", description="the event as a sentence")
    role: str = Field(default="supervisor", description="who speaks; the supervisor is Hansard itself")
    child_id: str = Field(description="the review or debate")
    about: str = Field(description="plan, agent:<place> or delivery")
    choice: str = Field(description="the choice, or its default")
    by: str = Field(description="person, policy or cancelled")
    synthesis: Text = Field(description="the discussion in one text")
    feedback: dict[str, Any] = Field(description="the last judgement")
    rounds: int = Field(description="number of rounds")
    waited: int = Field(default=0, description="milliseconds spent waiting for a person")
    spent: Spent = Field(default=Spent(), description="usage of its turns")
    scripted: bool | None = Field(
        default=None, exclude_if=absent, description="true if a scripted agent took part, which does no real work"
    )


EVENTS: tuple[type[DomainEvent], ...] = (ChildRequested, ChildClosed)


class Decide(Command):
    """A person's decision; `version` is the one they saw, `seen` the digest of what it showed, if they sent them."""

    REFUSAL: ClassVar[str] = NO_DECISION
    ACTION: ClassVar[str] = "decision"
    choice: Choice
    rationale: str = ""
    actor: str = ""
    version: int | None = None
    seen: str | None = None
    comments: tuple[DecisionComment, ...] = ()


class CloseChild(Command):
    """A child reports to its parent how it ended."""

    child_id: str
    choice: str
    by: str
    synthesis: Text
    feedback: dict[str, Any]
    rounds: int
    waited: int = 0
    spent: Spent = Spent()
    scripted: bool | None = None


def child_id(parent_id: str, kind: str, number: int) -> str:
    """The id of a parent's n-th child: `review-<the parent's own part>c2`."""
    return f"{kind}-{parent_id.partition('-')[2]}c{number}"


def fix_feedback(feedback: dict[str, Any], synthesis: Text) -> str:
    """The result of a step that has to be fixed (behaviour §2.4)."""
    return fix_issues(feedback) + (f"\n\n[Synthesis]: {synthesis.head}" if synthesis.length else "")


def fix_issues(feedback: dict[str, Any]) -> str:
    """Returns what has to be fixed: the summary and a line for each issue."""
    summary = f"[Review NEEDS_FIX] {feedback.get('summary', '')}".rstrip()
    return "\n".join([summary, *(_issue(issue) for issue in feedback.get("issues") or ())])


def _issue(issue: dict[str, Any]) -> str:
    suggestion = issue.get("suggestion")
    return f"- **[{issue['severity']}]** {issue['description']}" + (f" → {suggestion}" if suggestion else "")
