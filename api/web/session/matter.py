"""Shows what a decision is about, beside its buttons: what was found, the synthesis, and until when there is time."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from markupsafe import Markup

from api.web.plain_text import cut, in_line
from api.web.session.context import LONG, SENTENCE, tame
from domain.discussion.ending import expires_to
from domain.discussion.events import main_point
from domain.discussion.state import Discussion

POINTS: Final = 12
"""Findings that are shown beside the buttons; the session has all of them."""


@dataclass(frozen=True, slots=True)
class DecisionPoint:
    """A finding of the last judgement, or a point on which nobody agreed (`severity`: "")."""

    severity: str
    words: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Matter:
    """`then` is the choice that counts after `expires_at`."""

    points: tuple[DecisionPoint, ...]
    more: int
    synthesis: Markup | None
    subject: str
    expires_at: str
    then: str


def matter_of(session: Discussion, *, long: int = LONG) -> Matter:
    """Returns what a person has to know to decide this discussion; `long` limits the texts."""
    points = _points(session)
    return Matter(
        points=tuple(points[:POINTS]),
        more=max(0, len(points) - POINTS),
        synthesis=tame(session.synthesis.head, long) if session.synthesis else None,
        subject=cut(session.subject.head, long) if session.parent is None else "",
        expires_at=session.expires_at or "",
        then=expires_to(session) if session.expires_at else "",
    )


def point_of(session: Discussion) -> str:
    """Its last judgement in one line, else the first point that was not agreed on."""
    return in_line(main_point(session.feedback) or next(iter(session.dissent), ""))


def _points(session: Discussion) -> list[DecisionPoint]:
    feedback = session.feedback or {}
    issues = [_point(issue) for issue in feedback.get("issues") or () if isinstance(issue, Mapping)]
    texts = [*(point.words for point in issues), *(feedback.get("concerns") or ())]
    concerns = [DecisionPoint("", cut(str(words), LONG)) for words in feedback.get("concerns") or ()]
    dissent = [DecisionPoint("", cut(words, LONG)) for words in session.dissent if words not in texts]
    return [*issues, *concerns, *dissent]


def _point(issue: Mapping[str, Any]) -> DecisionPoint:
    return DecisionPoint(
        severity=str(issue.get("severity") or ""),
        words=cut(str(issue.get("description") or ""), LONG),
        fix=cut(str(issue.get("suggestion") or ""), SENTENCE),
    )
