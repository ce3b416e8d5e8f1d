"""The score chart: values are placed where no line crosses them."""

import re
from itertools import pairwise

import pytest

from api.web.svg import BOTTOM, HEIGHT, TALL, WIDE, Line, scores

ROUNDS = {
    "score": (0.30, 0.30, 0.58, 0.66, 0.61),
    "agreement": (0.50, 0.50, 0.67, 0.62, 0.60),
    "stability": (0.00, 0.00, 0.44, 0.72, 0.63),
}
THRESHOLDS = [("agreement", "Agreement", 0.7), ("stability", "Stability", 0.8)]
STEPS = 200


def test_no_line_crosses_the_values_of_a_chart() -> None:
    lines = [Line(name, name, [(at / 4, value) for at, value in enumerate(values)]) for name, values in ROUNDS.items()]
    drawn = scores("Scores", lines, THRESHOLDS, [f"R{number}" for number in range(1, 6)])
    values = re.findall(r'<text x="([\d.]+)" y="([\d.]+)" class="value" text-anchor="(\w+)">([\d.]+)', drawn)
    assert [value for *_, value in values] == ["0.30", "0.30", "0.58", "0.66", "0.61"]
    paths = [
        [tuple(map(float, place.split())) for place in path.split("L")]
        for path in re.findall(r'<path d="M([^"]+)" class="line', drawn)
    ]
    assert len(paths) == 3
    for x, y, anchor, value in values:
        left = float(x) - {"start": 0, "middle": WIDE / 2, "end": WIDE}[anchor]
        for path in paths:
            for (x1, y1), (x2, y2) in pairwise(path):
                for step in range(STEPS + 1):
                    across, down = (x1 + (x2 - x1) * step / STEPS, y1 + (y2 - y1) * step / STEPS)
                    inside = left < across < left + WIDE and float(y) - TALL < down < float(y)
                    assert not inside, (value, across, down)
        for level in map(float, re.findall(r'y1="([\d.]+)"[^>]*class="threshold', drawn)):
            assert not float(y) - TALL < level < float(y), (value, level)


@pytest.mark.parametrize("words", ["would end here", "여기서 끝남"])
@pytest.mark.parametrize("rounds", [1, 2, 3, 5, 8, 20, 50])
def test_no_value_touches_the_end_or_its_name(rounds: int, words: str) -> None:
    """Wherever the discussion would end, and however high its scores are."""
    places = [at / (rounds - 1) if rounds > 1 else 0.5 for at in range(rounds)]
    for stop in places[:: max(1, rounds // 8)]:
        for high in (0.0, 0.34, 1.0):
            line = Line("score", "score", [(x, high if at % 3 else 1 - high) for at, x in enumerate(places)])
            drawn = scores("Scores", [line], THRESHOLDS, [f"R{at + 1}" for at in range(rounds)], (stop, words))
            [end] = map(float, re.findall(r'<line x1="([\d.]+)"[^>]*class="ends-here"', drawn))
            boxes = _boxes(drawn)
            assert len(boxes) >= min(rounds, 4), "at least these have room"
            assert min(abs((box[0] + box[2]) / 2 - end) for box in boxes) < WIDE, "the end has its value"
            for box in boxes:
                assert not box[0] - 1 < end < box[2] + 1, (rounds, stop, high, box, end)
                assert box[1] >= 0 and box[3] <= HEIGHT - BOTTOM
            [name] = re.findall(rf'<text x="([\d.]+)" y="([\d.]+)" class="tick" text-anchor="(\w+)">{words}', drawn)
            wide = 4.8 * len(words) * (1 if words.isascii() else 2)
            left = float(name[0]) - (wide if name[2] == "end" else 0)
            for box in boxes:
                apart = box[2] < left or box[0] > left + wide or box[1] > float(name[1])
                assert apart, (rounds, stop, high, box)


def _boxes(drawn: str) -> list[tuple[float, float, float, float]]:
    """Left, top, right and bottom of the values."""
    found = re.findall(r'<text x="([\d.]+)" y="([\d.]+)" class="value" text-anchor="(\w+)">', drawn)
    lefts = [float(x) - {"start": 0, "middle": WIDE / 2, "end": WIDE}[anchor] for x, _, anchor in found]
    return [(left, float(y) - TALL, left + WIDE, float(y)) for left, (_, y, _) in zip(lefts, found, strict=True)]
