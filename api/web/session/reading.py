"""A session read for its page: in a thread, no older than the log, once for all who ask for the same at once."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from starlette.requests import Request

from adapters.store.texts import whole
from api.http.problems import Problem
from api.http.requests import system
from api.system import System
from api.web.asking import FILES, in_lines, outside
from api.web.rendering import explicit, fragment, language_of
from api.web.sent_forms import NOTHING, Sent
from api.web.session import status
from api.web.session.context import ICONS, badge_of
from api.web.session.listing import LISTED
from api.web.session.panels import Gallery
from domain.delivery.state import Delivery
from domain.discussion.events import suggested
from domain.discussion.state import Discussion
from domain.kinds import KINDS, allowed_actions
from domain.session.record import kind_of
from domain.session.state import Session
from domain.values.base import Text, Unknown
from domain.values.budget import dollars
from domain.values.sentences import Sentence
from domain.values.words import Words

T = TypeVar("T")


async def reading(request: Request, build: Callable[[System, Session, int], T], *, shared: bool = True) -> T:
    """Once the views have reached what the log has: a page shows one version. Views that cannot be written now are
    shown as they are. `build` is told the log's head from before the session was read, too; what it makes of an address
    is `shared`."""
    inside, session_id = system(request), request.path_params["id"]
    head = await asyncio.to_thread(inside.store.head)
    failing = inside.follower.failing is not None
    if not failing and not await inside.follower.wait_for(head, inside.settings.read_after_seconds):
        raise Problem(503, Sentence("views_catching_up"), headers={"Retry-After": "1"})

    def load() -> T:
        now = inside.sessions.get(session_id) if kind_of(session_id) in KINDS else None
        if now is None:
            raise Unknown(Sentence("session_not_found", id=session_id))
        return build(inside, now, head)

    if failing or not shared:
        return await asyncio.to_thread(load)
    reader = (language_of(request).language, request.cookies.get(LISTED, ""), getattr(request.state, "actor", ""))
    address = (request.url.path, request.url.query, *reader)
    return await gallery(request).shared.of(head, address, load)


def as_of(inside: System, now: Session, at: int | None) -> Session:
    """Raises Unknown for a version that the session does not have."""
    if at is None or at == now.version:
        return now
    state = inside.sessions.get(now.id, at)
    if state is None:
        raise Unknown(Sentence("session_version_beyond", id=now.id, number=at, newest=now.version))
    return state


def gallery(request: Request) -> Gallery:
    """Kept with the application; the first page that is asked for makes it."""
    cache: dict[str, Gallery] = request.app.state.kept
    return cache.get("gallery") or cache.setdefault("gallery", Gallery(system(request)))


# The whole of what somebody said in an event.


def words_of(inside: System, now: Session, at: int, field: str | None) -> str:
    """The first text of an event, or the one of that name. Raises Unknown."""
    stretch = inside.store.history(now.id, after=at - 1, upto=at)
    if not stretch:
        raise Unknown(Sentence("session_version_beyond", id=now.id, number=at, newest=now.version))
    event = stretch[0].event
    texts = {name: getattr(event, name) for name in type(event).model_fields}
    texts = {name: text for name, text in texts.items() if isinstance(text, Text)}
    text = texts.get(field) if field else next(iter(texts.values()), None)
    if text is None:
        raise Unknown(Sentence("text_not_found", number=at, id=now.id))
    return whole(inside.store, text)


# What a person may do with a session now: its forms, and those of the discussions that it waits for.


def act(request: Request, inside: System, now: Session, say: Words, *, key: str = "", sent: Sent = NOTHING) -> str:
    """With a `key` the forms can be sent as they are; the page's script needs none. `sent` is the one refused."""
    actor = getattr(request.state, "actor", "")
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
        verbs=allowed_actions(now),
        spent=now.exhausted_by if isinstance(now, Delivery) else None,
        scope=now.scope_request if isinstance(now, Delivery) else None,
        outside=outside(now),
        files=FILES,
        in_lines=in_lines,
        questions=tuple(now.questions.values()),
        choices=now.choices if isinstance(now, Discussion) else (),
        suggested=suggested(now.feedback) if isinstance(now, Discussion) else None,
        approval=status.approval(now, actor),
        seen=now.seen if isinstance(now, Discussion) else "",
        alone=now.parent is None,
        each=_iteration_cost(inside, now),
        fixable=_fixable(now),
        waiting=[status.question_of(child, actor) for child in waiting],
        icons_of=ICONS,
        pausing=now.waits,
        key=key,
        sent=sent,
    ).strip()


def _iteration_cost(inside: System, now: Session) -> str:
    """What an iteration of the delivery that a decision is about has cost so far; "" where nothing was reported."""
    delivery = inside.sessions.get(now.parent) if now.parent else now
    if not isinstance(delivery, Delivery) or not delivery.iteration:
        return ""
    cost = delivery.budget.spent.cost_micros
    return dollars(cost // delivery.iteration) if cost else ""


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
