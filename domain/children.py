"""Parents and children: a session has something discussed, and the discussion reports back (S2, K-24, K-25)."""

from typing import Any, ClassVar

from domain.base import Command, DomainEvent, Text, Value
from domain.discussion.topic import Topic


class Child(Value):
    """A discussion that is not closed yet."""

    kind: str
    about: str
    requested_at: int


class ChildRequested(DomainEvent):
    """Something of this session goes to a review or a debate; the child begins in the same transaction."""

    TOPIC: ClassVar[str] = "session.child_requested"
    message: str = ""
    role: str = "supervisor"
    child_id: str
    child_kind: str
    about: str
    topic: Topic


class ChildClosed(DomainEvent):
    """The discussion is over: what was chosen, by a person or, where nobody chose, by default."""

    TOPIC: ClassVar[str] = "session.child_closed"
    message: str = ""
    role: str = "supervisor"
    child_id: str
    about: str
    choice: str
    by: str
    synthesis: Text
    feedback: dict[str, Any]
    rounds: int


EVENTS: tuple[type[DomainEvent], ...] = (ChildRequested, ChildClosed)


class CloseChild(Command):
    """A child tells its parent how it ended."""

    child_id: str
    choice: str
    by: str
    synthesis: Text
    feedback: dict[str, Any]
    rounds: int


def child_id(parent_id: str, kind: str, number: int) -> str:
    """The id of a parent's n-th child: `review-<the parent's own part>c2`."""
    return f"{kind}-{parent_id.partition('-')[2]}c{number}"


def fix_feedback(feedback: dict[str, Any], synthesis: Text) -> str:
    """What the fixing agent is told (behaviour §2.4)."""
    lines = [f"[Review NEEDS_FIX] {feedback.get('summary', '')}".rstrip()]
    lines += [_issue(issue) for issue in feedback.get("issues") or ()]
    if synthesis.length:
        lines += ["", f"[Synthesis]: {synthesis.head}"]
    return "\n".join(lines)


def _issue(issue: dict[str, Any]) -> str:
    suggestion = issue.get("suggestion")
    return f"- **[{issue['severity']}]** {issue['description']}" + (f" → {suggestion}" if suggestion else "")
