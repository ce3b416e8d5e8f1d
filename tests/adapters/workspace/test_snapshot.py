"""Files that are kept while a checkout is moved: they come back whole, also across file systems."""

import errno
import os
import time
from pathlib import Path

import pytest

from adapters.workspace.snapshot import UNDONE, copy_file, forget_undone, move_file, sign_of


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source"
    path.write_bytes(b"a long text\n" * 1_000)
    path.chmod(0o750)
    os.utime(path, (1_000, 2_000))
    return path


def refuses(monkeypatch: pytest.MonkeyPatch, problem: int) -> None:
    def replace(self: Path, target: Path) -> Path:
        raise OSError(problem, os.strerror(problem))

    monkeypatch.setattr(Path, "replace", replace)


def test_a_file_is_moved_to_another_file_system_with_its_times_and_permissions(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuses(monkeypatch, errno.EXDEV)
    place, content = tmp_path / "place", source.read_bytes()
    move_file(source, place)
    assert not source.exists()
    assert (place.read_bytes(), place.stat().st_mode & 0o777, place.stat().st_mtime) == (content, 0o750, 2_000)


def test_a_link_is_moved_to_another_file_system_as_a_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it leads does not matter."""
    refuses(monkeypatch, errno.EXDEV)
    link, place = tmp_path / "link", tmp_path / "place"
    link.symlink_to("nowhere")
    move_file(link, place)
    assert not link.is_symlink()
    assert str(place.readlink()) == "nowhere"


def test_a_file_takes_the_place_of_a_link_on_another_file_system(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the link leads to is not touched."""
    refuses(monkeypatch, errno.EXDEV)
    other, place, content = tmp_path / "other", tmp_path / "place", source.read_bytes()
    other.write_text("mine")
    place.symlink_to(other)
    move_file(source, place)
    assert (place.is_symlink(), place.read_bytes(), other.read_text()) == (False, content, "mine")


def test_a_file_that_cannot_be_moved_stays(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refuses(monkeypatch, errno.EACCES)
    with pytest.raises(PermissionError):
        move_file(source, tmp_path / "place")
    assert source.exists()
    assert not (tmp_path / "place").exists()


@pytest.mark.parametrize("copied", [0, 5], ids=["at-once", "in-the-middle"])
def test_a_file_system_that_cannot_share_content_gets_a_copy(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, copied: int
) -> None:
    def copy(read: int, target: int, _: int) -> int:
        if copied and os.lseek(target, 0, os.SEEK_CUR) == 0:
            return os.write(target, os.read(read, copied))
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    monkeypatch.setattr(os, "copy_file_range", copy)
    place, content = tmp_path / "place", source.read_bytes()
    copy_file(source, place)
    assert (place.read_bytes(), place.stat().st_mtime) == (content, 2_000)


def test_only_a_file_has_a_sign_and_only_where_no_link_leads_to_it(source: Path, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").touch()
    (tmp_path / "link").symlink_to("folder")
    assert sign_of(tmp_path, "folder/file") is not None
    assert sign_of(tmp_path, "link") is not None
    for none in ("link/file", "folder", "gone", "source/file", "gone/file"):
        assert sign_of(tmp_path, none) is None, none
    before = sign_of(tmp_path, "source")
    source.write_bytes(b"another text")
    assert sign_of(tmp_path, "source") != before


def test_what_was_kept_of_an_undoing_goes_after_a_long_time(tmp_path: Path) -> None:
    for name, age in (("old", 3_650), ("new", 0)):
        folder = tmp_path / UNDONE / name
        folder.mkdir(parents=True)
        (folder / "file").touch()
        os.utime(folder, times=(time.time() - age * 86_400,) * 2)
    forget_undone(tmp_path)
    assert [path.name for path in (tmp_path / UNDONE).iterdir()] == ["new"]
