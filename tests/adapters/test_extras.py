"""The command that adds an extra fits the way in which Hansard was installed."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from adapters.extras import install_command, install_extra

CLONE = {"url": "file:///home/ada/my%20clone", "dir_info": {}}
EDITABLE = {"url": "file:///src/hansard", "dir_info": {"editable": True}}
GIT = {
    "url": "https://example.org/hansard.git",
    "vcs_info": {"vcs": "git", "commit_id": "abc", "requested_revision": "v1"},
}


@pytest.mark.parametrize(
    ("origin", "installer", "kept", "command"),
    [
        (EDITABLE, "pip", "", "/v/python -m pip install -e '/src/hansard[mcp]'"),
        (CLONE, "pip", "", "/v/python -m pip install '/home/ada/my clone[mcp]'"),
        (CLONE, "uv", "", "uv pip install --python /v/python '/home/ada/my clone[mcp]'"),
        (CLONE, "uv", "uv-receipt.toml", "uv tool install --force '/home/ada/my clone[mcp]'"),
        (CLONE, "pip", "pipx_metadata.json", "pipx install --force '/home/ada/my clone[mcp]'"),
        (GIT, "pip", "", "/v/python -m pip install 'hansard[mcp] @ git+https://example.org/hansard.git@v1'"),
        ({}, "pip", "", "/v/python -m pip install 'hansard[mcp]'"),
    ],
)
def test_the_command_fits_the_installation(
    tmp_path: Path, origin: dict[str, Any], installer: str, kept: str, command: str
) -> None:
    if kept:
        (tmp_path / kept).touch()
    result = install_command("mcp", origin=origin, installer=installer, prefix=tmp_path, python="/v/python")
    assert result == command


def test_the_command_for_this_installation_works() -> None:
    """As far as it can be tried without the package index."""
    if "-m pip" not in (command := install_extra("install")):
        pytest.skip(f"not installed by pip: {command}")
    tried = ["sh", "-c", f"{command} --quiet --dry-run --no-deps --no-build-isolation"]
    done = subprocess.run(tried, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
