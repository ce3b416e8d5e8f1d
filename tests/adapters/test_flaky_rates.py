"""How often a flaky command costs an iteration, and that a command which fails every time is never excused: the real
rule on a twin of the places in which commands run."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from adapters.fence.port import Grant
from adapters.processes.limits import NO_LIMITS
from adapters.processes.program import Finished
from adapters.turns.commands import validate
from adapters.turns.commands.prepare import Ready
from adapters.turns.commands.run import CommandPlace
from adapters.turns.commands.validate import WorkValidation
from domain.delivery.validation import Preparation
from domain.session.validation import ValidationStep

STEP = ValidationStep(stage="test", command="pytest", argv=("pytest",))
SETUP = ValidationStep(stage="custom", command="make", argv=("make",))
TREE, BASE = "work", "base"


class Places:
    """A twin of the places of one turn; each has a folder of its own, which is new."""

    def __init__(self, *, repeat: int) -> None:
        self.job: Any = SimpleNamespace(preparation=Preparation(setup=(SETUP,), repeat=repeat))
        self.settings: Any = SimpleNamespace(validation_timeout=60.0, command_limits=NO_LIMITS, output_bytes=1_000)
        self._made = 0

    async def workspace(self) -> Any:
        return SimpleNamespace(in_place=None)

    async def has_leftovers(self, _: CommandPlace) -> bool:
        return True

    async def serve(self, _: CommandPlace) -> None:
        """There are no services."""

    async def close(self) -> tuple[()]:
        return ()

    async def set_up_again(self, _: CommandPlace) -> None:
        """Every folder of a twin is new."""

    async def tidied(self, tree: str | None = None) -> Ready:
        return self._place(tree)

    @asynccontextmanager
    async def fresh(self, tree: str | None, number: int = 0) -> AsyncIterator[Ready]:
        yield self._place(tree)

    @asynccontextmanager
    async def repeats(self, tree: str | None, number: int) -> AsyncIterator[Any]:
        async def renewed() -> CommandPlace:
            return self._place(tree).place

        yield SimpleNamespace(passed=True, renewed=renewed)

    def _place(self, tree: str | None) -> Ready:
        self._made += 1
        folder = Path(f"/places/{tree or TREE}/{self._made}")
        fencing: Any = None
        place = CommandPlace(
            folder=folder, top=folder, home=folder, env={}, fencing=fencing, grant=Grant(), observe=lambda _: None
        )
        return Ready(place, ())


class Clock:
    """A twin of the budget's clock, which nobody looks at."""

    @asynccontextmanager
    async def stopped(self, _job: object, _why: object) -> AsyncIterator[None]:
        yield


def passes(places: Places, fails: Callable[[CommandPlace], bool], monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether one validation passes in which the command fails as `fails` says."""

    async def run(step: ValidationStep, place: CommandPlace, settings: object, **_: object) -> Finished:
        failed = fails(place)
        return Finished(
            int(failed), "FAILED test_a" if failed else "1 passed", "", truncated=False, seconds=0.0, ended="exit"
        )

    monkeypatch.setattr(validate, "run_step", run)
    twin: Any = places
    clock: Any = Clock()
    return asyncio.run(WorkValidation(twin, clock, base=BASE).run([STEP])).passed


@pytest.mark.parametrize(("repeat", "most"), [(2, 0.06), (5, 0.003)])
@pytest.mark.parametrize("deliveries", [1_000, pytest.param(20_000, marks=pytest.mark.nightly)])
def test_a_flaky_command_seldom_costs_an_iteration(
    monkeypatch: pytest.MonkeyPatch, repeat: int, most: float, deliveries: int
) -> None:
    chance = random.Random(3)  # noqa: S311 (the same runs every time)
    ends = [passes(Places(repeat=repeat), lambda _: chance.random() < 0.3, monkeypatch) for _ in range(deliveries)]
    assert ends.count(False) <= most * deliveries


@pytest.mark.parametrize("repeat", [0, 2, 5])
def test_a_command_that_fails_every_time_is_never_excused(monkeypatch: pytest.MonkeyPatch, repeat: int) -> None:
    """On the work: that it passes on the base tree excuses nothing."""
    fails = [passes(Places(repeat=repeat), lambda place: TREE in place.folder.parts, monkeypatch) for _ in range(200)]
    assert not any(fails)


def test_what_an_earlier_run_wrote_makes_no_later_run_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that passes where it has run before, because of a stamp, fails in each fresh copy."""
    for _ in range(200):
        stamps = set[Path]()

        def fails(place: CommandPlace, seen: set[Path] = stamps) -> bool:
            before = place.folder in seen
            seen.add(place.folder)
            return not before

        assert not passes(Places(repeat=5), fails, monkeypatch)
