"""Counters of a whole conversation, and what one turn added to them."""

import contextlib
from pathlib import Path

from pydantic import ValidationError

from domain.values.base import Usage


def added(total: Usage, beside: Path) -> Usage:
    """What was used since the last reading, which is kept in the file `beside`; a smaller counter began at zero."""
    before = _reading(beside)
    with contextlib.suppress(OSError):
        beside.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        beside.write_bytes(total.model_dump_json(exclude_none=True).encode())
    figures = total.model_dump()
    earlier = before.model_dump()
    grown = {name: _grown(earlier[name], now) for name, now in figures.items()}
    if any(difference is not None and difference < 0 for difference in grown.values()):
        return total
    return Usage.model_validate(grown)


def plus(one: Usage, other: Usage) -> Usage:
    """Both together; what neither knows stays unknown."""
    first, second = one.model_dump(), other.model_dump()
    both = {name: _sum(first[name], second[name]) for name in first}
    return Usage.model_validate(both)


def _reading(beside: Path) -> Usage:
    with contextlib.suppress(OSError, ValidationError):
        return Usage.model_validate_json(beside.read_bytes())
    return Usage()


def _grown(before: int | None, now: int | None) -> int | None:
    return None if now is None else now - (before or 0)


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None and other is None else (one or 0) + (other or 0)
