"""Reads what reviewers may say about an issue beside its words: the place, its kind, evidence, the finding that it
repeats.

Nothing depends on it: what does not fit is left out, and a reply without it is as good.
"""

from collections.abc import Callable, Sequence
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from domain.replies.artifact import ReviewArtifact, ReviewIssue
from domain.replies.discussion import FoundIssue, ReviewFeedback
from domain.replies.extraction import Object, Shape, last
from domain.replies.shapes import LONGEST_STRING, MaybeFew, ReplyShape, fitted
from domain.values.base import Unreadable

HintedSeverity = Literal["critical", "major", "minor", ""]
_LONGEST_NAME = 4_096
_SEVERITIES = ("critical", "major", "minor")


def _words(most: int) -> Callable[[object], str]:
    def read(value: object) -> str:
        return value.strip() if isinstance(value, str) and len(value) <= most else ""

    return read


def _line(value: object) -> int | None:
    return value if type(value) is int and 0 < value < 2**31 else None


def _severity(value: object) -> str:
    word = value.strip().lower() if isinstance(value, str) else ""
    return word if word in _SEVERITIES else ""


Name = Annotated[str, BeforeValidator(_words(_LONGEST_NAME))]


class IssueHints(ReplyShape):
    path: Name = ""
    line: Annotated[int | None, BeforeValidator(_line)] = None
    symbol: Name = ""
    kind: Name = ""
    evidence: Annotated[str, BeforeValidator(_words(LONGEST_STRING))] = ""
    finding: Name = ""
    severity: Annotated[HintedSeverity, BeforeValidator(_severity)] = ""


class _Hinted(ReviewIssue, IssueHints):
    pass


class _HintedArtifact(ReviewArtifact):
    blocking_issues: Annotated[tuple[_Hinted, ...], Field(max_length=200)]
    non_blocking_issues: MaybeFew[_Hinted] = ()


class _HintedFound(FoundIssue):
    path: Name = ""
    line: Annotated[int | None, BeforeValidator(_line)] = None
    symbol: Name = ""
    kind: Name = ""
    evidence: Annotated[str, BeforeValidator(_words(LONGEST_STRING))] = ""
    finding: Name = ""


class _HintedFeedback(ReviewFeedback):
    issues: MaybeFew[_HintedFound] = ()


def review_hints(reply: str) -> tuple[Sequence[IssueHints], Sequence[IssueHints]]:
    """Of the blocking issues and of the others of a delivery's reviewer, in order; empty where it cannot be read."""
    try:
        answer = last(reply, _REVIEW)
    except Unreadable:
        return (), ()
    return answer.blocking_issues, answer.non_blocking_issues


def discussion_hints(reply: str) -> Sequence[IssueHints]:
    """Of the issues of a critique, in order; empty where it cannot be read."""
    try:
        answer = last(reply, _FEEDBACK)
    except Unreadable:
        return ()
    return [IssueHints.model_validate(issue.model_dump(by_alias=True)) for issue in answer.issues]


def _claims_review(data: Object) -> bool:
    return "blockingIssues" in data


def _claims_feedback(data: Object) -> bool:
    return "verdict" in data and "issues" in data


def _artifact(data: Object) -> _HintedArtifact:
    return fitted(_HintedArtifact, data, name="review_artifact")


def _feedback(data: Object) -> _HintedFeedback:
    return fitted(_HintedFeedback, data, name="review_verdict")


_REVIEW = Shape(name="review_artifact", keys=("blockingIssues",), claims=_claims_review, fit=_artifact)
_FEEDBACK = Shape(name="review_verdict", keys=("verdict", "issues"), claims=_claims_feedback, fit=_feedback)
