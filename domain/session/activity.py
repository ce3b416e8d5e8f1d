"""Defines what is kept of an attempt's activity: the tools that it used, and what it printed."""

from typing import ClassVar

from pydantic import Field

from domain.values.base import Count, DomainEvent, Text, Value


class ToolUse(Value):
    """One tool call."""

    tool: str = Field(default="other", description="`read`, `edit`, `execute`, `search`, `fetch` or `other`")
    title: str = Field(default="", description="its subject; for `execute` the command line")
    paths: tuple[str, ...] = ()
    exit_code: int | None = Field(default=None, description="null if not reported")
    milliseconds: Count | None = Field(default=None, description="how long it took, if it finished")
    denied: bool = False


class ActivitySummary(Value):
    """The record of one attempt's activity: the first and the last hundred tools, and how many there were."""

    tools: tuple[ToolUse, ...] = ()
    tools_total: Count = 0
    denied: Count = Field(default=0, description="how many calls were denied")
    transcript: Text | None = Field(default=None, description="what the program printed, line by line")


class ActivityRecorded(DomainEvent):
    """What an attempt did. It comes just before the event that ends the attempt."""

    TOPIC: ClassVar[str] = "turn.activity_recorded"
    turn_id: str
    attempt: int
    tools: tuple[ToolUse, ...] = Field(default=(), description="the first and the last hundred")
    tools_total: Count = 0
    denied: Count = Field(default=0, description="how many calls were denied")
    transcript: Text | None = Field(default=None, description="what the program printed, line by line")


def recorded_as(activity: ActivitySummary, *, turn_id: str, attempt: int) -> ActivityRecorded:
    return ActivityRecorded(turn_id=turn_id, attempt=attempt, **dict(activity))


def activity_of(event: ActivityRecorded) -> ActivitySummary:
    return ActivitySummary(**{name: getattr(event, name) for name in ActivitySummary.model_fields})
