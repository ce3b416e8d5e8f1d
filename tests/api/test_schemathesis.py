"""Schemathesis finds nothing: exactly the requests that match the document are accepted."""

import os
import subprocess
import venv
from pathlib import Path

import pytest

from tests.api.server import serving

VERSION = "4.32.5"
HOOKS = Path(__file__).parent / "schemathesis" / "hooks.py"


@pytest.mark.nightly
@pytest.mark.parametrize("seed", [1, 2])
def test_the_document_says_what_is_taken_and_answered(tmp_path: Path, seed: int) -> None:
    """Needs the package index. The scripted team works on the started sessions, inside the fence."""
    venv.create(tmp_path / "tool", with_pip=True)
    program = tmp_path / "tool" / "bin"
    install = [program / "python", "-m", "pip", "install", "--quiet", f"schemathesis=={VERSION}"]
    subprocess.run(install, check=True, timeout=600)
    with serving(tmp_path, worker_slots=1) as server:
        result = subprocess.run(
            [
                *(program / "schemathesis", "run", f"{server.url}/openapi.json", "--seed", str(seed)),
                *("--max-examples", "20", "--max-time", "240", "--continue-on-failure", "--no-color"),
                *("--request-timeout", "60", "--suppress-health-check", "all"),
            ],
            cwd=tmp_path,
            env=os.environ | {"SCHEMATHESIS_HOOKS": str(HOOKS)},
            capture_output=True,
            text=True,
            check=False,
        )
    assert result.returncode == 0, result.stdout[-8_000:]
