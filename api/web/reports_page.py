"""`/reports`: what was done, at what cost, as figures and drawings by time, kind and label; below, each report as a
table, and all its rows as CSV."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from api.http.problems import of_field
from api.http.requests import caught_up, only, system
from api.node.session_answers import not_run_here
from api.routes.reports import LONGEST_LABEL, make
from api.routes.spans import span
from api.system import System
from api.web.model import clock, money
from api.web.plain_text import cut
from api.web.renderer import Link, language_of, linker, page, render
from api.web.report_charts import DATED, ChartPage, Row, chart, over_time
from api.web.report_overview import ReportOverview, report_overview
from domain.kinds import KINDS
from domain.session.attempts import PROVIDERS
from domain.values.sentences import Sentence
from domain.values.words import Words
from projections.reports import REPORTS, Filters, Report, ReportAnswer
from projections.reports.costs import CostRow
from projections.reports.waits import WaitRow
from projections.sessions import overview
from projections.sessions.standings import Beginning, Standing, beginnings, standings
from projections.views.session import IMPORTED, is_imported

ROWS, CELL = 200, 120
"""Limits of rows in the table, and characters in a cell; the CSV has everything."""
ASKED: Final = ("from", "to", "kind", "label")


class FigureTable(NamedTuple):
    """Columns by name, and whether they hold figures (right-aligned); the cells are text."""

    name: str
    columns: tuple[tuple[str, bool], ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class ReportPage:
    """A report ready to be shown. `sums` are totals by something, `totals` those of everything."""

    name: str
    table: FigureTable
    totals: tuple[tuple[str, str], ...]
    sums: tuple[FigureTable, ...]
    more: int
    as_of: int
    chart: Markup | None
    days: Markup | None


async def show(request: Request) -> Response:
    """GET /reports: a report by `name`, the summary if none is named"""
    only(request, "name", *ASKED, "lang")
    query = request.query_params
    values = {name: query.get(name) or None for name in ASKED}
    name = query.get("name") or "summary"
    if name not in REPORTS:
        raise of_field("name", Sentence("not_one_of", choices=list(REPORTS)))
    filters = _filters(values)
    inside, say = system(request), language_of(request)
    await caught_up(request, await asyncio.to_thread(inside.store.head))

    def build() -> str:
        begun: Mapping[str, Beginning] = {}
        if name in DATED:
            with inside.reading() as db:
                begun = beginnings(db, filters)
        drawing = ChartPage(begun, values, say, cell, linker(say.language if query.get("lang") else None))
        answer = report_page(REPORTS[name], make(inside, REPORTS[name], filters), say, drawing)
        above = _above(inside, filters, values, say, drawing.link)
        csv = linker(None)("api", "reports", name, format="csv", **values)
        return render(
            request,
            say,
            "reports.html",
            page=answer,
            asked=values,
            names=tuple(REPORTS),
            csv=csv,
            above=above,
            unfolded="name" in query,
        )

    return page(await asyncio.to_thread(build))


def _above(
    inside: System, filters: Filters, values: Mapping[str, str | None], say: Words, link: Link
) -> ReportOverview:
    """The figures and drawings above the tables."""
    with inside.reading() as db:
        sessions = [_held(inside, each) for each in standings(db, filters)]
        turns = overview.open_turns(db, [each.session_id for each in sessions if each.status in RUNNING])
    imported = inside.imported_turns([turn for each in turns.values() for turn in each])
    idle = {name for name, each in turns.items() if is_imported(not_run_here(tuple(each), imported))}
    sessions = [each._replace(status=IMPORTED) if each.session_id in idle else each for each in sessions]
    costs = [row for row in make(inside, REPORTS["costs"], filters).rows if isinstance(row, CostRow)]
    waits = [row for row in make(inside, REPORTS["waits"], filters).rows if isinstance(row, WaitRow)]
    for_providers = [row for row in waits if row.cause in PROVIDERS]
    return report_overview(sessions, costs, for_providers, say, link, values)


def _held(inside: System, each: Standing) -> Standing:
    """A fork that waits for a person to let it go on does not run; the list does not know, so the few are read."""
    session = inside.sessions.get(each.session_id) if each.is_fork and each.status in RUNNING else None
    return each._replace(asks=True) if session is not None and session.held else each


def _filters(values: Mapping[str, str | None]) -> Filters:
    """As the API has them; an empty field asks for nothing."""
    kind, label = values["kind"], values["label"]
    if kind is not None and kind not in KINDS:
        raise of_field("kind", Sentence("not_one_of", choices=list(KINDS)))
    if label is not None and len(label) > LONGEST_LABEL:
        raise of_field("label", Sentence("too_many_characters", number=LONGEST_LABEL))
    since, until = span(values["from"], values["to"])
    return Filters(since=since, until=until, kind=kind, label=label)


def report_page(report: Report, answer: ReportAnswer, say: Words, drawing: ChartPage) -> ReportPage:
    """The newest rows first if they are sessions, otherwise in the given order."""
    rows: Sequence[Row] = [row.wire() for row in answer.rows]
    shown = rows[::-1] if "sessionId" in report.columns else rows
    totals: Row = answer.totals.wire()
    flat = {name: value for name, value in totals.items() if not isinstance(value, dict | list)}
    return ReportPage(
        name=report.name,
        table=_table(report.name, report.columns, shown[:ROWS], say),
        totals=tuple((name, cell(name, value, say)) for name, value in flat.items() if value is not None),
        sums=tuple(_sums(totals, say)),
        more=max(0, len(rows) - ROWS),
        as_of=answer.as_of,
        chart=chart(report.name, shown, drawing),
        days=over_time(report.name, rows, drawing),
    )


def _sums(totals: Row, say: Words) -> list[FigureTable]:
    """Totals by something: lists of rows, and rows keyed by a name."""
    tables = [_table(name, tuple(rows[0]), rows[:ROWS], say) for name, rows in totals.items() if _is(rows, list)]
    by_word = [{"measure": word, **row} for word, row in totals.items() if _is(row, dict)]
    return [*tables, _table("totals", tuple(by_word[0]), by_word, say)] if by_word else tables


def _is(value: Any, kind: type) -> bool:
    return isinstance(value, kind) and bool(value)


def _table(name: str, columns: Sequence[str], rows: Sequence[Row], say: Words) -> FigureTable:
    """Without columns that have no known values, except the first, which identifies a row."""
    used = [column for column in columns if column == columns[0] or any(row.get(column) is not None for row in rows)]
    return FigureTable(
        name=name,
        columns=tuple((column, _is_figure(rows, column)) for column in used),
        rows=tuple(tuple(_in_table(column, row.get(column), say) for column in used) for row in rows),
    )


def _is_figure(rows: Sequence[Row], column: str) -> bool:
    values = [row.get(column) for row in rows]
    return all(isinstance(value, int | float | None) for value in values) and any(value is not None for value in values)


def _in_table(column: str, value: Any, say: Words) -> str:
    """An instant in the reader's own time, once the script is there."""
    if isinstance(value, str) and _INSTANT.fullmatch(value):
        return Markup('<time datetime="{0}" data-local>{1} {2} UTC</time>').format(value, value[:10], value[11:16])
    return cell(column, value, say)


def cell(column: str, value: Any, say: Words) -> str:
    """A value for readers: times as clocks, rates in percent, unknown values as a dash."""
    match value:
        case None:
            return say("reports_not_told") if column == "model" else "–"
        case bool():
            return say.of("reports_flag", str(value).lower())
        case int() | float() if "Ms" in column:
            return clock(round(value))
        case int() | float() if column.endswith("Rate"):
            return f"{value:.0%}"
        case int() if column.lower().endswith("costmicros"):
            return money(value)
        case int():
            return f"{value:,}"
        case float():
            return f"{value:,.2f}"
        case str() if column == "status" and value in RUNNING:
            return say("reports_under_way")
        case str() if column in _GROUPS:
            return cut(say.of(_GROUPS[column], value), CELL)
        case _:
            return cut(str(value), CELL)


RUNNING: Final = frozenset({"running", "active", "reviewing", "debating", "synthesizing"})
"""Statuses of what runs, or waits: the report counts what was recorded, the figures above tell these apart."""
_INSTANT: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
_GROUPS: Final = MappingProxyType(
    {
        "kind": "kind",
        "status": "status",
        "choice": "choice",
        "strategy": "start_choice",
        "exhausted": "reason",
        "reason": "reports_reason",
        "state": "reports_state",
        "by": "reports_by",
        "measure": "reports_measure",
        "cause": "reports_cause",
    }
)
"""The message group with the names of a column's values."""
