"""Events of older versions: their data is turned into today's before it is read; the row in the log stays as it was.

An event's version stands in its envelope as `v`; without one it is 1. A topic with n steps here is at version n + 1.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from domain.values.base import Unknown

Data = dict[str, Any]
Step = Callable[[Data], Data]
"""From one version of a topic's data to the next. Pure; it gets a copy of its own of the top level."""

STEPS: Final[Mapping[str, tuple[Step, ...]]] = {}
"""By topic, oldest first. A step is never changed once an event that needs it may stand in somebody's log."""


def version_of(topic: str, steps: Mapping[str, tuple[Step, ...]] = STEPS) -> int:
    """The version in which events of a topic are written today."""
    return len(steps.get(topic, ())) + 1


def upcast(topic: str, version: int, data: Data, steps: Mapping[str, tuple[Step, ...]] = STEPS) -> Data:
    """Today's data. Raises Unknown for a version that only a newer Hansard can have written."""
    newest = version_of(topic, steps)
    if not isinstance(version, int) or not 1 <= version <= newest:
        raise Unknown(f"{topic!r} is there in version {version!r}, this Hansard reads up to {newest}.")
    for step in steps.get(topic, ())[version - 1 :]:
        data = step(dict(data))
    return data
