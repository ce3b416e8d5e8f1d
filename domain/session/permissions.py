"""An agent asks whether it may use a tool, and a person answers (contract-2 §11).

What the team file's rules decide is part of the turn's activity. Only questions for a person are recorded here.
"""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Final, Literal, NamedTuple

from pydantic import Field

from domain.values.base import Command, DomainEvent

PermissionChoice = Literal["allow", "deny"]
LONGEST_TITLE: Final = 16_000
Title = Annotated[str, Field(max_length=LONGEST_TITLE)]
Paths = Annotated[tuple[str, ...], Field(max_length=50)]


class PermissionEvent(DomainEvent):
    """Something about an agent's question for permission."""

    request_id: str
    turn_id: str


class PermissionRequested(PermissionEvent):
    """An agent waits for a person's permission to use a tool."""

    TOPIC: ClassVar[str] = "turn.permission_requested"
    attempt: int
    agent: str
    role: str
    tool: str = Field(description="`read`, `edit`, `execute`, `search`, `fetch` or `other`")
    title: str = Field(description="what it is to be used for: of `execute` the command line")
    paths: tuple[str, ...] = ()


class PermissionDecided(PermissionEvent):
    """A person has answered."""

    TOPIC: ClassVar[str] = "turn.permission_decided"
    decision: PermissionChoice
    by: str = Field(description="who decided")
    remember: bool = Field(
        default=False, description="whether it holds for the same tool and title of this agent in this session"
    )


class PermissionWithdrawn(PermissionEvent):
    """The answer is no longer needed: the attempt that asked has ended."""

    TOPIC: ClassVar[str] = "turn.permission_withdrawn"


EVENTS: tuple[type[DomainEvent], ...] = (PermissionRequested, PermissionDecided, PermissionWithdrawn)


class RequestPermission(Command):
    """The attempt that holds the turn asks a person."""

    turn_id: str
    attempt: int
    tool: str
    title: Title
    paths: Paths = ()


class DecidePermission(Command):
    """A person's answer."""

    request_id: str
    decision: PermissionChoice
    remember: bool = False
    by: str


class WithdrawPermissions(Command):
    """The process that asked on behalf of this turn is gone."""

    turn_id: str


class PermissionQuestion(NamedTuple):
    """A request that waits for its answer. `at` is when it was asked, in milliseconds."""

    request_id: str
    turn_id: str
    agent: str
    role: str
    tool: str
    title: str
    paths: tuple[str, ...]
    at: int

    @property
    def subject(self) -> str:
        """Returns what a remembered answer applies to."""
        return permission_subject(self.agent, self.tool, self.title)


def permission_subject(agent: str, tool: str, title: str) -> str:
    """The same use of the same tool by the same agent."""
    return f"{agent}\n{tool}:{title}"


def permission_id(turn_id: str, version: int) -> str:
    """The id of a request, from the version of its event."""
    return f"{turn_id}.p{version}"


def questions_after(
    questions: Mapping[str, PermissionQuestion], event: PermissionEvent, at: int
) -> dict[str, PermissionQuestion]:
    """The waiting requests after one more event."""
    others = {name: question for name, question in questions.items() if name != event.request_id}
    if not isinstance(event, PermissionRequested):
        return others
    names = (name for name in PermissionQuestion._fields if name != "at")
    return others | {event.request_id: PermissionQuestion(**{name: getattr(event, name) for name in names}, at=at)}
