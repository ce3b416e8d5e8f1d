"""GET /api/reports/{name}: figures over all sessions, as JSON or CSV, by time, kind and label, as of any position."""

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from api.http.problems import Problem
from api.http.requests import MOST, answer_headers, number, system
from api.routes.spans import span
from api.routes.views import answer, endpoint
from api.system import System
from domain.kinds import KINDS
from domain.values.base import Invalid
from domain.values.sentences import Sentence
from projections import reports
from projections.reports import Filters, Report, ReportAnswer, ReportRow

LONGEST_LABEL: Final = 64
FORMATS: Final = ("json", "csv")
_CURSOR: Final = re.compile(r"(\d{1,15})-(\d{1,15})")
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def _position(request: Request) -> int:
    """The position that is asked for. Raises Invalid for one that the log has not come to."""
    head, as_of, place = system(request).store.head(), filters_of(request).as_of, _place_of(request)
    if as_of is not None and as_of > head:
        raise Invalid({"/asOf": Sentence("beyond_the_log", number=head)})
    if place is None:
        return head if as_of is None else as_of
    if place.as_of > head or as_of not in (None, place.as_of):
        raise Invalid({"/cursor": Sentence("unknown_cursor")})
    return place.as_of


class RowPlace(NamedTuple):
    """A place in the rows of a report: all pages are of the position of the first one."""

    as_of: int
    begin: int

    def __str__(self) -> str:
        return f"{self.as_of}-{self.begin}"


def _place_of(request: Request) -> RowPlace | None:
    """The place that the cursor names. Raises Invalid."""
    cursor = request.query_params.get("cursor")
    if cursor is None:
        return None
    if (match := _CURSOR.fullmatch(cursor)) is None:
        raise Invalid({"/cursor": Sentence("unknown_cursor")})
    return RowPlace(*map(int, match.groups()))


@endpoint("format", "from", "to", "kind", "label", "asOf", "limit", "cursor", position=_position)
def show_report(request: Request) -> Response:
    """GET /api/reports/{name}: rows and totals; `format=csv`: the rows"""
    report = reports.find(request.path_params["name"])
    wanted = request.query_params.get("format", "json")
    if wanted not in FORMATS:
        raise Invalid({"/format": Sentence("not_one_of", choices=list(FORMATS))})
    filters, place, most = filters_of(request), _place_of(request), number(request, "limit", least=1, most=MOST)
    if place is not None:
        filters = replace(filters, as_of=place.as_of)
    made = make(system(request), report, filters)
    if most is not None or place is not None:
        made = _page(made, 0 if place is None else place.begin, most or MOST)
    if wanted == "json":
        return answer(made)
    headers = answer_headers(**{"Content-Disposition": f'attachment; filename="hansard-{report.name}.csv"'})
    return Response(as_csv(report, made.rows), headers=headers, media_type="text/csv; charset=utf-8")


def _page(made: ReportAnswer, begin: int, most: int) -> ReportAnswer:
    """Some of the rows, with the totals of all."""
    end = begin + most
    following = str(RowPlace(made.as_of, end)) if end < len(made.rows) else None
    return made.changed(rows=made.rows[begin:end], next_cursor=following)


def make(inside: System, report: Report, filters: Filters) -> ReportAnswer:
    """The report, all of one moment. Raises a 503 where its view has stopped before the position asked for."""
    with inside.reading() as db:
        position = reports.folded(db, report)
        if filters.as_of is not None and position < filters.as_of:
            raise Problem(
                503, Sentence("report_behind", name=report.name, number=position), headers={"Retry-After": "1"}
            )
        if filters.as_of == position:
            filters = replace(filters, as_of=None)
        if report.name == "waits" and filters.as_of is None:  # what is waited for now has lasted until this second
            filters = replace(filters, now=inside.clock() // 1_000 * 1_000)
        return inside.reports.of((report.name, filters, position), lambda: reports.report(db, report.name, filters))


# -- filters -------------------------------------------------------------------------------------------------------


def filters_of(request: Request) -> Filters:
    """The query as filters. Raises Invalid with the name of what does not hold."""
    query = request.query_params
    kind, label = query.get("kind"), query.get("label")
    if kind is not None and kind not in KINDS:
        raise Invalid({"/kind": Sentence("not_one_of", choices=list(KINDS))})
    if label is not None and not 1 <= len(label) <= LONGEST_LABEL:
        raise Invalid({"/label": Sentence("not_so_many_characters", number=1, most=LONGEST_LABEL)})
    since, until = span(query.get("from"), query.get("to"))
    return Filters(since=since, until=until, kind=kind, label=label, as_of=number(request, "asOf"))


# -- CSV -----------------------------------------------------------------------------------------------------------


def as_csv(report: Report, rows: Sequence[ReportRow]) -> bytes:
    """UTF-8, a header row, CRLF; unknown is empty. A cell that a spreadsheet would execute begins with `'`."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(report.columns)
    writer.writerows([_cell(value) for _, value in row] for row in rows)
    return out.getvalue().encode()


def _cell(value: object) -> object:
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return value
