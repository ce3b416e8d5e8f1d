"""What external workers send: closed models, wire names in camelCase."""

from typing import Annotated, Literal, Self

from pydantic import Field, StrictInt, model_validator

from api.actions.bodies import Body
from domain.session.attempts import OldCode, Retryable
from domain.values.sentences import Sentence

Name = Annotated[str, Field(min_length=1, max_length=200)]
Names = Annotated[list[Name], Field(min_length=1, max_length=100)]
Number = Annotated[StrictInt, Field(ge=0, le=2**53 - 1)]
Attempt = Annotated[StrictInt, Field(ge=1, le=2**31, description="`lease.attempt` of the claim")]


class TurnClaim(Body):
    """Which turns are wanted; any that waits where neither agents nor roles are named."""

    agents: Names | None = Field(default=None, description="turns of these agents, in any case")
    roles: Names | None = Field(default=None, description="or turns in these roles")
    wait_seconds: Annotated[float, Field(ge=0, le=86_400, strict=True)] = Field(
        default=0.0, description="how long to wait for one; the server has a limit of its own"
    )


class TurnHeartbeat(Body):
    """A sign of life."""

    attempt: Attempt


class TurnUsage(Body):
    """What the turn cost, as far as it is known; money in millionths."""

    input_tokens: Number | None = Field(default=None, description="cache reads and writes included")
    cached_tokens: Number | None = Field(default=None, description="those read from a cache")
    output_tokens: Number | None = None
    reasoning_tokens: Number | None = None
    cost_micros: Number | None = None


class TurnFault(Body):
    """Why there is no usable answer."""

    code: Literal[Retryable, OldCode, "auth", "refused", "limit"]
    detail: Annotated[str, Field(max_length=2_000)] = ""
    retry_after: Annotated[float, Field(ge=0, le=31_536_000)] | None = Field(
        default=None, description="seconds until it makes sense to ask again, where they are known"
    )


class TurnResult(Body):
    """The result of a turn: an answer, or why there is none."""

    text: str | None = Field(default=None, description="what the agent says; may be left out of a failure")
    usage: TurnUsage = TurnUsage()
    model: Annotated[str, Field(min_length=1, max_length=200)] | None = Field(
        default=None, description="the model that answered, where it is known"
    )
    agent_session: Annotated[str, Field(min_length=1, max_length=1_000)] | None = Field(
        default=None, description="the handle to resume this conversation; unchanged if left out"
    )
    files: Annotated[
        dict[Annotated[str, Field(min_length=1, max_length=1_024)], str],
        Field(max_length=1_000, description="contents by path, written into the workspace of a turn that may write"),
    ] = {}
    failure: TurnFault | None = None
    attempt: Attempt

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if self.text is None and self.failure is None:
            raise ValueError(Sentence("answer_missing"))
        if self.failure is not None and self.files:
            raise ValueError(Sentence("failure_brings_no_files"))
        return self
