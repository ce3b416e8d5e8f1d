"""What a session would start from: branch, commit and uncommitted files, found out without running anything."""

import subprocess
from pathlib import Path

import pytest

from adapters.workspace import WorkspaceError, checkout
from adapters.workspace.checkout import is_committed, start_point


def git(folder: Path, *args: str) -> str:
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@localhost", "-c", "commit.gpgsign=false")
    done = subprocess.run(("git", *identity, *args), cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "prices.py").write_text("A = 1\n")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "A small shop")
    return folder


def test_a_clean_repository_has_a_branch_and_a_commit(shop: Path) -> None:
    point = start_point(shop / "src")
    assert point is not None and (point.branch, point.bare, point.uncommitted) == ("main", False, ())
    assert (point.top, point.commit) == (shop.resolve(), git(shop, "rev-parse", "HEAD"))
    assert is_committed(point, "src/prices.py") and not is_committed(point, "src/new.py")


def test_changed_new_deleted_and_staged_files_are_uncommitted_and_ignored_ones_are_not(shop: Path) -> None:
    (shop / "old.py").write_text("")
    (shop / ".gitignore").write_text("*.log\n")
    git(shop, "add", ".")
    git(shop, "commit", "-q", "-m", "More")
    (shop / "src" / "prices.py").write_text("A = 2\n")
    (shop / "old.py").unlink()
    (shop / "새 파일.py").write_text("")
    (shop / "staged.py").write_text("")
    git(shop, "add", "staged.py")
    for ignored in ("build.log", "node_modules/a.js", "__pycache__/a.pyc"):
        (shop / ignored).parent.mkdir(exist_ok=True)
        (shop / ignored).write_text("")
    point = start_point(shop)
    assert point is not None and point.uncommitted is not None
    assert sorted(point.uncommitted) == ["old.py", "src/prices.py", "staged.py", "새 파일.py"]
    assert "index.lock" not in [path.name for path in (shop / ".git").iterdir()]


def test_without_a_commit_or_a_branch_there_is_none(shop: Path, tmp_path: Path) -> None:
    git(shop, "checkout", "-q", "--detach")
    detached = start_point(shop)
    assert detached is not None and detached.branch is None and detached.commit
    empty = tmp_path / "empty"
    empty.mkdir()
    assert start_point(empty) is None
    git(empty, "init", "-q", "-b", "main")
    (empty / "a.py").write_text("")
    begun = start_point(empty)
    assert begun is not None and (begun.branch, begun.commit, begun.uncommitted) == ("main", None, ("a.py",))
    assert not is_committed(begun, "a.py")


def test_a_bare_repository_has_nothing_uncommitted(shop: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(shop), "shop.git")
    point = start_point(tmp_path / "shop.git")
    assert point is not None and point.bare and (point.branch, point.uncommitted) == ("main", ())


def test_no_program_that_the_repository_names_is_started(shop: Path) -> None:
    """Neither a filter of its attributes nor a monitor of its settings."""
    (shop / ".gitattributes").write_text("*.py filter=spy\n")
    for name in ("filter.spy.clean", "filter.spy.smudge", "core.fsmonitor"):
        git(shop, "config", name, f"touch {shop}/started; cat")
    (shop / "src" / "prices.py").write_text("A = 2\n")
    point = start_point(shop)
    assert point is not None and point.uncommitted is not None
    assert sorted(point.uncommitted) == [".gitattributes", "src/prices.py"]
    assert not (shop / "started").exists()


def test_git_is_given_a_moment_only(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list that takes too long is left out; branch and commit are still there."""
    asked = checkout.in_theirs

    def slow(args: list[str], *where: object, **more: object) -> object:
        if "status" in args:
            assert more["seconds"] == 0.5
            raise WorkspaceError("git status took more than 0.5 s.")
        return asked(args, *where, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(checkout, "in_theirs", slow)
    point = start_point(shop, seconds=0.5)
    assert point is not None and point.branch == "main" and point.commit and point.uncommitted is None
