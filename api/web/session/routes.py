"""`/sessions/{id}`: the page, its panels as of any event, its rows, and the whole of a text.

`?at=N` is the session after its N-th event; what is of one version never changes and may be kept for ever.
"""

import hashlib
from functools import partial
from importlib.resources import files
from typing import Any, Final, NamedTuple

import orjson
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from api.http.problems import of_field
from api.http.requests import answer_headers, number, only
from api.node.session_answers import not_run_here
from api.system import System
from api.web.home_rows import RUNNING
from api.web.model import ICONS, Paused, badge, clock, icon_of, paused
from api.web.renderer import KEY, explicit, fragment, language_of, may_send, needs, page, render
from api.web.sent_forms import NOTHING, Sent
from api.web.session.act import act
from api.web.session.context import PanelContext, badge_of
from api.web.session.failure import cause_of
from api.web.session.findings import ORDERS
from api.web.session.history import Strip, Wanted, around, following, newest, strip
from api.web.session.listing import listed_of, one_row, remembering, rows_of, wanted_of, window_of
from api.web.session.panels import OLD_TABS, TABS, TALKS, Panels, Selection
from api.web.session.reading import as_of, gallery, reading, words_of
from domain.discussion.state import Discussion
from domain.kinds import is_over
from domain.session.state import Session
from domain.values.base import Unknown
from domain.values.sentences import Sentence
from domain.values.words import Words
from projections.record import timeline
from projections.record.session import title_of, view
from projections.sessions import overview
from projections.views.session import IMPORTED, is_imported

JSON: Final = "application/json"
FOR_EVER: Final = "private, max-age=31536000, immutable"
_SENT: Final = ("comments", "revise")
"""The commands of panels."""
FORKS: Final = 50
"""Forks of a session that its page lists."""


def _build() -> str:
    """Names what the panels are made by: templates, words and code."""
    digest = hashlib.sha256()
    pending = [files("api.web"), files("projections.record")]
    while pending:
        for place in sorted(pending.pop().iterdir(), key=lambda entry: entry.name):
            if place.is_dir() and place.name != "__pycache__":
                pending.append(place)
            elif place.name.endswith((".html", ".toml", ".py")):
                digest.update(place.name.encode() + place.read_bytes())
    return digest.hexdigest()[:12]


BUILD: Final = _build()


async def show(request: Request) -> Response:
    """GET /sessions/{id}: the session now, or after its event `?at=`"""
    only(request, "at", "lang", "role", "highlights", "tab", "turnId", "file", "by")
    say, at, wanted = language_of(request), number(request, "at", least=1), wanted_of(request)
    _view(request)
    html = await reading(request, lambda inside, now, head: _page(request, inside, now, head, say, at, wanted))
    return remembering(request, page(html))


async def again(request: Request, sent: Sent) -> Response:
    """The page once more, with a command that was refused."""
    say, at = language_of(request), number(request, "at", least=1)

    def build(inside: System, now: Session, head: int) -> str:
        return _page(request, inside, now, head, say, at, Wanted(highlights=listed_of(request) == "1"), sent)

    return page(await reading(request, build, shared=False), status=sent.status, key=sent.key)


async def show_at(request: Request) -> Response:
    """GET /sessions/{id}/at: panels as JSON; of one version (`?at=`) for ever, else of now with what is live besides"""
    only(request, "at", "lang", "v", "since", "role", "highlights", "tab", "turnId", "file", "by")
    say, at, since = language_of(request), number(request, "at", least=1), number(request, "since", least=1)
    wanted = wanted_of(request)

    def build(inside: System, now: Session, head: int) -> bytes:
        then = as_of(inside, now, at)
        current = _panels(request, then, say)
        old = _panels(request, as_of(inside, now, since), say) if since else {}
        body = _version_body(request, then, current, old, say, "" if at else _badge_now(inside, now))
        if at:
            return orjson.dumps(body | {"row": one_row(request, inside, now, at, say)})
        return orjson.dumps(body | _live(request, inside, now, head, say, wanted, since))

    body = await reading(request, build)
    lasting = at is not None and request.query_params.get("v") == BUILD
    headers = {"Cache-Control": FOR_EVER} if lasting else answer_headers()
    return Response(body, headers=headers | {"Vary": "Accept-Language"}, media_type=JSON)


async def show_rows(request: Request) -> Response:
    """GET /sessions/{id}/rows: the events around `?at=`, up to `?upto=`, from `?from=` on, or the newest"""
    only(request, "at", "upto", "from", "lang", "role", "highlights")
    say, at, wanted = language_of(request), number(request, "at", least=1), wanted_of(request)
    upto, since = number(request, "upto", least=1), number(request, "from", least=1)
    span = around(at) if at else newest(upto) if upto else following(since) if since else None

    def build(inside: System, now: Session, _: int) -> dict[str, Any]:
        row_window = window_of(inside, now, wanted, span or newest(now.version), say, shown=at)
        rows = rows_of(request, now, say, wanted, at, row_window)
        return {"rows": rows, "earlier": row_window.earlier, "later": row_window.later}

    body = orjson.dumps(await reading(request, build))
    return remembering(request, Response(body, headers=answer_headers(), media_type=JSON))


async def show_raw(request: Request) -> Response:
    """GET /sessions/{id}/raw: the whole of what somebody said in the event `?at=`, as plain text"""
    only(request, "at", "field", "lang")
    at, field = number(request, "at", least=1), request.query_params.get("field")
    if at is None:
        raise of_field("at", Sentence("should_be_given"))
    words = await reading(request, lambda inside, now, _: words_of(inside, now, at, field))
    return Response(words, headers=answer_headers(), media_type="text/plain; charset=utf-8")


# -- reading -----------------------------------------------------------------------------------------------------------


def _view(request: Request) -> Selection:
    """The tab, and the turn that the address names: in its path, or as what a tab is filtered by."""
    turn = str(request.path_params.get("turn") or request.query_params.get("turnId") or "")
    tab = "turns" if "turn" in request.path_params else request.query_params.get("tab", "") or TABS[0]
    tab = OLD_TABS.get(tab, tab)
    if tab not in TABS:
        raise of_field("tab", Sentence("not_one_of", choices=list(TABS)))
    by = request.query_params.get("by", "")
    if by not in ("", *ORDERS):
        raise of_field("by", Sentence("not_one_of", choices=list(ORDERS)))
    if tab not in ("changes", "findings"):
        return Selection(tab, turn)
    may, file = may_send(request), request.query_params.get("file", "") if tab == "changes" else ""
    by = "" if tab == "changes" or by == ORDERS[0] else by
    return Selection(tab, turn, file, by, tuple(verb for verb in _SENT if may(verb)))


def _panels(request: Request, session: Session, say: Words) -> Panels:
    return gallery(request).panels(session, say, explicit(request), _view(request))


# -- what is shown -----------------------------------------------------------------------------------------------------


def _page(
    request: Request,
    inside: System,
    now: Session,
    head: int,
    say: Words,
    at: int | None,
    wanted: Wanted,
    sent: Sent = NOTHING,
) -> str:
    then, seen = as_of(inside, now, at), _view(request)
    if seen.turn and seen.turn not in gallery(request).record(now).turns:
        raise Unknown(Sentence("turn_not_found", id=now.id, name=seen.turn))
    panels = _panels(request, then, say)
    it, look = view(then), partial(_context, request, say=say)
    row_window = window_of(inside, now, wanted, around(at) if at else newest(now.version), say, shown=at)
    return render(
        request,
        say,
        "session.html",
        it={"id": then.id, "kind": then.kind, "title": it.title, "forked_from": then.forked_from},
        version=then.version,
        newest=now.version,
        replay=at is not None,
        badge=badge_of(then) if at else _badge_now(inside, now),
        paused=_paused(then),
        clock=clock(gallery(request).trail(then).clock(then.version)),
        panels={name: (made.hash, _safe(made.html)) for name, made in panels.items()},
        tab=seen.tab,
        turn=seen.turn,
        file=seen.file,
        by=seen.by,
        tabs=TABS
        if then.kind not in TALKS or seen.tab == "changes"
        else tuple(tab for tab in TABS if tab != "changes"),
        counts=gallery(request).context(then, say).counts(),
        ended=is_over(now),
        follows=_follows(now),
        head=head,
        state=badge_of(now),
        build=BUILD,
        language=say.language if explicit(request) else "",
        act=_safe(act(request, inside, now, say, look, key=KEY, sent=sent)) if at is None else "",
        rows=_safe(rows_of(request, now, say, wanted, at, row_window)),
        wanted=wanted,
        roles=_roles(inside, now),
        strip=_strip(request, now, say),
        at=at,
        forks=_forks(inside, now),
        bring=_telling(request, then, say) if at is None else None,
        sent=sent,
    )


def _context(request: Request, session: Session, *, say: Words) -> PanelContext:
    return gallery(request).context(session, say)


class ForkShown(NamedTuple):
    id: str
    badge: str
    at: int | None


def _forks(inside: System, now: Session) -> list[ForkShown]:
    """The sessions that were forked from this one, oldest first."""
    with inside.reading() as db:
        rows = overview.forks(db, now.id, FORKS)
    return [ForkShown(one.id, badge(one), one.forked_at) for one in rows]


def _telling(request: Request, then: Session, say: Words) -> int | None:
    """The event that says why a session stopped: there its list opens."""
    cause = cause_of(gallery(request).context(then, say))
    return cause.version if cause else None


def _version_body(
    request: Request, then: Session, current: Panels, old: Panels, say: Words, shown: str
) -> dict[str, Any]:
    """The panels of a version; of a panel that was the same at the version seen before nothing."""
    trail = gallery(request).trail(then)
    fresh = {name: list(made) for name, made in current.items() if name not in old or old[name].hash != made.hash}
    state = shown or badge_of(then)
    words = title_of(then.title, view(then).title) or then.id
    return {
        "version": then.version,
        "icon": icon_of(state),
        "badge": fragment(
            say, explicit(request), "badge.html", state=state, paused=_paused(then), past=not shown
        ).strip(),
        "title": f"{ICONS.get(state, '○')} {words} · {say('product')}",
        "clock": clock(trail.clock(then.version)),
        "gap": trail.gap(then.version),
        "counts": gallery(request).context(then, say).counts(),
        "panels": fresh,
    }


def _live(
    request: Request, inside: System, now: Session, head: int, say: Words, wanted: Wanted, since: int | None
) -> dict[str, Any]:
    drawn = _strip(request, now, say)
    row_window = window_of(inside, now, wanted, newest(now.version), say, since=since or 0)
    return {
        "newest": now.version,
        "follows": _follows(now),
        "head": head,
        "state": badge_of(now),
        "needs": needs(request),
        "act": act(request, inside, now, say, partial(_context, request, say=say)),
        "rows": rows_of(request, now, say, wanted, None, row_window),
        "strip": drawn.drawn,
        "lights": drawn.lights,
        "important": drawn.important,
    }


def _badge_now(inside: System, now: Session) -> str:
    """The state as a person sees it: what waits for the decision on a discussion waits for a person."""
    children = (inside.sessions.get(name) for name in now.open_children)
    needs_choice = any(isinstance(child, Discussion) and child.choices for child in children)
    turns = view(now).outstanding_turns
    if is_imported(not_run_here(turns, inside.imported_turns(turns))):
        return IMPORTED
    return "waiting_for_decision" if needs_choice else badge_of(now)


def _paused(session: Session) -> Paused | None:
    """Until when a session only waits for its next attempt, and for whom."""
    return paused(view(session).outstanding_turns) if badge_of(session) in RUNNING else None


def _follows(now: Session) -> str:
    """The sessions whose events change this page: its own while anything can be done, and the discussions it waits
    for."""
    return "" if is_over(now) else " ".join((now.id, *now.open_children))


def _strip(request: Request, now: Session, say: Words) -> Strip:
    return strip(gallery(request).trail(now), now.version, say("session_strip"))


def _roles(inside: System, now: Session) -> list[str]:
    return timeline.roles(inside.records.of(now.id, now.version))


def _safe(html: str) -> Markup:
    return Markup(html)  # noqa: S704 - the templates made it, and escape what they are given
