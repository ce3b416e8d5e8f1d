"""The answers of the endpoints for external workers (contract §4)."""

from pydantic import Field

from domain.session.turns import Access
from domain.values.base import Value


class LeaseView(Value):
    """How long a turn is held; without a heartbeat before `until` another worker can claim it."""

    attempt: int = Field(description="send it with heartbeats and the result; it identifies this claim")
    until: str
    seconds: float = Field(description="by how much a heartbeat extends it")
    heartbeat_seconds: float = Field(description="how often a heartbeat is advised")


class TurnOffer(Value):
    """A turn that was claimed."""

    turn_id: str
    session_id: str
    kind: str
    role: str
    agent: str
    prompt: str = Field(description="the exact prompt")
    context: dict[str, str] = Field(description="the sections of the prompt")
    workspace: str | None = Field(description="the folder to work in, on the server's machine; null if none")
    access: Access = Field(description="the access to it; changes are kept only for `write`")
    reads: str = Field(description="the expected kind of reply, as in the policy `parse`; `text` is free-form")
    expects: tuple[str, ...] = Field(description="the agents to be judged")
    phase: str | None
    iteration: int | None
    round: int | None
    agent_session: str | None = Field(description="the conversation to resume, from an earlier result")
    deadline: str | None = Field(description="when the turn is stopped, regardless of the lease")
    lease: LeaseView


class HeldTurn(Value):
    """A turn that is still held."""

    turn_id: str
    session_id: str
    lease: LeaseView
