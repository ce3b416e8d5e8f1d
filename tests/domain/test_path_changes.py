"""What a patch says of a path beside its lines."""

from functools import reduce

from domain.provenance.path_changes import PathEffect, PathNote, parts

PATCH = """diff --git a/a.bin b/a.bin
index 1111111..2222222 100644
Binary files a/a.bin and b/a.bin differ
diff --git a/b.py b/b.py
old mode 100644
new mode 100755
index 3333333..4444444
--- a/b.py
+++ b/b.py
@@ -1 +1 @@
-old mode 100644
+new
diff --git a/old name b/new name
similarity index 100%
rename from old name
rename to new name
diff --git a/module b/module
index 5555555..6666666 160000
--- a/module
+++ b/module
@@ -1 +1 @@
-Subproject commit 5555555
+Subproject commit 6666666
diff --git a/gone b/gone
deleted file mode 100644
index e69de29..0000000
"""


def test_each_path_is_there_with_its_hunks_or_without() -> None:
    assert [(part.hunk.path, len(part.hunk.lines), part.notes) for part in parts(PATCH.split("\n"))] == [
        ("a.bin", 0, (PathNote("binary"),)),
        ("b.py", 0, (PathNote("mode", "100644", "100755"),)),
        ("b.py", 2, ()),
        ("new name", 0, (PathNote("renamed", "old name"),)),
        ("module", 2, ()),
        ("gone", 0, (PathNote("empty"), PathNote("deleted"))),
    ]


def heads(*lines: str) -> PathEffect:
    return reduce(PathEffect.with_head, lines, PathEffect())


def test_changes_that_take_each_other_back_are_nothing() -> None:
    there, back = heads("old mode 100644", "new mode 100755"), heads("old mode 100755", "new mode 100644")
    assert not there.changes_nothing and there.then(back).changes_nothing
    made = heads("new file mode 100644", "index 0000000..1111111", "Binary files differ")
    gone = heads("deleted file mode 100644", "index 1111111..0000000", "Binary files differ")
    assert made.then(gone).changes_nothing
    assert gone.then(made).changes_nothing, "it is there as before"
    other = heads("index 1111111..2222222 100644", "Binary files differ")
    assert made.then(other).notes(lines=False) == (PathNote("binary"), PathNote("added"))
