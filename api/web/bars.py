"""Bars that lie, one below the other, each with its name and its figure as text."""

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from api.web.shown import cut
from api.web.svg import element, svg, text

WIDTH, STEP, THICK = 400, 30, 16
NAMES, FIGURES = 170, 60
"""Room for the names at the left and the figures at the right."""
LETTERS = 23


class Bar(NamedTuple):
    """`told` is the value as it is written."""

    label: str
    value: float
    told: str


def bars(title: str, found: Sequence[Bar], most: float) -> Markup:
    """A drawing of all of them; one of `most` is as long as there is room."""
    room = WIDTH - NAMES - FIGURES
    parts: list[Markup] = []
    for place, bar in enumerate(found):
        top = place * STEP
        length = max(1.0, room * min(1.0, bar.value / most)) if most else 1.0
        parts += [
            text(cut(bar.label, LETTERS), NAMES - 10, top + 20, "bar-name", "end"),
            element("rect", x=NAMES, y=top + 7, width=length, height=THICK, rx=3, class_="bar"),
            text(bar.told, NAMES + length + 8, top + 20, "bar-told"),
        ]
    return svg(title, *parts, width=WIDTH, height=STEP * len(found) + 6, class_="bars")
