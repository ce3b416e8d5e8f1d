"""What a reviewer or a judge reads first: all changed files, and whether validation still means anything."""

import json

import pytest

from adapters.turns.question.shown_changes import LISTED, JudgedFiles, changed_lines, diff_of
from domain.session.workspace import ChangedFile


def changed(*paths: str) -> tuple[ChangedFile, ...]:
    return tuple(ChangedFile(path=path, status="modified", added=1, removed=2) for path in paths)


@pytest.mark.parametrize(
    "path",
    [
        *("Makefile", "web/package.json", "pyproject.toml", "pytest.ini", "tox.ini", "tests/conftest.py", "setup.cfg"),
        *("vitest.config.ts", ".github/workflows/ci.yml", ".gitlab-ci.yml", "tests/test_shop.py", "shop.test.js"),
        *("check.sh", "tools/check.sh", "unittest.py", "suite/all.py", ".mocharc.json", "hansard.toml"),
    ],
)
def test_tests_settings_and_what_the_commands_name_decide_what_validation_checks(path: str) -> None:
    files = JudgedFiles.of(
        changed("shop.py", path), ["sh ./check.sh --fast", "python -m unittest", "python -m suite.all"]
    )
    assert [file.path for file in (*files.deciding, *files.tests)] == [path]
    assert [file.path for file in files.code] == ["shop.py"]


@pytest.mark.parametrize("path", ["shop.py", "docs/guide.md", "src/config.py", "contest.py", "latest/a.js", "sh.md"])
def test_other_files_do_not(path: str) -> None:
    files = JudgedFiles.of(changed(path), ["sh ./check.sh", "make -C . test", "python -m unittest discover -s src"])
    assert [file.path for file in (*files.code, *files.others)] == [path]


def test_a_file_that_was_a_test_decides_too() -> None:
    moved = ChangedFile(path="old.txt", status="renamed", added=0, removed=0, renamed_from="tests/test_shop.py")
    assert (
        JudgedFiles.of([moved], [])
        .listing()
        .endswith('- "old.txt" (renamed from "tests/test_shop.py", +0 -0) [validation]')
    )


def test_the_listing_says_what_decides_and_counts_what_it_leaves_out() -> None:
    many = changed(*(f"a/{number:04}.py" for number in range(LISTED + 1_000)))
    binary = ChangedFile(path="logo.png", status="added")
    listing = JudgedFiles.of([binary, *many, *changed("tox.ini")], []).listing().splitlines()
    assert listing[0] == "All files that differ from the start, with the lines added and removed."
    assert "if one was weakened, a passing validation proves nothing" in listing[1]
    assert listing[3:6] == [
        '- "tox.ini" (modified, +1 -2) [validation]',
        '- "a/0000.py" (modified, +1 -2)',
        '- "a/0001.py" (modified, +1 -2)',
    ]
    assert listing[-1] == "- and 1,002 more"
    assert len(listing) == 3 + LISTED + 1


def test_a_listing_without_such_files_has_no_warning() -> None:
    assert "[validation]" not in JudgedFiles.of(changed("shop.py"), []).listing()


def test_what_decides_comes_first_then_code_tests_and_the_rest() -> None:
    paths = ("docs/a.md", "tests/test_a.py", "src/z.py", "conftest.py", "data.json", "lib/checks.sh", "src/a.py")
    files = JudgedFiles.of(changed(*paths), ["sh check.sh"], read=["lib/checks.sh"])
    assert [file.path for file in files.in_order] == [
        *("conftest.py", "lib/checks.sh"),
        *("src/z.py", "src/a.py"),
        *("tests/test_a.py",),
        *("docs/a.md", "data.json"),
    ]


@pytest.mark.parametrize(
    "path",
    [
        *("CLAUDE.md", "sub/AGENTS.md", "GEMINI.md", ".claude/settings.json", ".codex/config.toml", ".mcp.json"),
        *(
            "opencode.json",
            ".qwen/settings.json",
            ".cursor/rules/a.mdc",
            ".github/copilot-instructions.md",
            "claude.MD",
        ),
    ],
)
def test_what_agent_programs_obey_is_among_what_decides(path: str) -> None:
    assert JudgedFiles.of(changed(path, "shop.py"), []).deciding == changed(path)


def test_what_takes_the_place_of_a_folder_decides() -> None:
    link = ChangedFile(path="checks", status="added", added=1, removed=0)
    gone = ChangedFile(path="checks/a.sh", status="deleted", added=0, removed=3)
    assert [file.path for file in JudgedFiles.of([link, gone], []).deciding] == ["checks"]


@pytest.mark.parametrize(
    "name",
    [
        "a\n- b.py (added, +1 -0)",
        "a.py (modified, +1 -0) [validation]",
        'a" (added)',
        "a\u202eyp.b",
        "a\u200bb",
        "a\x1b[2K",
    ],
)
def test_a_name_ends_where_its_quotes_end(name: str) -> None:
    line = JudgedFiles.of(changed(name), []).listing().splitlines()[-1]
    shown = line.removeprefix("- ").removesuffix(" (modified, +1 -2)")
    assert json.loads(shown) == name
    assert all(character.isprintable() for character in line)


NAMED = """diff --git "a/{name}" "b/{name}"
new file mode 100644
--- /dev/null
+++ "b/{name}"
@@ -0,0 +1,2 @@
+{line}
+two
diff --git a/next.py b/next.py
"""


@pytest.mark.parametrize("character", ["\u202e", "\u2066", "\u200b", "\u2028", "\u0085", "\ufeff", "\U000e0041"])
def test_the_diff_names_files_without_characters_that_a_reader_does_not_see(character: str) -> None:
    name, line = f"a{character}yp.b", f"one {character}-two"
    shown = diff_of(NAMED.format(name=name, line=line))
    number = ord(character)
    spelt = f"a\\u{number:04x}yp.b" if number < 0x10000 else f"a\\U{number:08x}yp.b"
    assert shown == NAMED.format(name=spelt, line=line)


def test_a_diff_keeps_names_that_can_be_read() -> None:
    patch = NAMED.format(name="한글 é.py\t", line="-- not a header")
    assert diff_of(patch) == patch


@pytest.mark.parametrize("line", ["a\u2028-b", "a\x0b+b", "a\x0c+b", "a\x85+b", "a\r+b", "@@ -1 +1 @@", "--- a/x"])
def test_what_looks_like_the_end_of_a_line_adds_no_line_to_those_that_were_seen(line: str) -> None:
    assert changed_lines(NAMED.format(name="a.py", line=line)) == 2
