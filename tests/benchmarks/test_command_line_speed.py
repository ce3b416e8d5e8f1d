"""How long commands take that only read, each against an empty program of the same library."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.api.server import ROOT
from tests.benchmarks.measuring import Tell
from tests.projections.stage import Stage

pytestmark = pytest.mark.benchmark
TIMES = 9
EMPTY = "from cyclopts import App\napp = App(name='empty', help='Nothing.')\napp.command(lambda: 0, name='list')\napp()"


def milliseconds(folder: Path, *argv: str) -> float:
    """Of a core, so that other work on the machine counts little."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HANSARD_")}
    env = kept | {"XDG_DATA_HOME": str(folder), "XDG_STATE_HOME": str(folder), "HOME": str(folder)}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *argv], cwd=ROOT, env=env, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1_000


def test_help_and_a_list_take_little_more_than_an_empty_program(tmp_path: Path, tell: Tell) -> None:
    stage = Stage(tmp_path)
    stage.delivers()
    stage.store.close()
    log = str(stage.store.path)
    commands = {
        "--help": (("-c", EMPTY, "list"), ("-m", "api", "--help")),
        "list": (("-c", EMPTY, "list"), ("-m", "api", "list", "--database", log)),
        "inbox": (("-c", EMPTY, "list"), ("-m", "api", "inbox", "--database", log)),
        "show": (("-c", EMPTY, "list"), ("-m", "api", "show", "delivery-1", "--database", log)),
    }
    ratios: dict[str, float] = {}
    for name, (empty, ours) in commands.items():
        milliseconds(tmp_path, *ours)  # folds the views, keeps the answer, compiles
        pairs = [(milliseconds(tmp_path, *empty), milliseconds(tmp_path, *ours)) for _ in range(TIMES)]
        floor, took = (min(column) for column in zip(*pairs, strict=True))
        ratios[name] = took / floor
        tell(f"hansard {name}: {took:.0f} ms, {ratios[name]:.2f} times an empty program ({floor:.0f} ms)")
    assert ratios["--help"] < 1.4
    assert max(ratios.values()) < 1.9
