"""Workspaces against real git: what goes in, what comes out, and what an agent cannot make us do (rule 7, S14)."""

import contextlib
import os
import shutil
import subprocess
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from adapters import workspace as module
from adapters.workspace import Workspace, WorkspaceError, Workspaces, confine


def git(folder: Path, *args: str) -> str:
    """Git as a person (or an agent) uses it."""
    who = {f"GIT_{role}_{what}": "someone" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1", **who}
    command = ["git", "-c", "protocol.file.allow=always", *args]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=True)
    return done.stdout


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def contents(folder: Path) -> dict[str, str]:
    """Every file below, outside of `.git`; links as their targets."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if ".git" in name.parts or not (path.is_file() or path.is_symlink()):
            continue
        found[str(name)] = f"-> {path.readlink()}" if path.is_symlink() else path.read_text()
    return found


SOURCE = {"a.txt": "a\n", "src/b.py": "b\n", "한 글/ü x.md": "k\n", ".gitignore": "*.log\n.venv/\n"}


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


# What a workspace starts with


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
def test_uncommitted_changes_are_left_out_and_told(
    workspaces: Workspaces, source: Path, change: dict[str, str]
) -> None:
    write(source, change)
    opened = workspaces.open("s1", source)
    assert opened.dirty
    assert contents(opened.checkout(tree=None, slot=0)) == SOURCE


def test_staged_changes_are_told_too(workspaces: Workspaces, source: Path) -> None:
    write(source, {"a.txt": "staged"})
    git(source, "add", "a.txt")
    write(source, {"a.txt": "a\n"})
    assert workspaces.open("s1", source).dirty


def test_ignored_and_merely_touched_files_are_no_changes(workspaces: Workspaces, source: Path) -> None:
    (source / ".git" / "info" / "exclude").write_text("private\n")
    write(source, {"x.log": "ignored", "private": "ignored"})
    os.utime(source / "a.txt", (1, 1))
    assert not workspaces.open("s1", source).dirty


def test_a_checkout_with_other_line_ends_is_not_dirty_but_worked_on_as_committed(
    workspaces: Workspaces, source: Path
) -> None:
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


def test_a_folder_that_the_repository_does_not_hold_yet_starts_empty(workspaces: Workspaces, source: Path) -> None:
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


def test_a_plain_folder_stays_one_when_somebody_makes_a_repository_in_it(workspaces: Workspaces, plain: Path) -> None:
    opened = workspaces.open("s1", plain)
    git(plain, "init", "-q")
    assert workspaces.open("s1", plain) == opened


def test_what_cannot_be_opened_is_said(workspaces: Workspaces, source: Path, plain: Path, tmp_path: Path) -> None:
    workspaces.open("s1", plain)
    with pytest.raises(WorkspaceError, match=r"Session s1 works on .*plain, not on .*the source"):
        workspaces.open("s1", source)
    with pytest.raises(WorkspaceError, match=r"The folder .*nowhere does not exist"):
        workspaces.open("s2", tmp_path / "nowhere")
    with pytest.raises(WorkspaceError, match="must be run in a work tree"):
        workspaces.open("s3", source / ".git")
    (tmp_path / "file").touch()
    with pytest.raises(WorkspaceError, match=r"Not a directory: .*file/s1"):
        Workspaces(tmp_path / "file").open("s1", None)
    for name in ("", "..", "a/b", "-x", "x" * 200):
        with pytest.raises(WorkspaceError, match="cannot name a workspace"):
            workspaces.open(name, None)


def test_removing_leaves_the_source(workspaces: Workspaces, source: Path, of_git: Workspace) -> None:
    (of_git.checkout(tree=None, slot=0) / "src").chmod(0o500)
    of_git.remove()
    assert not of_git.home.exists()
    assert contents(source) == SOURCE


# States: recording and restoring


def test_a_state_is_recorded_and_comes_back_exactly(of_git: Workspace) -> None:
    folder = of_git.checkout(tree=None, slot=0)
    (folder / "a.txt").unlink()
    (folder / "src" / "b.py").chmod(0o755)
    (folder / "link").symlink_to("src/b.py")
    (folder / "raw").write_bytes(b"\0\r\n\xff")
    write(folder, {"한국어/새 파일.txt": "내용\n", "x.log": "ignored"})
    state = of_git.snapshot(folder, message="한 일", parent=of_git.base())
    assert of_git.changed_files(of_git.base(), state) == ("a.txt", "link", "raw", "src/b.py", "한국어/새 파일.txt")
    assert of_git.snapshot(folder, message="again", parent=state) == state

    other = of_git.checkout(tree=state, slot=1)
    assert (other / "raw").read_bytes() == b"\0\r\n\xff"
    assert (other / "link").readlink() == Path("src/b.py")
    assert os.access(other / "src" / "b.py", os.X_OK)
    assert sorted(p.name for p in other.iterdir()) == [".git", ".gitignore", "link", "raw", "src", "한 글", "한국어"]
    assert (other / "한국어" / "새 파일.txt").read_text() == "내용\n"


def test_going_back_removes_what_is_new_and_keeps_what_is_ignored(of_git: Workspace) -> None:
    folder = of_git.checkout(tree=None, slot=0)
    write(folder, {"a.txt": "changed", "new/deep.txt": "n", "x.log": "cache", ".venv/bin/python": "py"})
    (folder / "empty").mkdir()
    (folder / "src" / "b.py").unlink()
    state = of_git.snapshot(folder, message="m", parent=of_git.base())
    assert of_git.changed_files(of_git.base(), state) == ("a.txt", "new/deep.txt", "src/b.py")
    assert of_git.checkout(tree=of_git.base(), slot=0) == folder
    assert contents(folder) == {**SOURCE, "x.log": "cache", ".venv/bin/python": "py"}
    assert not (folder / "empty").exists()


def test_a_change_within_the_same_instant_is_seen(of_git: Workspace) -> None:
    """Git's index tells by times and sizes; here both stay the same."""
    folder = of_git.checkout(tree=None, slot=0)
    state = of_git.base()
    for letter in "bcdefgh":
        (folder / "a.txt").write_text(f"{letter}\n")
        state, before = of_git.snapshot(folder, message=letter, parent=state), state
        assert of_git.changed_files(before, state) == ("a.txt",)


def test_slots_are_separate_folders(of_git: Workspace) -> None:
    """A zombie attempt may go on writing in the older one."""
    old, new = of_git.checkout(tree=None, slot=0), of_git.checkout(tree=None, slot=1)
    write(old, {"a.txt": "zombie"})
    assert contents(new) == SOURCE
    assert of_git.snapshot(new, message="m", parent=of_git.base()) == of_git.base()


def test_tool_caches_are_not_recorded_unless_the_project_has_them(workspaces: Workspaces, source: Path) -> None:
    write(source, {"node_modules/kept.js": "1"})
    git(source, "add", "-Af")
    git(source, "commit", "-q", "-m", "vendored")
    opened = workspaces.open("s1", source)
    folder = opened.checkout(tree=None, slot=0)
    write(folder, {"node_modules/kept.js": "2", "node_modules/other.js": "x", "src/__pycache__/b.pyc": "x"})
    state = opened.snapshot(folder, message="m", parent=opened.base())
    assert opened.changed_files(opened.base(), state) == ("node_modules/kept.js",)


def test_a_snapshot_can_stand_alone(workspaces: Workspaces) -> None:
    opened = workspaces.open("s1", None)
    folder = opened.checkout(tree=None, slot=0)
    opened.write_files(folder, {"a": "a"})
    state = opened.snapshot(folder, message="", parent=None)
    assert opened.changed_files(opened.base(), state) == ("a",)


@pytest.mark.parametrize("state", ["0" * 40, "HEAD", "--output=x", "", "abc"])
def test_an_unknown_state_is_refused(of_git: Workspace, state: str) -> None:
    for ask in (
        lambda: of_git.checkout(tree=state or "x", slot=0),
        lambda: of_git.patch(state, of_git.base()),
        lambda: of_git.changed_files(of_git.base(), state),
        lambda: of_git.publish(state, "work"),
    ):
        with pytest.raises(WorkspaceError, match="is not recorded in this workspace"):
            ask()


def test_only_folders_of_the_workspace_are_recorded_or_written(
    of_git: Workspace, workspaces: Workspaces, source: Path, plain: Path
) -> None:
    other = workspaces.open("s2", plain)
    for opened, folder in (
        (of_git, source),
        (of_git, of_git.home / "repo.git"),
        (of_git, of_git.home),
        (other, source),
    ):
        with pytest.raises(WorkspaceError, match="is no folder of this workspace"):
            opened.snapshot(folder, message="m", parent=None)
        with pytest.raises(WorkspaceError, match="is no folder of this workspace"):
            opened.write_files(folder, {"a": "a"})


# The patch


def test_the_patch_is_a_unified_diff_that_git_can_apply(of_git: Workspace, source: Path) -> None:
    folder = of_git.checkout(tree=None, slot=0)
    of_git.write_files(folder, {"a.txt": "a\nmore\n", "한 글/n.md": "n\n"})
    state = of_git.snapshot(folder, message="m", parent=of_git.base())
    patch = of_git.patch(of_git.base(), state)
    assert "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1,2 @@\n a\n+more\n" in patch
    assert "+++ b/한 글/n.md" in patch
    (source.parent / "p").write_text(patch)
    git(source, "apply", str(source.parent / "p"))
    assert contents(source) == contents(folder)
    assert of_git.patch(state, state) == ""


def test_the_patch_says_that_a_binary_file_differs(of_git: Workspace) -> None:
    folder = of_git.checkout(tree=None, slot=0)
    (folder / "raw").write_bytes(b"\0\1\2")
    state = of_git.snapshot(folder, message="m", parent=of_git.base())
    assert "Binary files /dev/null and b/raw differ\n" in of_git.patch(of_git.base(), state)


def test_no_attribute_of_the_tree_hides_a_change(of_git: Workspace) -> None:
    folder = of_git.checkout(tree=None, slot=0)
    of_git.write_files(folder, {".gitattributes": "* -diff working-tree-encoding=nonsense\n", "a.txt": "changed\n"})
    state = of_git.snapshot(folder, message="m", parent=of_git.base())
    assert "+changed\n" in of_git.patch(of_git.base(), state)


def test_a_long_patch_is_cut_and_says_so(of_git: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATCH_BYTES", 1000)
    folder = of_git.checkout(tree=None, slot=0)
    of_git.write_files(folder, {"long.txt": "line\n" * 1000})
    patch = of_git.patch(of_git.base(), of_git.snapshot(folder, message="m", parent=of_git.base()))
    *lines, last = patch.splitlines()
    assert lines[-1] == "+line"
    assert last.startswith("[cut here: ")
    assert len(patch) < 1100


# What an agent may do to its folder


def test_the_agents_have_a_git_of_their_own(of_git: Workspace) -> None:
    folder = of_git.checkout(tree=None, slot=0)
    assert git(folder, "status", "--porcelain") == ""
    assert git(folder, "log", "--format=%s") == "one\n"
    write(folder, {"a.txt": "mine\n"})
    git(folder, "commit", "-q", "-a", "-m", "the agent's own")
    state = of_git.snapshot(folder, message="m", parent=of_git.base())
    assert of_git.changed_files(of_git.base(), state) == ("a.txt",)
    of_git.checkout(tree=state, slot=0)
    assert git(folder, "status", "--porcelain") == ""
    assert git(folder, "log", "--format=%s") == "m\none\n"


def plant(folder: Path, marker: Path) -> None:
    """Everything that makes a git run in this folder execute something."""
    script = marker.parent / "evil.sh"
    script.write_text(f"#!/bin/sh\necho ran >> '{marker}'\ncat\n")
    script.chmod(0o755)
    for key in (
        *("core.fsmonitor", "filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "diff.external"),
        *("diff.evil.textconv", "diff.evil.command", "core.sshCommand", "core.pager", "core.editor", "gpg.program"),
        *("core.alternateRefsCommand", "uploadpack.packObjectsHook", "merge.evil.driver"),
    ):
        git(folder, "config", key, str(script))
    git(folder, "config", "filter.evil.required", "true")
    hooks = folder / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for hook in ("post-checkout", "pre-commit", "post-index-change", "reference-transaction", "post-commit"):
        (hooks / hook).symlink_to(script)
    (folder / ".gitattributes").write_text("* filter=evil diff=evil merge=evil\n")


def test_planting_works_on_plain_git(of_git: Workspace, tmp_path: Path) -> None:
    """The trap that the next tests walk past is armed."""
    folder = of_git.checkout(tree=None, slot=0)
    plant(folder, tmp_path / "marker")
    subprocess.run(["git", "status"], cwd=folder, capture_output=True)
    assert (tmp_path / "marker").exists()


def test_nothing_that_an_agent_plants_is_executed(of_git: Workspace, tmp_path: Path) -> None:
    """Rule 7."""
    folder = of_git.checkout(tree=None, slot=0)
    plant(folder, tmp_path / "marker")
    git_inside = folder / "inner"
    git_inside.mkdir()
    git(git_inside, "init", "-q")
    write(git_inside, {"x": "x"})
    git(git_inside, "add", "x")
    git(git_inside, "commit", "-q", "-m", "inner")
    plant(git_inside, tmp_path / "marker")
    write(folder, {"a.txt": "changed\n"})
    state = of_git.snapshot(folder, message="m", parent=of_git.base())
    write(folder, {"a.txt": "changed again\n", "inner/x": "y"})
    state = of_git.snapshot(folder, message="m", parent=state)
    assert of_git.changed_files(of_git.base(), state) == (".gitattributes", "a.txt", "inner/.gitattributes", "inner/x")
    assert "+changed again" in of_git.patch(of_git.base(), state)
    of_git.checkout(tree=state, slot=0)
    of_git.checkout(tree=None, slot=0)
    assert of_git.publish(state, "hansard/s1")
    assert contents(folder) == SOURCE
    assert not (tmp_path / "marker").exists()


def test_nothing_planted_in_the_source_is_executed(workspaces: Workspaces, source: Path, tmp_path: Path) -> None:
    """The source of one session may be what an agent of another has left."""
    plant(source, tmp_path / "marker")
    os.utime(source / "a.txt", (1, 1))
    opened = workspaces.open("s1", source)
    assert opened.dirty
    folder = opened.checkout(tree=None, slot=0)
    opened.write_files(folder, {"a.txt": "changed\n"})
    assert opened.publish(opened.snapshot(folder, message="m", parent=opened.base()), "hansard/s1")
    assert not (tmp_path / "marker").exists()


def submodule(source: Path) -> None:
    inner = source.parent / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    write(inner, {"x": "x"})
    git(inner, "add", "-A")
    git(inner, "commit", "-q", "-m", "inner")
    git(source, "submodule", "--quiet", "add", str(inner), "sub")
    git(source, "commit", "-q", "-m", "sub")


def test_submodules_are_left_as_they_are_whatever_an_agent_puts_there(
    workspaces: Workspaces, source: Path, tmp_path: Path
) -> None:
    """A changed submodule makes `git add` run git inside of it."""
    submodule(source)
    opened = workspaces.open("s1", source)
    assert not opened.dirty
    folder = opened.checkout(tree=None, slot=0)
    git(folder / "sub", "init", "-q")
    write(folder, {"sub/y": "y", ".gitmodules": '[submodule "sub"]\n\tpath = sub\n\turl = /x\n\tignore = none\n'})
    git(folder / "sub", "add", "-A")
    git(folder / "sub", "commit", "-q", "-m", "y")
    plant(folder / "sub", tmp_path / "marker")
    state = opened.snapshot(folder, message="m", parent=opened.base())
    assert opened.snapshot(folder, message="m", parent=state) == state
    assert opened.changed_files(opened.base(), state) == (".gitmodules",)
    opened.checkout(tree=state, slot=0)
    assert not (tmp_path / "marker").exists()


def test_the_files_of_nested_repositories_are_recorded(of_git: Workspace) -> None:
    folder = of_git.checkout(tree=None, slot=0)
    for inner in ("one", "one/two"):
        (folder / inner).mkdir()
        git(folder / inner, "init", "-q")
        write(folder / inner, {"x": inner, "x.tmp": "ignored in there", ".gitignore": "*.tmp\n"})
    git(folder / "one", "add", "x")
    git(folder / "one", "commit", "-q", "-m", "x")
    state = of_git.snapshot(folder, message="m", parent=of_git.base())
    found = of_git.changed_files(of_git.base(), state)
    assert found == ("one/.gitignore", "one/two/.gitignore", "one/two/x", "one/x")
    assert contents(of_git.checkout(tree=None, slot=0)) == SOURCE


def as_link(folder: Path, outside: Path) -> None:
    (folder / "src" / "b.py").unlink()
    (folder / "src").rmdir()
    (folder / "src").symlink_to(outside)
    (folder / "a.txt").unlink()
    (folder / "a.txt").symlink_to(outside / "b.py")


def as_link_itself(folder: Path, outside: Path) -> None:
    subprocess.run(["rm", "-rf", folder], check=True)
    folder.symlink_to(outside)


def locked(folder: Path, outside: Path) -> None:
    write(folder, {"src/deep/new": "new"})
    (folder / "a.txt").chmod(0)
    (folder / "src" / "deep").chmod(0)
    (folder / "src").chmod(0)
    folder.chmod(0o500)


def gone(folder: Path, outside: Path) -> None:
    subprocess.run(["rm", "-rf", folder], check=True)


def a_file(folder: Path, outside: Path) -> None:
    subprocess.run(["rm", "-rf", folder], check=True)
    folder.write_text("a file")


def swapped(folder: Path, outside: Path) -> None:
    (folder / "a.txt").unlink()
    write(folder, {"a.txt/is/now": "a folder"})
    subprocess.run(["rm", "-rf", folder / "src"], check=True)
    write(folder, {"src": "a file"})
    os.mkfifo(folder / "pipe")


def git_as_link(folder: Path, outside: Path) -> None:
    subprocess.run(["rm", "-rf", folder / ".git"], check=True)
    (folder / ".git").symlink_to(outside)


def git_as_file(folder: Path, outside: Path) -> None:
    subprocess.run(["rm", "-rf", folder / ".git"], check=True)
    (folder / ".git").write_text(f"gitdir: {outside}\n")


@pytest.mark.parametrize("spoil", [as_link, as_link_itself, locked, gone, a_file, swapped, git_as_link, git_as_file])
def test_whatever_became_of_the_folder_a_checkout_restores_it(
    of_git: Workspace, tmp_path: Path, spoil: Callable[[Path, Path], None]
) -> None:
    outside = tmp_path / "outside"
    write(outside, {"b.py": "precious", "config": "precious"})
    folder = of_git.checkout(tree=None, slot=0)
    spoil(folder, outside)
    assert of_git.checkout(tree=None, slot=0) == folder
    assert not folder.is_symlink()
    assert contents(folder) == SOURCE
    assert not (folder / "pipe").exists()
    assert contents(outside) == {"b.py": "precious", "config": "precious"}
    assert git(folder, "status", "--porcelain") == ""


@pytest.mark.parametrize(
    ("spoil", "changed"),
    [
        (as_link, ("a.txt", "src", "src/b.py")),
        (locked, ("src/deep/new",)),
        (swapped, ("a.txt", "a.txt/is/now", "src", "src/b.py")),
        (git_as_link, ()),
        (git_as_file, ()),
    ],
)
def test_whatever_became_of_the_folder_a_snapshot_records_it(
    of_git: Workspace, tmp_path: Path, spoil: Callable[[Path, Path], None], changed: tuple[str, ...]
) -> None:
    outside = tmp_path / "outside"
    write(outside, {"b.py": "precious"})
    folder = of_git.checkout(tree=None, slot=0)
    spoil(folder, outside)
    state = of_git.snapshot(folder, message="m", parent=of_git.base())
    assert of_git.changed_files(of_git.base(), state) == changed
    assert "precious" not in of_git.patch(of_git.base(), state)


@pytest.mark.parametrize("spoil", [gone, a_file, as_link_itself])
def test_a_folder_that_is_gone_is_not_recorded_as_empty(
    of_git: Workspace, tmp_path: Path, spoil: Callable[[Path, Path], None]
) -> None:
    folder = of_git.checkout(tree=None, slot=0)
    spoil(folder, tmp_path)
    with pytest.raises(WorkspaceError, match="tree-0 is gone"):
        of_git.snapshot(folder, message="m", parent=of_git.base())


def test_a_working_folder_that_became_a_link_is_not_followed(
    workspaces: Workspaces, source: Path, tmp_path: Path
) -> None:
    opened = workspaces.open("s1", source / "src")
    folder = opened.checkout(tree=None, slot=0)
    (folder / "b.py").unlink()
    folder.rmdir()
    folder.symlink_to(tmp_path)
    state = opened.snapshot(folder, message="m", parent=opened.base())
    with pytest.raises(WorkspaceError, match="'src' is not a folder of the workspace's own"):
        opened.checkout(tree=state, slot=0)
    with pytest.raises(WorkspaceError, match="'src' is not a folder of the workspace's own"):
        opened.write_files(folder, {"x": "x"})


def test_names_that_git_does_not_take_are_passed_over(of_git: Workspace) -> None:
    folder = of_git.checkout(tree=None, slot=0)
    write(folder, {".GIT/config": "x", "ok": "ok"})
    os.mkfifo(folder / "pipe")
    (folder / os.fsdecode(b"latin\xe9")).write_text("l")
    state = of_git.snapshot(folder, message="m", parent=of_git.base())
    assert of_git.changed_files(of_git.base(), state) == ("latin\N{REPLACEMENT CHARACTER}", "ok")


# Giving it back


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
    with pytest.raises(WorkspaceError, match=f"The branch {branch} is checked out in"):
        of_git.publish(of_git.base(), branch)


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


# Paths and contents from outside


@pytest.mark.parametrize(
    ("path", "normal"),
    [
        ("a", "a"),
        ("./a//b/./c.txt", "a/b/c.txt"),
        ("src/", "src"),
        ("한 글/ü.md", "한 글/ü.md"),
        (".gitignore", ".gitignore"),
        (".github/x.yml", ".github/x.yml"),
        ("a.git/b", "a.git/b"),
        ("..a/b..", "..a/b.."),
    ],
)
def test_a_path_below_the_folder_is_normalised(path: str, normal: str) -> None:
    assert confine(path) == normal


ESCAPES = [
    *("", ".", "./", "/", "/etc/passwd", "//server/share", "..", "../a", "a/../../b", "a/..", "a\\b", "\\\\server\\x"),
    *("C:/x", "c:x", "a\0b", "a\nb", "a\x7f", "\ud800", ".git", ".git/config", "a/.GIT/hooks/x", ".Git", "git~1/x"),
    *(".git./x", ".git /x", ".git::$INDEX_ALLOCATION/x", ".g\u200cit/config"),
]


@pytest.mark.parametrize("path", ESCAPES, ids=ascii)
def test_a_path_that_escapes_is_refused(path: str) -> None:
    with pytest.raises(WorkspaceError):
        confine(path)


def test_a_path_that_is_too_long_is_refused() -> None:
    for path in ("x" * 256, "한" * 86, "a/" * 3000 + "a"):
        with pytest.raises(WorkspaceError, match="is too long for a path"):
            confine(path)
    assert confine("한" * 85) == "한" * 85


def test_files_are_written_below_the_folder_and_keep_their_mode(of_git: Workspace) -> None:
    folder = of_git.checkout(tree=None, slot=0)
    (folder / "src" / "b.py").chmod(0o755)
    paths = of_git.write_files(folder, {"./src//b.py": "new\r\n", "deep/er/한.txt": "글"})
    assert paths == ("src/b.py", "deep/er/한.txt")
    assert (folder / "src" / "b.py").read_bytes() == b"new\r\n"
    assert (folder / "src" / "b.py").stat().st_mode & 0o777 == 0o755
    assert (folder / "deep" / "er" / "한.txt").stat().st_mode & 0o777 == 0o644
    assert sorted(path.name for path in (folder / "src").iterdir()) == ["b.py"]


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("../x", "'../x' leaves the workspace"),
        ("out/x", "'out' is not a folder of the workspace's own"),
        ("src/out/deep/x", "'out' is not a folder of the workspace's own"),
        ("leaf", "'leaf' is not a plain file"),
        ("dangling", "'dangling' is not a plain file"),
        ("src", "'src' is not a plain file"),
        (".gitignore/x", "'.gitignore' is not a folder of the workspace's own"),
        ("a.txt/x", "'a.txt' cannot be a file and a folder"),
        ("new/x", "'new' cannot be a file and a folder"),
        ("./new", "The same file is given twice"),
    ],
)
def test_when_one_path_is_not_allowed_nothing_is_written(
    of_git: Workspace, tmp_path: Path, path: str, sentence: str
) -> None:
    outside = tmp_path / "outside"
    write(outside, {"file": "precious"})
    folder = of_git.checkout(tree=None, slot=0)
    for name, target in (("out", ""), ("src/out", ""), ("leaf", "file"), ("dangling", "none")):
        (folder / name).symlink_to(outside / target)
    before = contents(folder)
    with pytest.raises(WorkspaceError, match=sentence):
        of_git.write_files(folder, {"a.txt": "changed", "new": "new", path: "evil"})
    assert contents(folder) == before
    assert contents(outside) == {"file": "precious"}


def test_a_folder_that_keeps_turning_into_a_link_leads_nowhere(of_git: Workspace, tmp_path: Path) -> None:
    """S14: the check and the writing are not one step, so the writing itself must not follow."""
    outside, now = tmp_path / "outside", of_git.checkout(tree=None, slot=0) / "now"
    outside.mkdir()
    stop = threading.Event()

    def link() -> None:
        now.symlink_to(outside)

    def clear() -> None:
        shutil.rmtree(now)

    def flip() -> None:
        while not stop.is_set():
            for change in (link, now.unlink, now.mkdir, clear):
                with contextlib.suppress(OSError):
                    change()

    with ThreadPoolExecutor() as threads:
        flipping = threads.submit(flip)
        refused = 0
        for number in range(1000):
            try:
                of_git.write_files(now.parent, {f"now/{number}": "x"})
            except WorkspaceError:
                refused += 1
        stop.set()
        flipping.result()
    assert list(outside.iterdir()) == []
    assert 0 < refused < 1000


def test_content_that_is_no_text_is_refused(of_git: Workspace) -> None:
    folder = of_git.checkout(tree=None, slot=0)
    with pytest.raises(WorkspaceError, match="The content for 'x' is not valid text"):
        of_git.write_files(folder, {"a.txt": "changed", "x": "\ud800"})
    assert contents(folder) == SOURCE


def test_git_that_is_missing_is_said(workspaces: Workspaces, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(WorkspaceError, match="git init was not started: No such file or directory"):
        workspaces.open("s1", None)
