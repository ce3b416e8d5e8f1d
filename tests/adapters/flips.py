"""Damage of one bit, and what `verify` makes of it: found, harmless, or silent, which must never be."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from adapters.proof.verify import verify_stored
from adapters.store.sqlite.sealed_log import UNREADABLE, sealed
from domain.values.base import HansardError
from tests.adapters.audited import rows, verified

Outcome = Literal["found", "harmless", "silent"]
Facts = tuple[object, ...]
WHOLE = 40
"""Of so many flips one is given to `verify` as a whole, however early one of its phases finds it."""


def facts(path: Path) -> Facts:
    """Everything but leases and sign-ins."""
    asked = "turn_id, stream, version, work, agent, role, state, requested_at, deadline"
    tables = (
        "SELECT position, stream, version, topic, plain(state), hash FROM events ORDER BY position",
        "SELECT * FROM texts ORDER BY digest",
        "SELECT * FROM receipts ORDER BY key",
        f"SELECT {asked} FROM turns ORDER BY turn_id",
        "SELECT * FROM keys ORDER BY name",
        "SELECT name FROM secrets ORDER BY name",
    )
    return tuple(rows(path, statement) for statement in tables)


def outcome(path: Path, before: Facts | None) -> Outcome:
    """Phase by phase, the cheapest first: what one finds, `verify` finds. Without `before`, nothing is harmless."""
    try:
        with sealed(path) as log:
            with log.rows.frozen() as stored:
                if stored.integrity():
                    return "found"
            if not verify_stored(log).sound:
                return "found"
        if facts(path) == before:
            return "harmless"
        return "silent" if verified(path).sound else "found"
    except (HansardError, *UNREADABLE):  # it does not even open: the command line reports it as a fault
        return "found"


def finds(path: Path) -> bool:
    """Whether `verify` as a whole finds something."""
    try:
        return not verified(path).sound
    except HansardError:
        return True


@contextmanager
def flipped(path: Path, bit: int) -> Iterator[None]:
    """The file with another bit, for a while."""
    place = bit // 8
    with path.open("rb") as file:
        file.seek(place)
        [byte] = file.read(1)
    _write(path, place, byte ^ 1 << bit % 8)
    try:
        yield
    finally:
        _write(path, place, byte)
        for beside in path.parent.glob(f"{path.name}-*"):
            beside.unlink()


def _write(path: Path, place: int, byte: int) -> None:
    with path.open("r+b") as file:
        file.seek(place)
        file.write(bytes([byte]))


def outcomes(path: Path, seed: int, count: int) -> Iterator[tuple[int, Outcome]]:
    """So many bits of the file, one after another, and what became of each."""
    chance, before, size = random.Random(seed), facts(path), path.stat().st_size * 8  # noqa: S311 - the same again
    for number in range(count):
        bit = chance.randrange(size)
        with flipped(path, bit):
            done = outcome(path, before)
            if number % WHOLE == 0:
                assert finds(path) == (done == "found"), f"bit {bit} is {done}"
        yield bit, done
