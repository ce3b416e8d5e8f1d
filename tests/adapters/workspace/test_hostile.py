"""What an agent may do to its folder, and what it cannot make us do (rule 7, S14)."""

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from adapters.workspace import DoesNotFit, Workspace, WorkspaceError, Workspaces
from tests.adapters.workspace.given import SOURCE, contents, git, plant, write


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
    with pytest.raises(DoesNotFit, match="sub/y"):
        opened.snapshot(folder, message="m", parent=opened.base())
    opened.checkout(tree=None, slot=0)
    write(folder, {".gitmodules": "changed"})
    assert opened.changed_files(opened.base(), opened.snapshot(folder, message="m", parent=None)) == (".gitmodules",)
    assert contents(folder / "sub") == {}
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
    result = of_git.changed_files(of_git.base(), state)
    assert result == ("one/.gitignore", "one/two/.gitignore", "one/two/x", "one/x")
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
def test_a_checkout_restores_a_folder_in_any_condition(
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
def test_a_snapshot_records_a_folder_in_any_condition(
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


def test_unusual_names_are_recorded(of_git: Workspace) -> None:
    folder = of_git.checkout(tree=None, slot=0)
    names = ("a:b", "back\\slash", "con", "Case", "case", "git~2", "line\nbreak", "trail ", "trail.", "-x", "n" * 255)
    write(folder, dict.fromkeys(names, "x"))
    os.mkfifo(folder / "pipe")
    (folder / os.fsdecode(b"latin\xe9")).write_text("l")
    state = of_git.snapshot(folder, message="m", parent=of_git.base())
    assert set(of_git.changed_files(of_git.base(), state)) == {*names, "latin\N{REPLACEMENT CHARACTER}"}


@pytest.mark.parametrize(
    "name",
    ["git~1", "a/GIT~1", ".GIT/config", "src/.Git/x", ".git./x", ".git /x", ".git::$INDEX_ALLOCATION/x", "a\nb/git~1"],
)
def test_names_that_git_refuses_are_not_passed_over(of_git: Workspace, name: str) -> None:
    folder = of_git.checkout(tree=None, slot=0)
    write(folder, {name: "x", "ok": "ok"})
    with pytest.raises(DoesNotFit, match=re.escape(ascii(name))):
        of_git.snapshot(folder, message="m", parent=of_git.base())
    (folder / name).unlink()
    state = of_git.snapshot(folder, message="m", parent=of_git.base())
    assert of_git.changed_files(of_git.base(), state) == ("ok",)


def test_names_that_git_refuses_are_not_passed_over_in_a_folder_without_git(
    workspaces: Workspaces, plain: Path
) -> None:
    """But for those that the person has had there."""
    write(plain, {"git~1": "mine"})
    opened = workspaces.open("s1", plain)
    write(plain, {"GIT~1": "x", "ok": "ok"})
    with pytest.raises(DoesNotFit, match="'GIT~1'"):
        opened.snapshot(plain, message="m", parent=opened.base())
    (plain / "GIT~1").unlink()
    state = opened.snapshot(plain, message="m", parent=opened.base())
    assert opened.changed_files(opened.base(), state) == ("ok",)


def test_a_link_in_the_place_of_a_file_of_git_is_not_passed_over(of_git: Workspace) -> None:
    folder = of_git.checkout(tree=None, slot=0)
    (folder / ".gitmodules").symlink_to("a.txt")
    with pytest.raises(DoesNotFit, match=r"\.gitmodules"):
        of_git.snapshot(folder, message="m", parent=of_git.base())


@pytest.mark.parametrize(("top", "refused"), [("deep", True), ("ignored", False)])
def test_files_that_are_too_deep_are_not_passed_over(
    workspaces: Workspaces, source: Path, top: str, refused: bool
) -> None:
    write(source, {".gitignore": "ignored/\n"})
    git(source, "commit", "-q", "-a", "-m", "ignored")
    opened = workspaces.open("s1", source)
    folder = opened.checkout(tree=None, slot=0)
    here = os.open(folder, os.O_RDONLY)
    for name in (top, *["d" * 250] * 16):
        os.mkdir(name, dir_fd=here)
        deeper = os.open(name, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = deeper
    os.close(os.open("f" * 200, os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)
    if refused:
        with pytest.raises(DoesNotFit, match=f"'{top}/d"):
            opened.snapshot(folder, message="m", parent=opened.base())
    else:
        assert opened.snapshot(folder, message="m", parent=opened.base()) == opened.base()
    opened.pristine(tree=None, slot=0)
    assert not (folder / top).exists()


def test_files_in_the_place_of_a_submodule_are_not_passed_over(workspaces: Workspaces, source: Path) -> None:
    submodule(source)
    opened = workspaces.open("s1", source)
    folder = opened.checkout(tree=None, slot=0)
    write(folder, {"sub/fix.py": "x"})
    assert opened.has_leftovers(folder)
    with pytest.raises(DoesNotFit, match=r"sub/fix\.py"):
        opened.snapshot(folder, message="m", parent=opened.base())
    opened.pristine(tree=None, slot=0)
    assert contents(folder / "sub") == {}
    write(folder, {"sub/made.py": "x"})
    opened.mark_ready(folder)
    opened.pristine(tree=None, slot=0)
    assert contents(folder / "sub") == {"made.py": "x"}
    assert opened.snapshot(folder, message="m", parent=opened.base()) == opened.base()
    write(folder, {"sub/more.py": "x"})
    opened.pristine(tree=None, slot=0)
    assert contents(folder / "sub") == {"made.py": "x"}

    write(folder, {"sub/made.py": "edited"})
    with pytest.raises(DoesNotFit, match=r"sub/made\.py"):
        opened.snapshot(folder, message="m", parent=opened.base())
    opened.checkout(tree=None, slot=0)
    assert not opened.is_ready(folder)
    assert contents(folder / "sub") == {}


@pytest.mark.parametrize("how", ["edit", "new", "gone", "commit", "link", "as it is"])
def test_what_an_agent_changes_in_a_submodule_that_it_checked_out_is_said(
    workspaces: Workspaces, source: Path, how: str
) -> None:
    submodule(source)
    opened = workspaces.open("s1", source)
    folder = opened.checkout(tree=None, slot=0)
    git(folder, "-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init")
    inner = folder / "sub"
    assert contents(inner) == {"x": "x"}
    (inner / "x").touch()
    write(folder, {"sub/__pycache__/x.pyc": "", "a.txt": "mine\n"})
    match how:
        case "edit":
            write(inner, {"x": "y"})
        case "new":
            write(inner, {"z": "z"})
        case "gone":
            (inner / "x").unlink()
        case "commit":
            write(inner, {"x": "y"})
            git(inner, "commit", "-q", "-a", "-m", "y")
        case "link":
            (inner / ".git").unlink()
            (inner / ".git").symlink_to(source / ".git")
        case _:
            state = opened.snapshot(folder, message="m", parent=opened.base())
            assert opened.changed_files(opened.base(), state) == ("a.txt",)
            return
    with pytest.raises(DoesNotFit, match="sub/z" if how == "new" else "sub/x"):
        opened.snapshot(folder, message="m", parent=opened.base())


@pytest.mark.parametrize(
    "how, changed",
    [("taken out", (".gitmodules", "sub")), ("a file", ("sub",)), ("a link", ("sub",)), ("tidied up", ())],
)
def test_a_submodule_that_an_agent_takes_out_is_taken_out(
    workspaces: Workspaces, source: Path, how: str, changed: tuple[str, ...]
) -> None:
    submodule(source)
    opened = workspaces.open("s1", source)
    folder = opened.checkout(tree=None, slot=0)
    if how == "taken out":
        git(folder, "rm", "-q", "sub")
    else:
        (folder / "sub").rmdir()
    if how == "a file":
        write(folder, {"sub": "x"})
    elif how == "a link":
        (folder / "sub").symlink_to("a.txt")
    state = opened.snapshot(folder, message="m", parent=opened.base())
    assert opened.changed_files(opened.base(), state) == changed
    assert opened.publish(state, "hansard/s1")
    if how == "taken out":
        write(folder, {"sub/x": "no submodule any more"})
        later = opened.snapshot(folder, message="m", parent=state)
        assert opened.changed_files(state, later) == ("sub/x",)
        opened.checkout(tree=later, slot=0)
        assert contents(folder / "sub") == {"x": "no submodule any more"}
        assert not opened.has_leftovers(folder)
    opened.checkout(tree=None, slot=0)
    assert opened.snapshot(folder, message="m", parent=opened.base()) == opened.base()


def test_a_link_above_the_place_of_a_submodule_leads_nowhere(
    workspaces: Workspaces, source: Path, tmp_path: Path
) -> None:
    submodule(source)
    git(source, "mv", "sub", "deep")
    (source / "vendor").mkdir()
    git(source, "mv", "deep", "vendor/sub")
    git(source, "commit", "-q", "-m", "moved")
    write(tmp_path / "outside", {"sub/theirs": "x"})
    opened = workspaces.open("s1", source)
    folder = opened.checkout(tree=None, slot=0)
    (folder / "vendor" / "sub").rmdir()
    (folder / "vendor").rmdir()
    (folder / "vendor").symlink_to(tmp_path / "outside")
    opened.pristine(tree=None, slot=0)
    opened.checkout(tree=None, slot=0)
    assert contents(tmp_path / "outside") == {"sub/theirs": "x"}


def test_validation_does_not_see_what_a_repository_inside_keeps(of_git: Workspace) -> None:
    folder = of_git.checkout(tree=None, slot=0)
    write(folder, {"src/.git/secret": "x", "new/x": "x"})
    git(folder / "new", "init", "-q")
    state = of_git.snapshot(folder, message="m", parent=of_git.base())
    folder = of_git.pristine(tree=state, slot=0)
    assert not (folder / "src/.git").exists()
    assert not (folder / "new/.git").exists()
    assert (folder / "new/x").exists()
