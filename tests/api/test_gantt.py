"""The clock of the drawing that shows who worked when."""

from datetime import UTC, datetime, timedelta

import pytest

from api.web.session.gantt import LABELS, NARROW, TICKS, WIDE, clock_of, since, ticks_of

SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000
LENGTHS = sorted(
    {1, 2, 7, 40, 99, 260, 800, 1_000, 1_500, 2_001, 3_000, 4_999, 5_500, 6_000, 9_999, 61_000}
    | {round(SECOND * 1.37**power) for power in range(60)}
)
WALL = {
    "tenth": lambda at: at.strftime("%H:%M:%S.%f")[:-5],
    "hundredth": lambda at: at.strftime("%H:%M:%S.%f")[:-4],
    "millisecond": lambda at: at.strftime("%H:%M:%S.%f")[:-3],
    "second": lambda at: at.strftime("%H:%M:%S"),
    "minute": lambda at: at.strftime("%H:%M"),
    "day": lambda at: at.strftime("%b %d %H:%M"),
}
"""What the script writes in the place of the time since the beginning."""
BEGIN = datetime(2026, 11, 26, 14, 2, 37, 258_000, UTC)


@pytest.mark.parametrize("whole", LENGTHS)
def test_no_two_ticks_have_the_same_label(whole: int) -> None:
    ruler = clock_of(whole)
    offsets = range(0, whole, ruler.step)
    assert len(offsets) <= TICKS and (len(offsets) > 2 or whole < 3)
    elapsed = [since(offset, ruler) for offset in offsets]
    wall = [WALL[ruler.finest](BEGIN + timedelta(milliseconds=offset)) for offset in offsets]
    assert len(set(elapsed)) == len(elapsed), elapsed
    assert len(set(wall)) == len(wall), wall


@pytest.mark.parametrize(
    ("whole", "labels"),
    [
        (800, ["0.0 s", "0.2 s", "0.4 s", "0.6 s"]),
        (1_500, ["0.0 s", "0.5 s", "1.0 s"]),
        (5_500, ["0:00", "0:01", "0:02", "0:03", "0:04", "0:05"]),
        (23 * MINUTE, ["0:00", "5:00", "10:00", "15:00", "20:00"]),
        (3 * DAY, ["0:00", "12:00:00", "24:00:00", "36:00:00", "48:00:00", "60:00:00"]),
    ],
)
def test_ticks_are_round(whole: int, labels: list[str]) -> None:
    ruler = clock_of(whole)
    assert [since(offset, ruler) for offset in range(0, whole, ruler.step)] == labels


@pytest.mark.parametrize("width", [NARROW, 320, 546, WIDE])
@pytest.mark.parametrize("whole", LENGTHS)
def test_labels_neither_overlap_nor_leave_the_drawing(whole: int, width: int) -> None:
    ruler = clock_of(whole)
    room, last = LABELS[ruler.finest], -1.0
    ticks = [tick for tick in ticks_of(whole, ruler, width) if not tick.fine]
    assert ticks[0].offset == 0 and (len(ticks) > 1 or whole < 3)
    for tick in ticks:
        begin = tick.share / 100 * width - (room if tick.late else 0)
        assert last <= begin and begin + room <= width + 1, (tick, last)
        last = begin + room - 1
