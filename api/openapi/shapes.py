"""The answers of the endpoints, as models; tests check real answers against them (contract §2 and §3)."""

from typing import Any, Literal

from pydantic import Field

from domain.session.turns import Access
from domain.triage import Suggestion
from domain.values.base import Value


def _absent(value: object) -> bool:
    return value is None


class Fault(Value):
    """One thing that is wrong with a request."""

    pointer: str = Field(description="JSON Pointer into the body, or / and the name of a query parameter")
    detail: str
    code: str | None = Field(default=None, exclude_if=_absent, description="stable code of the detail")
    params: dict[str, object] | None = Field(default=None, exclude_if=_absent, description="the values in the detail")


class ProblemDetails(Value):
    """RFC 9457. Never repeats what was sent."""

    type: str = Field(description="documentation of this kind of problem")
    title: str
    status: int
    detail: str
    code: str | None = Field(
        default=None, exclude_if=_absent, description="stable code of the detail; `invalid` if `errors` says more"
    )
    params: dict[str, object] | None = Field(default=None, exclude_if=_absent, description="the values in the detail")
    errors: tuple[Fault, ...] | None = Field(default=None, exclude_if=_absent)
    allowed: tuple[str, ...] | None = Field(default=None, exclude_if=_absent, description="409: the allowed actions")
    current_version: int | None = Field(default=None, exclude_if=_absent, description="412: the session's version")
    reason: str | None = Field(
        default=None,
        exclude_if=_absent,
        description="409 for a claimed turn: settled, cancelled, waiting, elsewhere, deadline or timeout",
    )


class Receipt(Value):
    """The answer to every command: the new version and the position in the log."""

    session_id: str
    kind: str
    version: int
    position: int = Field(description="for `Read-After`")


class TrustedSettings(Value):
    """What is trusted of a checkout's `hansard.toml` from now on."""

    workspace: str = Field(description="the top of the checkout")
    digest: str | None = Field(description="digest of these settings; null if there is nothing to trust")
    setup: tuple[str, ...]
    env: dict[str, str]
    network: Literal["none", "all"]
    team: str | None


class RedactionAnswer(Value):
    """What was taken out of the log."""

    digest: str
    sessions: tuple[str, ...] = Field(description="those that mention the text")
    events: int = Field(description="how many events quoted its beginning")
    shared: tuple[str, ...] = Field(description="those whose commits stay in the database: they have not ended")


class MessageAnswer(Value):
    """What became of a message."""

    action: Literal["started", "queued", "rejected", "unclear"]
    kind: str
    position: int
    session_id: str | None = Field(default=None, exclude_if=_absent)
    version: int = Field(description="version of the session it started or continued; 0 if none or queued")
    reason: str | None = Field(default=None, exclude_if=_absent)
    continued: bool | None = Field(default=None, exclude_if=_absent)
    reset: bool | None = Field(default=None, exclude_if=_absent)
    queued: bool | None = Field(default=None, exclude_if=_absent)
    pending: int | None = Field(default=None, exclude_if=_absent, description="number of queued messages with this one")
    suggestions: tuple[Suggestion, ...] | None = Field(
        default=None, exclude_if=_absent, description="possible meanings of an unclear message, best first"
    )


class Done(Receipt):
    """The result of a continue or reset."""

    ok: Literal[True]
    action: Literal["started"]
    continued: bool | None = Field(default=None, exclude_if=_absent)
    reset: bool | None = Field(default=None, exclude_if=_absent)


class Alive(Value):
    status: Literal["ok"]


class LiveNode(Value):
    name: str
    role: Literal["server", "worker"]
    last_seen: str


class Readiness(Value):
    """With the figures; only the problem if the store does not respond."""

    status: Literal["ready", "not ready"]
    problems: tuple[Any, ...]
    head: int | None = Field(default=None, exclude_if=_absent)
    position: int | None = Field(default=None, exclude_if=_absent)
    lag: int | None = Field(default=None, exclude_if=_absent)
    store: Literal["sqlite", "postgresql"] | None = Field(default=None, exclude_if=_absent)
    node: str | None = Field(default=None, exclude_if=_absent, description="this process")
    nodes: tuple[LiveNode, ...] | None = Field(
        default=None, exclude_if=_absent, description="the servers and workers seen recently"
    )
    lag_limit: int | None = Field(default=None, exclude_if=_absent)
    views: dict[str, int] | None = Field(
        default=None, exclude_if=_absent, description="how many positions each view is behind the log"
    )
    waiting_commands: int | None = Field(default=None, exclude_if=_absent)
    example_team: bool | None = Field(default=None, exclude_if=_absent)


# The answers of the endpoints for external workers (contract §4).


class LeaseView(Value):
    """How long a turn is held; without a heartbeat before `until` another worker can claim it."""

    attempt: int = Field(description="send it with heartbeats and the result; it identifies this claim")
    until: str
    seconds: float = Field(description="how far a heartbeat extends it")
    heartbeat_seconds: float = Field(description="the recommended interval between heartbeats")


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
    env: dict[str, str] = Field(description="the variables of `hansard.toml` for your programs")
    setup: tuple[tuple[str, ...], ...] = Field(
        description="commands of `hansard.toml` that have not run in this folder yet; run them before anything else"
    )
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
