"""The table of benchmarks in the documentation is written from a run."""

import pytest

from tests.benchmarks.__main__ import BEGIN, END, PAGE, measured, updated

REPORT = """<testsuites><testsuite>
<testcase classname="tests.benchmarks.test_speed" name="test_one"><properties>
<property name="measured" value="one: 3 ms | 2.0"/><property name="measured" value="more"/></properties></testcase>
<testcase classname="tests.benchmarks.test_speed" name="test_two"><failure>too slow</failure></testcase>
<testcase classname="tests.benchmarks.test_speed" name="test_silent"/>
</testsuite></testsuites>"""


def test_a_report_becomes_rows() -> None:
    assert measured(REPORT) == {
        "test_speed::test_one": "one: 3 ms \\| 2.0<br>more",
        "test_speed::test_two": "**failed**",
    }


def test_rows_replace_those_of_the_same_benchmarks_and_leave_the_others() -> None:
    page = updated(f"# Benchmarks\n\n{BEGIN}\n{END}\n\nMore.\n", {"a": "1", "b": "2"}, "monday")
    again = updated(page, {"b": "3"}, "tuesday")
    assert "| `a` | 1 | monday |\n| `b` | 3 | tuesday |\n" in again
    assert again.startswith("# Benchmarks\n\n") and again.endswith("\n\nMore.\n")


def test_a_page_without_a_place_for_the_table_is_left_alone() -> None:
    with pytest.raises(ValueError, match="has no lines"):
        updated("# Benchmarks\n", {"a": "1"}, "monday")


def test_the_documentation_has_the_place() -> None:
    assert BEGIN in PAGE.read_text("utf-8") and END in PAGE.read_text("utf-8")
