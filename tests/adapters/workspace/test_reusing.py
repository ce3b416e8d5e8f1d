"""Folders that are taken over from sessions that have ended."""

import os
import threading
from pathlib import Path

import pytest

from adapters.turns.folder import has_ended
from adapters.workspace import Workspace, Workspaces, reuse
from domain.session.children import Decide
from domain.session.state import Session
from domain.values.base import Unreadable
from tests.adapters.workspace.given import SOURCE, contents, git, write
from tests.kit.discussing import DiscussionStory
from tests.kit.replies import critique


@pytest.fixture(autouse=True)
def _every_repository_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reuse, "LARGE", 0)


def ended(*names: str) -> reuse.Resting:
    return lambda name: name in names


def used(workspaces: Workspaces, source: Path, name: str = "s1") -> tuple[Workspace, Path]:
    """A session that has worked, and the leftovers of its programs."""
    workspace = workspaces.open(name, source)
    folder = workspace.checkout(tree=None, slot=0)
    write(folder, {"new.txt": "new\n", "src/c.py": "c\n"})
    workspace.snapshot(folder, message="work", parent=None)
    return workspace, folder


def test_a_new_session_gets_the_folder_of_one_that_has_ended(workspaces: Workspaces, source: Path) -> None:
    first, folder = used(workspaces, source)
    inode = (folder / "a.txt").stat().st_ino
    second = workspaces.open("s2", source)
    taken = second.checkout(tree=None, slot=3, resting=ended("s1"))
    assert taken == second.home / "tree-3"
    assert (taken / "a.txt").stat().st_ino == inode, "not written again"
    assert contents(taken) == SOURCE
    assert git(taken, "status", "--short") == ""
    assert not folder.exists()
    again = first.checkout(tree=None, slot=0)
    assert contents(again) == SOURCE and (again / "a.txt").stat().st_ino != inode


def test_nothing_that_was_left_in_it_comes_along(workspaces: Workspaces, source: Path, tmp_path: Path) -> None:
    _, folder = used(workspaces, source)
    (tmp_path / "elsewhere").mkdir()
    write(
        folder, {"x.log": "ignored\n", ".venv/bin/python": "ignored\n", "node_modules/m.js": "m\n", "deep/er/x": "x\n"}
    )
    os.mkfifo(folder / "pipe")
    (folder / "nested").mkdir()
    git(folder / "nested", "init", "-q")
    output = (folder / "a.txt").stat()
    (folder / "a.txt").write_text("b\n")  # as long as before, and as old
    os.utime(folder / "a.txt", ns=(output.st_atime_ns, output.st_mtime_ns))
    (folder / "src" / "b.py").unlink()
    (folder / "src" / "c.py").unlink()
    (folder / "src").rmdir()
    (folder / "src").symlink_to(tmp_path / "elsewhere")
    (folder / ".git" / "hooks").mkdir(exist_ok=True)
    (folder / ".git" / "hooks" / "post-checkout").write_text("#!/bin/sh\ntouch ran\n")
    (folder / "한 글").chmod(0)
    taken = workspaces.open("s2", source).checkout(tree=None, slot=0, resting=ended("s1"))
    assert contents(taken) == SOURCE
    assert sorted(path.name for path in taken.iterdir()) == [".git", ".gitignore", "a.txt", "src", "한 글"]
    assert not (taken / ".git" / "hooks" / "post-checkout").exists()
    assert not (taken / "src").is_symlink() and not any((tmp_path / "elsewhere").iterdir())


def test_it_is_brought_to_the_state_that_is_wanted(workspaces: Workspaces, source: Path) -> None:
    used(workspaces, source)
    write(source, {"a.txt": "a2\n", "later.txt": "l\n"})
    git(source, "rm", "-q", "src/b.py")
    git(source, "add", "-A")
    git(source, "commit", "-q", "-m", "two")
    second = workspaces.open("s2", source)
    taken = second.checkout(tree=None, slot=0, resting=ended("s1"))
    expected = SOURCE | {"a.txt": "a2\n", "later.txt": "l\n"}
    assert contents(taken) == {name: text for name, text in expected.items() if name != "src/b.py"}
    assert second.snapshot(taken, message="nothing", parent=second.base()) == second.base()


@pytest.mark.parametrize("why", ["at work", "small", "another repository", "submodule"])
def test_other_folders_stay_where_they_are(
    workspaces: Workspaces, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    if why == "submodule":
        head = git(source, "rev-parse", "HEAD").strip()
        git(source, "update-index", "--add", "--cacheinfo", f"160000,{head},sub")
        git(source, "commit", "-q", "-m", "with a submodule")
    _, folder = used(workspaces, source)
    if why == "small":
        monkeypatch.setattr(reuse, "LARGE", 1_000_000)
    if why == "another repository":
        source = tmp_path / "other"
        source.mkdir()
        git(source, "init", "-q")
        write(source, SOURCE)
        git(source, "add", "-A")
        git(source, "commit", "-q", "-m", "one")
    second = workspaces.open("s2", source)
    taken = second.checkout(tree=None, slot=0, resting=ended(*([] if why == "at work" else ["s1"])))
    assert contents(taken) == SOURCE
    assert (folder / "new.txt").exists()
    assert not list(second.home.glob("taken-*"))


def test_a_folder_has_one_owner_however_many_processes_want_it(workspaces: Workspaces, source: Path) -> None:
    for name in ("s1", "s2"):
        used(workspaces, source, name)
    wanting = [workspaces.open(f"w{number}", source) for number in range(6)]
    barrier = threading.Barrier(len(wanting))
    taken: dict[str, Path] = {}

    def want(workspace: Workspace) -> None:
        barrier.wait()
        taken[workspace.home.name] = workspace.checkout(tree=None, slot=0, resting=ended("s1", "s2"))

    threads = [threading.Thread(target=want, args=[workspace]) for workspace in wanting]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == len(wanting)
    for folder in taken.values():
        assert contents(folder) == SOURCE
    assert not workspaces.names() or {"s1", "s2"}.isdisjoint(workspaces.names())


def test_what_a_crash_left_half_taken_is_deleted_later(
    workspaces: Workspaces, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    used(workspaces, source)
    second = workspaces.open("s2", source)
    write(second.home / "taken-0000", SOURCE)
    second.checkout(tree=None, slot=0, resting=ended())
    assert (second.home / "taken-0000").exists(), "somebody may be at it"
    monkeypatch.setattr(reuse, "_ABANDONED", -1.0)
    second.checkout(tree=None, slot=1, resting=ended())
    assert not (second.home / "taken-0000").exists()


def test_only_finished_sessions_give_their_folders_away() -> None:
    story = DiscussionStory()
    result: dict[str, Session] = {"review-1": story.talk}
    assert not has_ended(result.get, "review-1"), "it is at work"
    assert not has_ended(result.get, "review-2"), "an unknown session"
    while story.talk.status != "waiting_for_decision":
        story.says(critique("PASS"))
    result["review-1"] = story.talk
    assert not has_ended(result.get, "review-1"), "a person decides"
    story.when(Decide(choice="skip"))
    result["review-1"] = story.talk
    assert has_ended(result.get, "review-1")

    def damaged(_: str) -> Session | None:
        raise Unreadable("damaged")

    assert not has_ended(damaged, "review-1")
