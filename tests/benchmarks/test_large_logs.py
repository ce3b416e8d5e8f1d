"""How fast a large log is verified and its views are rebuilt, in how much memory (`./dev test -n 0 -m benchmark`)."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.adapters.audited import written
from tests.api.server import ROOT
from tests.benchmarks.large_log_step import STEPS
from tests.benchmarks.measuring import Tell
from tests.kit.many_events import multiply

pytestmark = pytest.mark.benchmark


def measured(log: Path, step: str) -> tuple[float, float]:
    """Events a second of one core, and the most memory in megabytes, in a process of its own."""
    words = [sys.executable, "-m", "tests.benchmarks.large_log_step", str(log), step]
    answer = json.loads(subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True).stdout)
    return answer["rate"], answer["megabytes"]


def rebuilt(log: Path) -> float:
    """The seconds of `hansard rebuild`, which uses every processor."""
    environment = {**os.environ, "HANSARD_DATABASE": f"sqlite:///{log}", "HANSARD_DATA_DIR": str(log.parent / "node")}
    began = time.perf_counter()
    subprocess.run([sys.executable, "-m", "api", "rebuild"], cwd=ROOT, check=True, env=environment)
    return time.perf_counter() - began


@pytest.mark.parametrize("events", [50_000, pytest.param(1_000_000, marks=pytest.mark.nightly)])
def test_a_large_log_is_verified_and_rebuilt_in_little_memory(tmp_path: Path, tell: Tell, events: int) -> None:
    """The stored bytes are checked several times as fast as the contents."""
    small = written(tmp_path / "small", seed=7, steps=300)
    log = tmp_path / "log.db"
    count = multiply(small, log, events)
    figures = {step: measured(log, step) for step in STEPS}
    words = (f"{step} {rate:,.0f} events/s, {megabytes:.0f} MB" for step, (rate, megabytes) in figures.items())
    seconds = rebuilt(log)
    tell(
        f"{count:,} events: {'; '.join(words)}; hansard rebuild {seconds:.1f} s,"
        f" {seconds * figures['rebuild'][0] / count:.2f} times that"
    )
    assert max(megabytes for _, megabytes in figures.values()) < 200
    assert figures["stored"][0] > 2.5 * figures["verify"][0]
