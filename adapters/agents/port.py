"""The agent port: ask a turn, get a reply. Failures are values; cancelling the task stops the agent."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from adapters.agents.activity import Activity
from adapters.agents.permissions import Permit, deny
from adapters.agents.prompts.conversation import Exchange
from adapters.fence.port import Fence, Grant, Unfenced
from domain.session.attempts import Failure
from domain.session.turns import Access, FenceLevel
from domain.values.base import Usage
from domain.values.network import RefusedHost


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one turn. The port defines them: an agent's own settings are not trusted."""

    wall_seconds: float = 1800.0
    idle_seconds: float | None = None
    output_bytes: int = 1_048_576


@dataclass(frozen=True)
class Turn:
    """One question to one agent."""

    turn_id: str
    session_id: str
    attempt: int
    agent: str
    role: str
    prompt: str
    workspace: Path | None = None
    access: Access = "none"
    agent_session: str | None = None
    ordinal: int = 0
    role_ordinal: int = 0
    limits: Limits = field(default_factory=Limits)
    scenario: str | None = None
    """The session's inline scenario (contract §1) as JSON, for the scripted agent."""
    reads: str = ""
    """The kind of reply that is expected: subtasks, verdicts, review, debate, review_artifact (contract §5), text."""
    expects: tuple[str, ...] = ()
    """The agents that the answer has to judge."""
    comments: tuple[str, ...] = ()
    """The ids of the comments that the answer has to deal with."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Variables that the repository's settings give to every program in the workspace."""
    grant: Grant = field(default_factory=Grant)
    """What every program that runs for this turn may access."""
    fence: Callable[[Grant], Fence] = Unfenced
    """The fence around such a program."""
    observe: Callable[[Activity], None] | None = None
    """Gets the agent's activities while it works, on the event loop; must not block or raise."""
    transcribe: Callable[[str], None] | None = None
    """Gets every line that the agent's program prints, with secrets removed."""
    meter: Callable[[Callable[[], Usage]], None] | None = None
    """Gets a function that returns what the agent's program has reported to have used so far, from any thread."""
    permit: Permit = deny
    """Answers the agent's requests for permission."""
    recap: Callable[[], str] | None = None
    """The messages of the conversation that `agent_session` names, for an agent that cannot resume it."""
    exchanges: Callable[[], Sequence[Exchange]] | None = None
    """The same verbatim, oldest first, for an agent that keeps nothing itself."""


@dataclass(frozen=True)
class Reply:
    """The reply. `files` are contents that the worker has to write (relative path → text); an agent that edits the
    workspace itself leaves it empty. If `failure` is set, `text` is whatever had been said until then."""

    text: str = ""
    usage: Usage = field(default_factory=Usage)
    files: Mapping[str, str] = field(default_factory=dict)
    agent_session: str | None = None
    failure: Failure | None = None
    seconds: float = 0.0
    truncated: bool = False
    model: str | None = None
    """The model that answered, if the agent reports it."""
    resumed: bool | None = None
    """Whether it resumed the conversation of an earlier turn; None if the agent has none."""
    new_conversation: str | None = None
    """Why it started a new conversation although one could be resumed."""
    prompt: str | None = None
    """The actual prompt, if it differs from the turn's."""
    fence: FenceLevel | None = None
    """The fence that a program ran in; None if none was run."""
    fence_gaps: tuple[str, ...] = ()
    refused_hosts: tuple[RefusedHost, ...] = ()
    """The hosts that the program wanted to reach and may not."""
    masked: tuple[str, ...] = ()
    """The names of the secrets whose values were removed from `text`."""


class Agent(Protocol):
    """Anything that can be asked."""

    async def ask(self, turn: Turn) -> Reply:
        """The reply, within the turn's limits; failures are replies with `failure`. Cancelling the task stops it."""
        ...

    async def forget(self, handle: str) -> None:
        """Delete what was kept to resume this conversation; does nothing if there is nothing."""
        ...
