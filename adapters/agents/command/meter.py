"""A meter for a program that still runs: a turn that is ended from outside has no reply to say what it used."""

from collections.abc import Callable
from pathlib import Path

from adapters.agents.command.output import messages, plus, usage_of
from adapters.agents.command.settings import UsagePaths
from adapters.agents.command.usage_growth import keep, reading, since
from adapters.agents.port import Turn
from domain.values.base import Usage


class Meter:
    """The usage in what a program has printed so far. From any thread."""

    def __init__(self, paths: UsagePaths | None, counter: Path | None) -> None:
        """`counter` keeps the last reading of the conversation that is resumed, for figures that cover all of it."""
        self._paths = paths
        self._counter = counter if paths is not None and paths.cumulative else None
        self._before = reading(self._counter) if self._counter else Usage()
        self._output: Callable[[], str] = str

    def begin(self, output: Callable[[], str]) -> None:
        """The program runs, and this returns its output."""
        self._output = output

    def used(self) -> Usage:
        """Return what this turn has used."""
        return since(self._before, self._total())

    def noted(self) -> Usage:
        """Return what a turn without a reply has used, so that the next turn does not count it again."""
        total = self._total()
        if self._counter is not None and total != Usage():
            keep(total, self._counter)
        return since(self._before, total)

    def _total(self) -> Usage:
        return Usage() if self._paths is None else usage_of(messages(self._output()), self._paths)


def after(spent: Usage, turn: Turn) -> Callable[[Callable[[], Usage]], None] | None:
    """The turn's meter for a second run of the program, which adds to what the first has used."""
    meter = turn.meter
    if meter is None:
        return None
    return lambda used: meter(lambda: plus(spent, used()))
