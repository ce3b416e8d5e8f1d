"""What a workspace starts with, of every kind of folder, against real git."""

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from adapters.workspace import Workspace, WorkspaceError, Workspaces
from tests.adapters.workspace.given import SOURCE, contents, git, plant, write


def test_a_repository_is_worked_on_in_a_tree_of_its_own(of_git: Workspace, source: Path) -> None:
    folder = of_git.checkout(tree=None, slot=0)
    assert folder == of_git.home / "tree-0"
    assert contents(folder) == SOURCE
    assert of_git.base() == git(source, "rev-parse", "HEAD").strip()
    assert not of_git.dirty


def test_nothing_in_a_repository_changes_by_working_on_it(of_git: Workspace, source: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in source.rglob("*")}
    folder = of_git.checkout(tree=None, slot=0)
    of_git.write_files(folder, {"a.txt": "changed"})
    of_git.snapshot(folder, message="m", parent=of_git.base())
    assert {path: path.stat().st_mtime_ns for path in source.rglob("*")} == before


@pytest.mark.parametrize("change", [{"a.txt": "changed"}, {"new.txt": "new"}, {"a.txt": "b\n"}])
def test_uncommitted_changes_are_left_out_and_reported(
    workspaces: Workspaces, source: Path, change: dict[str, str]
) -> None:
    write(source, change)
    opened = workspaces.open("s1", source)
    assert opened.dirty
    assert contents(opened.checkout(tree=None, slot=0)) == SOURCE


def test_staged_changes_are_reported_too(workspaces: Workspaces, source: Path) -> None:
    write(source, {"a.txt": "staged"})
    git(source, "add", "a.txt")
    write(source, {"a.txt": "a\n"})
    assert workspaces.open("s1", source).dirty


def test_ignored_and_merely_touched_files_are_no_changes(workspaces: Workspaces, source: Path) -> None:
    (source / ".git" / "info" / "exclude").write_text("private\n")
    write(source, {"x.log": "ignored", "private": "ignored"})
    os.utime(source / "a.txt", (1, 1))
    assert not workspaces.open("s1", source).dirty


def test_a_checkout_with_other_line_endings_is_not_dirty(workspaces: Workspaces, source: Path) -> None:
    write(source, {".gitattributes": "* text=auto eol=crlf\n", "c.txt": "1\n2\n"})
    git(source, "add", "-A")
    git(source, "commit", "-q", "-m", "two")
    (source / "c.txt").unlink()
    git(source, "checkout", "c.txt")
    assert (source / "c.txt").read_bytes() == b"1\r\n2\r\n"
    opened = workspaces.open("s1", source)
    folder = opened.checkout(tree=None, slot=0)
    assert not opened.dirty
    assert (folder / "c.txt").read_bytes() == b"1\n2\n"
    assert opened.snapshot(folder, message="m", parent=opened.base()) == opened.base()


def test_a_folder_inside_a_repository_brings_the_whole_tree(workspaces: Workspaces, source: Path) -> None:
    opened = workspaces.open("s1", source / "src")
    folder = opened.checkout(tree=None, slot=0)
    assert folder == opened.home / "tree-0" / "src"
    assert contents(folder) == {"b.py": "b\n"}
    assert contents(folder.parent) == SOURCE
    assert opened.write_files(folder, {"c.py": "c"}) == ("c.py",)
    state = opened.snapshot(folder, message="m", parent=opened.base())
    assert opened.changed_files(opened.base(), state) == ("src/c.py",)


def test_a_folder_that_is_not_in_the_repository_yet_starts_empty(workspaces: Workspaces, source: Path) -> None:
    write(source, {"new/x": "x"})
    opened = workspaces.open("s1", source / "new")
    assert opened.dirty
    assert contents(opened.checkout(tree=None, slot=0)) == {}


def test_a_linked_worktree_starts_with_its_own_commit(workspaces: Workspaces, source: Path, tmp_path: Path) -> None:
    git(source, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    write(tmp_path / "side", {"side.txt": "side"})
    git(tmp_path / "side", "add", "-A")
    git(tmp_path / "side", "commit", "-q", "-m", "side")
    opened = workspaces.open("s1", tmp_path / "side")
    assert contents(opened.checkout(tree=None, slot=0)) == {**SOURCE, "side.txt": "side"}
    assert not opened.dirty
    assert opened.publish(opened.base(), "hansard/s1")
    with pytest.raises(WorkspaceError, match="The branch main is checked out in"):
        opened.publish(opened.base(), "main")


def test_a_detached_head_is_a_start_like_any_other(workspaces: Workspaces, source: Path) -> None:
    git(source, "checkout", "-q", "--detach")
    assert workspaces.open("s1", source).base() == git(source, "rev-parse", "HEAD").strip()


def test_a_repository_without_commits_starts_empty(workspaces: Workspaces, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    git(tmp_path, "init", "-q", "-b", "main", str(empty))
    opened = workspaces.open("s1", empty)
    folder = opened.checkout(tree=None, slot=0)
    assert contents(folder) == {}
    opened.write_files(folder, {"a": "a"})
    state = opened.snapshot(folder, message="m", parent=opened.base())
    assert opened.publish(state, "work")
    assert git(empty, "show", "work:a") == "a"


def test_a_repository_with_long_ids_works_like_any_other(workspaces: Workspaces, tmp_path: Path) -> None:
    long = tmp_path / "long"
    git(tmp_path, "init", "-q", "-b", "main", "--object-format=sha256", str(long))
    git(long, "commit", "-q", "--allow-empty", "-m", "one")
    opened = workspaces.open("s1", long)
    folder = opened.checkout(tree=None, slot=0)
    opened.write_files(folder, {"a": "a"})
    state = opened.snapshot(folder, message="m", parent=opened.base())
    assert len(state) == 64
    assert git(folder, "status", "--porcelain") == "?? a\n"
    assert opened.publish(state, "work")
    assert git(long, "show", "work:a") == "a"


def test_a_plain_folder_is_worked_in_where_it_is(workspaces: Workspaces, plain: Path) -> None:
    opened = workspaces.open("s1", plain)
    folder = opened.checkout(tree=None, slot=3)
    assert (folder, opened.in_place, opened.dirty) == (plain, plain, False)
    opened.write_files(folder, {"a.txt": "changed\n"})
    state = opened.snapshot(folder, message="m", parent=opened.base())
    assert opened.changed_files(opened.base(), state) == ("a.txt",)
    assert opened.checkout(tree=opened.base(), slot=3) == plain
    assert contents(plain) == {"a.txt": "changed\n", "notes/b.md": "b\n"}
    assert not (plain / ".git").exists()
    assert not opened.publish(state, "work")


def test_without_a_source_it_starts_empty(workspaces: Workspaces) -> None:
    opened = workspaces.open("s1", None)
    folder = opened.checkout(tree=None, slot=0)
    assert contents(folder) == {}
    assert opened.snapshot(folder, message="m", parent=opened.base()) == opened.base()
    assert not opened.publish(opened.base(), "work")


def test_opening_again_finds_the_same_start(workspaces: Workspaces, source: Path) -> None:
    first = workspaces.open("s1", source)
    write(source, {"later": "later"})
    git(source, "add", "-A")
    git(source, "commit", "-q", "-m", "later")
    assert Workspaces(workspaces.root).open("s1", source) == first
    assert workspaces.open("s2", source).base() != first.base()


def test_many_may_open_the_same_session_at_once(workspaces: Workspaces, source: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        opened = list(threads.map(lambda _: workspaces.open("s1", source), range(8)))
    assert opened == [opened[0]] * 8
    assert [path.name for path in opened[0].home.iterdir()] == ["repo.git"]


def test_a_plain_folder_stays_one_when_a_repository_is_created_in_it(workspaces: Workspaces, plain: Path) -> None:
    opened = workspaces.open("s1", plain)
    git(plain, "init", "-q")
    assert workspaces.open("s1", plain) == opened


def test_what_cannot_be_opened_is_said(workspaces: Workspaces, source: Path, plain: Path, tmp_path: Path) -> None:
    workspaces.open("s1", plain)
    with pytest.raises(WorkspaceError, match=r"Session s1 works on .*plain, not on .*the source"):
        workspaces.open("s1", source)
    with pytest.raises(WorkspaceError, match=r"The folder .*nowhere does not exist"):
        workspaces.open("s2", tmp_path / "nowhere")
    with pytest.raises(WorkspaceError, match=r"^The folder .*/\.git is inside a .git folder; choose the working tree"):
        workspaces.open("s3", source / ".git")
    (tmp_path / "file").touch()
    with pytest.raises(WorkspaceError, match=r"Not a directory: .*file/s1"):
        Workspaces(tmp_path / "file").open("s1", None)
    for name in ("", "..", "a/b", "-x", "x" * 200):
        with pytest.raises(WorkspaceError, match="cannot name a workspace"):
            workspaces.open(name, None)


def test_what_is_put_away_comes_back_as_it_was_recorded(
    workspaces: Workspaces, source: Path, of_git: Workspace, tmp_path: Path
) -> None:
    folder = of_git.checkout(tree=None, slot=0)
    of_git.write_files(folder, {"a.txt": "mine\n", "big.txt": "x" * 5_000})
    recorded = of_git.snapshot(folder, message="done", parent=of_git.base())
    of_git.checkout(tree=None, slot=1)
    (folder / "src").chmod(0o500)
    (folder / "out").symlink_to(tmp_path)
    (of_git.home / "tree-link").symlink_to(source)
    name = of_git.home.name
    assert workspaces.names() == (name,)
    assert workspaces.size(name) > 5_000
    workspaces.put_away(name)
    assert (workspaces.names(), workspaces.size(name)) == ((), 0)
    assert sorted(path.name for path in of_git.home.iterdir()) == ["repo.git", "tree-link"]
    assert contents(source) == SOURCE
    assert (of_git.checkout(tree=recorded, slot=0) / "a.txt").read_text() == "mine\n"


def test_putting_away_what_is_not_there_is_nothing(workspaces: Workspaces) -> None:
    workspaces.put_away("delivery-never")
    assert (workspaces.names(), workspaces.size("delivery-never")) == ((), 0)


def test_a_repository_is_copied_even_during_a_cleanup(
    workspaces: Workspaces, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git copies a repository of the same machine file by file, and fails when one is packed away under its hands."""
    plant(source, tmp_path / "marker")
    result = shutil.which("git")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").write_text(
        f"#!/bin/sh\ncase \"$*\" in *--no-local*) ;; *' clone '*) echo 'failed to copy file' >&2; exit 128;; esac\n"
        f'exec {result} "$@"\n'
    )
    (tmp_path / "bin" / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    opened = workspaces.open("s1", source)
    assert contents(opened.checkout(tree=None, slot=0)) == SOURCE
    assert opened.base() == git(source, "rev-parse", "HEAD").strip()
    assert not (tmp_path / "marker").exists()


def test_git_that_is_missing_is_said(workspaces: Workspaces, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(WorkspaceError, match="git config was not started: No such file or directory"):
        workspaces.open("s1", None)
