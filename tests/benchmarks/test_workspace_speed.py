"""What a workspace of 20,000 files costs a turn, each kind against `git status` in the same folder: by the clock, and
in time of a core, ours and git's."""

import os
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from statistics import median
from typing import NamedTuple, TypeVar

import pytest

from adapters.workspace import Workspaces
from tests.adapters.workspace.given import git, write
from tests.benchmarks.measuring import Tell

pytestmark = pytest.mark.benchmark
FILES, TIMES = 20_000, 5
T = TypeVar("T")


class Cost(NamedTuple):
    clock: float
    core: float


def timed(work: Callable[[], T]) -> tuple[Cost, T]:
    began, before = time.perf_counter(), os.times()
    result = work()
    after = os.times()
    return Cost(time.perf_counter() - began, sum(after[:4]) - sum(before[:4])), result


def middle(costs: Iterable[Cost]) -> Cost:
    clock, core = zip(*costs, strict=True)
    return Cost(median(clock), median(core))


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("large")
    git(folder, "init", "-q", "-b", "main")
    write(
        folder, {f"p{n // 100}/q{n % 100 // 20}/f{n % 20}.py": f"def f{n}():\n    return {n}\n" for n in range(FILES)}
    )
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "one")
    git(folder, "repack", "-adq")
    return folder


def test_the_own_share_of_a_turn_in_a_large_repository(source: Path, tmp_path: Path, tell: Tell) -> None:
    workspaces = Workspaces(tmp_path / "data")
    first = workspaces.open("s1", source)
    cold, folder = timed(lambda: first.checkout(tree=None, slot=0))
    time.sleep(2.1)  # what git wrote within the same second it would read again
    states = [first.base()]

    def here() -> Path:
        return first.checkout(tree=states[-1], slot=0)

    def writer() -> None:
        (here() / "p1" / "q1" / "f1.py").write_text(f"changed at {time.time_ns()}\n")
        states.append(first.snapshot(folder, message="changed", parent=states[-1]))

    here()

    kinds: dict[str, Callable[[], object]] = {
        "git status": lambda: git(folder, "status", "--short"),
        "reader": here,
        "writer": writer,
        "validation": here,
    }
    rounds = [{name: timed(work)[0] for name, work in kinds.items()} for _ in range(TIMES)]
    took = {name: middle(each[name] for each in rounds) for name in kinds}

    def again(number: int) -> Path:
        """A session begins; the one before it has ended."""
        return workspaces.open(f"s{number}", source).checkout(tree=None, slot=0, resting=f"s{number - 1}".__eq__)

    took["first turn of a later session"] = middle(timed(partial(again, number))[0] for number in range(2, 6))
    floor = took.pop("git status")
    tell(f"git status {_words(floor)}; the first checkout of all {cold.clock:.1f} s, {cold.core:.1f} s of a core")
    for name, cost in took.items():
        tell(
            f"{name}: {_words(cost)}: {cost.clock / floor.clock:.1f} and {cost.core / floor.core:.1f} times git status"
        )
    ratios = {name: cost.clock / floor.clock for name, cost in took.items()}
    assert ratios["reader"] < 5 and ratios["validation"] < 5
    assert ratios["writer"] < 9
    assert took["writer"].core / floor.core < 5.5  # looking at the name of each of 20,000 files took it to 5.8
    assert ratios["first turn of a later session"] < 15


def _words(cost: Cost) -> str:
    return f"{cost.clock * 1_000:.0f} ms, {cost.core * 1_000:.0f} ms of a core"
