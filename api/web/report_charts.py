"""Draws a report: horizontal bars of one figure, with a name each, and columns of the sessions over time. Each may lead
to what it counts."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any, Final, NamedTuple
from unicodedata import east_asian_width

from markupsafe import Markup

from api.routes.spans import DAY
from api.web.plain_text import cut
from api.web.renderer import Link
from api.web.svg import element, line, svg, text
from domain.values.words import Words
from projections.sessions.standings import Beginning

Row = Mapping[str, Any]
Cell = Callable[[str, Any, Words], str]
DATED: Final = ("summary", "costs", "budgets")
"""Reports whose drawings name sessions, or say when they began."""
BARS: Final = 20
COLUMNS: Final = 14
"""A day is a column; where there are more days, each column has several."""


class Drawn(NamedTuple):
    """The bars of one figure of a report; rows with the same name are added up."""

    names: tuple[str, ...]
    figure: str
    of: Callable[[Row], float | None]
    added: bool
    filters: tuple[str, ...] = ()
    """Names that the list of sessions can be limited to."""


def _column(name: str) -> Callable[[Row], float | None]:
    return lambda row: row[name]


def _share_used(row: Row) -> float | None:
    """The used share of what was granted: iterations of a delivery, rounds of the other kinds."""
    for what in ("Iterations", "Rounds"):
        used, granted = row[f"used{what}"], row[f"granted{what}"]
        if granted:
            return float((used or 0) / granted)
    return None


DRAWN: Final = MappingProxyType(
    {
        "summary": Drawn(("kind", "status"), "sessions", _column("sessions"), True, ("kind", "status")),
        "budgets": Drawn(("sessionId",), "usedRate", _share_used, False),
        "quality": Drawn(("measure", "agent", "phase", "iteration"), "passRate", _column("passRate"), False),
        "convergence": Drawn(
            ("kind", "strategy", "profile"), "roundsToConvergeMean", _column("roundsToConvergeMean"), False
        ),
        "decisions": Drawn(("kind", "reason", "by", "choice"), "waitedMsMean", _column("waitedMsMean"), False),
        "costs": Drawn(("agent", "role"), "tokens", _column("tokens"), True),
        "waits": Drawn(("cause", "agent"), "waitedMs", _column("waitedMs"), True),
        "merges": Drawn(("sessionId",), "mergedMs", _column("mergedMs"), False),
    }
)


class ChartPage(NamedTuple):
    """The page with the drawings: the sessions, its filters, and how it words and links."""

    begun: Mapping[str, Beginning]
    filters: Mapping[str, str | None]
    say: Words
    cell: Cell
    link: Link


def chart(name: str, rows: Sequence[Row], page: ChartPage) -> Markup | None:
    """A bar for each row, or for all rows with the same names; None if there is nothing to draw."""
    drawn = DRAWN[name]
    sums: dict[tuple[str, str | None], float] = {}
    for place, row in enumerate(rows):
        value = drawn.of(row)
        if value is None:
            continue
        names = [page.cell(each, row[each], page.say) for each in drawn.names if row.get(each) is not None]
        label, href = " · ".join(names), None
        if drawn.names == ("sessionId",):
            beginning = page.begun.get(row["sessionId"])
            label, href = beginning.title if beginning else label, page.link("sessions", row["sessionId"])
        elif drawn.filters:
            href = page.link(**{**page.filters, **{each: row[each] for each in drawn.filters}})
        elif not drawn.added and (label, href) in sums:
            label = f"{label} ({place + 1})"
        sums[label, href] = sums.get((label, href), 0) + value
    highest = sorted(sums.items(), key=lambda item: -item[1]) if drawn.added else list(sums.items())
    figures = [
        Bar(label, value, page.cell(drawn.figure, _whole(value), page.say), href)
        for (label, href), value in highest[:BARS]
    ]
    most = 1.0 if drawn.figure.endswith("Rate") else max((bar.value for bar in figures), default=0)
    return bars(page.say.of("reports_column", drawn.figure), figures, most) if figures else None


def over_time(name: str, rows: Sequence[Row], page: ChartPage) -> Markup | None:
    """The sessions, or what they cost, by the day on which they began; None for other reports, and for a single day."""
    if name not in ("summary", "costs") or not page.begun:
        return None
    figure, by_day = "sessions", defaultdict[int, float](float)
    if name == "summary":
        by_day.update(Counter(each.at // DAY for each in page.begun.values()))
    else:
        figure = "costMicros" if any(row.get("costMicros") for row in rows) else "tokens"
        for row in rows:
            if (beginning := page.begun.get(row["sessionId"])) is not None:
                by_day[beginning.at // DAY] += row[figure] or 0
    if len(by_day) < 2 or not any(by_day.values()):
        return None
    first, last = min(by_day), max(by_day)
    size = -(-(last - first + 1) // COLUMNS)
    figures, texts = list[Bar](), list[str]()
    for start in range(first - (size - (last - first + 1) % size) % size, last + 1, size):
        value = sum(by_day.get(day, 0) for day in range(start, start + size))
        begin, end = (_date(day) for day in (start, start + size - 1))
        words, span = page.cell(figure, int(value), page.say), begin if size == 1 else f"{begin} – {end}"
        href = page.link(**{**page.filters, "from": begin, "to": end})
        figures.append(Bar(begin[5:], value, words, href))
        texts.append(f"{span}: {words} {page.say.of('reports_column', figure)}")
    return columns(f"{page.say.of('reports_column', figure)} · {page.say('reports_by_day')}", figures, texts)


WIDTH, STEP, THICK = 400, 44, 16
FIGURES = 60
"""Space for the figures at the right, at least; a name is above its bar, where most names fit."""
LETTERS = 50
"""Letters of a name, of which those as wide as high count twice."""
_TALL, _FEET, _HEAD = 96, 20, 18
_NARROWEST: Final = 44
"""Room for a date below a column."""
_FIGURE: Final = 9
"""Room for a letter of the figure next to a bar."""
_LETTER: Final = 9
"""Room for a letter of the figure above it."""


class Bar(NamedTuple):
    """`figure` is the value as text, `href` where it leads."""

    label: str
    value: float
    figure: str
    href: str | None = None


def bars(title: str, rows: Sequence[Bar], most: float) -> Markup:
    """A drawing of all bars; a bar of `most` takes the whole width."""
    room = WIDTH - max([FIGURES, *(_FIGURE * len(row.figure) + 12 for row in rows)])
    parts: list[Markup] = []
    for place, bar in enumerate(rows):
        top = place * STEP
        length = max(1.0, room * min(1.0, bar.value / most)) if most else 1.0
        drawn = (
            element("rect", x=0, y=top, width=WIDTH, height=STEP - 4, class_="hit") if bar.href else Markup(""),
            text(_fitting(bar.label), 0, top + 14, "bar-name"),
            element("rect", x=0, y=top + 21, width=length, height=THICK, rx=3, class_="bar"),
            text(bar.figure, length + 8, top + 34, "bar-figure"),
        )
        parts += [_leading(bar, *drawn)] if bar.href else drawn
    role = "group" if any(bar.href for bar in rows) else "img"
    return svg(title, *parts, width=WIDTH, height=STEP * len(rows) + 6, class_="bars", role=role)


def columns(title: str, rows: Sequence[Bar], whole: Sequence[str]) -> Markup:
    """Columns from left to right, a date below as many as there is room for. `whole` has the whole text of each."""
    most = max(row.value for row in rows)
    each = WIDTH / len(rows)
    every = -(-_NARROWEST // each)
    foot = _HEAD + _TALL
    parts = [line(0, foot, WIDTH, foot, "rule")]
    highest = max(range(len(rows)), key=lambda place: (rows[place].value, place))
    ends = {highest, *([len(rows) - 1] if (len(rows) - 1 - highest) * each > 2 * _NARROWEST else [])}
    for place, row in enumerate(rows):
        middle, high = (place + 0.5) * each, _TALL * row.value / most if most else 0.0
        wide = min(40.0, each - 4)
        drawn = [
            element("title", whole[place]),
            element("rect", x=place * each, y=0, width=each, height=foot, class_="hit"),
            element("rect", x=middle - wide / 2, y=foot - high, width=wide, height=high, rx=2, class_="bar"),
        ]
        if row.value and (place in ends or _LETTER * len(row.figure) <= each):
            anchor = "start" if place == 0 else "end" if place == len(rows) - 1 else "middle"
            at = {"start": place * each, "end": (place + 1) * each, "middle": middle}[anchor]
            drawn.append(text(row.figure, at, foot - high - 5, "bar-figure", anchor))
        if (len(rows) - 1 - place) % every == 0:
            parts.append(text(row.label, middle, foot + 15, "tick", "middle"))
        parts += [_leading(row._replace(label=whole[place], figure=""), *drawn)] if row.href else drawn
    return svg(title, *parts, width=WIDTH, height=foot + _FEET, class_="bars columns", role="group")


def _date(day: int) -> str:
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=day)).date().isoformat()


def _whole(value: float) -> int | float:
    return int(value) if float(value).is_integer() and value > 1 else value


def _leading(bar: Bar, *drawn: Markup) -> Markup:
    return element("a", *drawn, href=bar.href, aria_label=f"{bar.label} {bar.figure}".strip())


def _fitting(label: str) -> str:
    room = LETTERS
    for place, letter in enumerate(label):
        room -= 2 if east_asian_width(letter) in "WF" else 1
        if room < 0:
            return cut(label, place)
    return label
