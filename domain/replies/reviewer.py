"""The reviewer of a delivery: its answer decides whether the work goes back (S4 §5, K-36)."""

import math
from typing import Annotated

from pydantic import BeforeValidator

from domain.replies.extraction import Object, Shape, last
from domain.replies.shapes import Few, MaybeFew, ReplyShape, SomeWords, fitted
from domain.values.strict import JSON

_ARTIFACT = "review artifact"


def _advice(given: object) -> int | None:
    """A number is rounded and clamped to 0..100; everything else says nothing (contract §5, details)."""
    if isinstance(given, bool) or not isinstance(given, int | float):
        return None
    return math.floor(min(100, max(0, given)) + 0.5)


def _listed(given: object) -> object:
    """A plan that is written as one text has one step."""
    if isinstance(given, str):
        return (given,) if given.strip() else ()
    return given


class ReviewIssue(ReplyShape):
    id: SomeWords
    title: SomeWords
    detail: SomeWords


class ReviewArtifact(ReplyShape):
    """Only `blocking_issues` send back, so they have to be a list; one malformed issue makes all of it unreadable."""

    blocking_issues: Few[ReviewIssue]
    non_blocking_issues: MaybeFew[ReviewIssue] = ()
    score: Annotated[int | None, BeforeValidator(_advice)] = None
    fix_plan: Annotated[MaybeFew[SomeWords], BeforeValidator(_listed)] = ()


def review_artifact(text: str) -> ReviewArtifact:
    """The reviewer's findings. Raises `Unreadable`: what cannot be read is never an approval."""
    return last(text, _REVIEW)


def _reviews(found: Object) -> bool:
    return not found.keys().isdisjoint(_KEYS)


def _artifact(found: Object) -> ReviewArtifact:
    return fitted(ReviewArtifact, found, name=_ARTIFACT)


def _blocking(found: Object) -> JSON:
    return found.get("blockingIssues")


_KEYS = ("blockingIssues", "nonBlockingIssues", "fixPlan")
_REVIEW = Shape(name=_ARTIFACT, keys=_KEYS, claims=_reviews, fit=_artifact, decides=_blocking)
