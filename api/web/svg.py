"""Our own SVG: presentation attributes and classes only, so that the policy of the page holds; colours are the sheet's.

Every drawing has a title and is next to the same facts as text or table.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from markupsafe import Markup, escape

from api.web.plain_text import shown

WIDTH, HEIGHT = 400, 150
LEFT, RIGHT, TOP, BOTTOM = 34, 12, 14, 22
BESIDE = 88
"""Room at the right for the names of thresholds."""
MOST_POINTS: Final = 400
WIDE, TALL = 22, 9
"""Size of a value beside a point."""
FEET = (-6, 15, -16, 25, -26, 35, -36, 45)
"""Where the foot of a value may be, from its point: near it first."""


def element(name: str, *inside: str | Markup, **attributes: object) -> Markup:
    """`class_` and `marker_end` are written `class` and `marker-end`; None leaves an attribute out."""
    pairs = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_number(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    body = Markup("").join(part if isinstance(part, Markup) else escape(shown(part)) for part in inside)
    return Markup(f"<{name}{pairs}>{body}</{name}>")  # noqa: S704 - names are ours, values and words are escaped


def _number(value: object) -> object:
    return f"{value:.1f}".rstrip("0").rstrip(".") if isinstance(value, float) else value


def svg(
    title: str,
    *inside: Markup,
    width: int,
    height: int,
    class_: str,
    stretched: str | None = None,
    role: str = "img",
) -> Markup:
    """`stretched` is `none` for what fills whatever room it has; the role is `group` for a drawing with links."""
    return element(
        "svg",
        element("title", title),
        *inside,
        class_=class_,
        viewBox=f"0 0 {width} {height}",
        preserveAspectRatio=stretched,
        role=role,
        aria_label=title,
    )


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def text(words: str, x: float, y: float, class_: str, anchor: str = "start") -> Markup:
    return element("text", words, x=x, y=y, class_=class_, text_anchor=anchor)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a chart; `kind` is its class, which has a colour and a dash of its own. Points are shares, 0 to 1."""

    label: str
    kind: str
    points: Sequence[tuple[float, float]]


def thinned(points: Sequence[tuple[float, float]]) -> Sequence[tuple[float, float]]:
    """At most `MOST_POINTS`, the last one always."""
    if len(points) <= MOST_POINTS:
        return points
    stride = -(-len(points) // MOST_POINTS)
    return [*points[::stride], points[-1]]


def _x(share: float) -> float:
    return LEFT + share * (WIDTH - LEFT - RIGHT)


def _y(share: float) -> float:
    return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)


def _path(points: Iterable[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{_x(x):.1f} {_y(min(1.0, max(0.0, y))):.1f}" for x, y in points)


def _frame(levels: Sequence[tuple[float, str]]) -> Markup:
    lines = [line(_x(0), _y(level), _x(1), _y(level), "rule") for level, _ in levels]
    words = [text(word, LEFT - 5, _y(level) + 3, "tick", "end") for level, word in levels]
    return Markup("").join((*lines, *words))


def scores(
    title: str,
    lines: Sequence[Line],
    thresholds: Sequence[tuple[str, str, float]],
    ticks: Sequence[str],
    stop: tuple[float | None, str] = (None, ""),
) -> Markup:
    """Scores from 0 to 1, round by round; the first line is the one that counts and has its values written.

    A threshold is the kind of the line that it is for, its name and its value; `stop` is a place and what it says."""
    frame = _frame([(0, "0"), (0.25, ""), (0.5, "0.5"), (0.75, ""), (1, "1")])
    drawn = [element("path", d=_path(graph.points), class_=f"line is-{graph.kind}") for graph in lines if graph.points]
    marks = [line(_x(0), _y(value), _x(1), _y(value), f"threshold is-{kind}") for kind, _, value in thresholds]
    words = [text(f"{name} ≥ {value:g}", _x(1) + 6, y + 3, "tick") for name, value, y in _apart(thresholds)]
    dots: list[Markup] = []
    if lines and lines[0].points:
        every = max(1, len(ticks) // 10)
        for at, (x, y) in enumerate(lines[0].points):
            dots.append(element("circle", cx=_x(x), cy=_y(y), r=3, class_=f"dot is-{lines[0].kind}"))
            if at == len(ticks) - 1 or (at % every == 0 and at + every < len(ticks)):
                anchor = "end" if x > 0.95 else "start" if x < 0.05 else "middle"
                left = _x(x) - {"end": WIDE, "start": 0, "middle": WIDE / 2}[anchor]
                foot = min(FEET, key=lambda step: _crossed(left, _y(y) + step, lines, thresholds))
                dots.append(text(f"{y:.2f}", _x(x), _y(y) + foot, "value", anchor))
                dots.append(text(ticks[at], _x(x), HEIGHT - 7, "tick", anchor))
    ends = _stop(*stop) if stop[0] is not None else ()
    return svg(title, frame, *marks, *drawn, *dots, *words, *ends, width=WIDTH + BESIDE, height=HEIGHT, class_="chart")


def _crossed(left: float, foot: float, lines: Sequence[Line], thresholds: Sequence[tuple[str, str, float]]) -> int:
    """How many lines cross a value that is written here; many if it leaves the drawing."""
    top, right = foot - TALL, left + WIDE
    if top < 0 or foot > HEIGHT - BOTTOM:
        return len(lines) + len(thresholds) + 1
    count = sum(top < _y(value) < foot for _, _, value in thresholds)
    for graph in lines:
        places = [(_x(x), _y(min(1.0, max(0.0, y)))) for x, y in graph.points]
        for (x1, y1), (x2, y2) in pairwise(places):
            if x2 < left or x1 > right or x1 == x2:
                continue
            ends = [y1 + (y2 - y1) * (min(max(x, x1), x2) - x1) / (x2 - x1) for x in (left, right)]
            if min(ends) < foot and max(ends) > top:
                count += 1
                break
    return count


def _stop(share: float | None, words: str) -> tuple[Markup, Markup]:
    x = _x(share or 0)
    anchor = "end" if x > WIDTH / 2 else "start"
    return (
        line(x, TOP - 6, x, HEIGHT - BOTTOM, "ends-here"),
        text(words, x - 4 if anchor == "end" else x + 4, TOP - 5, "tick", anchor),
    )


def _apart(thresholds: Sequence[tuple[str, str, float]]) -> list[tuple[str, float, float]]:
    """Names of thresholds with their places, from the top, without overlaps."""
    places: list[tuple[str, float, float]] = []
    for _, name, value in sorted(thresholds, key=lambda each: -each[2]):
        y = _y(value)
        places.append((name, value, max(y, places[-1][2] + 11) if places else y))
    return places


def burndown(title: str, lines: Sequence[Line], *, end: str) -> Markup:
    """Shares of a budget that are left over time, each line stepping down from all to nothing."""
    frame = _frame([(0, "0 %"), (0.5, "50 %"), (1, "100 %")])
    drawn = []
    for line in lines:
        points = thinned(line.points)
        drawn.append(element("path", d=_path(points), class_=f"line is-{line.kind}"))
        x, y = points[-1]
        drawn.append(element("circle", cx=_x(x), cy=_y(min(1.0, max(0.0, y))), r=3, class_=f"dot is-{line.kind}"))
    feet = (text("0", _x(0), HEIGHT - 7, "tick"), text(end, _x(1), HEIGHT - 7, "tick", "end"))
    return svg(title, frame, *drawn, *feet, width=WIDTH, height=HEIGHT, class_="chart")


def stepped(points: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """What is left stays as it is until it changes."""
    corners: list[tuple[float, float]] = []
    for x, y in points:
        if corners:
            corners.append((x, corners[-1][1]))
        corners.append((x, y))
    return corners
