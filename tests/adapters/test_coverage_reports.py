"""A coverage report in a folder where code of agents has run: whatever it is, it is read as a plain file or refused."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from adapters.turns.commands.coverage import AwaitedReport, WrittenReport
from domain.delivery.coverage import LARGEST

GOOD = b"SF:a.js\nDA:1,0\nend_of_record\n"


def read(top: Path, write: Callable[[Path], object], *, repeated: bool = False) -> WrittenReport:
    (top / "out").mkdir()
    awaited = AwaitedReport.before(top, top, "out/lcov.info")
    write(top / "out" / "lcov.info")
    return awaited.after(repeated=repeated)


def test_what_the_commands_wrote_is_read(tmp_path: Path) -> None:
    written = read(tmp_path, lambda path: path.write_bytes(GOOD))
    assert written.problem is None and written.files["a.js"].missed == {1}


def elsewhere(path: Path) -> None:
    other = path.parent.parent / "other"
    other.mkdir()
    (other / path.name).write_bytes(GOOD)
    path.parent.rmdir()
    path.parent.symlink_to(other)


HOSTILE: dict[str, Callable[[Path], object]] = {
    "nothing": lambda path: None,
    "a link": lambda path: path.symlink_to("/etc/passwd"),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a linked folder": elsewhere,
    "a pipe": os.mkfifo,
    "a folder": Path.mkdir,
    "too large": lambda path: (path.write_bytes(GOOD), os.truncate(path, LARGEST + 1)),
    "unreadable text": lambda path: path.write_bytes(b"\xff" * 100),
    "no report": lambda path: path.write_text("Total coverage: 100 %"),
    "deep JSON": lambda path: path.write_text('{"files": ' + "[" * 1_000_000),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_anything_else_says_why(tmp_path: Path, name: str) -> None:
    began = time.monotonic()
    written = read(tmp_path, HOSTILE[name])
    assert not written.files
    assert written.problem is not None and "'out/lcov.info'" in written.problem
    assert time.monotonic() - began < 5, "nothing waits for a writer of a pipe"


def test_a_report_from_before_the_commands_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "lcov.info").write_bytes(GOOD)
    awaited = AwaitedReport.before(tmp_path, tmp_path, "lcov.info")
    assert awaited.after(repeated=False).problem is not None
    (tmp_path / "lcov.info").write_bytes(GOOD + b"TN:\n")
    assert awaited.after(repeated=False).problem is None


def test_what_ran_in_a_repeated_run_is_not_known(tmp_path: Path) -> None:
    assert read(tmp_path, lambda path: path.write_bytes(GOOD), repeated=True).problem is not None
