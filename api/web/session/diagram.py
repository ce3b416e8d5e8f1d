"""The state diagram at a version: the current state, the path taken, and how often each state was visited.

It is drawn on a hand-placed grid for the chart of every kind. A test proves that the grids show all of each chart.
`Way` is one drawn line; it may represent several transitions of the same event, as the exits that lead out of the zone
in which all agents work. What returns to its own state is named, not drawn.
"""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

from markupsafe import Markup

from api.web import svg
from api.web.session.context import PanelContext
from domain.values.words import Words
from projections.record.trail import Step

TRAIL, LONG = 12, 14
"""States of the way that are given in words; characters of a label that is written smaller."""


class DiagramShown(NamedTuple):
    """`drawn` draws it in a language; `trail` is the end of the way, and `longer` says that there was more."""

    drawn: Callable[[Words], Markup]
    trail: Sequence[Step]
    longer: bool


def diagram(context: PanelContext) -> DiagramShown:
    steps, session = context.past(context.trail.steps), context.session
    way = visited(steps)
    return DiagramShown(
        lambda say: draw(DIAGRAMS[session.kind], steps, say, session.passing), way[-TRAIL:], len(way) > TRAIL
    )


def visited(steps: Sequence[Step]) -> list[Step]:
    """One entry a stay: an event that leaves a session in its state is no visit."""
    return [step for at, step in enumerate(steps) if at == 0 or steps[at - 1].state != step.state]


@dataclass(frozen=True, slots=True)
class Way:
    """Transitions of an event drawn as one line. `at` is the place of its label."""

    event: str
    sources: tuple[str, ...]
    target: str
    path: str
    at: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Diagram:
    """The place of each state, the lines between them, and the loops."""

    places: dict[str, tuple[int, int]]
    ways: tuple[Way, ...]
    loops: tuple[tuple[str, str], ...]
    zone: tuple[int, int, int, int]
    height: int

    def transitions(self) -> set[tuple[str, str, str]]:
        """(source, event, target), as the chart has them."""
        drawn = {(source, way.event, way.target) for way in self.ways for source in way.sources}
        return drawn | {(state, event, state) for state, event in self.loops}


def draw(chart: Diagram, steps: Sequence[Step], say: Words, passing: Collection[str] = ()) -> Markup:
    """`passing` are the states that the session leaves out."""
    stays = [step.state for step in visited(steps)]
    current = stays[-1] if stays else ""
    visits = Counter(stays)
    taken = Counter(step for pair in pairwise(stays) for step in pairwise(_through(chart, *pair, passing)))
    last = (stays[-2], stays[-1]) if len(stays) > 1 else None
    title = f"{say('session_diagram')}: {say.of('session_state', current)}"
    return svg.svg(
        title,
        _arrows(),
        svg.element("rect", class_="zone", rx=10, **dict(zip(("x", "y", "width", "height"), chart.zone, strict=True))),
        *(_way(way, taken, last, current, say) for way in _in_order(chart, last)),
        *(
            _state(name, place, visits[name], name == current, say, passed=name in passing)
            for name, place in chart.places.items()
        ),
        width=WIDTH,
        height=chart.height,
        class_="diagram",
    )


def _through(chart: Diagram, source: str, target: str, passing: Collection[str]) -> list[str]:
    """The states on the way from one stay to the next, those that the session leaves out among them."""
    states = [source]
    while states[-1] == source or states[-1] in passing:
        way = next((way for way in chart.ways if way.event == "complete" and states[-1] in way.sources), None)
        if way is None:
            break
        states.append(way.target)
        if way.target == target:
            return states
    return [source, target]


WORKING: Final = ("planning", "architecture", "design", "implementation", "validation", "review", "packaging")
OPEN: Final = (*WORKING, "awaiting_scope", "under_review")

WIDTH: Final = 472
BOX: Final = (104, 30)
COLUMNS: Final = (8, 126, 244, 362)


def _loops(event: str, *states: str) -> tuple[tuple[str, str], ...]:
    return tuple((state, event) for state in states)


def _place(column: int, y: int) -> tuple[int, int]:
    return COLUMNS[column], y


DELIVERY: Final = Diagram(
    places={
        "planning": _place(0, 26),
        "architecture": _place(1, 26),
        "design": _place(2, 26),
        "preparing": _place(3, 26),
        "implementation": _place(0, 112),
        "validation": _place(1, 112),
        "review": _place(2, 112),
        "under_review": _place(3, 112),
        "awaiting_scope": _place(0, 180),
        "packaging": _place(3, 180),
        "exhausted": _place(0, 256),
        "failed": _place(1, 256),
        "cancelled": _place(2, 256),
        "success": _place(3, 256),
    },
    ways=(
        Way("complete", ("preparing",), "planning", "M414 26V18H60V26"),
        Way("complete", ("planning",), "architecture", "M112 41H126"),
        Way("complete", ("architecture",), "design", "M230 41H244"),
        Way("complete", ("design",), "implementation", "M296 56V72H36V112"),
        Way("complete", ("implementation",), "validation", "M112 127H126"),
        Way("complete", ("validation",), "review", "M230 127H244"),
        Way("ask", ("implementation",), "awaiting_scope", "M48 142V180"),
        Way("complete", ("awaiting_scope",), "validation", "M112 195H178V142"),
        Way("send_back", ("awaiting_scope",), "implementation", "M76 180V142"),
        Way("hold", ("review",), "under_review", "M348 127H362"),
        Way("complete", ("review",), "packaging", "M296 142V195H362"),
        Way("complete", ("under_review",), "packaging", "M414 142V180"),
        Way("send_back", ("validation",), "implementation", "M178 112V94H84V112", (186, 104)),
        Way("send_back", ("review",), "implementation", "M296 112V94H84V112"),
        Way("send_back", ("under_review",), "implementation", "M414 112V94H84V112"),
        Way("send_back", ("packaging",), "implementation", "M430 180V160H120V135H112"),
        Way("complete", ("packaging",), "success", "M414 210V256"),
        Way("fail", (*WORKING, "preparing"), "failed", "M168 222V256", (174, 243)),
        Way("exhaust", OPEN, "exhausted", "M16 222V256", (22, 243)),
        Way("cancel", (*OPEN, "preparing"), "cancelled", "M296 222V256", (302, 243)),
        *(Way("extend", ("exhausted",), phase, "M98 256V222", (104, 243)) for phase in WORKING),
        *(Way("retry", ("failed",), phase, "M229 256V222") for phase in (*WORKING, "preparing")),
        Way("revise", ("exhausted", "failed", "success"), "implementation", "M440 286V294H4V127H8", (404, 306)),
    ),
    loops=(
        *_loops("extend", *OPEN, "preparing"),
        *_loops("retry", *WORKING, "preparing"),
        *_loops("revise", *OPEN, "preparing"),
        *_loops("send_back", "implementation"),
    ),
    zone=(2, 12, 468, 210),
    height=312,
)

ACTIVE: Final = ("planning", "direct", "debating", "working", "judging", "reviewing")

ORCHESTRATION: Final = Diagram(
    places={
        "direct": _place(0, 26),
        "planning": _place(0, 100),
        "debating": _place(0, 174),
        "working": _place(1, 100),
        "judging": _place(2, 100),
        "reviewing": _place(3, 100),
        "partial": _place(0, 262),
        "checkpoint": _place(1, 262),
        "done": _place(2, 262),
        "reset": _place(3, 262),
    },
    ways=(
        Way("skip_planning", ("planning",), "direct", "M60 100V56", (66, 82)),
        Way("dispatch", ("planning",), "working", "M112 115H126"),
        Way("dispatch", ("direct",), "working", "M112 41H150V100"),
        Way("debate", ("planning",), "debating", "M20 130V174", (26, 156)),
        Way("debate", ("direct",), "debating", "M24 56V76H5V189H8"),
        Way("approve", ("debating",), "working", "M112 189H180V130", (116, 203)),
        Way("rethink", ("debating",), "planning", "M98 174V130", (104, 156)),
        Way("judge", ("working",), "judging", "M230 115H244"),
        Way("review", ("judging",), "reviewing", "M348 115H362"),
        Way("proceed", ("judging",), "working", "M280 100V74H190V100", (246, 66)),
        Way("proceed", ("reviewing",), "working", "M414 100V74H190V100"),
        Way("pause", ("judging",), "checkpoint", "M276 130V212H222V262", (228, 223)),
        Way("pause", ("reviewing",), "checkpoint", "M398 130V212H222V262"),
        Way("pause", ("direct",), "checkpoint", "M112 33H241V140H276V212H222V262"),
        Way("finish", ("judging",), "done", "M330 130V262", (336, 250)),
        Way("finish", ("reviewing",), "done", "M430 130V196H330V262"),
        Way("finish", ("checkpoint",), "done", "M230 277H244"),
        Way("resume", ("checkpoint",), "working", "M196 262V130", (202, 160)),
        Way("answer", ("planning", "direct"), "done", "M250 228V262", (254, 250)),
        Way("stop", ("planning", "direct", "working", "judging", "reviewing"), "partial", "M16 228V262", (22, 250)),
        *(
            Way("resume", ("partial",), state, "M102 262V228", (108, 255))
            for state in ("working", "direct", "planning")
        ),
        Way("extend", ("partial",), "working", "M94 262V228", (108, 243)),
        *(Way("retry", ("partial",), state, "M86 262V228") for state in ("planning", "direct", "working", "judging")),
        Way("revise", ("checkpoint", "partial", "done"), "working", "M296 292V336H3V228", (130, 332)),
        Way("revise", ("checkpoint", "partial", "done"), "direct", "M296 292V336H3V228"),
        Way("discard", ACTIVE, "reset", "M414 228V262", (420, 250)),
        Way("discard", ("checkpoint", "partial"), "reset", "M134 292V308H414V292", (368, 320)),
    ),
    loops=(
        *_loops("extend", "planning", "debating", "working", "judging", "reviewing"),
        *_loops("retry", "planning", "direct", "working", "judging"),
        *_loops("revise", *ACTIVE),
    ),
    zone=(2, 12, 468, 216),
    height=342,
)


def _discussion(talk: str) -> Diagram:
    return Diagram(
        places={
            talk: _place(0, 56),
            "synthesizing": _place(1, 56),
            "waiting_for_decision": _place(2, 56),
            "decided": _place(3, 56),
            "cancelled": _place(1, 136),
        },
        ways=(
            Way("close", (talk,), "synthesizing", "M112 71H126"),
            Way("synthesize", ("synthesizing",), "waiting_for_decision", "M230 71H244"),
            Way("break_off", (talk,), "waiting_for_decision", "M60 56V32H296V56", (150, 27)),
            Way("retry", ("waiting_for_decision",), talk, "M296 86V98H60V86"),
            Way("decide", ("waiting_for_decision",), "decided", "M348 71H362"),
            Way("cancel", (talk, "synthesizing", "waiting_for_decision"), "cancelled", "M178 104V136", (184, 124)),
        ),
        loops=_loops("retry", talk, "synthesizing"),
        zone=(2, 12, 350, 92),
        height=174,
    )


DIAGRAMS: Final[dict[str, Diagram]] = {
    "delivery": DELIVERY,
    "orchestration": ORCHESTRATION,
    "review": _discussion("reviewing"),
    "debate": _discussion("debating"),
}


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


def _state(
    name: str, place: tuple[int, int], visits: int, current: bool, say: Words, *, passed: bool = False
) -> Markup:
    x, y = place
    width, height = BOX
    kind = f"is-current tone-{name}" if current else "is-visited" if visits else "is-passed" if passed else "is-open"
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
