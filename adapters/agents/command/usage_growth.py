"""The growth of a program's figures, where they cover the whole conversation."""

import contextlib
from pathlib import Path

from pydantic import ValidationError

from domain.values.base import Usage


def added(total: Usage, counter: Path) -> Usage:
    """The usage since the last reading, which from now on is this one: the file `counter` keeps it."""
    grown = since(reading(counter), total)
    keep(total, counter)
    return grown


def keep(total: Usage, counter: Path) -> None:
    """Make this the last reading."""
    with contextlib.suppress(OSError):
        counter.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        counter.write_bytes(total.model_dump_json(exclude_none=True).encode())


def since(before: Usage, total: Usage) -> Usage:
    """The usage since an earlier reading; a counter that became smaller restarted at zero."""
    figures = total.model_dump()
    earlier = before.model_dump()
    grown = {name: _grown(earlier[name], now) for name, now in figures.items()}
    if any(difference is not None and difference < 0 for difference in grown.values()):
        return total
    return Usage.model_validate(grown)


def reading(counter: Path) -> Usage:
    """The last reading; nothing is known where there is none."""
    with contextlib.suppress(OSError, ValidationError):
        return Usage.model_validate_json(counter.read_bytes())
    return Usage()


def _grown(before: int | None, now: int | None) -> int | None:
    return None if now is None else now - (before or 0)
