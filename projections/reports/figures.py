"""Figures of reports: rounded the same way everywhere, None where there is nothing to reckon with."""

from collections.abc import Iterable, Sequence
from statistics import fmean, median
from typing import Any

Row = dict[str, Any]


def share(part: int, whole: int) -> float | None:
    """From 0 to 1, four digits; None of nothing."""
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


def known(values: Iterable[int | None]) -> int | None:
    """The sum of what is known; None where nothing is."""
    found = [value for value in values if value is not None]
    return sum(found) if found else None


def ordered(value: object) -> tuple[int, str | int]:
    """A key by which numbers, words and nothing can be sorted among each other."""
    match value:
        case None:
            return (0, "")
        case int():
            return (1, value)
        case _:
            return (2, str(value))
