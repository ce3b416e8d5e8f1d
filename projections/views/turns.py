"""Turns for readers: what was asked of whom, what each agent did, and what came of it (contract-2 §11)."""

from typing import Literal

from pydantic import Field

from domain.session.attempts import Failure, Work
from domain.values.base import Usage, absent
from domain.values.network import RefusedHost
from projections.views.base import Page, View

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
    by: str | None = Field(default=None, description="the person who answered for the agent, as in a fork")
    resumed: bool | None = Field(description="whether it resumed the agent's conversation")
    fence: str | None
    fence_gaps: tuple[str, ...] = Field(default=(), description="what that fence does not hold")
    refused_hosts: tuple[RefusedHost, ...] = Field(
        default=(), description="hosts that its programs wanted to reach and may not; `count` says how often"
    )
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
