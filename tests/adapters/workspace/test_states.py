"""States are recorded and come back exactly, and the patch between two of them is whole."""

import os
from pathlib import Path

import pytest

from adapters.workspace import Workspace, WorkspaceError, Workspaces
from adapters.workspace import repository as module
from tests.adapters.workspace.given import SOURCE, contents, git, write


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
    """Git's index compares times and sizes; here both stay the same."""
    folder = of_git.checkout(tree=None, slot=0)
    state = of_git.base()
    for letter in "bcdefgh":
        (folder / "a.txt").write_text(f"{letter}\n")
        state, before = of_git.snapshot(folder, message=letter, parent=state), state
        assert of_git.changed_files(before, state) == ("a.txt",)


def test_slots_are_separate_folders(of_git: Workspace) -> None:
    """A zombie attempt may continue to write in the older one."""
    old, new = of_git.checkout(tree=None, slot=0), of_git.checkout(tree=None, slot=1)
    write(old, {"a.txt": "zombie"})
    assert contents(new) == SOURCE
    assert of_git.snapshot(new, message="m", parent=of_git.base()) == of_git.base()


def test_folders_of_tools_are_only_recorded_where_the_project_has_them(workspaces: Workspaces, source: Path) -> None:
    write(source, {"node_modules/kept.js": "1"})
    git(source, "add", "-Af")
    git(source, "commit", "-q", "-m", "vendored")
    opened = workspaces.open("s1", source)
    folder = opened.checkout(tree=None, slot=0)
    write(
        folder,
        {
            "node_modules/kept.js": "2",
            "node_modules/other.js": "x",
            "node_modules/kept/node_modules/deep.js": "x",
            "node_modules/__pycache__/a.pyc": "x",
            "src/node_modules/other.js": "x",
            "src/__pycache__/b.pyc": "x",
            ".aider.tags.cache.v4/cache.db": "x",
        },
    )
    state = opened.snapshot(folder, message="m", parent=opened.base())
    assert opened.changed_files(opened.base(), state) == (
        "node_modules/kept.js",
        "node_modules/kept/node_modules/deep.js",
        "node_modules/other.js",
    )


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
        with pytest.raises(WorkspaceError, match="is not a folder of this workspace"):
            opened.snapshot(folder, message="m", parent=None)
        with pytest.raises(WorkspaceError, match="is not a folder of this workspace"):
            opened.write_files(folder, {"a": "a"})


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


def test_an_up_to_date_folder_is_not_written_again(of_git: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """But whatever differs is, even where a program has hidden that."""
    ran: list[str] = []
    run = module.Index._run
    monkeypatch.setattr(
        module.Index, "_run", lambda self, *args, **more: (ran.append(args[0]), run(self, *args, **more))[1]
    )
    looks = 0
    for expected in (True, True, True, False, False):
        ran.clear()
        folder = of_git.checkout(tree=None, slot=0)
        assert ("read-tree" in ran) is expected
        if (unsettled := of_git.home / "repo.git" / "unsettled-tree-0").exists() and (looks := looks + 1) == 2:
            os.utime(unsettled, (0, 0))  # some seconds pass
    output = (folder / "a.txt").stat()
    (folder / "a.txt").write_text("b\n")
    os.utime(folder / "a.txt", ns=(output.st_atime_ns, output.st_mtime_ns))
    (folder / "new").mkdir()
    (folder / "new" / "file").touch()
    assert contents(of_git.checkout(tree=None, slot=0)) == SOURCE
    state = of_git.snapshot(folder, message="same", parent=of_git.base())
    assert state == of_git.base()


def test_the_diff_begins_with_the_files_that_are_named_first(of_git: Workspace) -> None:
    folder = of_git.checkout(tree=None, slot=0)
    of_git.write_files(folder, {"a.txt": "1", "z[1]*x.txt": "2", "#tests/z.py": "3", "m.txt": "4"})
    state = of_git.snapshot(folder, message="m", parent=of_git.base())
    patch = of_git.patch(of_git.base(), state, ["#tests/z.py", "z[1]*x.txt"])
    heads = [line.split(" b/")[1] for line in patch.splitlines() if line.startswith("diff --git")]
    assert heads == ["#tests/z.py", "z[1]*x.txt", "a.txt", "m.txt"]
