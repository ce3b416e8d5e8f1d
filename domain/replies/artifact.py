"""The reviewer's artifact: its answer decides whether the work goes back (S4 §5, K-36)."""

import math
from typing import Annotated

from pydantic import BeforeValidator

from domain.replies.extraction import Object, Shape, last
from domain.replies.shapes import Few, MaybeFew, ReplyShape, SomeWords, fitted
from domain.values.json import JSON

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
