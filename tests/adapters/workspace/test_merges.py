"""Agents who work at once: two states become one that has both, or it is said where they cannot."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import pytest

from adapters.workspace import Workspace, WorkspaceError, Workspaces
from tests.adapters.workspace.given import SOURCE, contents, git, plant, write

Change = Callable[[Path], None]
LONG = "".join(f"line {number}\n" for number in range(40))


def changed(opened: Workspace, change: Change | dict[str, str], *, slot: int, parent: str | None = None) -> str:
    """The state after that change, made in a folder of its own."""
    folder = opened.checkout(tree=parent, slot=slot)
    write(folder, change) if isinstance(change, dict) else change(folder)
    return opened.snapshot(folder, message=f"of slot {slot}", parent=parent or opened.base())


def merged(opened: Workspace, ours: str, theirs: str) -> dict[str, str]:
    return contents(opened.checkout(tree=opened.merge(ours=ours, theirs=theirs, message="both"), slot=9))


def parents(opened: Workspace, state: str) -> list[str]:
    return git(opened.home / "repo.git", "rev-list", "--parents", "-n1", state).split()[1:]


# -- what has both -------------------------------------------------------------------------------------------------


def test_changes_of_different_files_are_merged(of_git: Workspace) -> None:
    ours = changed(of_git, {"a.txt": "ours\n", "한 글/new": "ours\n"}, slot=0)
    theirs = changed(of_git, {"src/b.py": "theirs\n", "also.txt": "theirs\n"}, slot=1)
    state = of_git.merge(ours=ours, theirs=theirs, message="둘 다")
    assert parents(of_git, state) == [ours, theirs]
    assert git(of_git.home / "repo.git", "log", "-1", "--format=%s %an", state) == "둘 다 Hansard\n"
    whole = {"a.txt": "ours\n", "한 글/new": "ours\n", "src/b.py": "theirs\n", "also.txt": "theirs\n"}
    assert contents(of_git.checkout(tree=state, slot=2)) == SOURCE | whole
    assert of_git.changed_files(ours, state) == ("also.txt", "src/b.py")


def test_changes_of_different_lines_of_one_file_are_merged(of_git: Workspace) -> None:
    start = changed(of_git, {"long.txt": LONG}, slot=0)
    ours = changed(of_git, {"long.txt": LONG.replace("line 3\n", "ours\n")}, slot=0, parent=start)
    theirs = changed(of_git, {"long.txt": LONG.replace("line 30\n", "theirs\n")}, slot=1, parent=start)
    both = LONG.replace("line 3\n", "ours\n").replace("line 30\n", "theirs\n")
    assert merged(of_git, ours, theirs)["long.txt"] == both


def test_the_same_change_twice_is_one(of_git: Workspace) -> None:
    ours = changed(of_git, {"a.txt": "same\n", "x": "ours\n"}, slot=0)
    theirs = changed(of_git, {"a.txt": "same\n", "y": "theirs\n"}, slot=1)
    assert merged(of_git, ours, theirs) == SOURCE | {"a.txt": "same\n", "x": "ours\n", "y": "theirs\n"}


def test_a_change_follows_the_file_that_the_other_has_moved(of_git: Workspace) -> None:
    start = changed(of_git, {"long.txt": LONG}, slot=0)
    ours = changed(of_git, lambda folder: rename(folder, "long.txt", "moved.txt"), slot=0, parent=start)
    theirs = changed(of_git, {"long.txt": LONG + "theirs\n"}, slot=1, parent=start)
    assert merged(of_git, ours, theirs) == SOURCE | {"moved.txt": LONG + "theirs\n"}


def test_a_new_file_stays_in_place_although_the_folder_was_moved(of_git: Workspace) -> None:
    ours = changed(of_git, lambda folder: rename(folder, "src", "lib"), slot=0)
    theirs = changed(of_git, {"src/c.py": "c\n"}, slot=1)
    story = merged(of_git, ours, theirs)
    assert {name for name in story if name.endswith(".py")} == {"lib/b.py", "src/c.py"}


def test_four_who_work_at_once_lose_nothing(of_git: Workspace) -> None:
    with ThreadPoolExecutor(4) as threads:
        states = list(threads.map(lambda n: changed(of_git, {f"{n}.txt": f"{n}\n"}, slot=n), range(4)))
    whole = states[0]
    for state in states[1:]:
        whole = of_git.merge(ours=whole, theirs=state, message="and")
    assert contents(of_git.checkout(tree=whole, slot=9)) == SOURCE | {f"{n}.txt": f"{n}\n" for n in range(4)}
    for state in states:
        assert of_git.merge(ours=whole, theirs=state, message="again") == whole


def test_what_follows_the_other_is_taken_as_it_is(of_git: Workspace) -> None:
    first = changed(of_git, {"a.txt": "1\n"}, slot=0)
    second = changed(of_git, {"a.txt": "2\n"}, slot=0, parent=first)
    assert of_git.merge(ours=first, theirs=second, message="m") == second
    assert of_git.merge(ours=second, theirs=first, message="m") == second
    assert of_git.merge(ours=first, theirs=first, message="m") == first
    assert of_git.merge(ours=of_git.base(), theirs=of_git.base(), message="m") == of_git.base()


def test_unrelated_branches_can_be_merged_too(workspaces: Workspaces) -> None:
    opened = workspaces.open("s1", None)
    states = []
    for name in ("x", "y"):
        folder = opened.checkout(tree=None, slot=0)
        write(folder, {name: name})
        states.append(opened.snapshot(folder, message="m", parent=None))
    assert merged(opened, *states) == {"x": "x", "y": "y"}


def rename(folder: Path, old: str, new: str) -> None:
    (folder / old).rename(folder / new)


def remove(folder: Path) -> None:
    (folder / "a.txt").unlink()


def as_folder(folder: Path) -> None:
    remove(folder)
    write(folder, {"a.txt/inside": "x\n"})


# -- what is ambiguous ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ours", "theirs", "sentence"),
    [
        ({"a.txt": "1\n"}, {"a.txt": "2\n"}, "Two turns at once changed the same lines of a.txt."),
        ({"new": "1\n"}, {"new": "2\n"}, "Two turns at once changed the same lines of new."),
        (
            {"a.txt": "1\n", "한 글/ü x.md": "1\n", "x": "1\n"},
            {"한 글/ü x.md": "2\n", "a.txt": "2\n", "y": "2\n"},
            "Two turns at once changed the same lines of a.txt, 한 글/ü x.md.",
        ),
        (remove, {"a.txt": "2\n"}, "Two turns at once removed, moved or replaced what the other changed: a.txt."),
        ({"a.txt": "1\n"}, remove, "Two turns at once removed, moved or replaced what the other changed: a.txt."),
        ({"a.txt": "1\n"}, as_folder, "Two turns at once removed, moved or replaced what the other changed: a.txt."),
        (
            {f"{number:02}": "1\n" for number in range(12)},
            {f"{number:02}": "2\n" for number in range(12)},
            "Two turns at once changed the same lines of 00, 01, 02, 03, 04, 05, 06, 07, 08, 09 and 2 more.",
        ),
    ],
)
def test_what_both_changed_is_named(
    of_git: Workspace, ours: Change | dict[str, str], theirs: Change | dict[str, str], sentence: str
) -> None:
    states = {"ours": changed(of_git, ours, slot=0), "theirs": changed(of_git, theirs, slot=1)}
    with pytest.raises(WorkspaceError) as raised:
        of_git.merge(**states, message="m")
    assert str(raised.value) == sentence


def test_binary_files_that_both_changed_are_named_too(of_git: Workspace) -> None:
    states = [changed(of_git, {"raw": f"\0{slot}"}, slot=slot) for slot in (0, 1)]
    with pytest.raises(WorkspaceError, match="changed the same lines of raw"):
        of_git.merge(ours=states[0], theirs=states[1], message="m")


@pytest.mark.parametrize("state", ["0" * 40, "HEAD", "--stdin", "", "abc"])
def test_an_unknown_state_is_not_merged(of_git: Workspace, state: str) -> None:
    for ours, theirs in ((state, of_git.base()), (of_git.base(), state)):
        with pytest.raises(WorkspaceError, match="is not recorded in this workspace"):
            of_git.merge(ours=ours, theirs=theirs, message="m")


# -- and nothing else happens --------------------------------------------------------------------------------------


def test_merging_touches_no_folder(of_git: Workspace, source: Path) -> None:
    ours, theirs = changed(of_git, {"x": "1"}, slot=0), changed(of_git, {"y": "2"}, slot=1)
    watched = [
        path for folder in (of_git.home / "tree-0", of_git.home / "tree-1", source) for path in folder.rglob("*")
    ]
    before = {path: path.stat().st_mtime_ns for path in watched}
    indexes = {path: path.read_bytes() for path in (of_git.home / "repo.git").glob("index-*")}
    of_git.merge(ours=ours, theirs=theirs, message="m")
    assert {path: path.stat().st_mtime_ns for path in watched} == before
    assert {path: path.read_bytes() for path in (of_git.home / "repo.git").glob("index-*")} == indexes


def test_no_driver_of_the_project_runs_and_no_attribute_of_it_decides(of_git: Workspace, tmp_path: Path) -> None:
    """Rule 7. `merge=union` would hide a conflict, `-merge` would make one; a driver is a command."""
    attributes = "a.txt merge=union\nlong.txt -merge\n*.evil merge=evil\n"
    fields = {".gitattributes": attributes, "long.txt": LONG, "x.evil": LONG}
    start = changed(of_git, fields, slot=0)
    for slot in (0, 1):
        plant(of_git.checkout(tree=start, slot=slot), tmp_path / "marker")
    early, late = (LONG.replace(f"line {number}\n", "changed\n") for number in (3, 30))
    ours = changed(of_git, {"long.txt": early, "x.evil": early}, slot=0, parent=start)
    theirs = changed(of_git, {"long.txt": late, "x.evil": late}, slot=1, parent=start)
    both = early.replace("line 30\n", "changed\n")
    story = merged(of_git, ours, theirs)
    assert (story["long.txt"], story["x.evil"]) == (both, both)
    one, other = (changed(of_git, {"a.txt": f"{n}\n"}, slot=n, parent=start) for n in (0, 1))
    with pytest.raises(WorkspaceError, match=r"the same lines of a\.txt"):
        of_git.merge(ours=one, theirs=other, message="m")
    assert not (tmp_path / "marker").exists()


# -- a folder without git: all agents work in the same place ---------------------------------------------------------


@pytest.fixture
def shared(workspaces: Workspaces, plain: Path) -> Workspace:
    return workspaces.open("s1", plain)


def test_in_a_shared_folder_the_later_snapshot_has_both_whichever_is_recorded_first(
    shared: Workspace, plain: Path
) -> None:
    """Both began at the start. Where both changed the same lines, the folder holds what was written last."""
    write(plain, {"a.txt": "first\n", "x": "first\n"})
    first = shared.snapshot(plain, message="first", parent=shared.base())
    write(plain, {"a.txt": "second\n", "y": "second\n"})
    second = shared.snapshot(plain, message="second", parent=shared.base())
    assert shared.merge(ours=first, theirs=second, message="m") == second
    assert shared.merge(ours=second, theirs=first, message="m") == second
    assert (parents(shared, second), parents(shared, first)) == ([first], [shared.base()])
    assert shared.changed_files(shared.base(), second) == ("a.txt", "x", "y")
    assert contents(plain) == {"a.txt": "second\n", "notes/b.md": "b\n", "x": "first\n", "y": "second\n"}


def test_in_a_shared_folder_an_agent_that_changed_nothing_takes_over_what_is_there(
    shared: Workspace, plain: Path
) -> None:
    write(plain, {"x": "x\n"})
    first = shared.snapshot(plain, message="first", parent=shared.base())
    assert shared.snapshot(plain, message="second", parent=shared.base()) == first
    (plain / "x").unlink()
    back = shared.snapshot(plain, message="back", parent=shared.base())
    assert parents(shared, back) == [first]
    assert shared.changed_files(shared.base(), back) == ()


def test_parallel_writers_in_a_shared_folder_make_one_line_of_snapshots(
    workspaces: Workspaces, shared: Workspace, plain: Path
) -> None:
    """Also when each has opened the workspace for itself, as processes do."""
    together = threading.Barrier(6)

    def work(number: int) -> str:
        mine = Workspaces(workspaces.root).open("s1", plain)
        together.wait()
        for step in range(3):
            write(plain, {f"{number}.txt": f"{step}\n", "all.txt": f"{number} {step}\n"})
            state = mine.snapshot(plain, message=f"{number}", parent=mine.base())
        return state

    with ThreadPoolExecutor(6) as threads:
        states = list(threads.map(work, range(6)))
    whole = states[0]
    for state in states[1:]:
        whole = shared.merge(ours=whole, theirs=state, message="m")
    for number in range(6):
        assert git(shared.home / "repo.git", "show", f"{whole}:{number}.txt") == "2\n"
    line = git(shared.home / "repo.git", "rev-list", "--parents", whole).splitlines()
    assert {len(entry.split()) for entry in line} == {1, 2}
    assert shared.snapshot(plain, message="end", parent=shared.base()) == whole


def test_a_shared_folder_is_recorded_while_others_write_in_it(shared: Workspace, plain: Path) -> None:
    """Git gives up on a file that shrinks, or becomes a folder, while it is read."""
    stop = threading.Event()

    def keep_writing() -> None:
        for number in count():
            if stop.is_set():
                return
            (plain / "small").write_text(str(number))
            (plain / "big").write_text("x" * 2_000_000)
            (plain / "big").write_text("y")
            (plain / "now").mkdir()
            (plain / "now").rmdir()
            (plain / "now").touch()
            (plain / "now").unlink()
            stop.wait(0.002)  # folders in memory are written so fast that git would hardly ever see a whole file

    with ThreadPoolExecutor(1) as thread:
        writing = thread.submit(keep_writing)
        try:
            states = {shared.snapshot(plain, message="m", parent=shared.base()) for _ in range(60)}
        finally:
            stop.set()
        writing.result()
    assert len(states) > 1
