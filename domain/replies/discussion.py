"""Feedback and syntheses of reviews and debates (S2, behaviour §2.2).

The lists that S2 calls extensions are None if the agent left them out, and then missing from the JSON; the others are
empty.
"""

from typing import Annotated, Literal, get_args

from pydantic import BeforeValidator, Field

from domain.replies.extraction import Object, Shape, last
from domain.replies.shapes import (
    Few,
    M,
    MaybeFew,
    MaybeWords,
    ReplyShape,
    SomeWords,
    Words,
    fitted,
    in_any_case,
)
from domain.values.base import absent

_REVIEWED = Literal["PASS", "NEEDS_FIX"]
_DEBATED = Literal["APPROVE", "CHALLENGE"]
_SEVERITY = Literal["critical", "major", "minor"]
ReviewVerdict = Annotated[_REVIEWED, BeforeValidator(in_any_case(get_args(_REVIEWED)))]
DebateVerdict = Annotated[_DEBATED, BeforeValidator(in_any_case(get_args(_DEBATED)))]
Severity = Annotated[_SEVERITY, BeforeValidator(in_any_case(get_args(_SEVERITY)))]
Tally = Annotated[int, Field(strict=True, ge=0, le=2**53)]


class FoundIssue(ReplyShape):
    severity: Severity
    description: SomeWords
    suggestion: MaybeWords = ""


class Disagreement(ReplyShape):
    claim: SomeWords
    explanation: MaybeWords = ""
    alternative: MaybeWords = ""


class Risk(ReplyShape):
    """`severity` as the agent wrote it: S2 only fixes the values for issues."""

    description: SomeWords
    severity: MaybeWords = ""


class Hazards(ReplyShape):
    """The optional parts of a challenge (K-31)."""

    security_risks: Few[Risk] | None = Field(default=None, exclude_if=absent)
    edge_cases: Few[Words] | None = Field(default=None, exclude_if=absent)
    scalability_concerns: Few[Words] | None = Field(default=None, exclude_if=absent)
    maintenance_burden: Few[Words] | None = Field(default=None, exclude_if=absent)


class ReviewFeedback(Hazards):
    verdict: ReviewVerdict
    summary: MaybeWords = ""
    issues: MaybeFew[FoundIssue] = ()
    points_of_agreement: Few[Words] | None = Field(default=None, exclude_if=absent)
    points_of_disagreement: Few[Disagreement] | None = Field(default=None, exclude_if=absent)
    unexamined_assumptions: Few[Words] | None = Field(default=None, exclude_if=absent)
    missing_considerations: Few[Words] | None = Field(default=None, exclude_if=absent)


class DebateFeedback(Hazards):
    verdict: DebateVerdict
    concerns: MaybeFew[Words] = ()
    suggestions: MaybeFew[Words] = ()


class ReviewSynthesis(ReplyShape):
    verdict: ReviewVerdict
    summary: MaybeWords = ""
    resolved_count: Tally = 0
    remaining_count: Tally = 0


class DebateSynthesis(ReplyShape):
    verdict: DebateVerdict
    summary: MaybeWords = ""
    consensus_count: Tally = 0
    divergence_count: Tally = 0


def review(text: str) -> ReviewFeedback:
    """The feedback of a critique or rebuttal. Raises `Unreadable`, also for an unknown verdict."""
    return last(text, _REVIEW)


def debate(text: str) -> DebateFeedback:
    """The feedback of a challenge or defense. Raises `Unreadable`, also for an unknown verdict."""
    return last(text, _DEBATE)


def review_synthesis(text: str) -> ReviewSynthesis:
    """The verdict at the end of a review's synthesis. Raises `Unreadable`."""
    return last(text, _REVIEW_SYNTHESIS)


def debate_synthesis(text: str) -> DebateSynthesis:
    """The verdict at the end of a debate's synthesis. Raises `Unreadable`."""
    return last(text, _DEBATE_SYNTHESIS)


def _judged(model: type[M], *, name: str, verdicts: tuple[str, ...]) -> Shape[M]:
    """Only an object with a valid verdict counts: the template `PASS|NEEDS_FIX` does not. The last verdict rejects."""
    normalize = in_any_case(verdicts)

    def claims(data: Object) -> bool:
        return normalize(data.get("verdict")) in verdicts

    def fit(data: Object) -> M:
        return fitted(model, data, name=name)

    def decides(data: Object) -> object:
        return normalize(data.get("verdict"))

    def rejects(data: Object) -> bool:
        return normalize(data.get("verdict")) == verdicts[-1]

    return Shape(name=name, keys=("verdict",), claims=claims, fit=fit, decides=decides, rejects=rejects)


_REVIEW = _judged(ReviewFeedback, name="review_verdict", verdicts=get_args(_REVIEWED))
_DEBATE = _judged(DebateFeedback, name="debate_verdict", verdicts=get_args(_DEBATED))
_REVIEW_SYNTHESIS = _judged(ReviewSynthesis, name="review_synthesis_verdict", verdicts=get_args(_REVIEWED))
_DEBATE_SYNTHESIS = _judged(DebateSynthesis, name="debate_synthesis_verdict", verdicts=get_args(_DEBATED))
