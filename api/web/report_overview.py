"""The first part of the reports: four figures with a line over time, how sessions stand, and what agents cost."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from markupsafe import Markup

from api.routes.spans import DAY
from api.web.model import clock, money
from api.web.plain_text import cut
from api.web.renderer import Link
from api.web.svg import element, line, svg, text
from domain.values.base import milliseconds
from domain.values.words import Words
from projections.facts import AT_REST
from projections.reports.costs import CostRow
from projections.reports.waits import WaitRow
from projections.sessions.standings import Standing
from projections.views.session import IMPORTED

COLUMNS: Final = 31
"""The most columns of a drawing over time."""
HOUR: Final = 3_600_000
SIZES: Final = (HOUR, 6 * HOUR, DAY, 7 * DAY, 28 * DAY, 364 * DAY)
"""The widths that a column may have, in milliseconds."""
BARS, TOP = 12, 5
"""Agents that are shown, and sessions of each."""
STATES: Final = ("good", "bad", "warn", "you", "run", "stop")
"""The states of a session, from the foot of a column to its top."""
_GOOD: Final = frozenset({"success", "done", "decided", "completed"})
_STOPPED: Final = frozenset({"cancelled", "reset", IMPORTED})
_RESTS: Final = frozenset({"checkpoint", "partial"})


class ReportFigure(NamedTuple):
    """A figure and its line over time."""

    name: str
    value: str
    drawn: Markup | None


class CostlySession(NamedTuple):
    """A session and what an agent has cost in it."""

    id: str
    title: str
    cost: str


class AgentCost(NamedTuple):
    """The cost of an agent with a model, as a bar, and of the sessions in which it was highest."""

    name: str
    cost: str
    bar: Markup
    sessions: tuple[CostlySession, ...]


class ReportOverview(NamedTuple):
    """`states` counts the sessions by how they stand."""

    figures: tuple[ReportFigure, ...]
    states: tuple[tuple[str, int], ...]
    outcomes: Markup | None
    money: tuple[AgentCost, ...]
    unpriced: bool


class Axis(NamedTuple):
    """Columns of equal length from the first session on, in milliseconds."""

    begin: int
    size: int
    columns: int

    def place(self, at: int) -> int:
        """The column of a moment; what is outside counts in the nearest."""
        return min(self.columns - 1, max(0, (at - self.begin) // self.size))

    def sums(self, values: Iterable[tuple[int, float]]) -> list[float]:
        """Each moment's value added up by column."""
        columns = [0.0] * self.columns
        for at, value in values:
            columns[self.place(at)] += value
        return columns

    def label(self, place: int) -> str:
        """Says when a column begins."""
        at = self._moment(self.begin + place * self.size)
        if self.size >= DAY:
            return f"{at:%m-%d}"
        return f"{at:%H}:00" if self.columns * self.size <= DAY else f"{at:%m-%d %H}:00"

    def dates(self, place: int) -> tuple[str, str]:
        """The first and the last day of a column."""
        begin = self.begin + place * self.size
        return f"{self._moment(begin):%Y-%m-%d}", f"{self._moment(begin + self.size - 1):%Y-%m-%d}"

    @staticmethod
    def _moment(at: int) -> datetime:
        return datetime.fromtimestamp(at / 1000, UTC)


def report_overview(
    sessions: Sequence[Standing],
    costs: Sequence[CostRow],
    waits: Sequence[WaitRow],
    say: Words,
    link: Link,
    filters: Mapping[str, str | None],
) -> ReportOverview:
    """Everything of one time, kind and label; `link` makes the addresses of sessions."""
    stands = [state_of(each) for each in sessions]
    axis = axis_of([each.at for each in sessions])
    return ReportOverview(
        figures=_figures(sessions, stands, waits, axis, say),
        states=tuple((state, stands.count(state)) for state in STATES if state in stands),
        outcomes=_outcomes(sessions, stands, axis, say, lambda place: _days(axis, place, link, filters)),
        money=_by_agent(costs, {each.session_id: each.title for each in sessions}),
        unpriced=bool(costs) and all(row.cost_micros is None for row in costs),
    )


def state_of(session: Standing) -> str:
    """Returns the state of a session, as the colour of its badge says it."""
    if session.asks or session.status == "checkpoint":
        return "you"
    if session.waits_for == "budget" or session.status in _RESTS:
        return "warn"
    if session.status in _GOOD:
        return "good"
    if session.status in _STOPPED:
        return "stop"
    return "bad" if session.status in AT_REST else "run"


def axis_of(moments: Sequence[int]) -> Axis | None:
    """The columns in which these moments are; None without any."""
    if not moments:
        return None
    first, last = min(moments), max(moments)
    size = next((size for size in SIZES if (last // size - first // size) < COLUMNS), SIZES[-1])
    begin = first // size * size
    return Axis(begin, size, last // size - first // size + 1)


def _figures(
    sessions: Sequence[Standing], stands: Sequence[str], waits: Sequence[WaitRow], axis: Axis | None, say: Words
) -> tuple[ReportFigure, ...]:
    done = [(each.at, 1.0) for each, state in zip(sessions, stands, strict=True) if state == "good"]
    ended = [(each.at, 1.0) for each, state in zip(sessions, stands, strict=True) if state in ("good", "bad", "warn")]
    paid = [(each.at, float(each.cost_micros)) for each in sessions if each.cost_micros is not None]
    waited = [(milliseconds(row.hour), float(row.waited_ms)) for row in waits]
    rate = f"{len(done) / len(ended):.0%}" if ended else "–"
    total = money(round(sum(value for _, value in paid))) if paid else "–"

    def drawn(name: str, values: list[float]) -> Markup | None:
        return _line(f"{say.of('reports_figure', name)} · {say('reports_over_time')}", values)

    if axis is None:
        return ()
    rates = [a / b if b else 0.0 for a, b in zip(axis.sums(done), axis.sums(ended), strict=True)]
    return (
        ReportFigure("done", f"{len(done):,}", drawn("done", axis.sums(done))),
        ReportFigure("rate", rate, drawn("rate", rates)),
        ReportFigure("money", total, drawn("money", axis.sums(paid))),
        ReportFigure("waiting", clock(round(sum(value for _, value in waited))), drawn("waiting", axis.sums(waited))),
    )


_WIDE, _TALL, _FOOT, _EACH = 120, 28, 2, 44


def _line(title: str, values: Sequence[float]) -> Markup | None:
    """A line without axes; None where there is only one point, or nothing."""
    most = max(values, default=0)
    if len(values) < 2 or not most:
        return None
    step = (_WIDE - 4) / (len(values) - 1)
    points = " ".join(
        f"{2 + place * step:.1f},{_FOOT + (_TALL - 2 * _FOOT) * (1 - value / most):.1f}"
        for place, value in enumerate(values)
    )
    return svg(
        title,
        element("polyline", points=points, class_="spark"),
        width=_WIDE,
        height=_TALL,
        class_="sparkline",
        stretched="none",
    )


_DRAWN, _HIGH, _ROOM = 640, 140, 22


def _outcomes(
    sessions: Sequence[Standing],
    stands: Sequence[str],
    axis: Axis | None,
    say: Words,
    href: Callable[[int], str],
) -> Markup | None:
    """A column for each time, its sessions stacked by how they stand, on an axis of time."""
    if axis is None:
        return None
    columns: list[dict[str, int]] = [defaultdict(int) for _ in range(axis.columns)]
    for each, state in zip(sessions, stands, strict=True):
        columns[axis.place(each.at)][state] += 1
    most = max(sum(column.values()) for column in columns)
    width = min(64.0, _DRAWN / axis.columns)
    every = -(-_EACH // int(width)) if width < _EACH else 1
    parts = [line(0, _HIGH, _DRAWN, _HIGH, "rule"), text(str(most), _DRAWN, 10, "tick", "end")]
    for place, column in enumerate(columns):
        if place % every == 0:
            parts.append(text(axis.label(place), place * width + 2, _HIGH + 15, "tick"))
        if not column:
            continue
        words = ", ".join(f"{say.of('reports_state', state)} {column[state]}" for state in STATES if column[state])
        foot, drawn = float(_HIGH), [element("title", f"{axis.label(place)}: {words}")]
        for state in STATES:
            high = (_HIGH - 16) * column[state] / most
            foot -= high
            if high:
                drawn.append(
                    element(
                        "rect",
                        x=place * width + 2,
                        y=foot,
                        width=max(3.0, width - 4),
                        height=max(1.0, high - 1),
                        class_=f"is-{state}",
                    )
                )
        parts.append(element("a", *drawn, href=href(place), aria_label=f"{axis.label(place)}: {words}"))
    title = f"{say('reports_outcomes')} · {say('reports_over_time')}"
    return svg(title, *parts, width=_DRAWN, height=_HIGH + _ROOM, class_="stacked", role="group")


def _days(axis: Axis | None, place: int, link: Link, filters: Mapping[str, str | None]) -> str:
    """The address of the list of the sessions that began in the days of a column."""
    assert axis is not None, "there is a column"
    first, last = axis.dates(place)
    return link(**{"kind": filters.get("kind"), "label": filters.get("label"), "from": first, "to": last})


_BAR = 200


def _by_agent(costs: Sequence[CostRow], titles: Mapping[str, str]) -> tuple[AgentCost, ...]:
    """The dearest first, each with its dearest sessions."""
    spent: dict[tuple[str, str], dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for row in costs:
        if row.cost_micros:
            spent[row.agent, row.model or ""][row.session_id] += row.cost_micros
    ranked = sorted(spent.items(), key=lambda item: -sum(item[1].values()))[:BARS]
    most = max((sum(of.values()) for _, of in ranked), default=1)
    return tuple(
        AgentCost(
            name=cut(" · ".join(filter(None, key)), 80),
            cost=money(sum(of.values())),
            bar=_bar(sum(of.values()) / most),
            sessions=tuple(
                CostlySession(name, cut(titles.get(name) or name, 80), money(micros))
                for name, micros in sorted(of.items(), key=lambda item: -item[1])[:TOP]
            ),
        )
        for key, of in ranked
    )


def _bar(share: float) -> Markup:
    return element(
        "svg",
        element("rect", x=0, y=1, width=max(2.0, _BAR * share), height=10, rx=2, class_="bar"),
        viewBox=f"0 0 {_BAR} 12",
        class_="money-bar",
        aria_hidden="true",
        focusable="false",
    )
