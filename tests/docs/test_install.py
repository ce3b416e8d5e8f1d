"""The installation of the first task's page: a clone, and nothing of the developer's tools."""

import subprocess
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.nightly
def test_a_clone_installs_and_runs(tmp_path: Path) -> None:
    """Needs the package index."""
    assert "uv tool install ." in (ROOT / "docs" / "first-task.md").read_text("utf-8")
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    venv.create(tmp_path / "tool", with_pip=True)
    python = tmp_path / "tool" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", str(clone)], check=True, timeout=600)
    output = subprocess.run([python.with_name("hansard"), "--help"], check=True, capture_output=True, text=True)
    assert "Create hansard.toml and team.toml" in output.stdout
