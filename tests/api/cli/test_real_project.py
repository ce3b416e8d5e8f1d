"""A real project from the registry: src layout, an editable install, 297 tests. Nightly: it needs the package index."""

import json
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.api.cli.conftest import Hansard
from tests.api.cli.test_results import git

pytestmark = pytest.mark.nightly
PYTHON = ".venv/bin/python"
SETTINGS = f"""\
[workspace]
setup = ["python3 -m venv .venv", "{PYTHON} -m pip install -q -e . pytest freezegun"]
[validation]
commands = ["{PYTHON} -m pytest -q"]
"""
SIGNER = "src/itsdangerous/signer.py"


@pytest.fixture
def here(tmp_path: Path, hansard: Hansard) -> Path:
    """The project as a repository that we stand in, its settings written and trusted."""
    wanted = ["download", "--quiet", "--no-deps", "--no-binary", ":all:", "itsdangerous==2.2.0"]
    subprocess.run([sys.executable, "-m", "pip", *wanted, "--dest", str(tmp_path)], check=True, timeout=600)
    folder = tmp_path / "here"
    with tarfile.open(tmp_path / "itsdangerous-2.2.0.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    shutil.copytree(tmp_path / "itsdangerous-2.2.0", folder, dirs_exist_ok=True)
    (folder / "hansard.toml").write_text(SETTINGS)
    (folder / ".gitignore").write_text(".venv\n*.egg-info\n__pycache__\n.pytest_cache\n")
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "config", "user.name", "Somebody")
    git(folder, "config", "user.email", "somebody@example.org")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "Begin")
    assert hansard("trust").code == 0
    return folder


def run(hansard: Hansard, tmp_path: Path, answer: str) -> str:
    """A delivery of one iteration, in which the developer writes this version of the signer; what it says."""
    scenario = tmp_path / "scenario.json"
    dev = [{"text": "Changed the signer as asked.", "files": {SIGNER: answer}}]
    scenario.write_text(json.dumps({"replies": {"dev": dev}}), encoding="utf-8")
    limits = ("--max-iterations", "1")
    return hansard("run", "-t", "Change the signer", "-f", SIGNER, *limits, "--scenario", str(scenario)).out


def test_a_real_project_is_never_broken_and_each_line_is_traced(hansard: Hansard, here: Path, tmp_path: Path) -> None:
    whole = (here / SIGNER).read_text()
    broken = whole.replace("def sign(", "def sign_broken(")
    assert broken != whole
    said = run(hansard, tmp_path, broken)
    assert "reason     budget exhausted" in said, said
    events = [json.loads(line) for line in hansard("events", "latest", "--json").out.splitlines()]
    data = {event["type"]: event["data"] for event in events}
    assert data["delivery.baseline_recorded"]["commands"][0]["passed"], data["delivery.baseline_recorded"]
    assert len(data["delivery.validation_failed"]["newFailures"]) == 20

    added = whole + "\n\ndef is_signer(thing: object) -> bool:\n    return isinstance(thing, Signer)\n"
    said = run(hansard, tmp_path, added)
    assert "Success on iteration 1" in said, said
    assert hansard("merge", "latest").code == 0
    assert (here / SIGNER).read_text() == added
    blamed = hansard("blame", SIGNER, "--json").json
    session = hansard("list", "--json").json["items"][0]["id"]
    assert [line["session"] for line in blamed[-4:]] == [session] * 4
    assert {line["session"] for line in blamed[:-4]} == {None}
    assert all(line["validatedBy"] and line["approvedBy"] for line in blamed[-4:])
