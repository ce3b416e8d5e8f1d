"""Paths and contents from outside stay below the folder (S14)."""

import contextlib
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from adapters.workspace import Workspace, WorkspaceError, confine
from tests.adapters.workspace.given import SOURCE, contents, write


@pytest.mark.parametrize(
    ("path", "normal"),
    [
        ("a", "a"),
        ("./a//b/./c.txt", "a/b/c.txt"),
        ("src/", "src"),
        ("한 글/ü.md", "한 글/ü.md"),
        (".gitignore", ".gitignore"),
        (".github/x.yml", ".github/x.yml"),
        ("a.git/b", "a.git/b"),
        ("..a/b..", "..a/b.."),
    ],
)
def test_a_path_below_the_folder_is_normalised(path: str, normal: str) -> None:
    assert confine(path) == normal


ESCAPES = [
    *("", ".", "./", "/", "/etc/passwd", "//server/share", "..", "../a", "a/../../b", "a/..", "a\\b", "\\\\server\\x"),
    *("C:/x", "c:x", "a\0b", "a\nb", "a\x7f", "\ud800", ".git", ".git/config", "a/.GIT/hooks/x", ".Git", "git~1/x"),
    *(".git./x", ".git /x", ".git::$INDEX_ALLOCATION/x", ".g\u200cit/config"),
]


@pytest.mark.parametrize("path", ESCAPES, ids=ascii)
def test_a_path_that_escapes_is_refused(path: str) -> None:
    with pytest.raises(WorkspaceError):
        confine(path)


def test_a_path_that_is_too_long_is_refused() -> None:
    for path in ("x" * 256, "한" * 86, "a/" * 3000 + "a"):
        with pytest.raises(WorkspaceError, match="is too long for a path"):
            confine(path)
    assert confine("한" * 85) == "한" * 85


def test_files_are_written_below_the_folder_and_keep_their_mode(of_git: Workspace) -> None:
    folder = of_git.checkout(tree=None, slot=0)
    (folder / "src" / "b.py").chmod(0o755)
    paths = of_git.write_files(folder, {"./src//b.py": "new\r\n", "deep/er/한.txt": "글"})
    assert paths == ("src/b.py", "deep/er/한.txt")
    assert (folder / "src" / "b.py").read_bytes() == b"new\r\n"
    assert (folder / "src" / "b.py").stat().st_mode & 0o777 == 0o755
    assert (folder / "deep" / "er" / "한.txt").stat().st_mode & 0o777 == 0o644
    assert sorted(path.name for path in (folder / "src").iterdir()) == ["b.py"]


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("../x", "'../x' leaves the workspace"),
        ("out/x", "'out' is not a folder of the workspace's own"),
        ("src/out/deep/x", "'out' is not a folder of the workspace's own"),
        ("leaf", "'leaf' is not a plain file"),
        ("dangling", "'dangling' is not a plain file"),
        ("src", "'src' is not a plain file"),
        (".gitignore/x", "'.gitignore' is not a folder of the workspace's own"),
        ("a.txt/x", "'a.txt' cannot be a file and a folder"),
        ("new/x", "'new' cannot be a file and a folder"),
        ("./new", "The same file is given twice"),
    ],
)
def test_when_one_path_is_not_allowed_nothing_is_written(
    of_git: Workspace, tmp_path: Path, path: str, sentence: str
) -> None:
    outside = tmp_path / "outside"
    write(outside, {"file": "precious"})
    folder = of_git.checkout(tree=None, slot=0)
    for name, target in (("out", ""), ("src/out", ""), ("leaf", "file"), ("dangling", "none")):
        (folder / name).symlink_to(outside / target)
    before = contents(folder)
    with pytest.raises(WorkspaceError, match=sentence):
        of_git.write_files(folder, {"a.txt": "changed", "new": "new", path: "evil"})
    assert contents(folder) == before
    assert contents(outside) == {"file": "precious"}


def test_a_folder_that_keeps_turning_into_a_link_leads_nowhere(of_git: Workspace, tmp_path: Path) -> None:
    """S14: the check and the writing are not one step, so the writing itself must not follow."""
    outside, now = tmp_path / "outside", of_git.checkout(tree=None, slot=0) / "now"
    outside.mkdir()
    stop = threading.Event()

    def link() -> None:
        now.symlink_to(outside)

    def clear() -> None:
        shutil.rmtree(now)

    def flip() -> None:
        while not stop.is_set():
            for change in (link, now.unlink, now.mkdir, clear):
                with contextlib.suppress(OSError):
                    change()

    with ThreadPoolExecutor() as threads:
        flipping = threads.submit(flip)
        refused = 0
        for number in range(1000):
            try:
                of_git.write_files(now.parent, {f"now/{number}": "x"})
            except WorkspaceError:
                refused += 1
        stop.set()
        flipping.result()
    assert list(outside.iterdir()) == []
    assert 0 < refused < 1000


def test_content_that_is_not_text_is_refused(of_git: Workspace) -> None:
    folder = of_git.checkout(tree=None, slot=0)
    with pytest.raises(WorkspaceError, match="The content for 'x' is not valid text"):
        of_git.write_files(folder, {"a.txt": "changed", "x": "\ud800"})
    assert contents(folder) == SOURCE
