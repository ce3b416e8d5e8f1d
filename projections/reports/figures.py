"""What reports are made of: rows, totals, and figures that are rounded the same way everywhere.

Unknown values are None and never count as zero. Times are milliseconds, money is in millionths.
"""

from collections.abc import Iterable, Sequence
from statistics import fmean, median
from typing import NamedTuple

from pydantic.alias_generators import to_camel

from projections.views.base import View


class ReportRow(View):
    """A row of any report. Its fields, in order, are the columns."""

    @classmethod
    def columns(cls) -> tuple[str, ...]:
        return tuple(map(to_camel, cls.model_fields))


class AgentRow(ReportRow):
    agent: str


class ReportTotals(View):
    """Figures over all rows."""


class Spread(NamedTuple):
    """Mean and median with two digits; None where there is nothing to compute."""

    mean: float | None = None
    median: float | None = None
    max: int | None = None


def share(part: int, whole: int) -> float | None:
    """From 0 to 1, four digits; None for an empty total."""
    return round(part / whole, 4) if whole else None


def spread(values: Sequence[int]) -> Spread:
    if not values:
        return Spread()
    return Spread(mean=round(fmean(values), 2), median=round(float(median(values)), 2), max=max(values))


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
