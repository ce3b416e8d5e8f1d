"""Whether a checkout counts as changed, asked without executing what its repository names."""

import os
from pathlib import Path

import pytest

from adapters.workspace import Workspaces
from adapters.workspace.checkout import start_point
from tests.adapters.workspace.given import git, write


def _touched(file: Path) -> None:
    os.utime(file, (1, 1))


@pytest.mark.parametrize(
    "setting", ["core.splitIndex", "core.untrackedCache", "feature.manyFiles", "core.sparseCheckout"]
)
def test_a_clean_checkout_is_not_dirty_whatever_its_index(workspaces: Workspaces, source: Path, setting: str) -> None:
    git(source, "config", setting, "true")
    git(source, "update-index", "--split-index" if setting == "core.splitIndex" else "--refresh")
    assert not workspaces.open("s1", source).dirty
    write(source, {"a.txt": "other"})
    assert workspaces.open("s2", source).dirty
    point = start_point(source, seconds=60)
    assert point is not None and point.uncommitted == ("a.txt",)


@pytest.mark.parametrize(
    ("setting", "attributes", "content"),
    [
        (("core.autocrlf", "true"), "", b"a\r\nb\r\n"),
        (("core.eol", "crlf"), "*.w text\n", b"a\r\nb\r\n"),
        (("core.eol", "lf"), "*.w working-tree-encoding=UTF-16\n", "a\nb\n".encode("utf-16")),
    ],
)
def test_line_endings_and_encodings_of_a_touched_file_are_no_change(
    workspaces: Workspaces, source: Path, setting: tuple[str, str], attributes: str, content: bytes
) -> None:
    git(source, "config", *setting)
    write(source, {".gitattributes": attributes})
    (source / "n.w").write_bytes(content)
    git(source, "add", "-A")
    git(source, "commit", "-q", "-m", "two")
    _touched(source / "n.w")
    assert not workspaces.open("s1", source).dirty
    point = start_point(source, seconds=60)
    assert point is not None and point.uncommitted == ()
    (source / "n.w").write_bytes(content + content[-2:])
    assert workspaces.open("s2", source).dirty


@pytest.mark.parametrize("key", ["filter.x.clean", "filter.x.process", "core.fsmonitor"])
def test_asking_executes_nothing(workspaces: Workspaces, source: Path, tmp_path: Path, key: str) -> None:
    write(source, {".gitattributes": "*.txt filter=x\n"})
    git(source, "add", "-A")
    git(source, "commit", "-q", "-m", "two")
    git(source, "config", key, f"touch {tmp_path / 'ran'}; cat")
    _touched(source / "a.txt")
    workspaces.open("s1", source)
    start_point(source, seconds=60)
    assert not (tmp_path / "ran").exists()
