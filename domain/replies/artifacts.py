"""What a planner or a developer may add to its artifact. The artifact is text; JSON in it is read when it fits (§2)."""

from typing import Annotated

from pydantic import Field, StrictStr, model_validator

from domain.replies.extraction import Object, Shape, find, last
from domain.replies.shapes import MOST_ENTRIES, Few, MaybeFew, ReplyShape, SomeWords, Words, absent, fitted
from domain.values.base import Unreadable
from domain.values.strict import JSON

_PARTS = "plan"
_CHANGES = "list of changes"
_PART_KEYS = ("goals", "modules", "checklist")


class PlanParts(ReplyShape):
    """What a reviewer is told of the plan (behaviour §3.2)."""

    goals: MaybeFew[Words] = ()
    modules: MaybeFew[Words] = ()
    checklist: MaybeFew[Words] = ()


class FileChange(ReplyShape):
    """The new content of one file: the whole of it, or a patch with the whole to fall back on.

    The path is the agent's word: it is resolved, or refused, where files are written.
    """

    path: Annotated[SomeWords, Field(max_length=4096)]
    content: StrictStr | None = Field(default=None, exclude_if=absent)
    patch: StrictStr | None = Field(default=None, exclude_if=absent)
    fallback_content: StrictStr | None = Field(default=None, exclude_if=absent)

    @model_validator(mode="after")
    def _says_something(self) -> "FileChange":
        if self.content is None and self.patch is None and self.fallback_content is None:
            raise ValueError("neither content nor a patch is given")
        return self


class FileChanges(ReplyShape):
    changes: Few[FileChange]


def plan_parts(text: str) -> PlanParts:
    """The lists of a plan that are in the text as JSON; empty where there are none, or where they are not strings."""
    try:
        return last(text, _PLAN)
    except Unreadable:
        return PlanParts()  # any text is a plan


def changes(text: str) -> tuple[FileChange, ...]:
    """The changes that are in the text as JSON; none in plain text. Raises `Unreadable`, naming the entry that does not
    fit: a change is never dropped.
    """
    found = find(text, _DEVELOPMENT)
    return found.changes if found is not None else ()


def _plans(found: Object) -> bool:
    return not found.keys().isdisjoint(_PART_KEYS)


def _parts(found: Object) -> PlanParts:
    """Each list by itself: a checklist of objects does not cost the goals."""
    return fitted(PlanParts, {key: found.get(key) for key in _PART_KEYS if _strings(found.get(key))}, name=_PARTS)


def _strings(given: object) -> bool:
    return isinstance(given, list) and len(given) <= MOST_ENTRIES and all(isinstance(each, str) for each in given)


def _develops(found: Object) -> bool:
    return "changes" in found


def _changed(found: Object) -> JSON:
    return found["changes"]


def _development(found: Object) -> FileChanges:
    return fitted(FileChanges, found, name=_CHANGES)


_PLAN = Shape(name=_PARTS, keys=_PART_KEYS, claims=_plans, fit=_parts)
_DEVELOPMENT = Shape(name=_CHANGES, keys=("changes",), claims=_develops, fit=_development, decides=_changed)
