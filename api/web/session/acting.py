"""What a person may do with a session now: its forms, and those of the discussions that it waits for."""

from starlette.requests import Request

from api.system import System
from api.web.forms.sent import NOTHING, Sent
from api.web.rendering import explicit, fragment
from api.web.session import overview
from api.web.session.standing import ICONS, badge_of
from domain.delivery.state import Delivery
from domain.discussion.state import Discussion
from domain.discussion.suggestion import suggested
from domain.kinds import allowed_actions
from domain.session.state import Session
from domain.values.words import Words


def act(request: Request, inside: System, now: Session, say: Words, *, key: str = "", sent: Sent = NOTHING) -> str:
    """With a `key` the forms can be sent as they are; the page's script needs none. `sent` is the one refused."""
    children = [inside.sessions.get(name) for name in now.open_children]
    waiting = [child for child in children if isinstance(child, Discussion) and child.choices]
    return fragment(
        say,
        explicit(request),
        "session_act.html",
        id=now.id,
        kind=now.kind,
        version=now.version,
        state=badge_of(now),
        doors=allowed_actions(now),
        scope=now.scope_request if isinstance(now, Delivery) else None,
        questions=tuple(now.questions.values()),
        choices=now.choices if isinstance(now, Discussion) else (),
        suggested=suggested(now.feedback) if isinstance(now, Discussion) else None,
        approval=overview.approval(now),
        seen=now.seen if isinstance(now, Discussion) else "",
        fixable=_fixable(now),
        waiting=[overview.asked(child) for child in waiting],
        icons_of=ICONS,
        key=key,
        sent=sent,
    ).strip()


def _fixable(now: Session) -> bool:
    """Whether a delivery can apply what it found: a review of its own that was decided so, or work that was sent
    back."""
    match now:
        case Discussion(kind="review", parent=None, decision=made):
            return made is not None and made.choice == "apply_fix"
        case Delivery():
            return now.sent_back is not None
        case _:
            return False
