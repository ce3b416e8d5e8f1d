"""What a person may do with a session now. Includes its discussions, because only they know who waits for a
decision."""

from collections.abc import Callable

from domain.discussion.state import Discussion
from domain.kinds import allowed_actions
from domain.session.state import Session

Read = Callable[[str], Session | None]


def waiting_child(session: Session, load: Read) -> str | None:
    """The only review or debate of the session that waits for a person; None if there is none, or if there are
    several."""
    children = (load(child) for child in session.open_children)
    waiting = [child.id for child in children if isinstance(child, Discussion) and child.choices]
    return waiting[0] if len(waiting) == 1 else None


def allowed(session: Session, load: Read) -> tuple[str, ...]:
    """The allowed actions. A parent allows `decision`, too, if that would reach the only child that waits."""
    endpoints = allowed_actions(session)
    if "decision" in endpoints or waiting_child(session, load) is None:
        return endpoints
    return ("decision", *endpoints)
