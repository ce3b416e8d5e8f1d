"""Figures that programs report of themselves: hostile, and often wrong."""

import re
from typing import Final

from domain.values.base import MOST

_DIGITS: Final = re.compile(r"[0-9]{1,300}(\.[0-9]{1,300})?")


def amount(reported: object) -> float | None:
    """Return what a program reports, a number or its digits. A negative one, or what is no number, is unknown."""
    if isinstance(reported, str) and _DIGITS.fullmatch(reported):
        return float(reported)
    if isinstance(reported, bool) or not isinstance(reported, int | float) or not reported >= 0:  # not a number, too
        return None
    return float(min(reported, 10.0**300))


def counted(reported: object) -> int | None:
    """Return the same as a count. More than can be recorded counts as the most that can, so that a budget ends."""
    number = amount(reported)
    if number is None:
        return None
    return MOST if number >= MOST else round(number)


def summed(*numbers: int | None) -> int | None:
    """Return the sum of those that are known, or None."""
    figures = [number for number in numbers if number is not None]
    return min(sum(figures), MOST) if figures else None
