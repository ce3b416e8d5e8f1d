"""Words below the lines of a diff: each is about the line above it, and never about another one."""

import pytest

from api.cli.editor import EditedWords, RemarkPlace, quoted, remarks_in, unquoted
from api.cli.exits import Failed

PATCH = """diff --git a/shop.py b/shop.py
index 1..2 100644
--- a/shop.py
+++ b/shop.py
@@ -1,3 +1,3 @@
 def total(prices):
-    return sum(prices)
+    return round(sum(prices), 2)
 }
@@ -9,2 +9,3 @@
 }
+-- a/shop.py
 }
diff --git a/notes.txt b/notes.txt
new file mode 100644
--- /dev/null
+++ b/notes.txt
@@ -0,0 +1 @@
+> one
"""
SHOWN = quoted(PATCH)


def put(words: str, *, below: str) -> str:
    """The text with words below the line that ends so."""
    lines = SHOWN.split("\n")
    place = next(number for number, line in enumerate(lines) if line.endswith(below))
    return "\n".join([*lines[: place + 1], words, *lines[place + 1 :]])


@pytest.mark.parametrize(
    ("below", "place"),
    [
        ("round(sum(prices), 2)", RemarkPlace("shop.py", 2)),
        ("|    return sum(prices)", RemarkPlace("shop.py", 2, "old")),
        ("+|-- a/shop.py", RemarkPlace("shop.py", 10)),
        ("|> one", RemarkPlace("notes.txt", 1)),
        ("=== notes.txt", RemarkPlace("notes.txt")),
    ],
)
def test_words_are_about_the_line_above_them(below: str, place: RemarkPlace) -> None:
    assert remarks_in(put("Why?\n\nReally.", below=below), SHOWN) == [EditedWords(place, "Why?\n\nReally.")]


def test_words_above_everything_are_about_the_whole() -> None:
    assert remarks_in(f"Good.\n\n{SHOWN}", SHOWN) == [EditedWords(RemarkPlace(), "Good.")]


def test_several_remarks_keep_their_order() -> None:
    text = put("First.", below="def total(prices):").replace("> === notes.txt", "> === notes.txt\nSecond.")
    assert [each.text for each in remarks_in(text, SHOWN)] == ["First.", "Second."]


def test_lines_may_be_deleted_as_in_a_mail() -> None:
    text = "> === shop.py\n" + next(line for line in SHOWN.split("\n") if line.endswith("-- a/shop.py")) + "\nWhy?\n"
    assert remarks_in(text, SHOWN) == [EditedWords(RemarkPlace("shop.py", 10), "Why?")]


@pytest.mark.parametrize(
    "text", ["> === notes.txt\n>     2 +|    return round(sum(prices), 2)\nWhy?", ">     1 +|> one\nWhy?"]
)
def test_a_line_whose_file_is_gone_is_refused(text: str) -> None:
    with pytest.raises(Failed):
        remarks_in(text, SHOWN)


@pytest.mark.parametrize("text", ["", "\n\n", SHOWN, f"\n{SHOWN}\n  \n"])
def test_an_empty_text_says_nothing(text: str) -> None:
    assert remarks_in(text, SHOWN) == []
    assert unquoted(text) == ""


def test_one_file_can_be_shown_alone() -> None:
    assert quoted(PATCH, only="notes.txt").split("\n")[0] == "> === notes.txt"
