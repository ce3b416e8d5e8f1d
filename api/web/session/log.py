"""The output of a command or a program with numbered lines and a search."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from api.http.problems import of_field
from api.http.requests import number, only
from api.system import System
from api.web.plain_text import cut
from api.web.renderer import language_of, page, render
from api.web.session.reading import reading, words_of
from api.web.session.validation_report import in_lines, looks_bad, printed, uncoloured
from domain.session.state import Session
from domain.values.sentences import Sentence
from projections.record.session import view

LINES, LINE, JUMPS = 10_000, 1_000, 40
"""Lines that are shown, characters of a line, and places that are linked above them."""
LONGEST: Final = 200
"""Characters of what is looked for."""


async def show_log(request: Request) -> Response:
    """GET /sessions/{id}/log: a text of the event `?at=` line by line; `q` marks the lines that have these words"""
    only(request, "at", "field", "q", "lang")
    say, at = language_of(request), number(request, "at", least=1)
    field, q = request.query_params.get("field") or None, request.query_params.get("q", "")
    if at is None:
        raise of_field("at", Sentence("should_be_given"))
    if len(q) > LONGEST:
        raise of_field("q", Sentence("too_many_characters", number=LONGEST))

    def build(inside: System, now: Session, _: int) -> str:
        excerpt = _lines(words_of(inside, now, at, field), q.strip())
        title = view(now).title or now.id
        return render(
            request,
            say,
            "session_log.html",
            id=now.id,
            title=title,
            at=at,
            field=field or "",
            q=q,
            p=excerpt,
            jumps=JUMPS,
        )

    return page(await reading(request, build))


class LogLine(NamedTuple):
    number: int
    words: str
    bad: bool
    match: bool


class Excerpt(NamedTuple):
    """Numbered lines, and how many there are in all; `errors` and `matches` are the numbers of those that stand out."""

    lines: Sequence[LogLine]
    number: int
    errors: Sequence[int]
    matches: Sequence[int]


def _lines(words: str, q: str) -> Excerpt:
    text = uncoloured(printed(words) or in_lines(words))
    whole = text.rstrip("\n").split("\n")
    wanted = q.lower()
    lines = [
        LogLine(place, cut(line, LINE), looks_bad(line), bool(wanted) and wanted in line.lower())
        for place, line in enumerate(whole[:LINES], start=1)
    ]
    errors = [line.number for line in lines if line.bad]
    return Excerpt(lines, len(whole), errors[:JUMPS], [line.number for line in lines if line.match])
