"""Horizontal bars, one below the other, each with its name and its figure as text."""

from collections.abc import Sequence
from typing import NamedTuple
from unicodedata import east_asian_width

from markupsafe import Markup

from api.web.shown import cut
from api.web.svg import element, svg, text

WIDTH, STEP, THICK = 400, 44, 16
FIGURES = 60
"""Space for the figures at the right; a name is above its bar, where most names fit."""
COLUMNS = 50
"""Letters of a name, of which those as wide as high count twice."""


class Bar(NamedTuple):
    """`told` is the value as text."""

    label: str
    value: float
    told: str


def bars(title: str, found: Sequence[Bar], most: float) -> Markup:
    """A drawing of all bars; a bar of `most` takes the whole width."""
    room = WIDTH - FIGURES
    parts: list[Markup] = []
    for place, bar in enumerate(found):
        top = place * STEP
        length = max(1.0, room * min(1.0, bar.value / most)) if most else 1.0
        parts += [
            text(_fitting(bar.label), 0, top + 14, "bar-name"),
            element("rect", x=0, y=top + 21, width=length, height=THICK, rx=3, class_="bar"),
            text(bar.told, length + 8, top + 34, "bar-told"),
        ]
    return svg(title, *parts, width=WIDTH, height=STEP * len(found) + 6, class_="bars")


def _fitting(label: str) -> str:
    room = COLUMNS
    for place, letter in enumerate(label):
        room -= 2 if east_asian_width(letter) in "WF" else 1
        if room < 0:
            return cut(label, place)
    return label
