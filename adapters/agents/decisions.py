"""`[decisions]`: who decides, how many have to agree, and how long a decision may wait (contract-2 §15)."""

from collections.abc import Collection
from pathlib import PurePath
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, model_validator

from domain.session.approvals import DecisionPolicy
from domain.values.base import Value

_HOUR_MS = 3_600_000
Key = Annotated[str, Field(min_length=1, max_length=100)]
Hours = Annotated[float, Field(gt=0, le=8_760)]


def _listed(found: Any) -> Any:
    return tuple(found) if isinstance(found, list) else (found,)


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
            raise ValueError("should have either a label or a repository")
        return self

    def concerns(self, labels: Collection[str], workspace: str | None) -> bool:
        """Whether it applies to a session; a folder inside the repository counts, too."""
        if self.label is not None:
            return self.label in labels
        return workspace is not None and PurePath(workspace).is_relative_to(self.repository or "")


class TeamDecisions(Value):
    """`[decisions]` of the team file."""

    approvers: int = Field(default=1, ge=1, le=20)
    not_author: bool = False
    expires_hours: Hours | None = None
    remind_hours: Annotated[tuple[Hours, ...], BeforeValidator(_listed), Field(max_length=10)] = ()
    who: Annotated[tuple[Deciders, ...], Field(max_length=100)] = ()

    @model_validator(mode="after")
    def _enough(self) -> Self:
        for entry in self.who:
            if len(set(entry.keys)) < self.approvers:
                raise ValueError(f"who: an entry has fewer keys than approvers = {self.approvers}")
        return self

    @property
    def guarded(self) -> bool:
        """Whether any session's decisions need more than one arbitrary person."""
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
