"""Diffs are read line by line, whatever the lines look like."""

import time

import pytest

from api.web.session.patches import files_of
from domain.findings.line_history import LineHistory
from domain.provenance.distinction import CLEAR, FAINT, normal, weight
from domain.provenance.patches import HunkLine, PatchHunk, hunks, line_counts, names_at, names_of
from domain.provenance.path_changes import parts
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


@pytest.mark.parametrize("patch", [PATCH, COMBINED], ids=["two-states", "merge"])
def test_a_patch_that_was_cut_has_the_lines_that_are_there(patch: str) -> None:
    whole = [line for hunk in hunks(patch.split("\n")) for line in hunk.lines]
    lines = patch.split("\n")
    for end in range(len(lines)):
        found = [line for hunk in hunks(lines[:end]) for line in hunk.lines]
        assert found == whole[: len(found)]


def test_a_note_on_the_end_of_a_file_is_no_line_of_a_merge() -> None:
    marked = COMBINED.replace("- left\n", "- left\n\\ No newline at end of file\n")
    assert list(hunks(marked.split("\n"))) == list(hunks(COMBINED.split("\n")))


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


OLD_NAMES = ("a b/c d.txt", "p", "plain.py", "sp\u00e4t b/x.txt", "a/b b/a/b")
NEW_NAMES = ("a b/e f.txt", "p b/p b/p", "plain b/plain.py", 'q "b/.txt', "b/ b/")


def _quoted(name: str) -> str:
    """As git writes a name."""
    if name.isascii() and '"' not in name:
        return name
    raw = name.replace('"', '\\"').encode()
    return '"' + "".join(chr(byte) if byte < 128 else f"\\{byte:o}" for byte in raw) + '"'


def _ended(name: str) -> str:
    return f"{_quoted(name)}\t" if " " in name else _quoted(name)


def _of_two(old: str, new: str, head: str) -> list[str]:
    return [f"diff --git {_quoted('a/' + old)} {_quoted('b/' + new)}", *head.split("\n")[:-1]]


@pytest.mark.parametrize("old", OLD_NAMES)
@pytest.mark.parametrize("new", NEW_NAMES)
def test_the_lines_above_the_hunks_say_the_names_of_a_file_better_than_the_first_one(old: str, new: str) -> None:
    modes = "old mode 100644\nnew mode 100755\nsimilarity index 90%\n"
    renamed = f"{modes}rename from {_quoted(old)}\nrename to {_quoted(new)}\n"
    copied = f"similarity index 90%\ncopy from {_quoted(old)}\ncopy to {_quoted(new)}\n"
    named = f"--- {_ended('a/' + old)}\n+++ {_ended('b/' + new)}\n"
    hunk = ["@@ -1 +1 @@", "--- a/evil.py", "+++ b/evil.py"]
    for head in (renamed, copied, named, f"{renamed}index 1..2 100755\n{named}"):
        lines = [*_of_two(old, new, head), *(hunk if named in head else [])]
        patch = "\n".join([*lines, "diff --git a/z b/z", "old mode 100644", "new mode 100755"])
        assert names_at(lines, 0) == (old, new)
        assert [(file.before, file.path) for file in files_of(patch)] == [(old, new), ("z", "z")]
        assert {part.hunk.path for part in parts(patch.split("\n"))} == {new, "z"}
        assert set(line_counts(patch)) == {new, "z"}
        assert LineHistory().apply(patch, 1).renamed == {old: new}


@pytest.mark.parametrize("name", [*OLD_NAMES, *NEW_NAMES])
@pytest.mark.parametrize(
    "head",
    [
        "old mode 100644\nnew mode 100755\n",
        "new file mode 100644\nindex 0..1\n",
        "index 1..2 100644\nBinary files differ\n",
        "new file mode 100644\n--- /dev/null\n+++ {new}\n@@ -0,0 +1 @@\n+a\n",
        "deleted file mode 100644\n--- {old}\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
    ],
)
def test_a_file_that_is_not_renamed_has_its_one_name_whatever_is_said_of_it(name: str, head: str) -> None:
    lines = _of_two(name, name, head.format(old=_ended("a/" + name), new=_ended("b/" + name)))
    assert names_at(lines, 0) == (name, name)
    assert set(line_counts("\n".join(lines))) == {name}
    assert {part.hunk.path for part in parts(lines)} == {name}
