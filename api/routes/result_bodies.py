"""The bodies of requests about what a session changed, and about its checkout."""

from typing import Annotated, Literal

from pydantic import Field

from api.routes.bodies import Body, Short


class ScopeAnswer(Body):
    """Whether changes outside the scope may stay."""

    request_id: Short = Field(description="the request that is answered; `scopeRequest` of the session has it")
    decision: Literal["allow", "deny"]


class Land(Body):
    """Merge the result into a branch, once it is validated there."""

    onto: Annotated[str, Field(min_length=1, max_length=250, pattern=r"^[^\s\x00-\x1f~^:?*\[\\]+$")] | None = Field(
        default=None, description="the branch; without it the one that the session began with"
    )


class TrustProject(Body):
    """Trust what `hansard.toml` of a checkout sets up, as it is now."""

    workspace: Annotated[str, Field(min_length=1, max_length=4_096, pattern=r"^/[^\x00]*$")] = Field(
        description="absolute path of the checkout"
    )
