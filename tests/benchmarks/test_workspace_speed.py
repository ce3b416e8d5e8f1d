"""What a workspace of 20,000 files costs a turn, each kind against `git status` in the same folder."""

import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import TypeVar

import pytest

from adapters.workspace import Workspaces
from tests.adapters.workspace.given import git, write
from tests.benchmarks.measuring import Tell

pytestmark = pytest.mark.benchmark
FILES, TIMES = 20_000, 5
T = TypeVar("T")


def timed(work: Callable[[], T]) -> tuple[float, T]:
    began = time.perf_counter()
    found = work()
    return time.perf_counter() - began, found


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
    took = {name: median(each[name] for each in rounds) for name in kinds}

    def again(number: int) -> None:
        """A session begins; the one before it has ended."""
        workspaces.open(f"s{number}", source).checkout(tree=None, slot=0, resting=f"s{number - 1}".__eq__)

    took["first turn of a later session"] = median(
        timed(lambda number=number: again(number))[0] for number in range(2, 6)
    )
    floor = took.pop("git status")
    tell(f"git status {floor * 1_000:.0f} ms; the first checkout of all {cold:.1f} s, {cold / floor:.0f} times that")
    ratios = {name: seconds / floor for name, seconds in took.items()}
    for name, seconds in took.items():
        tell(f"{name}: {seconds * 1_000:.0f} ms, {ratios[name]:.1f} times git status")
    assert ratios["reader"] < 5 and ratios["validation"] < 5
    assert ratios["writer"] < 9
    assert ratios["first turn of a later session"] < 15
