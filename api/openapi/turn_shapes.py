"""What the doors of external workers answer (contract §4)."""

from pydantic import Field

from domain.session.turns import Access
from domain.values.base import Value


class LeaseView(Value):
    """How long a turn is held: without a heartbeat before `until` it goes to somebody else."""

    attempt: int = Field(description="send it with heartbeats and the result: it tells this claim from later ones")
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
    prompt: str = Field(description="what is asked, word for word")
    context: dict[str, str] = Field(description="what the prompt is made of")
    workspace: str | None = Field(description="the folder to work in, on the server's machine; null where none is used")
    access: Access = Field(description="what may be done there; only of `write` anything is kept")
    reads: str = Field(description="the kind of reply that is expected, as in the policy `parse`; `text` is free")
    expects: tuple[str, ...] = Field(description="the agents whom a judge has to judge")
    phase: str | None
    iteration: int | None
    round: int | None
    agent_session: str | None = Field(description="the conversation to go on with, as an earlier result named it")
    deadline: str | None = Field(description="when the turn is stopped, whatever the lease says")
    lease: LeaseView


class HeldTurn(Value):
    """A turn that is still held."""

    turn_id: str
    session_id: str
    lease: LeaseView
