"""Reading who wrote a file's lines, as far as git knows."""

from pathlib import Path

import pytest

from adapters.workspace import WorkspaceError, blame
from tests.adapters.workspace.given import git


def test_a_file_that_is_too_large_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    (tmp_path / "model.bin").write_bytes(b"\0" * 5_000)
    (tmp_path / "empty.txt").touch()
    git(tmp_path, "add", "--all")
    git(tmp_path, "-c", "user.name=A", "-c", "user.email=a@b", "commit", "--quiet", "-m", "Begin")
    assert len(blame.blamed(tmp_path, "model.bin", "HEAD")) == 1
    monkeypatch.setattr(blame, "MOST_MIB", 0)
    with pytest.raises(WorkspaceError, match=r"model\.bin is larger than 0 MiB"):
        blame.blamed(tmp_path, "model.bin", "HEAD")
    assert blame.blamed(tmp_path, "empty.txt", "HEAD") == []
    with pytest.raises(WorkspaceError, match="gone"):
        blame.blamed(tmp_path, "gone.txt", "HEAD")


def test_what_a_partial_clone_lacks_is_said_and_not_fetched(tmp_path: Path) -> None:
    (origin := tmp_path / "origin").mkdir()
    git(origin, "init", "--quiet", "--initial-branch=main")
    for number in range(2):
        (origin / "a.txt").write_text(f"line\n{number}\n")
        git(origin, "add", "--all")
        git(origin, "commit", "--quiet", "-m", "More")
    git(origin, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "--quiet", "--filter=blob:none", f"file://{origin}", "part")
    with pytest.raises(blame.NotHere, match=r"git blame a\.txt"):
        blame.blamed(tmp_path / "part", "a.txt", "HEAD")
    with pytest.raises(WorkspaceError, match="gone") as refused:
        blame.blamed(tmp_path / "part", "gone.txt", "HEAD")
    assert not isinstance(refused.value, blame.NotHere)
    git(tmp_path / "part", "blame", "a.txt")
    assert len(blame.blamed(tmp_path / "part", "a.txt", "HEAD")) == 2
