"""Figures of reports: rounded the same way everywhere, None if there is nothing to compute."""

from collections.abc import Iterable, Sequence
from statistics import fmean, median
from typing import Any

Row = dict[str, Any]


def share(part: int, whole: int) -> float | None:
    """From 0 to 1, four digits; None for an empty total."""
    return round(part / whole, 4) if whole else None


def spread(name: str, values: Sequence[int]) -> Row:
    """`<name>Mean`, two digits, `<name>Median` and `<name>Max`."""
    if not values:
        return {f"{name}Mean": None, f"{name}Median": None, f"{name}Max": None}
    return {
        f"{name}Mean": round(fmean(values), 2),
        f"{name}Median": round(float(median(values)), 2),
        f"{name}Max": max(values),
    }


def total_of(values: Iterable[int | None]) -> int | None:
    """The sum of the known values; None if there are none."""
    numbers = [value for value in values if value is not None]
    return sum(numbers) if numbers else None


def ordered(value: object) -> tuple[int, str | int]:
    """A key that sorts numbers, texts and None together."""
    match value:
        case None:
            return (0, "")
        case int():
            return (1, value)
        case _:
            return (2, str(value))
