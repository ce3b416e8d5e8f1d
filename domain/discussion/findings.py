"""The outcome of a discussion: its rounds as a text, the feedback that counts, and the points without agreement."""

import json
from collections.abc import Iterable
from typing import Any

from domain import replies
from domain.convergence import RoundText
from domain.discussion.state import Discussion, RoundContribution
from domain.discussion.strategies import STRATEGIES
from domain.values.base import Unreadable

Feedback = dict[str, Any]

_NOTHING_READ: dict[str, Feedback] = {
    "review": {"verdict": "NEEDS_FIX", "summary": "Review completed", "issues": []},
    "debate": {"verdict": "CHALLENGE", "concerns": [], "suggestions": []},
}


def read(kind: str, reply: str) -> tuple[Feedback | None, str | None]:
    """The feedback of a reply, or why it is unreadable."""
    try:
        found = replies.review(reply) if kind == "review" else replies.debate(reply)
    except Unreadable as problem:
        return None, str(problem)
    return found.model_dump(mode="json", by_alias=True), None


def tallies(kind: str, words: str) -> Feedback | None:
    """The verdict and tallies at the end of a synthesis; None if they are unreadable."""
    try:
        found = replies.review_synthesis(words) if kind == "review" else replies.debate_synthesis(words)
    except Unreadable:
        return None
    return found.model_dump(mode="json", by_alias=True)


def counted(session: Discussion) -> list[RoundText]:
    """The rounds as input for the metrics."""
    return [
        RoundText(said.round, said.role, said.content.head if said.counted is None else said.counted)
        for said in session.rounds
    ]


def so_far(session: Discussion, between: str = "\n\n") -> str:
    """Every participant sees all contributions so far (behaviour §2.4)."""
    return between.join(f"[Round {said.round} - {said.role}]\n{_quoted(said)}" for said in session.rounds)


def joined(session: Discussion) -> str:
    """The fallback for a synthesis (S2): the rounds, or why there are none."""
    rounds = "\n\n".join(f"[{said.role}]: {_quoted(said)}" for said in session.rounds)
    return rounds or _broken(session)


def _quoted(said: RoundContribution) -> str:
    """The text; for very long ones, the beginning and the feedback at the end."""
    shown = said.content.shown()
    if said.content.digest is None or said.feedback is None:
        return shown
    return f"{shown}\n\n{json.dumps(said.feedback, ensure_ascii=False)}"


def feedback(session: Discussion) -> Feedback:
    """The feedback of the last contribution that judges. If it is unreadable or missing, nothing passes.

    `problem` says why it could not be read, `error` why the discussion was interrupted (K-32).
    """
    last = _last_judging(session)
    found = dict(last.feedback if last and last.feedback else _NOTHING_READ[session.kind])
    if last is not None and last.problem:
        found["problem"] = last.problem
    if session.stop_reason == "error":
        found["error"] = session.last_error
    if last is None and "summary" in found:
        found["summary"] = _broken(session)
    return found


def _broken(session: Discussion) -> str:
    if session.stop_reason == "error":
        return f"The {session.kind} broke off: {session.last_error}"
    return f"The {session.kind} was called off."


def _last_judging(session: Discussion) -> RoundContribution | None:
    return next((said for said in reversed(session.rounds) if _judges(session, said)), None)


def _judges(session: Discussion, said: RoundContribution) -> bool:
    return STRATEGIES[session.strategy].part(said.round).judges


def dissent(session: Discussion) -> tuple[str, ...]:
    """Points without agreement, whatever the metrics say: those of the last judgement, and the answers to it.

    A point that the other side lists as conceded is agreed. If the last judgement is unreadable, nothing is settled,
    and the last contribution of every side counts.
    """
    latest = _latest_word(session)
    points = [point for said in latest for point in _points(said.feedback, judging=_judges(session, said))]
    conceded = {_folded(point) for said in latest for point in _conceded(said.feedback, _judges(session, said))}
    return tuple(dict.fromkeys(point for point in points if _folded(point) not in conceded))


def _latest_word(session: Discussion) -> list[RoundContribution]:
    last = _last_judging(session)
    if last is not None and last.feedback is not None:
        return [said for said in session.rounds if said.round >= last.round]
    return list({said.role: said for said in session.rounds if said.feedback is not None}.values())


def _points(found: Feedback | None, *, judging: bool) -> Iterable[str]:
    if found is None:
        return
    yield from (point["claim"] for point in found.get("pointsOfDisagreement") or ())
    yield from found.get("concerns") or ()
    if judging:  # issues that the other side lists itself are conceded
        yield from (issue["description"] for issue in found.get("issues") or ())


def _conceded(found: Feedback | None, judging: bool) -> Iterable[str]:
    if found is None or judging:
        return
    yield from found.get("pointsOfAgreement") or ()
    yield from (issue["description"] for issue in found.get("issues") or ())


def _folded(words: str) -> str:
    return " ".join(words.casefold().split())
