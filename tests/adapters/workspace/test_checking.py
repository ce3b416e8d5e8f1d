"""A change is checked before it is recorded; nothing of a refused one stays."""

from pathlib import Path

import pytest

from adapters.workspace import Workspace
from adapters.workspace.quarantine import Contents
from domain.values.base import Unreadable
from tests.adapters.workspace.given import git

LARGE = 17 * 1_048_576
"""Git writes larger files straight into a pack."""


def read(contents: Contents) -> dict[str, bytes]:
    return {file.path: bytes(file.data[file.start : file.end]) for file in contents()}


def objects(workspace: Workspace) -> set[str]:
    listing = git(workspace.home / "repo.git", "cat-file", "--batch-check=%(objectname)", "--batch-all-objects")
    return set(listing.split())


def test_the_check_sees_the_files_before_and_after(of_git: Workspace) -> None:
    folder = of_git.checkout(tree=None, slot=0)
    of_git.write_files(folder, {"a.txt": "b", "src/b.py": None})
    (folder / "new\n한.txt").touch()
    seen: list[dict[str, bytes]] = []

    def check(after: Contents, before: Contents) -> None:
        seen.extend((read(after), read(before)))

    of_git.snapshot(folder, message="m", parent=of_git.base(), check=check)
    assert seen == [{"a.txt": b"b", "new\n한.txt": b""}, {"a.txt": b"a\n", "src/b.py": b"b\n"}]


def test_a_change_that_passes_is_recorded_like_any_other(of_git: Workspace) -> None:
    folder = of_git.checkout(tree=None, slot=0)
    (folder / "large.bin").write_bytes(b"x" * LARGE)
    (folder / "a.txt").write_text("b")
    state = of_git.snapshot(folder, message="m", parent=of_git.base(), check=lambda after, before: None)
    git(of_git.home / "repo.git", "fsck", "--strict", state)
    assert of_git.changed_files(of_git.base(), state) == ("a.txt", "large.bin")
    other = of_git.checkout(tree=state, slot=1)
    assert (other / "large.bin").stat().st_size == LARGE


def test_nothing_stays_of_a_change_that_is_refused(of_git: Workspace) -> None:
    folder, before = of_git.checkout(tree=None, slot=0), objects(of_git)
    (folder / "a.txt").write_text("refused")

    def check(after: Contents, before: Contents) -> None:
        raise Unreadable("no")

    with pytest.raises(Unreadable):
        of_git.snapshot(folder, message="m", parent=of_git.base(), check=check)
    assert objects(of_git) == before
    assert [path.name for path in (of_git.home / "repo.git").glob("objects-*")] == []
    again = of_git.checkout(tree=None, slot=0)
    assert Path(again, "a.txt").read_text() == "a\n"
    assert of_git.snapshot(again, message="m", parent=of_git.base()) == of_git.base()
