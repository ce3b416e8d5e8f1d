"""How many tests ran, from what each known runner prints (contract-3 §17)."""

import pytest

from domain.checks.test_counts import calls_runner, counts_in, names_none, none_ran, some_ran

RAN: list[tuple[str, str, int | None, int]] = [  # runner, output, ran, skipped
    ("pytest", "...\n3 passed, 1 skipped, 2 xfailed, 1 warning in 0.12s", 5, 1),
    ("pytest", "\x1b[32m========== \x1b[1m3 passed\x1b[0m\x1b[32m in 0.12s ===========\x1b[0m", 3, 0),
    ("pytest", "== 3 failed, 2 passed, 1 error in 62.10s (0:01:02) ==", 6, 0),
    ("pytest", "no tests ran in 0.01s", 0, 0),
    ("pytest", "===== 5 deselected in 0.01s =====", 0, 0),
    ("pytest", "2 skipped in 0.01s", 0, 2),
    ("pytest", "========= no tests collected (3 deselected) in 0.02s =========", 0, 0),
    ("unittest", "..s\nRan 3 tests in 0.000s\n\nOK (skipped=1, expected failures=1)", 2, 1),
    ("unittest", "Ran 1 test in 1.250s\n\nFAILED (failures=1)", 1, 0),
    ("unittest", "Ran 0 tests in 0.000s\n\nNO TESTS RAN", 0, 0),
    ("unittest", "Ran 2 tests in 0.000s\n\nOK (skipped=2)", 0, 2),
    ("node", "ℹ tests 4\nℹ suites 0\nℹ pass 3\nℹ fail 0\nℹ cancelled 0\nℹ skipped 1\nℹ todo 0", 3, 1),
    ("node", "1..0\n# tests 0\n# suites 0\n# pass 0\n# fail 0\n# skipped 0", 0, 0),
    ("jest", "Tests:       1 failed, 1 skipped, 3 passed, 5 total", 4, 1),
    ("jest", "No tests found, exiting with code 0", 0, 0),
    ("vitest", "      Tests  2 passed | 1 skipped (3)", 2, 1),
    ("vitest", "No test files found, exiting with code 0", 0, 0),
    ("mocha", "\n  2 passing (4ms)\n  1 pending\n  1 failing\n", 3, 1),
    ("mocha", "\n  0 passing (1ms)\n", 0, 0),
    ("go", "ok  \texample.com/a\t0.002s\n?   \texample.com/b\t[no test files]", None, 0),
    ("go", "ok  \texample.com/a\t(cached)\tcoverage: 80.0% of statements", None, 0),
    ("go", "?   \texample.com/b\t[no test files]\nok  \texample.com/a\t0.002s [no tests to run]", 0, 0),
    (
        "cargo",
        "test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n"
        "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s",
        2,
        1,
    ),
    ("cargo", "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 4 filtered out; finished in 0.00s", 0, 0),
    ("nextest", "     Summary [   0.003s] 3 tests run: 3 passed, 0 skipped", 3, 0),
    ("nextest", "error: no tests to run", 0, 0),
    ("rspec", "3 examples, 0 failures, 1 pending", 2, 1),
    ("rspec", "0 examples, 0 failures", 0, 0),
    ("phpunit", "OK (3 tests, 5 assertions)", 3, 0),
    ("phpunit", "Tests: 3, Assertions: 5, Failures: 1, Skipped: 1.", 2, 1),
    ("phpunit", "No tests executed!", 0, 0),
    (
        "maven",
        "[INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.1 s - in A\n"
        "[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 1",
        2,
        1,
    ),
    ("gradle", "> Task :compileTestJava NO-SOURCE\n> Task :app:test NO-SOURCE", 0, 0),
    ("gradle", "> Task :a:test NO-SOURCE\n> Task :b:test", None, 0),
    ("ctest", "100% tests passed, 0 tests failed out of 3", 3, 0),
    ("ctest", "No tests were found!!!", 0, 0),
    ("dotnet", "Passed!  - Failed:     0, Passed:     3, Skipped:     1, Total:     4, Duration: 5 ms - a.dll", 3, 1),
    ("bun", " 3 pass\n 0 fail\nRan 3 tests across 1 files. [10.00ms]", 3, 0),
]


@pytest.mark.parametrize(("runner", "output", "ran", "skipped"), RAN)
def test_the_count_of_a_runner(runner: str, output: str, ran: int | None, skipped: int) -> None:
    (count,) = counts_in(output)
    assert (count.runner, count.ran, count.skipped) == (runner, ran, skipped)
    assert none_ran([count]) is (ran == 0)
    assert some_ran([count]) is (ran != 0)


@pytest.mark.parametrize(
    "output", ["", "All good.", "checked 3 files in 0.2s", "OK", "OK (42)", "1 file changed", "x" * 5000, "# skipped 3"]
)
def test_other_output_counts_nothing(output: str) -> None:
    counts = counts_in(output)
    assert not some_ran(counts)
    assert not none_ran(counts)


def test_no_test_ran_only_if_no_runner_ran_any() -> None:
    both = counts_in("no tests ran in 0.01s\nℹ tests 2\n")
    assert [count.runner for count in both] == ["pytest", "node"]
    assert not none_ran(both)
    assert none_ran(counts_in("no tests ran in 0.01s\nℹ tests 0\n"))


def test_the_runs_of_one_runner_are_added_up() -> None:
    (count,) = counts_in("3 passed in 0.1s\n2 passed, 1 xfailed in 0.1s\nno tests ran in 0.00s")
    assert (count.ran, count.expected_failures) == (6, 1)


def test_long_hostile_output_is_read_in_little_time() -> None:
    lines = ["1 a" + ", 1 a" * 190, "Tests: one, Assertions: 1" + ", A: 1" * 150, "ok \t" + "x" * 900] * 2_000
    assert not some_ran(counts_in("\n".join(lines)))


@pytest.mark.parametrize(
    "output",
    [
        "\x1b[33mno tests ran\x1b[0m\x1b[33m in 0.01s\x1b[0m",
        "============ no tests collected (3 deselected) in 0.02s ============",
        "===== 5 deselected in 0.01s =====",
        "Ran 0 tests in 0.000s\n\nNO TESTS RAN",
        "No tests found, exiting with code 1\nRun with `--passWithNoTests`",
        "No test files found, exiting with code 1",
        "error: no tests to run",
    ],
)
def test_a_runner_says_that_it_found_no_test(output: str) -> None:
    assert names_none(output)


@pytest.mark.parametrize(
    "output",
    [
        "Test Files  1 failed (1)\n     Tests  no tests",
        "Test Suites: 1 failed, 1 total\nTests:       0 total",
        "FAIL\texample.com/a [build failed]\n?   \texample.com/b\t[no test files]",
        "Ran 0 tests in 0.000s\n\nFAILED (errors=1)",
        "> Task :a:test NO-SOURCE\n> Task :b:compileJava FAILED",
        "1 error in 0.10s",
    ],
)
def test_a_count_of_none_may_have_another_reason(output: str) -> None:
    assert not names_none(output)


@pytest.mark.parametrize(
    ("command", "calls"),
    [
        (".venv/bin/python -m pytest -q", True),
        ("uv run pytest", True),
        ("sh -c 'cd web && npx vitest run'", True),
        ("go test ./...", True),
        ("go -C api test ./...", True),
        ("cargo +nightly test --all", True),
        ("node --import tsx --test", True),
        ("make test", False),
        ("npm test", False),
        ("go vet && ./test", False),
        ("python tools/pytest_report.py", False),
    ],
)
def test_a_command_that_names_its_runner(command: str, calls: bool) -> None:
    """What it says of its tests can be expected; another program may change what it runs."""
    assert calls_runner(command) is calls
