"""An event as a table, with its fields, its cause and its hash. The page's script unfolds an event in the list."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import orjson
from starlette.requests import Request
from starlette.responses import Response

from adapters.store.spelling import spelled_out
from api.http.problems import of_field
from api.http.requests import answer_headers, number, only
from api.system import System
from api.web.plain_text import cut
from api.web.renderer import explicit, fragment, language_of, page, render, scripted
from api.web.session.history import worded
from api.web.session.reading import as_of, reading
from domain.session.state import Session
from domain.values.sentences import Sentence
from domain.values.words import Words
from projections.record.describe import person
from projections.record.session import view

FIELDS, FIELD = 80, 600
"""Fields that are shown, and characters of each."""


async def show_event(request: Request) -> Response:
    """GET /sessions/{id}/event: the event `?at=`, with its fields, its cause and its hash"""
    only(request, "at", "lang")
    say, at = language_of(request), number(request, "at", least=1)
    if at is None:
        raise of_field("at", Sentence("should_be_given"))

    def build(inside: System, now: Session, _: int) -> str:
        as_of(inside, now, at)
        card = _event(inside, now, at, say)
        if scripted(request):
            return fragment(say, explicit(request), "session_event.html", e=card)
        it = {"id": now.id, "title": view(now).title or now.id}
        return render(request, say, "session_event_page.html", it=it, e=card)

    html = await reading(request, build, shared=False)
    if not scripted(request):
        return page(html)
    return Response(orjson.dumps({"html": html}), headers=answer_headers(), media_type="application/json")


class EventCard(NamedTuple):
    """An event; `more`: it has more fields than these."""

    id: str
    version: int
    words: str
    type: str
    who: str
    fields: Sequence[tuple[str, str]]
    more: bool
    turn: str
    command: str
    cause: str
    hash: str


def _event(inside: System, session: Session, at: int, say: Words) -> EventCard:
    [recorded] = inside.store.history(session.id, after=at - 1, upto=at)
    data = spelled_out(inside.store, recorded).event.model_dump(mode="json", by_alias=True)
    digest = inside.store.rows.hash_of(session.id, at)
    fields = [(name, cut(str(value), FIELD)) for name, value in _flat(data) if value not in (None, "", (), {})]
    return EventCard(
        id=session.id,
        version=at,
        words=worded(recorded, session, say.language),
        type=recorded.event.TOPIC,
        who=cut(person(recorded.causation.actor, say.language), 80),
        fields=fields[:FIELDS],
        more=len(fields) > FIELDS,
        turn=str(data.get("turnId") or ""),
        command=recorded.causation.command_id,
        cause=recorded.causation.causation_id or "",
        hash=digest.hex() if digest else "",
    )


def _flat(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Every value by its path; of a long text what the event itself holds."""
    match value:
        case {"head": str(head), "length": int(), **more} if not set(more) - {"digest", "derived"}:
            yield name, head
        case dict():
            for key, inner in value.items():
                yield from _flat(inner, f"{name}.{key}" if name else str(key))
        case list():
            for place, inner in enumerate(value):
                yield from _flat(inner, f"{name}.{place}")
        case _:
            yield name, value
