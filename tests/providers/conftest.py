"""Real programs, the providers' stub, and a repository with a failing test."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.providers.programs import KEYS, PACKAGES, installed
from tests.providers.stub import Provider

TEST = "from calc import add\nassert add(2, 3) == 5, add(2, 3)\n"


@pytest.fixture(params=PACKAGES)
def program(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    name = str(request.param)
    monkeypatch.setenv("PATH", f"{installed(name)}{os.pathsep}{os.environ['PATH']}")
    for key in KEYS:
        monkeypatch.setenv(key, "sk-stub-0123456789")
    return name


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as result:
        yield result


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one failing test; the log is next to it."""
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / "calc.py").write_text("def add(a, b):\n    return a - b\n")
    (folder / "test_calc.py").write_text(TEST)
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "Start"]):
        who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
        subprocess.run(["git", *who, *command], cwd=folder, check=True)
    for name in [name for name in os.environ if name.startswith("HANSARD_") and name != "HANSARD_TEST_AGENTS"]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HANSARD_RETRY_SECONDS", "0.01")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(folder)
    return folder
