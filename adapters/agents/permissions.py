"""Permissions: what agents may do without asking a person, according to the team file (contract-2 §11)."""

from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase
from pathlib import PurePath
from typing import Annotated, Any, Literal, Protocol, Self

from pydantic import BeforeValidator, Field, model_validator

from adapters.agents.activity import Tool
from domain.session.permissions import PermissionChoice
from domain.session.team_decisions import DecisionPolicy
from domain.session.turns import FenceLevel
from domain.values.base import Value
from domain.values.sentences import Sentence, at_place

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
        """Tells whether it may: by the rules, otherwise once a person has answered, which may take days. Call it on the
        event loop of the turn, as often as needed, also concurrently. While it waits, the adapter's own limits on
        silence and time must stop. Cancelling it is safe.

        `title` of an `execute` is its command line. `fence` is the fence that the agent's program runs in, None if
        there is none.
        """
        ...


async def deny(
    tool: Tool, title: str, paths: Sequence[str] = (), *, fence: FenceLevel | None = None
) -> PermissionChoice:
    """The answer if no person could be asked."""
    return "deny"


# `[decisions]`: who decides, how many have to agree, and how long a decision may wait (contract-2 §15).

_HOUR_MS = 3_600_000
Key = Annotated[str, Field(min_length=1, max_length=100)]
Hours = Annotated[float, Field(gt=0, le=8_760)]


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else (value,)


class Deciders(Value):
    """An entry of `who`: the keys that decide sessions with this label, or in this repository."""

    label: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    repository: Annotated[str, Field(min_length=1, max_length=4_096)] | None = None
    keys: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=100)], ...], Field(min_length=1, max_length=100)
    ]

    @model_validator(mode="after")
    def _one_subject(self) -> Self:
        if (self.label is None) == (self.repository is None):
            raise ValueError(Sentence("label_or_repository"))
        return self

    def concerns(self, labels: Collection[str], workspace: str | None) -> bool:
        """True if it applies to a session; a folder inside the repository counts, too."""
        if self.label is not None:
            return self.label in labels
        return workspace is not None and PurePath(workspace).is_relative_to(self.repository or "")


class TeamDecisions(Value):
    """`[decisions]` of the team file."""

    approvers: int = Field(default=1, ge=1, le=20)
    not_author: bool = False
    expires_hours: Hours | None = None
    remind_hours: Annotated[tuple[Hours, ...], BeforeValidator(_as_tuple), Field(max_length=10)] = ()
    who: Annotated[tuple[Deciders, ...], Field(max_length=100)] = ()

    @model_validator(mode="after")
    def _enough(self) -> Self:
        for entry in self.who:
            if len(set(entry.keys)) < self.approvers:
                raise ValueError(at_place("who", Sentence("fewer_keys_than_approvers", number=self.approvers)))
        return self

    @property
    def guarded(self) -> bool:
        """True if any session's decisions need more than one arbitrary person."""
        return self.approvers > 1 or self.not_author or bool(self.who)

    @property
    def expires_ms(self) -> int | None:
        return None if self.expires_hours is None else round(self.expires_hours * _HOUR_MS)

    def policy(self, author: str, labels: Collection[str], workspace: str | None) -> DecisionPolicy:
        """The rules for a session. If several entries apply, the keys of all of them may decide."""
        keys = (key for entry in self.who if entry.concerns(labels, workspace) for key in entry.keys)
        return DecisionPolicy(
            approvers=self.approvers,
            not_author=self.not_author,
            authors=(author,) if author else (),
            who=tuple(dict.fromkeys(keys)),
            remind_ms=tuple(sorted({round(hours * _HOUR_MS) for hours in self.remind_hours})),
        )
