"""The plan and the changes of a developer in a delivery; JSON in their text is parsed if it fits (§2)."""

from typing import Annotated

from pydantic import Field, StrictStr, model_validator

from domain.replies.extraction import Object, Shape, find, last
from domain.replies.shapes import (
    MOST_ENTRIES,
    Few,
    MaybeFew,
    ReplyShape,
    SomeWords,
    Words,
    fitted,
)
from domain.values.base import Unreadable, absent
from domain.values.json import JSON
from domain.values.sentences import Sentence

_PARTS = "delivery_plan"
_CHANGES = "list_of_changes"
_CLAIMS = ("goals", "modules", "checklist")
"""A plan has at least one of these."""
_PART_KEYS = (*_CLAIMS, "files")


class PlanParts(ReplyShape):
    """The part of the plan that a reviewer gets (behaviour §3.2)."""

    goals: MaybeFew[Words] = ()
    modules: MaybeFew[Words] = ()
    checklist: MaybeFew[Words] = ()
    files: MaybeFew[Words] = ()


class FileChange(ReplyShape):
    """The new content of one file: a patch, or the whole file, also as a fallback for the patch.

    The path comes from the agent: it is resolved, or refused, when the file is written.
    """

    path: Annotated[SomeWords, Field(max_length=4096)]
    content: StrictStr | None = Field(default=None, exclude_if=absent)
    patch: StrictStr | None = Field(default=None, exclude_if=absent)
    fallback_content: StrictStr | None = Field(default=None, exclude_if=absent)

    @model_validator(mode="after")
    def _says_something(self) -> "FileChange":
        if self.content is None and self.patch is None and self.fallback_content is None:
            raise ValueError(Sentence("change_empty"))
        return self


class FileChanges(ReplyShape):
    changes: Few[FileChange]


def plan_parts(text: str) -> PlanParts:
    """The lists of a plan that the text contains as JSON; empty if there are none, or if they are not strings."""
    try:
        return last(text, _PLAN)
    except Unreadable:
        return PlanParts()  # any text is a plan


def changes(text: str) -> tuple[FileChange, ...]:
    """The changes that the text contains as JSON; none for plain text. Raises `Unreadable`, naming the entry that does
    not fit: a change is never dropped."""
    development = find(text, _DEVELOPMENT)
    return development.changes if development is not None else ()


def _plans(data: Object) -> bool:
    return not data.keys().isdisjoint(_CLAIMS)


def _parts(data: Object) -> PlanParts:
    """Each list separately: a malformed checklist does not lose the goals."""
    return fitted(PlanParts, {key: data.get(key) for key in _PART_KEYS if _strings(data.get(key))}, name=_PARTS)


def _strings(value: object) -> bool:
    return isinstance(value, list) and len(value) <= MOST_ENTRIES and all(isinstance(each, str) for each in value)


def _develops(data: Object) -> bool:
    return "changes" in data


def _changed(data: Object) -> JSON:
    return data["changes"]


def _development(data: Object) -> FileChanges:
    return fitted(FileChanges, data, name=_CHANGES)


_PLAN = Shape(name=_PARTS, keys=_PART_KEYS, claims=_plans, fit=_parts)
_DEVELOPMENT = Shape(name=_CHANGES, keys=("changes",), claims=_develops, fit=_development, decides=_changed)
