"""Patches of single files, as agents write them."""

import subprocess
from pathlib import Path

import pytest

from adapters.workspace import DoesNotFit, Workspace, WorkspaceError
from adapters.workspace.patches import LARGEST, patched

POEM = b"one\ntwo\nthree\nfour\nfive\n"
HUNK = "@@ -1,3 +1,3 @@\n one\n-two\n+zwei\n three\n"


@pytest.mark.parametrize(
    "head",
    [
        "--- a/poem.txt\n+++ b/poem.txt\n",
        "diff --git a/poem.txt b/poem.txt\nindex 1..2 100644\n--- a/poem.txt\n+++ b/poem.txt\n",
        "--- poem.txt\t2026-01-01\n+++ poem.txt\n",
        "--- a/another/name\n+++ b/../../etc/passwd\n",
        "",
    ],
)
def test_hunks_are_applied_whatever_file_name_their_header_has(head: str) -> None:
    assert patched("poem.txt", POEM, head + HUNK) == b"one\nzwei\nthree\nfour\nfive\n"


@pytest.mark.parametrize(
    "hunk",
    [
        "@@ -1,9 +1,7 @@\n one\n-two\n+zwei\n three\n",
        "@@ -40,3 +40,3 @@\n one\n-two\n+zwei\n three",
        "@@ -2 +2 @@ def poem():\n-two\n+zwei\n\n\n",
    ],
)
def test_numbers_of_lines_may_be_wrong(hunk: str) -> None:
    assert patched("poem.txt", POEM, hunk) == b"one\nzwei\nthree\nfour\nfive\n"


def test_a_file_is_made_emptied_and_removed() -> None:
    assert patched("n", None, "--- /dev/null\n+++ b/n\n@@ -0,0 +1,2 @@\n+한\n+글\n") == "한\n글\n".encode()
    assert patched("n", b"a\n", "--- a/n\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n") is None
    assert patched("n", b"a\n", "--- a/n\n+++ b/n\n@@ -1 +0,0 @@\n-a\n") == b""


def test_line_ends_are_the_files_own() -> None:
    assert patched("dos", b"a\r\nb\r\n", "@@ -1,2 +1,2 @@\n a\r\n-b\r\n+c\r\n") == b"a\r\nc\r\n"
    assert patched("end", b"a", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n") == b"b\n"
    assert patched("sql", b"-- a/x\ny\n", "@@ -1,2 +1 @@\n--- a/x\n y\n") == b"y\n"


@pytest.mark.parametrize(
    ("before", "patch", "why"),
    [
        (POEM, "@@ -1,3 +1,3 @@\n one\n-drei\n+zwei\n three\n", "the lines that it changes are not there."),
        (POEM, "", "it has no line that begins with @@."),
        (POEM, "just words", "it has no line that begins with @@."),
        (POEM, "@@ nonsense @@\n-a\n+b\n", "."),
        (
            POEM,
            HUNK + "diff --git a/x b/x\nnew file mode 100644\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+x\n",
            "other files",
        ),
        (POEM, HUNK + "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-x\n+y\n", "."),
        (
            POEM,
            HUNK + "diff --git a/x b/x\nnew file mode 120000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+/etc\n",
            "other files",
        ),
        (None, "@@ -1 +1 @@\n-a\n+b\n", "."),
        (POEM, "@@ -1,3 +1,3 @@\n one\n-two\n+\ud800\n three\n", "it is not valid text."),
    ],
)
def test_what_does_not_apply_is_refused_with_a_reason(before: bytes | None, patch: str, why: str) -> None:
    with pytest.raises(WorkspaceError, match=rf"^The patch of 'src/poem.txt' does not apply: .*{why}"):
        patched("src/poem.txt", before, patch)


def test_nothing_but_a_file_of_the_workspace_is_read(of_git: Workspace, tmp_path: Path) -> None:
    folder = of_git.checkout(tree=None, slot=0)
    secret = tmp_path / "secret"
    secret.write_text("one\n")
    (folder / "link").symlink_to(secret)
    (folder / "big").write_bytes(b"x" * (LARGEST + 1))
    for path in ("link", "../secret", str(secret), ".git/config", "big"):
        with pytest.raises(WorkspaceError):
            of_git.read_file(folder, path)
    assert (of_git.read_file(folder, "new.txt"), of_git.read_file(folder, "no/where")) == (None, None)
    assert of_git.read_file(folder, "a.txt") == (folder / "a.txt").read_bytes()


def test_a_repository_around_the_temporary_folder_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert patched("poem.txt", POEM, HUNK) == b"one\nzwei\nthree\nfour\nfive\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == [".git"]


def test_files_that_are_given_as_none_are_removed(of_git: Workspace) -> None:
    folder = of_git.checkout(tree=None, slot=0)
    assert (folder / "a.txt").exists()
    of_git.write_files(folder, {"a.txt": None, "never/there": None, "b.bin": b"\0\1"})
    assert not (folder / "a.txt").exists()
    assert (folder / "b.bin").read_bytes() == b"\0\1"


def test_a_missing_git_is_no_fault_of_the_patch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(WorkspaceError) as raised:
        patched("poem.txt", POEM, HUNK)
    assert not isinstance(raised.value, DoesNotFit)
