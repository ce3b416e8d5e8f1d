"""Modes and times of files, as a fresh checkout has them."""

import os
import stat
from pathlib import Path

import pytest

from adapters.workspace import Workspace
from adapters.workspace.file_facts import as_checked_out, changed_since, is_as_checked_out


def test_modes_and_times_that_somebody_set_are_gone(tmp_path: Path) -> None:
    plain, program, link = tmp_path / "a" / "plain", tmp_path / "program", tmp_path / "link"
    plain.parent.mkdir()
    for file in (plain, program):
        file.write_text("words")
    link.symlink_to("nowhere")
    plain.chmod(0o4600)
    program.chmod(0o711)
    for path in (plain, link):
        os.utime(path, (915_148_800, 915_148_800), follow_symlinks=False)
    as_checked_out(tmp_path)
    umask = os.umask(0o022)
    os.umask(umask)
    assert stat.S_IMODE(plain.stat().st_mode) == 0o666 & ~umask
    assert stat.S_IMODE(program.stat().st_mode) == 0o777 & ~umask
    assert plain.stat().st_mtime == link.lstat().st_mtime > 1_700_000_000


def test_files_that_were_just_written_are_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("words")
    before = file.stat()
    as_checked_out(tmp_path)
    assert file.stat() == before


def test_what_a_program_changed_in_any_way_is_found(tmp_path: Path) -> None:
    folder, moment = tmp_path / "folder", tmp_path / "moment"
    folder.mkdir()
    names = ("left", "mode", "times", "content", "line\nbreak")
    for name in names:
        (folder / name).write_text("words")
    (folder / "link").symlink_to("left")
    _later(folder / "left", moment)
    moment.touch()
    _later(moment, tmp_path / "later")
    (folder / "mode").chmod(0o600)
    os.utime(folder / "times", (915_148_800, 915_148_800))
    os.utime(folder / "link", (915_148_800, 915_148_800), follow_symlinks=False)
    (folder / "content").write_text("other")
    (folder / "line\nbreak").chmod(0o777)
    found = changed_since(folder, moment)
    assert found is not None
    assert {Path(path).name for path in found} == {"mode", "times", "link", "content", "line\nbreak"}


def _later(before: Path, place: Path) -> None:
    """Wait until what is made is younger than a file."""
    while not place.exists() or place.stat().st_mtime_ns <= before.stat().st_ctime_ns:
        place.unlink(missing_ok=True)
        place.touch()


def test_without_the_program_that_looks_every_file_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert changed_since(tmp_path, tmp_path) is None


def test_validation_sees_modes_and_times_of_a_checkout_each_time(of_git: Workspace) -> None:
    folder = of_git.pristine(tree=None, slot=0, as_in_clone=True)
    mode = (folder / "a.txt").stat().st_mode
    for _ in range(2):
        (folder / "a.txt").chmod(0o640)
        os.utime(folder / "src/b.py", (915_148_800, 915_148_800))
        state = of_git.snapshot(folder, message="m", parent=of_git.base())
        of_git.pristine(tree=state, slot=0, as_in_clone=True)
        assert (folder / "a.txt").stat().st_mode == mode
        assert (folder / "src/b.py").stat().st_mtime > 1_700_000_000


def test_modes_of_folders_and_hard_links_are_not_those_of_a_checkout(tmp_path: Path) -> None:
    (tmp_path / ".git" / "objects").mkdir(parents=True, mode=0o700)
    (tmp_path / "src" / "deep").mkdir(parents=True)
    (tmp_path / "src" / "deep" / "a.txt").write_text("a")
    (tmp_path / "link").symlink_to("src")
    assert is_as_checked_out(tmp_path)
    (tmp_path / "src" / "deep").chmod(0o700)
    assert not is_as_checked_out(tmp_path)
    (tmp_path / "src" / "deep").chmod((tmp_path / "src").stat().st_mode & 0o777)
    assert is_as_checked_out(tmp_path)
    (tmp_path / "b.txt").hardlink_to(tmp_path / "src" / "deep" / "a.txt")
    assert not is_as_checked_out(tmp_path)
    as_checked_out(tmp_path)
    assert is_as_checked_out(tmp_path)
    (tmp_path / "b.txt").write_text("b")
    assert (tmp_path / "src" / "deep" / "a.txt").read_text() == "a"
    (tmp_path / "src").chmod(0o700)
    as_checked_out(tmp_path, [str(tmp_path / "src")])
    assert is_as_checked_out(tmp_path)
