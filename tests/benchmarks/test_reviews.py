"""What a review session costs by itself: transactions, bytes and CPU time, alone and in parallel with others."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.api.server import ROOT
from tests.benchmarks.measuring import Tell
from tests.benchmarks.peers.story import ROUNDS, STEPS

pytestmark = pytest.mark.benchmark

TURNS = ROUNDS + 1
TIMES = 3


def measured(folder: Path, module: str, sessions: int, callers: int) -> dict[str, float]:
    """The run of several in which a session took least of a core: other work on the machine only adds to it."""
    runs = []
    for number in range(TIMES):
        place = folder / f"{callers}-{number}"
        place.mkdir(parents=True)
        command = [sys.executable, "-m", module, str(place), str(sessions), str(callers)]
        runs.append(json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout))
    return min(runs, key=lambda run: float(run["cpu"]))


def test_a_review_takes_one_transaction_per_step_and_fewer_in_parallel(tmp_path: Path, tell: Tell) -> None:
    """Start, five rounds, synthesis and decision; agents answer at once, views are kept."""
    alone = measured(tmp_path / "ours", "tests.benchmarks.peers.ours", 32, 1)
    many = measured(tmp_path / "ours", "tests.benchmarks.peers.ours", 128, 16)
    core = [f"{run['cpu'] * 1000:.1f} ms of a core ({run['cpu'] / TURNS * 1000:.2f} a turn)" for run in (alone, many)]
    tell(
        f"a review of {ROUNDS} rounds: {alone['flushes']:.1f} transactions and {core[0]} alone, {many['flushes']:.1f}"
        f" and {core[1]} beside 15 others; {many['bytes'] / 1000:.1f} KB"
    )
    assert alone["flushes"] <= STEPS
    assert many["flushes"] < STEPS / 2
    assert many["bytes"] < 12_000
