"""Turns: what an agent is asked, and what came of it. Shared by every kind of session.

A turn is requested by an event, leased to a worker, and settled exactly once: answered, failed or cancelled. Agents are
asked at least once; the outcome is recorded exactly once.
"""

from typing import ClassVar, Final, Literal, get_args

from pydantic import Field

from domain.session import permissions
from domain.session.activity import ActivityRecorded, ActivitySummary
from domain.session.attempts import Failure, Work
from domain.session.workspace import BranchWas, PeopleCommits, ReviewedLines, WorkspaceChanges, WorkspacePrepared
from domain.values.base import Command, Count, DomainEvent, Text, Usage, absent, none_listed
from domain.values.network import RefusedHost
from domain.values.sentences import Sentence

Access = Literal["none", "read", "write"]
FenceLevel = Literal["bwrap", "landlock", "none"]
"""What held the programs of a turn, the strongest first."""


def weakest(one: FenceLevel | None, other: FenceLevel | None) -> FenceLevel | None:
    """The weaker of two fences; null if nothing was run."""
    levels = get_args(FenceLevel)
    return max((level for level in (one, other) if level), key=levels.index, default=None)


SCRIPTED: Final = "scripted:"
"""How the handle of a scripted agent's conversation begins."""


class TurnRequested(DomainEvent):
    """A turn was requested: `work` says whether an agent is asked or commands are run."""

    TOPIC: ClassVar[str] = "turn.requested"
    turn_id: str
    work: Work
    agent: str
    role: str
    prompt: str = Field(default="", description="name of the prompt, then @ and its version")
    context: dict[str, Text] = Field(default_factory=dict, description="the values for the prompt's placeholders")
    reads: str = Field(default="text", description="the kind of reply expected (`domain/replies`)")
    expects: tuple[str, ...] = Field(default=(), description="the agents to be judged")
    lane: Count = Field(default=0, description="the worktree; agents that work at the same time have their own")
    access: Access = Field(default="none", description="the agent's access to the workspace")
    ordinal: Count = Field(default=0, description="number of earlier turns of this agent in the session")
    role_ordinal: Count = Field(default=0, description="number of earlier turns of this role in the session")
    agent_session: str | None = Field(default=None, description="the conversation to resume, if any")
    deadline: str | None = Field(default=None, description="ISO instant at which the turn is stopped")
    phase: str | None = None
    iteration: int | None = None
    round: int | None = None


class Settled(DomainEvent):
    """The end of a turn, accepted only from the attempt that holds the lease."""

    turn_id: str
    attempt: int = Field(description="0 if no attempt ran: cancelled or expired while waiting")
    agent: str
    role: str
    seconds: float = Field(default=0.0, description="how long it took")
    usage: Usage = Field(default=Usage(), description="usage as reported by the agent")


class TurnAnswered(Settled):
    """The agent answered, or the commands or the handover ran."""

    TOPIC: ClassVar[str] = "turn.answered"
    model: str | None = Field(default=None, description="the model that answered, if known")
    reply: Text = Field(default=Text(), description="the agent's reply")
    prompt: Text = Field(default=Text(), description="the exact prompt")
    agent_session: str | None = Field(default=None, description="the handle by which the conversation can be resumed")
    resumed: bool | None = Field(default=None, description="whether it resumed the conversation of an earlier turn")
    new_conversation: str | None = Field(default=None, description="why it did not resume a conversation")
    files: tuple[str, ...] = Field(default=(), description="files that changed in the workspace")
    patch: Text | None = Field(default=None, description="how they changed")
    tree: str | None = Field(default=None, description="the state of the workspace afterwards")
    slot: int = Field(default=0, description="the worktree used")
    changes: WorkspaceChanges | None = Field(
        default=None, description="all differences from the base, if this turn changed something"
    )
    fence: FenceLevel | None = Field(default=None, description="the sandbox it ran in; null if nothing ran here")
    fence_gaps: tuple[str, ...] = Field(default=(), description="what that sandbox does not restrict")
    refused_hosts: tuple[RefusedHost, ...] = Field(
        default=(), exclude_if=none_listed, description="hosts that its programs wanted to reach and may not"
    )
    reviewed: ReviewedLines | None = Field(
        default=None, exclude_if=absent, description="how much of the changes its prompt showed, if it judged them"
    )


class TurnFailed(Settled):
    """The turn ended without a usable answer."""

    TOPIC: ClassVar[str] = "turn.failed"
    failure: Failure
    model: str | None = Field(default=None, description="the model that was asked, if known")
    reply: Text = Field(default=Text(), description="the reply so far, if any")
    prompt: Text = Field(default=Text(), description="the exact prompt")
    fence: FenceLevel | None = Field(default=None, description="the sandbox it ran in; null if nothing ran here")
    fence_gaps: tuple[str, ...] = Field(default=(), description="what that sandbox does not restrict")
    refused_hosts: tuple[RefusedHost, ...] = Field(
        default=(), exclude_if=none_listed, description="hosts that its programs wanted to reach and may not"
    )


class TurnAttemptFailed(DomainEvent):
    """An attempt ended without a usable answer; another follows: `next` says which, `retryAt` when."""

    TOPIC: ClassVar[str] = "turn.attempt_failed"
    turn_id: str
    attempt: int
    agent: str
    role: str
    failure: Failure
    next: Literal["retry", "repair", "new_conversation", "fallback"]
    retry_at: str | None = Field(default=None, description="ISO instant of the next attempt; null for at once")
    fallback_agent: str | None = Field(default=None, description="the agent that takes over the turn")
    deadline: str | None = Field(default=None, description="the turn's new deadline (ISO)")
    agent_session: str | None = Field(default=None, description="the conversation for the next attempt")
    seconds: float = Field(default=0.0, description="how long it took")
    usage: Usage = Field(default=Usage(), description="usage as reported by the agent")
    model: str | None = Field(default=None, description="the model that was asked, if known")
    reply: Text = Field(default=Text(), description="the reply, if any")
    prompt: Text = Field(default=Text(), description="the exact prompt")
    fence: FenceLevel | None = Field(default=None, description="the sandbox it ran in; null if nothing ran here")
    fence_gaps: tuple[str, ...] = Field(default=(), description="what that sandbox does not restrict")
    refused_hosts: tuple[RefusedHost, ...] = Field(
        default=(), exclude_if=none_listed, description="hosts that its programs wanted to reach and may not"
    )


class TurnRetried(DomainEvent):
    """A person retried the turn: a waiting turn now, or a failed one once more."""

    TOPIC: ClassVar[str] = "turn.retried"
    turn_id: str
    agent: str
    role: str
    work: Work
    phase: str | None = None
    round: int | None = None
    attempts: int = Field(description="how many attempts have ended")
    reason: str = Field(default="", description="the person's reason")
    deadline: str | None = Field(default=None, description="the turn's new deadline (ISO)")


class TurnCancelled(Settled):
    """The turn was cancelled; a late answer changes nothing."""

    TOPIC: ClassVar[str] = "turn.cancelled"
    reason: str


AttemptFailure = TurnFailed | TurnAttemptFailed
"""An attempt ended without an answer that can be used, the last one of a turn or not."""
AttemptEnd = TurnAnswered | AttemptFailure
"""An attempt ended, with an answer or without one that can be used."""
AttemptOver = AttemptEnd | TurnCancelled
"""Nobody works on a turn any more: its attempt ended, or the turn was cancelled, perhaps before any."""
TurnWaits = TurnRequested | TurnAttemptFailed | TurnRetried
"""A turn waits to be taken, for the first time or again."""


def is_stand_in(event: Settled) -> bool:
    """Returns whether a person answered for the agent, as in a fork: no attempt was made to ask it."""
    return isinstance(event, TurnAnswered) and event.attempt == 0


def is_agent_turn(event: AttemptEnd) -> bool:
    """Returns whether an agent was asked. Validation commands and deadlines have no prompt, and report no usage."""
    return bool(event.prompt.length)


class AgentSessionsCleared(DomainEvent):
    """The agents' conversations are over and will not be resumed; data kept for them can be deleted (S1 §1.2)."""

    TOPIC: ClassVar[str] = "session.agent_sessions_cleared"
    agent_sessions: dict[str, str] = Field(
        default_factory=dict, description="the handles, by agent and role; in old logs by agent"
    )
    reason: str


EVENTS: tuple[type[DomainEvent], ...] = (
    TurnRequested,
    ActivityRecorded,
    TurnAnswered,
    TurnAttemptFailed,
    TurnFailed,
    TurnRetried,
    TurnCancelled,
    *permissions.EVENTS,
    AgentSessionsCleared,
)


class RecordTurn(Command):
    """The outcome of a turn, from the attempt that holds the lease. `WORK` is the kind of work that it ends."""

    WORK: ClassVar[Work]
    turn_id: str
    attempt: int
    seconds: float = 0.0
    slot: int = 0
    failure: Failure | None = None
    prepared: WorkspacePrepared | None = Field(default=None, description="the workspace, where this turn made it")
    people: PeopleCommits | None = Field(default=None, description="what it has taken over from the branch")
    fence: FenceLevel | None = None
    fence_gaps: tuple[str, ...] = ()
    refused_hosts: tuple[RefusedHost, ...] = Field(default=(), exclude_if=none_listed)


class RecordReply(RecordTurn):
    """An agent's answer, or its failure."""

    WORK = "ask"
    reply: Text = Text()
    prompt: Text = Text()
    usage: Usage = Usage()
    model: str | None = None
    agent_session: str | None = None
    resumed: bool | None = None
    new_conversation: str | None = None
    files: tuple[str, ...] = ()
    patch: Text | None = None
    base: str | None = Field(default=None, description="the state of the workspace that `tree` was made from")
    tree: str | None = None
    activity: ActivitySummary | None = Field(default=None, description="what the attempt did, where anything is known")
    changes: WorkspaceChanges | None = None
    reviewed: ReviewedLines | None = None
    touched_comments: tuple[str, ...] = Field(
        default=(), description="the comments that it was given whose lines it has changed"
    )


class RecordPackage(RecordTurn):
    """The outcome of publishing: the branch with the work, or why there is none."""

    WORK = "package"
    branch: str | None = None
    commit: str | None = None
    made_of: str | None = Field(default=None, description="the recorded state, where git stores it in another form")
    branch_was: BranchWas | None = None
    patch: Text | None = None
    problem: str | None = None
    sentence: Sentence | None = Field(default=None, description="the problem as data")


class RetryTurn(Command):
    """A person wants the failed or waiting turn to be asked again at once."""

    REFUSAL: ClassVar[str] = "has_no_turn_to_retry"
    ACTION: ClassVar[str] = "retry"
    reason: str = ""


class ExpireTurn(Command):
    """The deadline has passed while this turn waited or ran."""

    turn_id: str
