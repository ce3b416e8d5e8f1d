"""The state diagram at a version: the current state, the path taken, and how often each state was visited."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from markupsafe import Markup

from api.web import svg
from api.web.session.charts import BOX, DIAGRAMS, WIDTH, Diagram, Way
from api.web.session.context import PanelContext
from domain.values.words import Words
from projections.record.marks import Step

TRAIL, LONG = 12, 14
"""States of the way told in words; characters of a label that is written smaller."""


def diagram(context: PanelContext) -> dict[str, Any]:
    steps = context.past(context.trail.steps)
    return {
        "drawn": lambda say: draw(DIAGRAMS[context.session.kind], steps, say),
        "trail": visited(steps)[-TRAIL:],
        "longer": len(visited(steps)) > TRAIL,
    }


def visited(steps: Sequence[Step]) -> list[Step]:
    """One entry a stay: an event that leaves a session in its state is no visit."""
    return [step for at, step in enumerate(steps) if at == 0 or steps[at - 1].state != step.state]


def draw(chart: Diagram, steps: Sequence[Step], say: Words) -> Markup:
    stays = [step.state for step in visited(steps)]
    current = stays[-1] if stays else ""
    visits = Counter(stays)
    taken = Counter(pairwise(stays))
    last = (stays[-2], stays[-1]) if len(stays) > 1 else None
    title = f"{say('session_diagram')}: {say.of('session_state', current)}"
    return svg.svg(
        title,
        _arrows(),
        svg.element("rect", class_="zone", rx=10, **dict(zip(("x", "y", "width", "height"), chart.zone, strict=True))),
        *(_way(way, taken, last, current, say) for way in _in_order(chart, last)),
        *(_state(name, place, visits[name], name == current, say) for name, place in chart.places.items()),
        width=WIDTH,
        height=chart.height,
        class_="diagram",
    )


def _arrows() -> Markup:
    """Heads in the colour of their lines."""
    heads = [
        svg.element(
            "marker",
            svg.element("path", d="M0 0 6 3 0 6z", class_=f"head is-{kind}"),
            id=f"head-{kind}",
            viewBox="0 0 6 6",
            refX=5,
            refY=3,
            markerWidth=7,
            markerHeight=7,
            markerUnits="userSpaceOnUse",
            orient="auto",
        )
        for kind in ("open", "taken", "last", "next")
    ]
    return svg.element("defs", *heads)


def _in_order(chart: Diagram, last: tuple[str, str] | None) -> list[Way]:
    """The way taken last is drawn on top."""
    return sorted(chart.ways, key=lambda way: last is not None and last[0] in way.sources and way.target == last[1])


def _way(way: Way, taken: Counter[tuple[str, str]], last: tuple[str, str] | None, current: str, say: Words) -> Markup:
    times = sum(taken[source, way.target] for source in way.sources)
    kind = "taken" if times else "next" if current in way.sources else "open"
    if last is not None and last[0] in way.sources and last[1] == way.target:
        kind = "last"
    line = svg.element("path", d=way.path, class_=f"way is-{kind}", marker_end=f"url(#head-{kind})")
    if way.at is None:
        return line
    words = say.of("session_way", way.event) + (f" ×{times}" if times > 1 else "")
    return line + svg.text(words, *way.at, class_=f"name is-{kind}")


def _state(name: str, place: tuple[int, int], visits: int, current: bool, say: Words) -> Markup:
    x, y = place
    width, height = BOX
    kind = f"is-current tone-{name}" if current else "is-visited" if visits else "is-open"
    words = say.of("session_state", name)
    parts = [
        svg.element("rect", x=x, y=y, width=width, height=height, rx=7, class_="box"),
        svg.text(
            words, x + width / 2, y + 19, class_="label is-long" if len(words) > LONG else "label", anchor="middle"
        ),
    ]
    if visits > 1:
        parts.append(svg.text(f"×{visits}", x + width - 3, y + height + 10, class_="visits", anchor="end"))
    return svg.element("g", *parts, class_=f"node {kind}")
