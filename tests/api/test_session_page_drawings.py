"""The diagrams of the session page: complete charts, the path taken, numbers inside their frame."""

import re
from importlib.resources import files

import pytest

from api.web import svg
from api.web.sentences import words
from api.web.session.diagram import BOX, DIAGRAMS, WIDTH, draw, visited
from api.web.session.history import BUCKETS, strip
from domain.delivery import chart as delivery
from domain.discussion import chart as discussion
from domain.orchestration import chart as orchestration
from domain.session.chart import ChartTable
from domain.values.words import LANGUAGES, Language
from projections.record.trail import Light, Step, Trail

TABLES: dict[str, ChartTable] = {"delivery": delivery.TABLE, "orchestration": orchestration.TABLE, **discussion.TABLES}


def test_there_is_a_diagram_for_every_kind() -> None:
    assert set(DIAGRAMS) == set(TABLES)


@pytest.mark.parametrize("kind", DIAGRAMS)
def test_a_diagram_shows_exactly_the_states_and_transitions_of_its_chart(kind: str) -> None:
    table, shown = TABLES[kind], DIAGRAMS[kind]
    transitions = {
        (state, event, edge.target)
        for state in table.states
        for event in table.events
        for edge in table.edges(state, event)
    }
    assert set(shown.places) == set(table.states)
    assert shown.transitions() == transitions


@pytest.mark.parametrize("kind", DIAGRAMS)
def test_states_do_not_overlap_and_fit_the_drawing(kind: str) -> None:
    shown = DIAGRAMS[kind]
    places = list(shown.places.values())
    assert all(0 <= x <= WIDTH - BOX[0] and 0 <= y <= shown.height - BOX[1] for x, y in places)
    for at, (x, y) in enumerate(places):
        assert all(abs(x - u) >= BOX[0] or abs(y - v) >= BOX[1] for u, v in places[at + 1 :])


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("kind", DIAGRAMS)
def test_no_transition_label_overlaps_a_line(kind: str, language: Language) -> None:
    shown = DIAGRAMS[kind]
    left = {source for way in shown.ways for source in way.sources}
    lines = [(way.event, line) for way in shown.ways for line in _lines(way.path)]
    for way in shown.ways:
        if way.at is None:
            continue
        often = " ×28" if way.target in left else ""
        box = _box(words(language).of("session_way", way.event) + often, way.at)
        assert [(way.event, other) for other, line in lines if _cross(box, line)] == []


Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""


def _box(text: str, at: tuple[int, int]) -> Box:
    """Text of ten pixels, as wide as in a wide font."""
    width = sum(10.0 if letter > "\u1100" else 6.0 for letter in text)
    return at[0], at[1] - 8, at[0] + width, at[1] + 2


def _lines(path: str) -> list[Box]:
    results: list[Box] = []
    x = y = 0.0
    for name, numbers in re.findall(r"([MHV])([\d ]+)", path):
        went = (x, y)
        match name, [float(number) for number in numbers.split()]:
            case "M", [x, y]:
                continue
            case "H", [x]:
                pass
            case "V", [y]:
                pass
        results.append((min(x, went[0]), min(y, went[1]), max(x, went[0]), max(y, went[1])))
    return results


def _cross(box: Box, line: Box) -> bool:
    return box[0] < line[2] + 1 and line[0] - 1 < box[2] and box[1] < line[3] and line[1] < box[3]


@pytest.mark.parametrize("kind", DIAGRAMS)
def test_every_state_and_every_named_way_has_words_in_both_languages(kind: str) -> None:
    shown = DIAGRAMS[kind]
    named = {f"session_way.{way.event}" for way in shown.ways if way.at}
    assert named | {f"session_state.{state}" for state in shown.places} <= set(words("en").messages)


def test_diagram_marks_visits_and_the_last_step() -> None:
    way = ("planning", "architecture", "design", "implementation", "validation", "implementation", "validation")
    steps = [Step(version, state) for version, state in enumerate(way, start=1)]
    drawn = str(draw(DIAGRAMS["delivery"], steps, words("en")))
    assert re.findall(r'class="node is-current tone-(\w+)"', drawn) == ["validation"]
    assert drawn.count("×2</text>") == 2
    assert drawn.count('class="way is-last"') == 1 and drawn.count('class="node is-visited"') == 4
    assert visited([Step(1, "planning"), Step(2, "planning")]) == [Step(1, "planning")]


def test_no_drawing_carries_a_style_or_unescaped_words() -> None:
    drawn = svg.element("text", "<b>&", title='"', class_="x")
    assert str(drawn) == '<text title="&#34;" class="x">&lt;b&gt;&amp;</text>'
    for kind, shown in DIAGRAMS.items():
        assert " style=" not in str(draw(shown, [Step(1, next(iter(shown.places)))], words("ko"))), kind


def test_a_chart_keeps_inside_its_frame() -> None:
    line = svg.Line("score", "score", [(0.0, 0.0), (0.5, 7.0), (1.0, -3.0)])
    path = re.search(r'<path d="M([^"]+)"', str(svg.burndown("t", [line], end="1:00")))
    assert path is not None
    ys = [float(pair.split()[1]) for pair in path[1].split("L")]
    assert ys == [svg.HEIGHT - svg.BOTTOM, svg.TOP, svg.HEIGHT - svg.BOTTOM]


def test_remaining_budget_decreases_in_steps() -> None:
    assert svg.stepped([(0.0, 1.0), (0.5, 0.5), (1.0, 0.5)]) == [
        (0.0, 1.0), (0.5, 1.0), (0.5, 0.5), (1.0, 0.5), (1.0, 0.5),
    ]  # fmt: skip


def test_long_lines_are_thinned_and_keep_their_end() -> None:
    points = [(float(n), float(n)) for n in range(5_001)]
    result = svg.thinned(points)
    assert len(result) <= svg.MOST_POINTS + 1 and result[-1] == points[-1] and result[0] == points[0]


def test_a_strip_is_bounded_and_keeps_the_gravest_mark() -> None:
    trail = Trail(version=20_000, at=[0] * 20_000)
    trail.steps = [Step(n, ("working", "judging")[n % 2]) for n in range(1, 20_001)]
    trail.lights = [Light(n, "note") for n in range(1, 20_001)] + []
    trail.lights[70] = Light(71, "bad")
    drawn = str(strip(trail, 20_000, "t").drawn)
    assert drawn.count("<rect") <= 2 * BUCKETS
    assert drawn.count("light is-bad") == 1


def test_the_page_of_a_session_has_no_sink_of_its_own() -> None:
    sinks = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|parseFromString|createHTML"
    styles = r"\.style\b(?!\.setProperty\(\"--)"
    for name in ("session.js", "events.js", "replay.js", "start.js", "sending.js"):
        assert re.findall(f"{sinks}|{styles}", (files("api.web") / name).read_text("utf-8")) == [], name


def test_no_script_and_no_sheet_loads_anything_from_elsewhere() -> None:
    result = {place.name: place.read_text("utf-8") for place in files("api.web").iterdir() if _is_asset(place.name)}
    assert {"app.js", "session.js", "app.css", "session.css"} <= set(result)
    for name, text in result.items():
        assert re.findall(r"https?://|@import|url\(", text) == [], name
        assert set(re.findall(r'^import .* from "([^"]+)"', text, re.MULTILINE)) <= {f"./{other}" for other in result}


def _is_asset(name: str) -> bool:
    return name.endswith((".js", ".css"))
