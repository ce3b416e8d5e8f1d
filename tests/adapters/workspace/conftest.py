"""A person's folders, and the workspaces made from them."""

from pathlib import Path

import pytest

from adapters.workspace import Workspace, Workspaces
from tests.adapters.workspace.given import SOURCE, git, write


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A person's repository with one commit."""
    folder = tmp_path / "the source"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    write(folder, SOURCE)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "one")
    return folder


@pytest.fixture
def workspaces(tmp_path: Path) -> Workspaces:
    return Workspaces(tmp_path / "data")


@pytest.fixture
def of_git(workspaces: Workspaces, source: Path) -> Workspace:
    return workspaces.open("s1", source)


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    """A person's folder without git."""
    folder = tmp_path / "plain"
    write(folder, {"a.txt": "a\n", "notes/b.md": "b\n"})
    return folder
