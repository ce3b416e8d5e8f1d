"""How the page shows durations."""

import pytest

from api.web.model import seconds_or_clock


@pytest.mark.parametrize(
    ("milliseconds", "shown"),
    [(-5, "0.0 s"), (240, "0.2 s"), (9_940, "9.9 s"), (10_000, "0:10"), (63_000, "1:03"), (3_723_000, "1:02:03")],
)
def test_a_length_below_ten_seconds_has_a_fraction(milliseconds: int, shown: str) -> None:
    assert seconds_or_clock(milliseconds) == shown
