"""Our own SVG: presentation attributes and classes only, so that the policy of the page holds; colours are the sheet's.

Every drawing has a title and is next to the same facts as text or table.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple
from unicodedata import east_asian_width

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
"""Places for the foot of a value, from its point: near it first."""
APART, BESIDE_END, LETTER = 2, 6, 5
"""Room between texts, between the end and the value at it, and for a letter of the end's name."""


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
    end, taken = _stop(*stop)
    points = lines[0].points if lines else ()
    dots = [element("circle", cx=_x(x), cy=_y(y), r=3, class_=f"dot is-{lines[0].kind}") for x, y in points]
    for at in _labelled(points, len(ticks), stop[0]):
        x, y = points[at]
        anchor = "end" if x > 0.95 else "start" if x < 0.05 else "middle"
        value = _beside(_x(x), _y(y), anchor, _Obstacles(lines, thresholds, taken))
        dots.append(text(ticks[at], _x(x), HEIGHT - 7, "tick", anchor))
        if value is not None:
            taken.append(value.box)
            dots.append(text(f"{y:.2f}", value.x, value.foot, "value", value.anchor))
    return svg(title, frame, *marks, *drawn, *dots, *words, *end, width=WIDTH + BESIDE, height=HEIGHT, class_="chart")


def _labelled(points: Sequence[tuple[float, float]], rounds: int, stop: float | None) -> list[int]:
    """Places of the points that have their values written: about ten, the last one, and first of all the end."""
    every = max(1, rounds // 10)
    evenly = [at for at in range(len(points)) if at == rounds - 1 or (at % every == 0 and at + every < rounds)]
    ends = [at for at, (x, _) in enumerate(points) if x == stop]
    near = [at for at in evenly if at not in ends and all(abs(at - end) >= every for end in ends)]
    return [*ends, *near]


class _Box(NamedTuple):
    left: float
    top: float
    right: float
    foot: float

    def touches(self, other: "_Box") -> bool:
        return (
            self.left < other.right + APART
            and other.left < self.right + APART
            and self.top < other.foot + APART
            and other.top < self.foot + APART
        )


class _Obstacles(NamedTuple):
    """The parts of a drawing that a value should not be written on: lines, thresholds, and above all other texts and
    the end."""

    lines: Sequence[Line]
    thresholds: Sequence[tuple[str, str, float]]
    taken: Sequence[_Box]


class _ValueText(NamedTuple):
    """A value beside its point."""

    x: float
    foot: float
    anchor: str

    @property
    def box(self) -> _Box:
        left = self.x - {"end": WIDE, "start": 0, "middle": WIDE / 2}[self.anchor]
        return _Box(left, self.foot - TALL, left + WIDE, self.foot)


def _beside(x: float, y: float, anchor: str, obstacles: _Obstacles) -> _ValueText | None:
    """A value above or below its point, to the side of it where the end is in the way; None if there is no room."""
    sides = [(x, anchor), *([(x + BESIDE_END, "start"), (x - BESIDE_END, "end")] if obstacles.taken else [])]
    places = [_ValueText(side, y + step, anchor) for side, anchor in sides for step in FEET]
    best = min(places, key=lambda place: _in_the_way(place.box, obstacles))
    return best if _in_the_way(best.box, obstacles) < (False, 1) else None


def _in_the_way(box: _Box, obstacles: _Obstacles) -> tuple[bool | int, ...]:
    """Tells whether it leaves the drawing, how many texts it touches, and how many lines cross it."""
    outside = box.top < 0 or box.foot > HEIGHT - BOTTOM or box.left < _x(0) or box.right > _x(1)
    count = sum(box.top < _y(value) < box.foot for _, _, value in obstacles.thresholds)
    count += sum(_crosses(graph, box) for graph in obstacles.lines)
    return outside, sum(box.touches(other) for other in obstacles.taken), count


def _crosses(graph: Line, box: _Box) -> bool:
    places = [(_x(x), _y(min(1.0, max(0.0, y)))) for x, y in graph.points]
    for (x1, y1), (x2, y2) in pairwise(places):
        if x2 < box.left or x1 > box.right or x1 == x2:
            continue
        ends = [y1 + (y2 - y1) * (min(max(x, x1), x2) - x1) / (x2 - x1) for x in (box.left, box.right)]
        if min(ends) < box.foot and max(ends) > box.top:
            return True
    return False


def _stop(share: float | None, words: str) -> tuple[tuple[Markup, ...], list[_Box]]:
    """The line at which it would end, with its name, and the room that both take."""
    if share is None:
        return (), []
    x, foot = _x(share), TOP - 5
    anchor = "end" if x > WIDTH / 2 else "start"
    wide = sum(LETTER * (2 if east_asian_width(letter) in "WF" else 1) for letter in words)
    begin = x - 4 - wide if anchor == "end" else x + 4
    drawn = (
        line(x, TOP - 6, x, HEIGHT - BOTTOM, "ends-here"),
        text(words, x - 4 if anchor == "end" else x + 4, foot, "tick", anchor),
    )
    return drawn, [_Box(x, TOP - 6, x, HEIGHT - BOTTOM), _Box(begin, foot - TALL, begin + wide, foot)]


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
    """Leaves the rest as it is until it changes."""
    corners: list[tuple[float, float]] = []
    for x, y in points:
        if corners:
            corners.append((x, corners[-1][1]))
        corners.append((x, y))
    return corners
