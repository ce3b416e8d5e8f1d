"""The strip: the whole history on one line, states as bands of colour, what mattered as tall ticks."""

from typing import Any

from markupsafe import Markup

from api.web import svg
from projections.record.marks import upto
from projections.record.trail import Trail

WIDTH, HEIGHT = 1000, 26
BUCKETS = 500
"""Pieces that a strip is made of, at most: of longer histories several events share one."""
EACH = 150
"""Events of a history that is short enough for a low tick each."""
LISTED = 1_000
"""Highlights that the keys step through, the newest."""
_WORST = ("bad", "ask", "good", "note")


def strip(trail: Trail, newest: int, title: str) -> dict[str, Any]:
    lights = upto(trail.lights, newest)
    return {
        "drawn": svg.svg(
            title,
            *_bands(trail, newest),
            *_ticks(trail, newest),
            width=WIDTH,
            height=HEIGHT,
            class_="strip",
            stretched="none",
        ),
        "lights": [light.version for light in lights[-LISTED:]],
    }


def _bands(trail: Trail, newest: int) -> list[Markup]:
    """One rectangle for each stay in a state, neighbours of the same state joined."""
    steps = upto(trail.steps, newest)
    cells = min(newest, BUCKETS)
    bands: list[tuple[int, int, str]] = []
    place = -1
    for cell in range(cells):
        version = (cell + 1) * newest // cells
        while place + 1 < len(steps) and steps[place + 1].version <= version:
            place += 1
        state = steps[max(place, 0)].state if steps else ""
        if bands and bands[-1][2] == state:
            bands[-1] = (bands[-1][0], cell + 1, state)
        else:
            bands.append((cell, cell + 1, state))
    scale = WIDTH / max(1, cells)
    return [
        svg.element("rect", x=begin * scale, y=16, width=(end - begin) * scale, height=8, class_=f"band tone-{state}")
        for begin, end, state in bands
    ]


def _ticks(trail: Trail, newest: int) -> list[Markup]:
    """Tall for what mattered, of several in one place the gravest; low for the others while there are few."""
    cells = min(newest, BUCKETS)
    tones: dict[int, str] = {}
    for light in upto(trail.lights, newest):
        cell = (light.version * cells - 1) // newest
        tones[cell] = min(tones.get(cell, "note"), light.tone, key=_WORST.index)
    scale = WIDTH / max(1, cells)
    low = range(cells) if newest <= EACH else ()
    return [
        svg.line((cell + 0.5) * scale, 11, (cell + 0.5) * scale, 15, "moment") for cell in low if cell not in tones
    ] + [
        svg.element("rect", x=(cell + 0.5) * scale - 1.5, y=0, width=3, height=15, class_=f"light is-{tone}")
        for cell, tone in sorted(tones.items())
    ]
