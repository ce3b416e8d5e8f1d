"""What holds for every test: its kind, and the settings of the run."""

import gc
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

# Python keeps what it compiles: otherwise every process would compile every test file.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Nothing of what is imported and collected becomes garbage.
gc.disable()

import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402

# How long an example takes depends on what else the machine does; speed is for the benchmarks.
settings.register_profile("hansard", deadline=None)
settings.load_profile("hansard")

# Scripts that run in the background ignore Ctrl-C, and so would every process that the tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Keys are asked for where a test is about them.
os.environ["HANSARD_AUTH"] = "off"

# The example team may answer, except where a test is about a process without a team.
os.environ["HANSARD_EXAMPLE"] = "1"

# What a machine keeps for a log goes to a folder of this run, one for each log.
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="hansard-tests-", dir=os.environ.get("TESTS_IN_MEMORY"))

KINDS = {
    "scans": "unit",
    "domain": "unit",
    "projections": "unit",
    "adapters": "system",
    "api": "system",
    "golden": "system",
    "simulator": "system",
    "browser": "acceptance",
    "docs": "acceptance",
    "benchmarks": "acceptance",
}
"""The kind of the tests in each folder."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test with its kind, so that `-m unit` and the like select by it, and give slow ones an hour."""
    root = Path(__file__).parent
    kinds = {path: KINDS.get(path.relative_to(root).parts[0], "system") for path in {item.path for item in items}}
    for item in items:
        item.add_marker(kinds[item.path])
        if any(item.get_closest_marker(slow) for slow in ("nightly", "benchmark", "agents")):
            item.add_marker(pytest.mark.timeout(3600))


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    shutil.rmtree(os.environ["XDG_STATE_HOME"], ignore_errors=True)
