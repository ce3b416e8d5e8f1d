"""The artifacts of a delivery. An artifact is text; JSON in it is parsed if it fits (§2)."""

import math
import re
from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, StrictStr, model_validator

from domain.replies.extraction import Object, Shape, find, last, spoken
from domain.replies.shapes import (
    LONGEST_STRING,
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


# -- the reviewer: its answer decides whether the work goes back (S4 §5, K-36) ----------------------------------------

_ARTIFACT = "review_artifact"


def _advice(value: object) -> int | None:
    """A number is rounded and clamped to 0..100; everything else counts as missing (contract §5, details)."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return math.floor(min(100, max(0, value)) + 0.5)


def _steps_of(value: object) -> object:
    """A plan that is one text has one step."""
    if isinstance(value, str):
        return (value,) if value.strip() else ()
    return value


class ReviewIssue(ReplyShape):
    id: SomeWords
    title: SomeWords
    detail: SomeWords


class ReviewArtifact(ReplyShape):
    """Only `blocking_issues` cause another iteration, so they must be a list. One malformed issue makes all of it
    unreadable."""

    blocking_issues: Few[ReviewIssue]
    non_blocking_issues: MaybeFew[ReviewIssue] = ()
    score: Annotated[int | None, BeforeValidator(_advice)] = None
    fix_plan: Annotated[MaybeFew[SomeWords], BeforeValidator(_steps_of)] = ()


def review_artifact(text: str) -> ReviewArtifact:
    """The reviewer's findings. Raises `Unreadable`: an unreadable review is never an approval."""
    return last(text, _REVIEW)


def _reviews(data: Object) -> bool:
    return not data.keys().isdisjoint(_KEYS)


def _artifact(data: Object) -> ReviewArtifact:
    return fitted(ReviewArtifact, data, name=_ARTIFACT)


def _blocking(data: Object) -> JSON:
    return data.get("blockingIssues")


def _blocks(data: Object) -> bool:
    return isinstance(blocking := _blocking(data), list) and len(blocking) > 0


_KEYS = ("blockingIssues", "nonBlockingIssues", "fixPlan")
_REVIEW = Shape(
    name=_ARTIFACT, keys=_KEYS, claims=_reviews, fit=_artifact, decides=_blocking, rejects=_blocks, concludes=True
)


# -- the steps of a plan that is written as a list (contract §5): `- [ ] id: text [depends: a, b]`, `1. text` ---------

_BOX = re.compile(r"[ \t]*+[-*+][ \t]++\[[ xX]?\][ \t]++(?:(?P<id>[\w.\-]{1,100}):[ \t]++)?+(?P<text>\S.*)")
_NUMBER = re.compile(r"[ \t]*+[0-9]{1,4}[.)][ \t]++(?P<text>\S.*)")
_DEPENDS = re.compile(r"\[depends(?:[ \t]++on)?+:(?P<ids>[^\[\]]*+)\][ \t]*+$", re.IGNORECASE | re.ASCII)


class ChecklistStep(ReplyShape):
    """One thing to do. When a plan is read, nothing has been done, whatever its check boxes say."""

    id: str
    description: str
    status: Literal["pending"] = "pending"
    depends_on: tuple[str, ...] = Field(default=(), exclude_if=lambda given: not given)


def checklist(text: str) -> tuple[ChecklistStep, ...]:
    """The steps in order, at least one. Raises `Unreadable`."""
    lines = [match for line in spoken(text).splitlines() if (match := _BOX.match(line) or _NUMBER.match(line))]
    if not lines:
        raise Unreadable(Sentence("reply_without", what=Sentence("checklist")))
    if len(lines) > MOST_ENTRIES:
        raise Unreadable(Sentence("checklist_too_long", number=MOST_ENTRIES))
    names = [line.groupdict().get("id") for line in lines]
    ids = _names(names)
    return tuple(_step(line["text"], name=name) for line, name in zip(lines, ids, strict=True))


def _names(texts: Iterable[str | None]) -> list[str]:
    names = [name or f"step-{index}" for index, name in enumerate(texts)]
    if len(set(names)) < len(names):
        raise Unreadable(Sentence("checklist_id_twice"))
    return names


def _step(words: str, *, name: str) -> ChecklistStep:
    if len(words) > LONGEST_STRING:
        raise Unreadable(Sentence("checklist_step_too_long", number=LONGEST_STRING))
    depends = _DEPENDS.search(words)
    description = (words[: depends.start()] if depends else words).strip()
    if not description:
        raise Unreadable(Sentence("checklist_step_empty"))
    named = [part.strip() for part in depends["ids"].split(",")] if depends else []
    return ChecklistStep(id=name, description=description, depends_on=tuple(filter(None, named)))
