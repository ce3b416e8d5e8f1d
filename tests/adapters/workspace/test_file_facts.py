"""Modes and times of files, as a fresh checkout has them."""

import os
import stat
from pathlib import Path

from adapters.workspace.file_facts import as_checked_out


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
