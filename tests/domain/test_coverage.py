"""Coverage reports of the code that is validated: read strictly, and never believed to be well formed."""

import json
import random

import pytest

from domain.delivery.coverage import (
    LAST_LINE,
    MOST_RANGES,
    NotRun,
    ReportNames,
    WorkCoverage,
    measured,
    of_work,
    together,
)
from domain.provenance.patches import HunkLine, PatchHunk
from domain.values.json import Malformed

NAMES = ReportNames(tops=("/tmp/tree-1",), folders=("app", "."))


def report(**files: tuple[list[int], list[int]]) -> bytes:
    entries = {
        f"{name}.py": {"executed_lines": run, "missing_lines": missed, "summary": {"percent_covered": 50.0}}
        for name, (run, missed) in files.items()
    }
    return json.dumps({"meta": {"format": 3, "version": "7.6.1"}, "files": entries, "totals": {}}).encode()


def added(path: str, *numbers: int) -> PatchHunk:
    return PatchHunk(path, tuple(HunkLine("+", f"line {number}", number) for number in numbers))


def lines_of(coverage: WorkCoverage) -> dict[str, list[tuple[int, int]]]:
    return {part.path: [(each.first, each.last) for each in part.lines] for part in coverage.not_run}


def test_of_coverage_py_only_added_lines_that_it_calls_missing_have_not_run() -> None:
    coverage = of_work(
        measured(report(cart=([1, 2, 9], [3, 4, 5, 20]))), NAMES, [added("cart.py", 2, 3, 4, 7, 20)], "c.json"
    )
    assert lines_of(coverage) == {"cart.py": [(3, 4), (20, 20)]}


LCOV = """TN:
SF:src/cart.js
FN:1,total
FNDA:0,total
DA:1,1
DA:2,0
DA:3,0,k3J2
LF:3
LH:1
end_of_record
SF:/tmp/tree-1/src/tax.js
DA:7,0
end_of_record
"""


@pytest.mark.parametrize("text", [LCOV, LCOV.replace("\n", "\r\n"), "# by hand\n" + LCOV.replace("src/", "./src/", 1)])
def test_of_lcov_too_and_names_may_be_absolute(text: str) -> None:
    coverage = of_work(measured(text.encode()), NAMES, [added("src/cart.js", 1, 2, 3), added("src/tax.js", 7)], "l")
    assert lines_of(coverage) == {"src/cart.js": [(2, 3)], "src/tax.js": [(7, 7)]}


def test_what_one_part_of_the_report_calls_run_has_run() -> None:
    text = "SF:a.js\nDA:1,0\nDA:2,0\nend_of_record\nSF:a.js\nDA:2,5\nend_of_record\n"
    assert measured(text.encode())["a.js"].missed == {1}


def test_relative_names_begin_where_the_commands_ran_or_at_the_top() -> None:
    coverage = of_work(measured(report(cart=([], [1]))), NAMES, [added("app/cart.py", 1)], "c.json")
    assert lines_of(coverage) == {"app/cart.py": [(1, 1)]}


def test_a_file_of_the_same_kind_that_the_report_does_not_have_has_not_run() -> None:
    hunks = [added("new.py", 1, 2), added("tests/test_new.py", 1), added("README.md", 1)]
    [part] = of_work(measured(report(cart=([1], []))), NAMES, hunks, "c.json").not_run
    assert (part.path, part.in_report, len(part.lines)) == ("new.py", False, 1)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b" \n",
        b"{",
        b"[]",
        b"{}",
        b'{"files": []}',
        b'{"files": {}}',
        b'{"files": {"a.py": 3}}',
        b'{"files": {"a.py": {"executed_lines": [1]}}}',
        b'{"files": {"a.py": {"executed_lines": [1], "missing_lines": [true]}}}',
        b'{"files": {"a.py": {"executed_lines": [1], "missing_lines": [-1]}}}',
        b'{"files": {"a.py": {"executed_lines": [1.5], "missing_lines": []}}}',
        b'{"files": {"a.py": {"executed_lines": "12", "missing_lines": []}}}',
        b'{"files": {"a.py": {"executed_lines": [], "missing_lines": [%d]}}}' % (LAST_LINE + 1),
        b'{"files": {"a.py": {"executed_lines": [], "missing_lines": [1]}, "a.py": {}}}',
        b'{"files": ' + b"[" * 100_000,
        b"\xff\xfe",
        b"SF:a.js\nDA:1,0\n",
        b"SF:\nDA:1,0\nend_of_record\n",
        b"DA:1,0\n",
        b"SF:a.js\nDA:0,1\nend_of_record\n",
        b"SF:a.js\nDA:1\nend_of_record\n",
        b"SF:a.js\nDA:1,-1\nend_of_record\n",
        b"SF:a.js\nSF:b.js\nend_of_record\n",
        b"end_of_record\n",
        b"<coverage/>\n",
        b"TN:\n",
    ],
)
def test_anything_else_is_refused_with_a_sentence(raw: bytes) -> None:
    with pytest.raises(Malformed) as caught:
        measured(raw)
    assert str(caught.value)


@pytest.mark.parametrize("seed", range(20))
def test_damaged_reports_are_read_or_refused_and_nothing_else(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - no secret
    for text in (report(cart=([1, 2], [3]), tax=([], [1])), LCOV.encode()):
        for _ in range(40):
            raw = bytearray(text)
            for _ in range(chance.randint(1, 3)):
                raw[chance.randrange(len(raw))] = chance.randrange(256)
            try:
                coverage = of_work(measured(bytes(raw)), NAMES, [added("cart.py", *range(1, 9))], "c")
            except Malformed:
                continue
            assert all(1 <= each.first <= each.last <= 8 for part in coverage.not_run for each in part.lines)


def test_names_that_lead_elsewhere_are_nobodys() -> None:
    raw = b"SF:../../etc/passwd\nDA:1,0\nend_of_record\nSF:/etc/passwd\nDA:1,0\nend_of_record\n"
    assert of_work(measured(raw), NAMES, [added("etc/passwd", 1)], "l").not_run == ()


def test_only_so_many_ranges_are_kept_and_it_is_said() -> None:
    numbers = list(range(1, 2 * MOST_RANGES + 10, 2))
    coverage = of_work(measured(report(cart=([], numbers))), NAMES, [added("cart.py", *numbers)], "c.json")
    assert coverage.cut and len(coverage.not_run[0].lines) == MOST_RANGES


def test_of_several_validations_a_line_has_run_if_one_ran_it() -> None:
    one = of_work(
        measured(report(a=([], [1, 2, 3]), b=([], [1]))), NAMES, [added("a.py", 1, 2, 3), added("b.py", 1)], "c"
    )
    two = of_work(
        measured(report(a=([1], [2, 3]), b=([1], []))), NAMES, [added("a.py", 1, 2, 3), added("b.py", 1)], "c"
    )
    unread = WorkCoverage(path="c", not_run=(), problem=None)
    both = together([one, two])
    assert both is not None and lines_of(both) == {"a.py": [(2, 3)]}
    assert together([]) is None and together([unread]) == unread
    assert NotRun not in map(type, unread.not_run)
