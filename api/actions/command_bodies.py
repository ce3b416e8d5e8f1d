"""The bodies of commands on a session that exists: strict, and read as bodies of starts are."""

from typing import Annotated, Any, Literal

from pydantic import Field, StrictBool, StrictInt, StrictStr

from api.actions.bodies import Body, Conversation, Digest, Folder, Reason, Short
from domain.values.budget import Iterations, Minutes


class Decision(Body):
    """A person's decision."""

    decision: Literal["apply_fix", "skip", "revise", "accept"]
    rationale: Reason = ""
    version: Annotated[StrictInt, Field(ge=1)] | None = Field(
        default=None,
        description="the version of the review or debate that is answered; rejected if there is a newer one",
    )
    seen: Digest | None = Field(default=None, description="of what is decided on; required where several decide")


class Answer(Body):
    """What an agent would have said instead."""

    text: Annotated[str, Field(max_length=1_000_000)]
    turn_id: Short | None = Field(default=None, description="which waiting turn; may be left out when only one waits")


class MoreBudget(Body):
    """A larger budget from here on."""

    add_iterations: Iterations | None = None
    add_minutes: Minutes | None = None
    add_tokens: Annotated[StrictInt, Field(ge=1, le=2**53)] | None = None
    add_cost_micros: Annotated[StrictInt, Field(ge=1, le=2**53)] | None = None
    add_rounds: Annotated[StrictInt, Field(ge=1, le=50)] | None = None


class Substitute(Body):
    """What is different in the fork: one of these."""

    decision: Literal["apply_fix", "skip", "revise", "accept"] | None = None
    answer: Answer | None = None
    budget: MoreBudget | None = None
    profile: Short | dict[str, Any] | None = None


class Fork(Body):
    """A new session whose history up to `atVersion` is the source's."""

    at_version: Annotated[StrictInt, Field(ge=1, le=2**53)]
    substitute: Substitute | None = None
    mode: Literal["live", "stop"] = Field(default="live", description="what happens where no recorded answer fits")


class Message(Conversation):
    """A message to the team: a new request, or a word to continue or reset."""


class Origin(Body):
    """The latest orchestration of this origin is meant. It keeps its own workspace and scenario."""

    origin: Short = ""
    reason: Reason = ""
    workspace: Folder | None = Field(default=None, description="as with a message; without effect on a run")
    scenario: dict[str, Any] | None = Field(default=None, description="as with a message; without effect on a run")


class Empty(Body):
    """Nothing has to be said."""


class Cancel(Body):
    reason: Reason = ""


class Retry(Body):
    """Ask the turn that waits, or that has failed, again."""

    reason: Reason = ""


class Redact(Body):
    """Remove a long text from the log."""

    digest: Digest = Field(description="SHA-256 of the text")
    reason: Annotated[StrictStr, Field(min_length=1, max_length=2_000)]


class AnswerPermission(Body):
    """A person's answer to an agent that waits for permission."""

    request_id: Annotated[str, Field(min_length=1, max_length=500)]
    decision: Literal["allow", "deny"]
    remember: StrictBool = Field(
        default=False, description="also answer the same tool and title of the same agent for the rest of the session"
    )


class Extend(MoreBudget):
    """More budget; at least one amount, and why."""

    reason: Annotated[Reason, Field(min_length=1, pattern=r"\S")]


class ScopeAnswer(Body):
    """Whether changes outside the scope may stay."""

    request_id: Short = Field(description="the request that is answered; `scopeRequest` of the session has it")
    decision: Literal["allow", "deny"]


class Land(Body):
    """Merge the result into a branch, once it is validated there."""

    onto: Annotated[str, Field(min_length=1, max_length=250, pattern=r"^[^\s\x00-\x1f\x7f-\x9f~^:?*\[\\]+$")] | None = (
        Field(default=None, description="the branch; without it the one that the session began with")
    )


class TrustProject(Body):
    """Trust what `hansard.toml` of a checkout sets up, as it is now."""

    workspace: Annotated[str, Field(min_length=1, max_length=4_096, pattern=r"^/[^\x00]*$")] = Field(
        description="absolute path of the checkout"
    )
