"""What the doors answer, as models: the tests hold the real answers against them (contract §2 and §3)."""

from typing import Any, Literal

from pydantic import Field

from domain.triage import Suggestion
from domain.values.base import Value


def _absent(given: object) -> bool:
    return given is None


class Fault(Value):
    """One thing that is wrong with a request."""

    pointer: str = Field(description="JSON Pointer into the body, or / and the name of a query parameter")
    detail: str
    code: str | None = Field(default=None, exclude_if=_absent, description="stable name of the detail")
    params: dict[str, object] | None = Field(default=None, exclude_if=_absent, description="the values in the detail")


class ProblemDetails(Value):
    """RFC 9457. What was sent is never repeated here."""

    type: str = Field(description="where this kind of problem is explained")
    title: str
    status: int
    detail: str
    code: str | None = Field(
        default=None, exclude_if=_absent, description="stable name of the detail; `invalid` where `errors` says more"
    )
    params: dict[str, object] | None = Field(default=None, exclude_if=_absent, description="the values in the detail")
    errors: tuple[Fault, ...] | None = Field(default=None, exclude_if=_absent)
    allowed: tuple[str, ...] | None = Field(default=None, exclude_if=_absent, description="409: what may be done now")
    current_version: int | None = Field(default=None, exclude_if=_absent, description="412: where the session is")
    reason: str | None = Field(
        default=None,
        exclude_if=_absent,
        description="409 of a claimed turn: settled, cancelled, waiting, elsewhere, deadline or timeout",
    )


class Receipt(Value):
    """The answer to every command: where it left the session, and where the log."""

    session_id: str
    kind: str
    version: int
    position: int = Field(description="for `Read-After`")


class TrustedSettings(Value):
    """What is trusted of a checkout's `hansard.toml` from now on."""

    workspace: str = Field(description="the top of the checkout")
    digest: str | None = Field(description="of these settings; null where there is nothing to trust")
    setup: tuple[str, ...]
    env: dict[str, str]
    network: Literal["none", "all"]
    team: str | None


class MessageAnswer(Value):
    """What became of a message."""

    action: Literal["started", "queued", "rejected", "unclear"]
    kind: str
    position: int
    session_id: str | None = Field(default=None, exclude_if=_absent)
    version: int = Field(description="of the session that it began or moved on; 0: none, or it has to wait")
    reason: str | None = Field(default=None, exclude_if=_absent)
    continued: bool | None = Field(default=None, exclude_if=_absent)
    reset: bool | None = Field(default=None, exclude_if=_absent)
    queued: bool | None = Field(default=None, exclude_if=_absent)
    pending: int | None = Field(default=None, exclude_if=_absent, description="how many messages wait, with this one")
    suggestions: tuple[Suggestion, ...] | None = Field(
        default=None, exclude_if=_absent, description="what an unclear message may mean, the nearest first"
    )


class Done(Receipt):
    """What a word to continue or to reset has led to."""

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
    """With the figures; of a store that does not answer only the problem."""

    status: Literal["ready", "not ready"]
    problems: tuple[Any, ...]
    head: int | None = Field(default=None, exclude_if=_absent)
    position: int | None = Field(default=None, exclude_if=_absent)
    lag: int | None = Field(default=None, exclude_if=_absent)
    store: Literal["sqlite", "postgresql"] | None = Field(default=None, exclude_if=_absent)
    node: str | None = Field(default=None, exclude_if=_absent, description="this process")
    nodes: tuple[LiveNode, ...] | None = Field(
        default=None, exclude_if=_absent, description="the servers and workers that were seen a moment ago"
    )
    lag_limit: int | None = Field(default=None, exclude_if=_absent)
    views: dict[str, int] | None = Field(
        default=None, exclude_if=_absent, description="how many positions each view is behind the log"
    )
    waiting_commands: int | None = Field(default=None, exclude_if=_absent)
    example_team: bool | None = Field(default=None, exclude_if=_absent)
