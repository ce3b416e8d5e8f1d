"""Permissions: what agents may do without asking a person, according to the team file (contract-2 §11)."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Annotated, Literal, Protocol

from pydantic import Field

from adapters.agents.activity import Tool
from domain.session.permissions import PermissionChoice
from domain.session.turns import FenceLevel
from domain.values.base import Value

Verdict = Literal["allow", "deny", "ask"]
Globs = Annotated[tuple[Annotated[str, Field(min_length=1, max_length=1_000)], ...], Field(max_length=1_000)]


class PermissionRules(Value):
    """`[permissions]`: shell globs on `tool:title`; `*` also matches `/`. Deny beats ask, ask beats allow."""

    allow: Globs = ()
    deny: Globs = ()
    ask: Globs = ()

    def verdict(self, tool: str, title: str, *, fenced: bool) -> Verdict:
        """A request that no rule matches is allowed inside a fence, and asked outside."""
        subject = f"{tool}:{title}"
        rules: tuple[tuple[Verdict, Globs], ...] = (("deny", self.deny), ("ask", self.ask), ("allow", self.allow))
        for verdict, globs in rules:
            if any(fnmatchcase(subject, glob) for glob in globs):
                return verdict
        return "allow" if fenced else "ask"


class Permit(Protocol):
    """Answers an agent that wants to use a tool."""

    async def __call__(
        self, tool: Tool, title: str, paths: Sequence[str] = (), *, fence: FenceLevel | None = None
    ) -> PermissionChoice:
        """Whether it may: by the rules, otherwise once a person has answered, which may take days. Call it on the event
        loop of the turn, as often as needed, also concurrently. While it waits, the adapter's own limits on silence and
        time must stop. Cancelling it is safe.

        `title` of an `execute` is its command line. `fence` is the fence that the agent's program runs in, None if
        there is none.
        """
        ...


async def deny(
    tool: Tool, title: str, paths: Sequence[str] = (), *, fence: FenceLevel | None = None
) -> PermissionChoice:
    """The answer if no person could be asked."""
    return "deny"
