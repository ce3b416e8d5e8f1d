"""The score chart: values are placed where no line crosses them."""

import re
from itertools import pairwise

from api.web.svg import TALL, WIDE, Line, scores

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
