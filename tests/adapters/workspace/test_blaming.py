"""Reading who wrote a file's lines, as far as git knows."""

from pathlib import Path

import pytest

from adapters.workspace import WorkspaceError, history
from tests.adapters.workspace.given import git


def test_a_file_that_is_too_large_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    (tmp_path / "model.bin").write_bytes(b"\0" * 5_000)
    (tmp_path / "empty.txt").touch()
    git(tmp_path, "add", "--all")
    git(tmp_path, "-c", "user.name=A", "-c", "user.email=a@b", "commit", "--quiet", "-m", "Begin")
    assert len(history.blamed(tmp_path, "model.bin", "HEAD")) == 1
    monkeypatch.setattr(history, "MOST_MIB", 0)
    with pytest.raises(WorkspaceError, match=r"model\.bin is larger than 0 MiB"):
        history.blamed(tmp_path, "model.bin", "HEAD")
    assert history.blamed(tmp_path, "empty.txt", "HEAD") == []
    with pytest.raises(WorkspaceError, match="gone"):
        history.blamed(tmp_path, "gone.txt", "HEAD")
