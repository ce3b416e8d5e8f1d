"""Bars of a report: horizontal ones with a name each, and columns over time. Each may lead to what it counts."""

from collections.abc import Sequence
from typing import Final, NamedTuple
from unicodedata import east_asian_width

from markupsafe import Markup

from api.web.plain_text import cut
from api.web.svg import element, line, svg, text

WIDTH, STEP, THICK = 400, 44, 16
FIGURES = 60
"""Space for the figures at the right, at least; a name is above its bar, where most names fit."""
LETTERS = 50
"""Letters of a name, of which those as wide as high count twice."""
_TALL, _FEET, _HEAD = 96, 20, 18
_NARROWEST: Final = 44
"""Room for a date below a column."""
_FIGURE: Final = 9
"""Room for a letter of the figure beside a bar."""
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
            text(bar.figure, length + 8, top + 34, "bar-told"),
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
            drawn.append(text(row.figure, at, foot - high - 5, "bar-told", anchor))
        if (len(rows) - 1 - place) % every == 0:
            parts.append(text(row.label, middle, foot + 15, "tick", "middle"))
        parts += [_leading(row._replace(label=whole[place], figure=""), *drawn)] if row.href else drawn
    return svg(title, *parts, width=WIDTH, height=foot + _FEET, class_="bars columns", role="group")


def _leading(bar: Bar, *drawn: Markup) -> Markup:
    return element("a", *drawn, href=bar.href, aria_label=f"{bar.label} {bar.figure}".strip())


def _fitting(label: str) -> str:
    room = LETTERS
    for place, letter in enumerate(label):
        room -= 2 if east_asian_width(letter) in "WF" else 1
        if room < 0:
            return cut(label, place)
    return label
