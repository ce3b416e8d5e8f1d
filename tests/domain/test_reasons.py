"""Why a validation failed, read from the output of the usual tools; each output is as the tool prints it."""

import pytest

from domain.delivery.validation import LONGEST, MOST, last_lines, reasons

PYTEST = """\
tests/test_a.py .F                                                       [100%]

=================================== FAILURES ===================================
___________________________________ test_sum ___________________________________
    def test_sum():
>       assert 1 + 1 == 3
E       assert (1 + 1) == 3

tests/test_a.py:2: AssertionError
=========================== short test summary info ============================
FAILED tests/test_a.py::test_sum - assert (1 + 1) == 3
1 failed, 1 passed in 0.02s
"""
COLLECTION = """\
==================================== ERRORS ====================================
_______________________ ERROR collecting tests/test_a.py _______________________
E   ModuleNotFoundError: No module named 'shop'
=========================== short test summary info ============================
ERROR tests/test_a.py
!!!!!!!!!!!!!!!!!!!! Interrupted: 1 error during collection !!!!!!!!!!!!!!!!!!!!
"""
UNITTEST = """\
F.
======================================================================
FAIL: test_sum (test_a.Sums.test_sum)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "test_a.py", line 5, in test_sum
    self.assertEqual(2, 3)
AssertionError: 2 != 3

FAILED (failures=1)
"""
JEST = """\
 FAIL  src/sum.test.js
  ● sums › adds two numbers

    expect(received).toBe(expected)
Tests:       1 failed, 1 passed, 2 total
"""
VITEST = """\
 FAIL  src/sum.test.ts > sums > adds two numbers
AssertionError: expected 2 to be 3
 Test Files  1 failed (1)
"""
GO = """\
--- FAIL: TestSum (0.00s)
    sum_test.go:7: got 2, want 3
FAIL
FAIL\texample.com/sum\t0.002s
FAIL
"""
CARGO = """\
test tests::adds ... ok
test tests::sums ... FAILED

failures:
---- tests::sums stdout ----
thread 'tests::sums' panicked at src/lib.rs:9:9
error: test failed, to rerun pass `--lib`
"""
RUSTC = """\
error[E0308]: mismatched types
 --> src/lib.rs:2:5
error: could not compile `sum` (lib) due to 1 previous error
"""
TSC = "src/a.ts(3,5): error TS2322: Type 'string' is not assignable to type 'number'.\n"
ESLINT = """\
/work/src/a.js
  1:7   error    'x' is assigned a value but never used  no-unused-vars
  2:1   warning  Unexpected console statement            no-console

✖ 2 problems (1 error, 1 warning)
"""
RUFF = "src/a.py:1:8: F401 [*] `os` imported but unused\nFound 1 error.\n"
RUFF_FULL = """\
F401 [*] `os` imported but unused
 --> src/a.py:1:8
  |
1 | import os
"""
MYPY = 'src/a.py:2: error: Incompatible return value type (got "str", expected "int")  [return-value]\nFound 1 error\n'


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        pytest.param(PYTEST, ["FAILED tests/test_a.py::test_sum - assert (1 + 1) == 3"], id="pytest"),
        pytest.param(COLLECTION, ["ERROR tests/test_a.py"], id="pytest, collection"),
        pytest.param(UNITTEST, ["FAIL: test_sum (test_a.Sums.test_sum)"], id="unittest"),
        pytest.param(JEST, ["FAIL  src/sum.test.js", "● sums › adds two numbers"], id="jest"),
        pytest.param(VITEST, ["FAIL  src/sum.test.ts > sums > adds two numbers"], id="vitest"),
        pytest.param(
            GO,
            ["--- FAIL: TestSum (0.00s)", "sum_test.go:7: got 2, want 3", "FAIL\texample.com/sum\t0.002s"],
            id="go test",
        ),
        pytest.param(CARGO, ["test tests::sums ... FAILED"], id="cargo test"),
        pytest.param(RUSTC, ["error[E0308]: mismatched types"], id="rustc"),
        pytest.param(TSC, [TSC.strip()], id="tsc"),
        pytest.param(ESLINT, ["/work/src/a.js:1:7 'x' is assigned a value but never used no-unused-vars"], id="eslint"),
        pytest.param(RUFF, ["src/a.py:1:8: F401 [*] `os` imported but unused"], id="ruff, concise"),
        pytest.param(RUFF_FULL, ["src/a.py:1:8 F401 [*] `os` imported but unused"], id="ruff"),
        pytest.param(MYPY, [MYPY.splitlines()[0]], id="mypy"),
    ],
)
def test_the_lines_that_say_why(output: str, expected: list[str]) -> None:
    assert list(reasons(output)) == expected


def test_without_a_named_reason_the_first_error_is_shown() -> None:
    output = "Traceback (most recent call last):\n  File x\nValueError: no such shop\nKeyError: 'later'\n"
    assert reasons(output) == ("ValueError: no such shop",)


def test_output_that_says_nothing_has_no_reasons() -> None:
    assert reasons("all fine\n3 passed in 0.1s\n") == ()


def test_there_are_few_short_and_plain_ones() -> None:
    output = "".join(f"\x1b[31mFAILED\x1b[0m a.py::test_{number} - {'x' * 1_000}\n" * 2 for number in range(50))
    result = reasons(output)
    assert len(result) == MOST == len(set(result))
    assert all(len(reason) <= LONGEST and reason.isprintable() for reason in result)


# -- output of which no line is known to say why -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("hello\n", ["hello"]),
        ("one\ntwo\n\n  three\n----\nfour\n\n", ["two", "three", "four"]),
        ("no\nno\nno\n", ["no"]),
        ("\x1b[31mred\x1b[0m\ttape\n", ["red tape"]),
        ("x" * 1_000, ["x" * (LONGEST - 1) + "…"]),
        ("\n \n====\n", []),
        ("", []),
    ],
)
def test_the_last_lines_speak_for_unknown_output(output: str, expected: list[str]) -> None:
    assert list(last_lines(output)) == expected


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ("2 of 15 failed in 0.31s", "2 of 15 failed in 12.4s", "2 of 15 failed in …"),
        ("took 5 seconds", "took 1 second", "took …"),
        ("09:15:02.113 no price", "23:59:59.001 no price", "… no price"),
        ("2026-11-28T09:15:02.113Z no price", "2026-11-29T10:00:00Z no price", "… no price"),
        ("<Shop at 0x7f00ab>", "<Shop at 0x7f11cd>", "<Shop at …>"),
        ("/tmp/hansard-ab3_cd9f/a.sock", "/tmp/hansard-zz_y1234/a.sock", "/tmp/…/a.sock"),
        ("/tmp/tmp.Xy12Ab/out", "/tmp/tmp.Zz34Cd/out", "/tmp/…/out"),
    ],
)
def test_the_same_failure_has_the_same_lines_in_each_run(before: str, after: str, shown: str) -> None:
    assert last_lines(before) == last_lines(after) == (shown,)


@pytest.mark.parametrize(
    "line", ["expected 15, got 16", "a.py:10:3 wrong", "v1.5 s", "/tmp/templates/a", "step 3 of 4"]
)
def test_what_says_why_is_not_replaced(line: str) -> None:
    assert last_lines(line) == (line,)
