"""What the prompts of a discussion repeat: requests refer to its subject and its rounds, and readers derive them."""

from domain.discussion.state import Discussion
from domain.session.record import Whole
from domain.session.state import Session
from domain.values.base import Derived, Text

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
    """A text of a session's request, without reading its history again where the session has not moved on since."""
    derived = text.derived
    if derived is None or derived.session_id != session.id or not isinstance(session, Discussion):
        return whole(text)
    match derived.what:
        case "subject":
            return whole(session.subject)
        case "rounds" if derived.seen == session.seen and all(not each.content.digest for each in session.rounds):
            return (derived.between or BLANK_LINE).join(entry.line for entry in session.rounds)
        case _:
            return whole(text)
