"""What a reviewer or a judge reads first: all changed files, and whether validation still means anything."""

import pytest

from adapters.turns.question.shown_changes import LISTED, JudgedFiles
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
    assert [file.path for file in files.deciding] == [path]
    assert [file.path for file in files.others] == ["shop.py"]


@pytest.mark.parametrize("path", ["shop.py", "docs/guide.md", "src/config.py", "contest.py", "latest/a.js", "sh.md"])
def test_other_files_do_not(path: str) -> None:
    assert JudgedFiles.of(
        changed(path), ["sh ./check.sh", "make -C . test", "python -m unittest discover -s src"]
    ).others


def test_a_file_that_was_a_test_decides_too() -> None:
    moved = ChangedFile(path="old.txt", status="renamed", added=0, removed=0, renamed_from="tests/test_shop.py")
    assert (
        JudgedFiles.of([moved], [])
        .listing()
        .endswith("- old.txt (renamed from tests/test_shop.py, +0 -0) [validation]")
    )


def test_the_listing_says_what_decides_and_counts_what_it_leaves_out() -> None:
    many = changed(*(f"a/{number:04}.py" for number in range(LISTED + 1_000)))
    binary = ChangedFile(path="logo.png", status="added")
    listing = JudgedFiles.of([binary, *many, *changed("tox.ini")], []).listing().splitlines()
    assert listing[0] == "All files that differ from the start, with the lines added and removed."
    assert "if one was weakened, a passing validation proves nothing" in listing[1]
    assert listing[3:6] == [
        "- tox.ini (modified, +1 -2) [validation]",
        "- logo.png (added, binary: not in the diff)",
        "- a/0000.py (modified, +1 -2)",
    ]
    assert listing[-1] == "- and 1,002 more"
    assert len(listing) == 3 + LISTED + 1


def test_a_listing_without_such_files_has_no_warning() -> None:
    assert "[validation]" not in JudgedFiles.of(changed("shop.py"), []).listing()


def test_a_name_is_one_line() -> None:
    assert JudgedFiles.of(changed("a\n- b.py (added, +1 -0)"), []).listing().count("\n") == 2
