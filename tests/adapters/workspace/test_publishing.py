"""The result goes back as a branch, and nothing else of the person's repository changes."""

import shutil
from pathlib import Path

import pytest

from adapters.workspace import Workspace, WorkspaceError
from adapters.workspace.publication import hand_over
from tests.adapters.workspace.given import git, write


def test_the_result_is_a_branch_and_their_checkout_is_not_touched(of_git: Workspace, source: Path) -> None:
    write(source, {"a.txt": "their own unfinished work", "new": "new"})
    git(source, "add", "new")
    before = git(source, "status", "--porcelain=2", "--branch")
    folder = of_git.checkout(tree=None, slot=0)
    of_git.write_files(folder, {"a.txt": "1"})
    first = of_git.snapshot(folder, message="first", parent=of_git.base())
    of_git.write_files(folder, {"a.txt": "2"})
    second = of_git.snapshot(folder, message="second", parent=first)
    assert of_git.publish(first, "hansard/s1")
    assert of_git.publish(second, "hansard/s1")
    assert of_git.publish(second, "hansard/s1")
    assert git(source, "log", "--format=%s %an <%ae>", "hansard/s1").splitlines()[:2] == [
        "second Hansard <hansard@localhost>",
        "first Hansard <hansard@localhost>",
    ]
    assert git(source, "show", "hansard/s1:a.txt") == "2"
    assert git(source, "status", "--porcelain=2", "--branch") == before
    assert not (source / ".git" / "FETCH_HEAD").exists()
    assert git(source, "for-each-ref", "--format=%(refname)").split() == ["refs/heads/hansard/s1", "refs/heads/main"]


@pytest.mark.parametrize("branch", ["main", "side"])
def test_a_branch_that_is_checked_out_is_left_alone(
    of_git: Workspace, source: Path, tmp_path: Path, branch: str
) -> None:
    git(source, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    place = source if branch == "main" else tmp_path / "side"
    with pytest.raises(WorkspaceError, match=f"The branch {branch} is checked out in {place};"):
        of_git.publish(of_git.base(), branch)


def test_a_branch_of_a_deleted_worktree_says_what_to_prune(of_git: Workspace, source: Path, tmp_path: Path) -> None:
    """Git counts it until it is pruned."""
    git(source, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    shutil.rmtree(tmp_path / "side")
    with pytest.raises(WorkspaceError, match=r"side, which was deleted. Run `git worktree prune`"):
        of_git.publish(of_git.base(), "side")
    git(source, "worktree", "prune")
    assert of_git.publish(of_git.base(), "side")


def test_a_branch_is_not_moved_back(of_git: Workspace, source: Path) -> None:
    folder = of_git.checkout(tree=None, slot=0)
    of_git.write_files(folder, {"a.txt": "1"})
    of_git.publish(of_git.snapshot(folder, message="m", parent=of_git.base()), "work")
    with pytest.raises(WorkspaceError, match="non-fast-forward"):
        of_git.publish(of_git.base(), "work")


@pytest.mark.parametrize("branch", ["", "-f", "a..b", "a b", "x.lock", "@{-1}"])
def test_a_branch_has_a_proper_name(of_git: Workspace, branch: str) -> None:
    with pytest.raises(WorkspaceError, match="git check-ref-format failed"):
        of_git.publish(of_git.base(), branch)


def test_a_repository_that_is_gone_is_named(of_git: Workspace, source: Path) -> None:
    source.rename(source.with_name("elsewhere"))
    with pytest.raises(WorkspaceError, match=r"The repository .*the source no longer exists"):
        hand_over(of_git, of_git.base(), "hansard/s1")


def test_a_branch_that_leaves_no_room_is_named(of_git: Workspace, source: Path) -> None:
    git(source, "branch", "hansard")
    with pytest.raises(WorkspaceError, match="A branch called hansard exists, and git cannot have hansard/s1"):
        hand_over(of_git, of_git.base(), "hansard/s1")
    assert git(source, "branch", "--list", "hansard*").split() == ["hansard"]
