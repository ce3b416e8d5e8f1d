"""The changes tab: several turns combined, changed words, and the origin of each line."""

import itertools
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from api.web.session.diffing import changed_words, code
from api.web.session.patches import FilePatch, PatchLine, as_one, files_of, net
from tests.api.scenes import two_iterations
from tests.api.seen import review
from tests.api.server import Server, delivery, ended, serving, start
from tests.api.test_session_page import panel, words_of

BASE = "".join(f"line {number}\n" for number in range(1, 41))


def states(*texts: str | None) -> list[tuple[int, str]]:
    """The patches between the states of one file, numbered from 1; None: there is no file."""
    return [(number, _patch(old, new)) for number, (old, new) in enumerate(itertools.pairwise(texts), start=1)]


def _patch(old: str | None, new: str | None) -> str:
    with tempfile.TemporaryDirectory() as folder:
        names = []
        for side, text in (("a", old), ("b", new)):
            (Path(folder) / side).mkdir()
            if text is not None:
                (Path(folder) / side / "f.py").write_text(text)
            names.append(f"{side}/f.py" if text is not None else "/dev/null")
        command = ["git", "diff", "--no-index", "--no-prefix", *names]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout


def composed(*texts: str | None) -> list[PatchLine]:
    [file] = net((number, files_of(_named(patch))) for number, patch in states(*texts)) or [None]
    assert file is None or file.composed
    return file.lines if file else []


def _named(patch: str) -> str:
    return re.sub(r"^diff --git .*", "diff --git a/f.py b/f.py", patch)


def as_text(lines: list[PatchLine]) -> list[str]:
    """`+42 words (2)`: the sign, the line's number, its text and the turn."""
    signs = {"added": "+", "removed": "-"}
    return [
        f"{signs[line.kind]}{line.new or line.old} {line.words} ({line.by})" for line in lines if line.kind in signs
    ]


def test_a_file_with_a_quoted_name_is_a_file_of_its_own() -> None:
    quoted = r'"b/tab\tx.txt"'
    patch = f"""diff --git a/a.txt b/a.txt
--- a/a.txt
+++ b/a.txt
@@ -1 +1 @@
-old
+new
diff --git "a/tab\\tx.txt" {quoted}
--- /dev/null
+++ {quoted}
@@ -0,0 +1 @@
+here
"""
    assert [(file.path, len(file.lines)) for file in files_of(patch)] == [("a.txt", 3), ("tab\tx.txt", 2)]


def test_a_line_belongs_to_the_turn_that_wrote_it_last() -> None:
    second = BASE.replace("line 3\n", "three\n").replace("line 30\n", "")
    third = second.replace("three\n", "THREE\nand a half\n").replace("line 20\n", "twenty\n")
    lines = composed(BASE, second, third)
    assert as_text(lines) == [
        "-3 line 3 (1)",
        "+3 THREE (2)",
        "+4 and a half (2)",
        "-20 line 20 (2)",
        "+21 twenty (2)",
        "-30 line 30 (1)",
    ]
    same = {(line.old, line.new) for line in lines if line.kind == "same"}
    assert {(2, 2), (4, 5), (19, 20), (21, 22), (29, 30), (31, 31)} <= same
    assert [line.kind for line in lines].count("place") == 3


def _turn(*files: tuple[str, str | None, str | None]) -> list[FilePatch]:
    """What a turn recorded: of each path, the text before and after."""
    patches = []
    for path, old, new in sorted(files):
        text = re.sub(r"(?m)^(--- a|\+\+\+ b)/f.py$", rf"\1/{path}", _patch(old, new))
        patches += files_of(re.sub(r"^diff --git .*", f"diff --git a/{path} b/{path}", text))
    return patches


CODE = "".join(f"def step_{number}():\n    return {number}\n\n" for number in range(1, 41))
EDITED = CODE.replace("return 4\n", "return four\n").replace("return 14\n", "return fourteen\n")


@pytest.mark.parametrize("names", [("old.py", "new dir/new.py", "lib/final name.py"), ("a.py", "b.py", "a b/c.py")])
def test_lines_keep_their_turn_where_their_file_is_renamed_again(names: tuple[str, str, str]) -> None:
    first, second, third = names
    final = "import a\nimport b\nimport c\n" + EDITED.replace("return 20\n", "return twenty\n")
    final = final.replace("def step_30():\n    return 30\n\n", "")
    renamed = _turn((first, CODE, None), (second, None, EDITED))
    longer = EDITED.replace("return 25\n", "return 5 * 5\n")
    edited = _turn((second, EDITED, longer))
    again = _turn((second, longer, None), (third, None, final.replace("return 25\n", "return 5 * 5\n")))
    made = {file.path: file for file in net([(2, renamed), (3, edited), (6, again)])}
    assert made.keys() == {first, third}
    lines = as_text(as_one(made[first].lines, made[third].lines))
    turns = {(text.split(" ", 1)[1].rpartition(" (")[0].strip(), text[0]): text[-2] for text in lines}
    del turns["", "-"]  # which of the blank lines around a block went nobody can say
    assert turns == {
        ("import a", "+"): "6",
        ("import b", "+"): "6",
        ("import c", "+"): "6",
        ("return 4", "-"): "2",
        ("return four", "+"): "2",
        ("return 14", "-"): "2",
        ("return fourteen", "+"): "2",
        ("return 25", "-"): "3",
        ("return 5 * 5", "+"): "3",
        ("return 20", "-"): "6",
        ("return twenty", "+"): "6",
        ("def step_30():", "-"): "6",
        ("return 30", "-"): "6",
    }


def test_a_new_file_that_is_unlike_the_one_that_went_belongs_to_its_turn() -> None:
    other = "".join(f"value_{number} = {number}\n" for number in range(60)) + "def step_1():\n    return 1\n"
    turns = [(1, _turn(("a.py", None, CODE))), (2, _turn(("a.py", CODE, None), ("b.py", None, other)))]
    [file] = net(turns)
    assert {line.by for line in file.lines if line.kind == "added"} == {2}


def test_a_file_that_was_made_and_renamed_belongs_to_the_turn_that_made_it() -> None:
    turns = [(1, _turn(("a.py", None, CODE))), (2, _turn(("a.py", CODE, None), ("b.py", None, EDITED)))]
    [file] = net(turns)
    assert {line.words.strip() for line in file.lines if line.by == 2} == {"return four", "return fourteen"}


def test_reverted_changes_are_not_shown() -> None:
    assert composed(BASE, BASE.replace("line 3\n", "three\n"), BASE) == []
    assert composed(None, "a\n", None) == []


def test_a_file_that_is_made_and_changed_is_one_new_file() -> None:
    assert as_text(composed(None, "a\nb\n", "a\nB\nc\n")) == ["+1 a (1)", "+2 B (2)", "+3 c (2)"]


def test_patches_that_do_not_fit_are_shown_one_after_the_other() -> None:
    made = [files_of(_named(_patch(old, f"{old}more\n"))) for old in ("a\n", "quite another\n")]
    [file] = net(enumerate(made, start=1))
    assert not file.composed
    assert as_text(file.lines) == ["+2 more (1)", "+2 more (2)"]


def test_the_words_that_changed_are_marked() -> None:
    lines = [PatchLine("removed", 1, None, "total = sum(prices)"), PatchLine("added", None, 1, "total = max(prices)")]
    assert changed_words(lines) == {id(lines[0]): [(8, 11)], id(lines[1]): [(8, 11)]}
    assert code(lines, "a.py")[1] == "total = <mark>max</mark>(prices)"
    apart = [PatchLine("removed", 1, None, "alpha beta"), PatchLine("added", None, 1, "one/two")]
    assert changed_words(apart) == {}


def test_keywords_are_bold_and_comments_soft_and_nothing_in_strings() -> None:
    [html] = code([PatchLine("same", 1, 1, 'return "if <b>"  # why')], "a.py")
    assert html == '<b>return</b> &#34;if &lt;b&gt;&#34;  <span class="small"># why</span>'
    assert code([PatchLine("same", 1, 1, "return 1")], "a.txt") == ["return 1"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("changes")) as result:
        yield result


def test_line_shows_its_finding_validation_and_approval(server: Server) -> None:
    replies = {
        "dev": [{"text": "One.", "files": {"a.py": "x = 1\n"}}, {"text": "Two.", "files": {"a.py": "x = 2\n"}}],
        "reviewer": [review("No rate limit"), review()],
    }
    session_id = start(server.client, delivery(replies, filePaths=["src/"]))
    ended(server.client, session_id)
    html = panel(server.client, session_id, "changes")
    text = words_of(html)
    assert "written by dev, T" in text
    assert "because of “No rate limit” event" in text
    assert "validated ✓ PASS event" in text and "approved ✓ reviewer event" in text
    assert "not named" in text
    assert f"hansard apply {session_id}" in text and "hansard merge" not in text, "without a branch nothing is merged"
    early = panel(server.client, session_id, "changes", at=30)
    assert "approved by no one yet" in words_of(early) or "No files changed" in words_of(early)


def test_one_file_can_be_looked_at_alone(server: Server) -> None:
    session_id = two_iterations(server.client)
    assert 'id="file-1"' in panel(server.client, session_id, "changes", file="src/login.py")
    assert 'id="file-1"' not in panel(server.client, session_id, "changes", file="other.py")
