"""Views of a session's record: its budget over time, its artifacts, its changes and its turns.

Turns for readers: what was asked of whom, what each agent did, and what came of it (contract-2 §11).
"""

from typing import Any, Literal, Self

from pydantic import Field, RootModel, SerializeAsAny

from domain.session.attempts import Failure, Work
from domain.session.record import Recorded
from domain.values.base import Usage, absent
from projections.views.base import Page, View
from projections.views.session import ResultBase, ResultFile, SessionView


class BudgetEntry(View):
    """The budget at one event; what the session's kind does not have is null."""

    version: int
    at: str
    type: str
    phase: str | None
    iteration: int | None
    elapsed_ms: int
    remaining_iterations: int | None
    reason: str | None
    round: int | None
    remaining_rounds: int | None
    max_iterations: int | None
    max_minutes: int | None
    max_rounds: int | None
    tokens: int | None
    cost_micros: int | None
    unknown_turns: int


class BudgetPage(Page):
    items: tuple[BudgetEntry, ...]


class ArtifactItem(View):
    artifact_id: str
    version: int
    phase: str | None
    iteration: int
    created_at: str
    media_type: str
    length: int = Field(description="UTF-8 bytes of the whole text")
    digest: str | None
    patch_length: int | None
    patch_digest: str | None


class ArtifactPage(Page):
    items: tuple[ArtifactItem, ...]


class ArtifactView(ArtifactItem):
    content: str
    patch: str | None


# Events on the wire, and the session with its newest ones.


class Envelope(View):
    """An event as the log holds it; `type` says what `data` is. Types are added, and never change their meaning."""

    position: int = Field(description="orders the whole log")
    event_id: str
    session_id: str
    kind: str
    version: int = Field(description="counts 1, 2, 3 … within the session")
    type: str
    timestamp: str
    actor: str
    correlation_id: str
    causation_id: str
    command_id: str
    traceparent: str | None = Field(default=None, exclude_if=absent, description="as the caller sent it")
    data: dict[str, Any]

    @classmethod
    def of(cls, recorded: Recorded) -> Self:
        return cls.model_validate(recorded.wire())


class EventPage(Page):
    items: tuple[Envelope, ...]


class SessionAnswer(View):
    """A session, and what a person may do now."""

    session: SerializeAsAny[SessionView]
    available_commands: tuple[str, ...]
    events: tuple[Envelope, ...] | None = Field(default=None, exclude_if=absent, description="with `include=events`")


# Where each line of a file comes from (contract-2 §12).


class Demand(View):
    """The finding of a review that the turn had to answer."""

    version: int
    title: str


class Approval(View):
    version: int
    actor: str


class BlameLine(View):
    """A line. A line that is not known to be an agent's has no session; a person may have written it."""

    line: int
    text: str
    commit: str
    session: str | None = None
    turn: str | None = None
    agent: str | None = None
    model: str | None = None
    iteration: int | None = None
    demanded_by: Demand | None = None
    validated_by: int | None = Field(default=None, description="the event that says that the validation passed")
    approved_by: Approval | None = None


class Blame(RootModel[tuple[BlameLine, ...]]):
    """The lines of a file, in order."""


class ChangesView(View):
    """What a session, or one turn of it, has changed."""

    base: ResultBase | None = Field(description="null while nothing has changed")
    head: str | None
    branch: str | None
    files: tuple[ResultFile, ...]
    patch: str = Field(description="a unified diff; of a binary file it only says that it differs")


# -- turns -------------------------------------------------------------------------------------------------------------


TurnState = Literal["queued", "running", "waiting", "answered", "failed", "cancelled"]


class TurnFile(View):
    """A file that the turn changed; lines are null where they cannot be counted."""

    path: str
    added: int | None
    removed: int | None


class ToolCounts(View):
    """How many calls of tools there were in all attempts, and how many of them were denied."""

    total: int
    denied: int


class TurnSummary(View):
    """A turn. Seconds and usage are those of all its attempts."""

    turn_id: str
    work: Work = Field(description="`ask`: an agent is asked; `validate`: the commands run; `package`: handed over")
    agent: str
    role: str = Field(description="of a run of the validation commands `validation`")
    phase: str | None
    round: int | None
    iteration: int | None
    status: TurnState = Field(description="`waiting`: for its next attempt")
    attempt: int = Field(description="the present or last attempt; 0 before the first")
    requested_at: str
    started_at: str | None = Field(description="when the present or last attempt began, where it is known")
    ended_at: str | None
    seconds: float | None
    usage: Usage
    model: str | None
    resumed: bool | None = Field(description="whether it resumed the agent's conversation")
    fence: str | None
    fence_gaps: tuple[str, ...] = Field(default=(), description="what that fence does not hold")
    files: tuple[TurnFile, ...]
    tools: ToolCounts


class TurnList(Page):
    items: tuple[TurnSummary, ...]


class ActivityFrame(View):
    """Something that the agent did or said. The frames of a turn are numbered from 1."""

    seq: int
    at: str
    kind: Literal["message", "thought", "tool", "plan", "retry", "usage", "permission", "notice"]
    id: str | None = Field(default=None, exclude_if=absent, description="of a call: its end has the same")
    tool: str | None = Field(default=None, exclude_if=absent)
    title: str | None = Field(default=None, exclude_if=absent)
    paths: tuple[str, ...] | None = Field(default=None, exclude_if=absent)
    status: Literal["running", "completed", "failed", "denied"] | None = Field(default=None, exclude_if=absent)
    exit_code: int | None = Field(default=None, exclude_if=absent)
    milliseconds: int | None = Field(default=None, exclude_if=absent)
    text: str | None = Field(default=None, exclude_if=absent)


class ActivityList(Page):
    """What a turn did: everything so far while it runs, and the tools it used once it has ended."""

    items: tuple[ActivityFrame, ...]


class TurnDetail(TurnSummary):
    """A turn with its long texts, whole; those of its last attempt."""

    prompt: str | None
    reply: str | None
    failure: Failure | None
    activity: tuple[ActivityFrame, ...]
    patch: str | None
