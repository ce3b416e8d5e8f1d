"""Diffs are read line by line, whatever the lines look like."""

import time

import pytest

from domain.provenance.distinction import CLEAR, FAINT, normal, weight
from domain.provenance.patches import HunkLine, PatchHunk, hunks, line_counts, names_of
from domain.provenance.work import TurnWork

PATCH = """diff --git a/a.txt b/a.txt
--- a/a.txt
+++ b/a.txt
@@ -1,3 +1,3 @@ def f():
 one
--- gone
+++ here
 three
@@ -9 +9,0 @@
-nine
\\ No newline at end of file
diff --git "a/sp\\303\\244t \\"x\\".txt" "b/sp\\303\\244t \\"x\\".txt"
--- /dev/null
+++ "b/sp\\303\\244t \\"x\\".txt"
@@ -0,0 +1 @@
+new
diff --git a/old.txt b/old.txt
--- a/old.txt
+++ /dev/null
@@ -1 +0,0 @@
-old
"""
COMBINED = """diff --cc a.txt
--- a/a.txt
+++ b/a.txt
@@@ -1,2 -1,2 +1,3 @@@
  same
- left
 -right
++both
+ ours
"""


def test_lines_that_look_like_heads_are_lines() -> None:
    first, second, third, fourth = hunks(PATCH.split("\n"))
    assert first == PatchHunk(
        "a.txt",
        (
            HunkLine(" ", "one", 1, 1),
            HunkLine("-", "-- gone", 0, 2),
            HunkLine("+", "++ here", 2),
            HunkLine(" ", "three", 3, 3),
        ),
    )
    assert (second.path, second.lines) == ("a.txt", (HunkLine("-", "nine", 0, 9),))
    assert (third.path, third.lines) == ('spät "x".txt', (HunkLine("+", "new", 1),))
    assert (fourth.path, fourth.lines) == ("old.txt", (HunkLine("-", "old", 0, 1),))


def test_a_merge_adds_only_what_no_parent_has() -> None:
    [result] = hunks(COMBINED.split("\n"))
    assert [line.sign + line.text for line in result.lines] == [" same", "-left", "-right", "+both", " ours"]
    assert [line.number for line in result.lines] == [1, 0, 0, 2, 3]


def test_common_words_and_imports_attribute_nothing() -> None:
    faint = ["}", "", "    return None", "import os", "from typing import Any", "else:", "#include <stdio.h>"]
    assert all(weight(line) < FAINT for line in faint)
    assert weight("return total(prices) / len(prices)") >= CLEAR
    assert weight("합") >= CLEAR
    assert normal("  a = \tb ") == "a=b"


def test_lines_that_a_patch_removes_and_adds_again_are_moved() -> None:
    patch = "--- a/a\n+++ b/a\n@@ -1,2 +1,3 @@\n-total = 1\n+  total = 1\n }\n+}\n"
    work = TurnWork("s", "s.t1", patch)
    assert work.moved == {"total=1"} and dict(work.added) == {"}": 1}


def _work(hunks: int) -> TurnWork:
    """A turn that changed every other line of a file, always to the same text."""
    lines = [f"@@ -{2 * n} +{2 * n} @@\n-before {n}\n+after" for n in range(1, hunks + 1)]
    return TurnWork("s", "t", "\n".join(["--- a/long.py", "+++ b/long.py", *lines, ""]))


def test_the_hunk_of_a_line_is_the_one_at_its_place() -> None:
    work = _work(3)
    assert [work.hunk_of("after", "long.py", number) for number in (2, 4, 6)] == [*work.hunks]
    assert work.hunk_of("  after", "moved.py", 4) == work.hunks[0]
    assert work.hunk_of("before 1", "long.py", 2) is None


@pytest.mark.alone
def test_the_hunks_of_a_long_patch_are_found_in_time() -> None:
    """Ten times as many lines take ten times as long, not a hundred times."""

    def seconds(hunks: int) -> float:
        work = _work(hunks)
        began = time.process_time()
        assert all(work.hunk_of("after", "long.py", 2 * number) for number in range(1, hunks + 1))
        return time.process_time() - began

    assert seconds(10_000) < 40 * min(seconds(1_000) for _ in range(5))


def test_lines_are_counted_whatever_they_contain() -> None:
    patch = """diff --git a/notes.diff b/notes.diff
new file mode 100644
--- /dev/null
+++ b/notes.diff
@@ -0,0 +1,4 @@
+diff --git a/x b/x
+++ b/evil.py
+one\x0cdiff --git a/y b/y\x0c-two
+\u2028-three\r
diff --git a/data.bin b/data.bin
index 1..2 100644
GIT binary patch
literal 3
Kc${NkU|<0Nj{*P%5dZ)H

diff --git a/run.sh b/run.sh
old mode 100644
new mode 100755
"""
    assert line_counts(patch) == {"notes.diff": (4, 0), "data.bin": None, "run.sh": (0, 0)}
    assert line_counts(PATCH) == {"a.txt": (1, 2), 'sp\u00e4t "x".txt': (1, 0), "old.txt": (0, 1)}


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("diff --git a/old.py b/new.py", ("old.py", "new.py")),
        ("diff --git a/a b/c b/a b/c", ("a b/c", "a b/c")),
        (r'diff --git "a/sp\303\244t.txt" "b/sp\303\244t.txt"', ("sp\u00e4t.txt", "sp\u00e4t.txt")),
        (r'diff --git a/plain.txt "b/\"q\".txt"', ("plain.txt", '"q".txt')),
        ("+diff --git a/x b/x", None),
        ("diff --cc a.txt", None),
    ],
)
def test_names_of_a_file_are_read_from_the_first_line_of_its_part(line: str, names: tuple[str, str] | None) -> None:
    assert names_of(line) == names
