"""The list of events of a session's page: important ones first, or all, as the reader has chosen; also by role."""

from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from api.http.problems import of_field
from api.system import System
from api.web.renderer import explicit, fragment
from api.web.session.history import RowWindow, Span, Wanted, window
from domain.session.state import Session
from domain.values.sentences import Sentence
from domain.values.words import Words

LISTED: Final = "hansard_events"
"""The cookie that remembers which events a reader lists: 1 for the important ones, 0 for all."""
ROLES: Final = 20
"""Roles that a list can be filtered to at once."""
_YEAR: Final = 31_536_000


def listed_of(request: Request) -> str:
    """The choice in the address, else the last one, else the important ones."""
    chosen = request.query_params.get("highlights") or request.cookies.get(LISTED, "")
    return chosen if chosen in ("0", "1") else "1"


def remembering(request: Request, response: Response) -> Response:
    """The answer with the cookie, if the address says something other than the cookie."""
    chosen = request.query_params.get("highlights")
    if chosen and chosen != request.cookies.get(LISTED):
        response.set_cookie(LISTED, chosen, max_age=_YEAR, path="/sessions", samesite="strict", httponly=True)
    return response


def wanted_of(request: Request) -> Wanted:
    roles = request.query_params.getlist("role")
    if len(roles) > ROLES:
        raise of_field("role", Sentence("too_many_at_once", number=ROLES))
    flag = request.query_params.get("highlights", "")
    if flag not in ("", "0", "1"):
        raise of_field("highlights", Sentence("should_be_1"))
    return Wanted(roles=tuple(role for role in roles if role), highlights=listed_of(request) == "1")


def window_of(
    inside: System,
    now: Session,
    wanted: Wanted,
    span: Span,
    say: Words,
    *,
    since: int = 0,
    shown: int | None = None,
) -> RowWindow:
    record = inside.records.of(now.id, now.version)
    return window(record, inside.store, now, wanted, span, say.language, since=since, shown=shown)


def one_row(request: Request, inside: System, now: Session, at: int, say: Words) -> str:
    """The row of an event, for a list that leaves it out."""
    every = Wanted(highlights=False)
    return rows_of(request, now, say, every, at, window_of(inside, now, every, Span(at, 1, 0), say))


def rows_of(request: Request, now: Session, say: Words, wanted: Wanted, at: int | None, row_window: RowWindow) -> str:
    return fragment(say, explicit(request), "session_rows.html", id=now.id, at=at, wanted=wanted, w=row_window)
