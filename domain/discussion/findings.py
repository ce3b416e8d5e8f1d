"""The outcome of a discussion: its rounds as a text, the feedback that counts, and the points without agreement.

Requests refer to the subject and the rounds of a discussion; readers derive these texts here.
"""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from domain import replies
from domain.convergence.assessment import RoundText
from domain.discussion.state import Discussion, RoundContribution
from domain.discussion.strategies import STRATEGIES
from domain.session.past_commands import Whole
from domain.session.state import Session
from domain.values.base import Derived, Text, Unreadable
from domain.values.sentences import sentence_of
from domain.values.words import SafePieces, closed

SHORT = 200
"""Texts of up to this many bytes are repeated: a reference would not be shorter."""
BLANK_LINE = "\n\n"


def subject(session: Discussion) -> Text:
    """The subject, for a request."""
    if session.subject.length <= SHORT:
        return session.subject
    return Text(length=session.subject.length, derived=Derived(what="subject", session_id=session.id, version=1))


def rounds(session: Discussion, between: str = BLANK_LINE) -> Text:
    """The contributions so far, for a request: every participant sees all of them (behaviour §2.4)."""
    length = session.round_bytes + len(between) * max(0, len(session.rounds) - 1)
    if length <= SHORT:
        return Text(head=between.join(entry.line for entry in session.rounds), length=length)
    derived = Derived(
        what="rounds",
        session_id=session.id,
        version=session.version,
        seen=session.seen,
        between=None if between == BLANK_LINE else between,
    )
    return Text(length=length, derived=derived)


def content_of(session: Session, text: Text, whole: Whole) -> str:
    """A text of a session's request, without reading its history again where the session knows it."""
    derived = text.derived
    if derived is None or derived.session_id != session.id or not isinstance(session, Discussion):
        return whole(text)
    return whole(session.subject if derived.what == "subject" else text)


# -- the rounds in prompts -------------------------------------------------------------------------------------------


LONG: Final = 20_000
"""From this many bytes on, the rounds of a discussion are kept for its next prompt, ..."""
KEPT, KEPT_BYTES = 16, 4_000_000
"""... of at most so many discussions, if they have at most so many bytes."""


class _Prompted(NamedTuple):
    """Contributions, and the pieces of a prompt that were made of them, one for each."""

    rounds: tuple[RoundContribution, ...] = ()
    pieces: tuple[str, ...] = ()


_memo: dict[tuple[str, str], _Prompted] = {}


def closed_rounds(session: Session, text: Text) -> SafePieces | None:
    """The contributions that a session's request refers to, for its prompt; None if they have to be read from the
    history. Each prompt continues the one before, so only contributions that are new to it are prepared."""
    derived = text.derived
    if derived is None or not isinstance(session, Discussion) or derived.what != "rounds":
        return None
    if (derived.session_id, derived.seen) != (session.id, session.seen):
        return None
    between = derived.between or BLANK_LINE
    earlier = _memo.pop((session.id, between), _Prompted())
    if session.rounds[: len(earlier.rounds)] != earlier.rounds:  # another history under the same name
        earlier = _Prompted()
    begun = len(earlier.rounds)
    added = session.rounds[begun:]
    if any(entry.content.digest for entry in added):  # what can be redacted is not kept
        return None
    new = (closed(f"{between if number else ''}{entry.line}") for number, entry in enumerate(added, begun))
    pieces = (*earlier.pieces, *new)
    if LONG <= session.round_bytes <= KEPT_BYTES:
        _memo[session.id, between] = _Prompted(session.rounds, pieces)
        for key in tuple(_memo)[:-KEPT]:  # other threads may do the same
            _memo.pop(key, None)
    return SafePieces(pieces)


def forget_prompted(session_id: str | None) -> None:
    """Drop what is kept of a discussion from which a text was taken out, or of all (None)."""
    for key in tuple(_memo):
        if session_id in (None, key[0]):
            _memo.pop(key, None)


# -- feedback and points without agreement -----------------------------------------------------------------------------


Feedback = dict[str, Any]

_NOTHING_READ: dict[str, Feedback] = {
    "review": {"verdict": "NEEDS_FIX", "summary": "Review completed", "issues": []},
    "debate": {"verdict": "CHALLENGE", "concerns": [], "suggestions": []},
}


def read(kind: str, reply: str) -> tuple[Feedback | None, str | None]:
    """The feedback of a reply, or why it is unreadable."""
    try:
        answer = replies.review(reply) if kind == "review" else replies.debate(reply)
    except Unreadable as problem:
        return None, sentence_of(problem)
    return answer.model_dump(mode="json", by_alias=True), None


def check_decision(kind: str, reply: str) -> None:
    """Raises Unreadable for a reply that decides in two ways."""
    _, problem = read(kind, reply)
    if getattr(problem, "code", "") == "reply_contradictory":
        raise Unreadable(problem)


def tallies(kind: str, words: str) -> Feedback | None:
    """The verdict and tallies at the end of a synthesis; None if they are unreadable."""
    try:
        answer = replies.review_synthesis(words) if kind == "review" else replies.debate_synthesis(words)
    except Unreadable:
        return None
    return answer.model_dump(mode="json", by_alias=True)


def counted(session: Discussion) -> list[RoundText]:
    """The rounds as input for the metrics."""
    return [counted_round(entry) for entry in session.rounds]


def counted_round(entry: RoundContribution) -> RoundText:
    return RoundText(entry.round, entry.role, entry.content.head if entry.counted is None else entry.counted)


def joined(session: Discussion) -> str:
    """The fallback for a synthesis (S2): the rounds, or why there are none."""
    rounds = "\n\n".join(f"[{entry.role}]: {entry.quoted}" for entry in session.rounds)
    return rounds or _broken(session)


def feedback(session: Discussion) -> Feedback:
    """The feedback of the last contribution that judges. If it is unreadable or missing, nothing passes.

    `problem` says why it could not be read, `error` why the discussion was interrupted (K-32).
    """
    last = _last_judging(session)
    answer = dict(last.feedback if last and last.feedback else _NOTHING_READ[session.kind])
    if last is not None and last.problem:
        answer["problem"] = last.problem
    if session.stop_reason == "error":
        answer["error"] = session.last_error
    if last is None and "summary" in answer:
        answer["summary"] = _broken(session)
    return answer


def _broken(session: Discussion) -> str:
    if session.stop_reason == "error":
        return f"The {session.kind} broke off: {session.last_error}"
    return f"The {session.kind} was called off."


def _last_judging(session: Discussion) -> RoundContribution | None:
    return next((entry for entry in reversed(session.rounds) if _judges(session, entry)), None)


def _judges(session: Discussion, entry: RoundContribution) -> bool:
    return STRATEGIES[session.strategy].part(entry.round).judges


def dissent(session: Discussion) -> tuple[str, ...]:
    """Points without agreement, whatever the metrics say: those of the last judgement, and the answers to it.

    A point that the other side lists as conceded is agreed. If the last judgement is unreadable, nothing is settled,
    and the last contribution of every side counts.
    """
    latest = _latest_word(session)
    points = [point for entry in latest for point in _points(entry.feedback, judging=_judges(session, entry))]
    conceded = {_folded(point) for entry in latest for point in _conceded(entry.feedback, _judges(session, entry))}
    return tuple(dict.fromkeys(point for point in points if _folded(point) not in conceded))


def _latest_word(session: Discussion) -> list[RoundContribution]:
    last = _last_judging(session)
    if last is not None and last.feedback is not None:
        return [entry for entry in session.rounds if entry.round >= last.round]
    return list({entry.role: entry for entry in session.rounds if entry.feedback is not None}.values())


def _points(answer: Feedback | None, *, judging: bool) -> Iterable[str]:
    if answer is None:
        return
    yield from (point["claim"] for point in answer.get("pointsOfDisagreement") or ())
    yield from answer.get("concerns") or ()
    if judging:  # issues that the other side lists itself are conceded
        yield from (issue["description"] for issue in answer.get("issues") or ())


def _conceded(answer: Feedback | None, judging: bool) -> Iterable[str]:
    if answer is None or judging:
        return
    yield from answer.get("pointsOfAgreement") or ()
    yield from (issue["description"] for issue in answer.get("issues") or ())


def _folded(words: str) -> str:
    return " ".join(words.casefold().split())
