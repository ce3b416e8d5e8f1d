"""Problem documents (RFC 9457), as the API sends them."""

from pydantic import Field

from api.actions.answers import absent
from domain.values.base import Value


class Fault(Value):
    """One thing that is wrong with a request."""

    pointer: str = Field(description="JSON Pointer into the body, or / and the name of a query parameter")
    detail: str
    code: str | None = Field(default=None, exclude_if=absent, description="stable code of the detail")
    params: dict[str, object] | None = Field(default=None, exclude_if=absent, description="the values in the detail")


class ProblemDetails(Value):
    """RFC 9457. Never repeats what was sent."""

    type: str = Field(description="documentation of this kind of problem")
    title: str
    status: int
    detail: str
    code: str | None = Field(
        default=None, exclude_if=absent, description="stable code of the detail; `invalid` if `errors` says more"
    )
    params: dict[str, object] | None = Field(default=None, exclude_if=absent, description="the values in the detail")
    errors: tuple[Fault, ...] | None = Field(default=None, exclude_if=absent)
    allowed: tuple[str, ...] | None = Field(default=None, exclude_if=absent, description="409: the allowed actions")
    current_version: int | None = Field(default=None, exclude_if=absent, description="412: the session's version")
    reason: str | None = Field(
        default=None,
        exclude_if=absent,
        description="409 for a claimed turn: settled, cancelled, waiting, elsewhere, deadline or timeout",
    )
