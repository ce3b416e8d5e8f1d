"""What agents, and the code that they wrote, leave in a folder is not there when their work is validated."""

import os
from pathlib import Path

from adapters.workspace import Workspace, Workspaces
from adapters.workspace.leftovers import mark_of, tidy_home, trust_home
from tests.adapters.workspace.given import contents, write


def set_up(workspace: Workspace, files: dict[str, str]) -> Path:
    """A folder whose set-up made these files."""
    folder = workspace.checkout(tree=None, slot=0)
    write(folder, files)
    workspace.mark_ready(folder)
    return folder


def left(workspace: Workspace, state: str | None = None) -> dict[str, str]:
    """What the validation would find, besides what is recorded."""
    folder = workspace.pristine(tree=state, slot=0)
    recorded = workspace._git.run("ls-tree", "-r", "-z", "--name-only", state or workspace.start).decode().split("\0")
    return {name: text for name, text in contents(folder).items() if name not in recorded}


def test_what_the_project_ignores_stays_between_turns_but_not_for_a_validation(of_git: Workspace) -> None:
    folder = of_git.checkout(tree=None, slot=0)
    write(folder, {"debug.log": "1", "src/deep.log": "2", "node_modules/impl/index.js": "x", "__pycache__/a.pyc": "y"})
    assert of_git.checkout(tree=None, slot=0) == folder
    assert (folder / "debug.log").exists() and (folder / "node_modules/impl/index.js").exists()
    assert left(of_git) == {}


def test_what_the_set_up_made_stays_without_what_was_added(of_git: Workspace) -> None:
    folder = set_up(of_git, {".venv/bin/tool": "tool", "made": "once"})
    write(folder, {".venv/lib/fix.pth": "import os", "made.log": "x"})
    assert left(of_git) == {".venv/bin/tool": "tool", "made": "once"}
    assert of_git.is_ready(folder)


def test_what_was_changed_of_it_is_made_again(of_git: Workspace) -> None:
    folder = set_up(of_git, {".venv/bin/tool": "tool", "made": "once"})
    tool = folder / ".venv/bin/tool"
    before = tool.stat()
    tool.write_text("evil")
    os.utime(tool, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert left(of_git) == {}
    assert not of_git.is_ready(folder)


def test_what_is_missing_of_it_is_made_again(of_git: Workspace) -> None:
    folder = set_up(of_git, {".venv/bin/tool": "tool", "made": "once"})
    (folder / "made").unlink()
    assert (left(of_git), of_git.is_ready(folder)) == ({}, False)


def test_what_the_baseline_left_stays_until_it_is_changed(of_git: Workspace) -> None:
    folder = set_up(of_git, {"made": "once"})
    write(folder, {".venv/cache": "1", "build.log": "2"})
    of_git.trust(folder)
    assert left(of_git) == {"made": "once", ".venv/cache": "1", "build.log": "2"}
    write(folder, {".venv/cache": "changed"})
    assert left(of_git) == {"made": "once", "build.log": "2"}
    assert of_git.is_ready(folder)


def test_work_next_to_what_the_set_up_made_is_recorded_and_stays(of_git: Workspace) -> None:
    folder = set_up(of_git, {"lib/_version.py": "1"})
    write(folder, {"lib/impl.py": "work", "lib/sub/more.py": "work"})
    state = of_git.snapshot(folder, message="m", parent=of_git.base())
    assert of_git.changed_files(of_git.base(), state) == ("lib/impl.py", "lib/sub/more.py")
    folder = of_git.pristine(tree=state, slot=0)
    assert {name for name in contents(folder) if name.startswith("lib/")} == {
        "lib/_version.py",
        "lib/impl.py",
        "lib/sub/more.py",
    }


def test_a_large_folder_of_the_set_up_is_ignored_as_a_whole(of_git: Workspace) -> None:
    folder = set_up(of_git, {f"vendor/{number}.js": "x" for number in range(1_001)})
    write(folder, {"vendor/more.js": "y", "b.txt": "work"})
    state = of_git.snapshot(folder, message="m", parent=of_git.base())
    assert of_git.changed_files(of_git.base(), state) == ("b.txt",)


def test_the_places_of_linked_folders_stay(of_git: Workspace) -> None:
    folder = of_git.checkout(tree=None, slot=0)
    (folder / "node_modules").mkdir()
    assert of_git.pristine(tree=None, slot=0, linked=("node_modules",)) == folder
    assert (folder / "node_modules").is_dir()


def test_names_that_no_text_can_hold_are_trusted_too(of_git: Workspace) -> None:
    folder = of_git.checkout(tree=None, slot=0)
    strange = folder / os.fsdecode(b"\xff[1]*.log")
    strange.write_text("x")
    of_git.mark_ready(folder)
    of_git.pristine(tree=None, slot=0)
    assert of_git.is_ready(folder) and strange.exists()


def test_a_mark_of_an_older_version_says_nothing(of_git: Workspace) -> None:
    folder = set_up(of_git, {"made": "once"})
    mark_of(folder).write_text("")
    assert (left(of_git), of_git.is_ready(folder)) == ({}, False)


def test_a_folder_without_git_is_left_alone(workspaces: Workspaces, plain: Path) -> None:
    workspace = workspaces.open("s2", plain)
    before = contents(plain)
    assert workspace.pristine(tree=None, slot=0) == plain.resolve()
    assert contents(plain) == before


def test_the_home_keeps_what_is_trusted(tmp_path: Path) -> None:
    home, mark = tmp_path / "homes" / "s1", tmp_path / "ready-home"
    write(home, {".cache/a": "1"})
    trust_home(mark, home)
    write(home, {".local/usercustomize.py": "evil"})
    assert tidy_home(mark, home)
    assert contents(home) == {".cache/a": "1"}
    write(home, {".cache/a": "evil"})
    assert not tidy_home(mark, home)
    assert not home.exists() and not mark.exists()


def test_a_home_that_is_not_there_yet_is_trusted_as_it_is(tmp_path: Path) -> None:
    home, mark = tmp_path / "homes" / "s1", tmp_path / "ready-home"
    home.parent.mkdir()
    trust_home(mark, home)
    write(home, {".local/usercustomize.py": "evil"})
    assert tidy_home(mark, home)
    assert not home.exists()
