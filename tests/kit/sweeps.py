"""Sweeps over many values: a few in every run, all in the nightly one."""

from collections.abc import Iterable
from typing import Any

import pytest


def sampled(values: Iterable[Any], *kept: int) -> list[Any]:
    """Returns the values as parameters; all but those at the positions `kept` run nightly only."""
    values = list(values)
    places = {place % len(values) for place in kept}
    return [
        value if place in places else pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=NIGHTLY)
        for place, value in enumerate(values)
    ]


NIGHTLY = pytest.mark.nightly
