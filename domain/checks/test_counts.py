"""Counts the tests that a command ran, from what the runners of its tests print (contract-3 §17).

An exit code of 0 proves nothing if no test ran. A runner prints its count once for all targets, or once for each; the
counts of one runner are added up. Skipped tests did not run.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from pydantic import Field

from domain.values.base import Value

_ANSI: Final = re.compile(r"\x1b\[[0-9;?]*+[ -/]*+[@-~]")
_LONGEST_LINE: Final = 1_000
"""Characters; no runner prints its count on a longer line."""


class RunnerCount(Value):
    """The tests that one runner ran."""

    runner: str
    ran: int | None = Field(default=None, description="null if some ran, and the runner does not say how many")
    skipped: int = 0
    expected_failures: int = Field(default=0, description="tests that are marked as failing and did")

    def plus(self, other: "RunnerCount") -> "RunnerCount":
        """Both counts together."""
        return RunnerCount(
            runner=self.runner,
            ran=None if None in (self.ran, other.ran) else (self.ran or 0) + (other.ran or 0),
            skipped=self.skipped + other.skipped,
            expected_failures=self.expected_failures + other.expected_failures,
        )


NO_COUNTS: Final[Mapping[str, tuple[RunnerCount, ...]]] = MappingProxyType({})


def counts_in(output: str) -> tuple[RunnerCount, ...]:
    """The counts of each known runner that the output names, in the order of their first lines."""
    return together(_counts(output))


def together(counts: Iterable[RunnerCount]) -> tuple[RunnerCount, ...]:
    """One count for each runner, in the order of the first ones."""
    by_runner: dict[str, RunnerCount] = {}
    for count in counts:
        earlier = by_runner.get(count.runner)
        by_runner[count.runner] = count if earlier is None else earlier.plus(count)
    return tuple(by_runner.values())


def none_ran(counts: Iterable[RunnerCount]) -> bool:
    """True if a known runner says that it ran no test, and no other one ran any."""
    each = tuple(counts)
    return bool(each) and all(count.ran == 0 for count in each)


def some_ran(counts: Iterable[RunnerCount]) -> bool:
    """True if at least one test ran, as far as known runners say."""
    return any(count.ran is None or count.ran > 0 for count in counts)


def calls_runner(command: str) -> bool:
    """True if the command itself names a runner whose counts are known, so that it says how many tests it ran."""
    return _CALLED.search(command) is not None


def names_none(output: str) -> bool:
    """True if a known runner says that it found no test. After a failure, a count of 0 alone may mean that something
    did not compile or import."""
    lines = (_ANSI.sub("", line).strip() for line in output.splitlines() if len(line) <= _LONGEST_LINE)
    return any(_NONE.fullmatch(line) for line in lines)


def _counts(output: str) -> Iterator[RunnerCount]:
    unfinished: int | None = None  # what unittest has run; its next verdict says how many of these it skipped
    pending: dict[str, int] = {}  # node prints each number on its own line
    for raw in output.splitlines():
        line = _ANSI.sub("", raw).rstrip()
        if not line or len(line) > _LONGEST_LINE:
            continue
        if match := _UNITTEST_RAN.fullmatch(line):
            unfinished = int(match[1])
            yield RunnerCount(runner="unittest", ran=unfinished)
        elif unfinished is not None and (match := _UNITTEST_VERDICT.fullmatch(line)):
            marked = _numbers(match[1] or "")
            skipped = min(unfinished, marked.get("skipped", 0))
            expected = marked.get("expected failures", 0)
            unfinished = None
            if skipped or expected:
                yield RunnerCount(runner="unittest", ran=-skipped, skipped=skipped, expected_failures=expected)
        elif match := _NODE.fullmatch(line):
            yield from _of_node(pending, match[1], int(match[2]))
        else:
            for pattern, count in _LINES:
                if match := pattern.fullmatch(line):
                    yield count(match)
                    break


_CALLED: Final = re.compile(
    r"(?:^|[\s/])(?:pytest|py\.test|unittest|nose2|jest|vitest|mocha|nextest|rspec|phpunit|ctest)(?=\s|$)"
    r"|(?:^|[\s/])(?:go|cargo|dotnet|mvnw?|gradlew?)\s(?:[^;&|]*\s)?test(?=\s|$)"
    r"|(?:^|[\s/])node\s(?:[^;&|]*\s)?--test(?=\s|$)"
)
_NONE: Final = re.compile(
    r"(?:=+ )?(?:no tests (?:ran|collected)(?:[ ,].*)?|\d+ deselected(?:, \d+ warnings?)?) in \d[\d.]*m?s.*"  # pytest
    r"|NO TESTS RAN(?: \(.*\))?|No tests found.*|No test files found.*|error: no tests to run|No tests were found!*"
)
_UNITTEST_RAN: Final = re.compile(r"Ran (\d+) tests? in \d.*")
_UNITTEST_VERDICT: Final = re.compile(r"(?:OK|FAILED|NO TESTS RAN)(?: \((.*)\))?")
_NODE: Final = re.compile(r"[#ℹ] (tests|skipped) (\d+)")
"""Of `node --test`, in both of its formats."""


def _of_node(pending: dict[str, int], name: str, number: int) -> Iterator[RunnerCount]:
    """The count that a number of node's changes: skipped tests are among the tests that it named before."""
    if name == "tests":
        pending["tests"] = number
        yield RunnerCount(runner="node", ran=number)
    elif skipped := min(number, pending.pop("tests", 0)):
        yield RunnerCount(runner="node", ran=-skipped, skipped=skipped)


def _numbers(words: str) -> Mapping[str, int]:
    """Numbers by their names: `3 passed, 1 skipped`, `skipped=2`, `Failed: 0, Passed: 3`."""
    before = {name.strip().lower(): int(number) for number, name in re.findall(r"(\d+) ([A-Za-z ]+)", words)}
    after = {
        name.strip().lower(): int(number) for name, number in re.findall(r"([A-Za-z][A-Za-z ]*)(?:=|: +)(\d+)", words)
    }
    return before | after


_Count = Callable[[re.Match[str]], RunnerCount]


def _named(
    runner: str, ran: Collection[str], skipped: Collection[str] = ("skipped",), expected: Collection[str] = ()
) -> _Count:
    """The first group holds numbers with names: those of what ran, was skipped, and was expected to fail."""

    def count(match: re.Match[str]) -> RunnerCount:
        numbers = _numbers(match[1])
        total = [sum(numbers.get(name, 0) for name in names) for names in (ran, skipped, expected)]
        return RunnerCount(runner=runner, ran=total[0], skipped=total[1], expected_failures=total[2])

    return count


def _total(runner: str, *, skipped_group: bool = True) -> _Count:
    """The first group is the number of all tests, the second one those that were skipped among them."""

    def count(match: re.Match[str]) -> RunnerCount:
        skipped = int(match[2] or 0) if skipped_group else 0
        return RunnerCount(runner=runner, ran=max(0, int(match[1]) - skipped), skipped=skipped)

    return count


def _fixed(runner: str, ran: int | None) -> _Count:
    return lambda match: RunnerCount(runner=runner, ran=ran)


_PYTEST: Final = _named("pytest", ("passed", "failed", "error", "errors", "xfailed", "xpassed"), expected=("xfailed",))
_CARGO: Final = _named("cargo", ("passed", "failed"), ("ignored",))
_DOTNET: Final = _named("dotnet", ("passed", "failed"))
_JS: Final = ("passed", "failed", "todo")
_LINES: Final[tuple[tuple[re.Pattern[str], _Count], ...]] = (
    (re.compile(r"(?:=+ )?no tests (?:ran|collected)(?:[ ,].*)? in \d[\d.]*m?s.*"), _fixed("pytest", 0)),
    (re.compile(r"(?:=+ )?(\d+ [a-z]+(?: [a-z]+)?(?:, \d+ [a-z]+(?: [a-z]+)?)*) in \d[\d.]*s(?: .*)?"), _PYTEST),
    (re.compile(r"Tests: +((?:\d+ [a-z]+, )*\d+ total)"), _named("jest", _JS)),
    (re.compile(r"No tests found.*"), _fixed("jest", 0)),
    (re.compile(r" *Tests +(\d+ [a-z]+(?: \| \d+ [a-z ]+)*) \(\d+\)"), _named("vitest", _JS)),
    (re.compile(r" *(?:No test files found.*|Tests +no tests)"), _fixed("vitest", 0)),
    (re.compile(r" +(\d+) (?:passing|failing)(?: \(.*\))?"), _total("mocha", skipped_group=False)),
    (re.compile(r" +(\d+ pending)"), _named("mocha", (), skipped=("pending",))),
    (re.compile(r"ok +\t?\S+\t\S.*\[no tests to run\]"), _fixed("go", 0)),
    (re.compile(r"\? +\t?\S+\t\[no test files\]|\t\S+\t+coverage: 0\.0% of statements"), _fixed("go", 0)),
    (re.compile(r"(?:ok|FAIL) +\t?\S+\t(?:\d[\d.]*s|\(cached\)).*"), _fixed("go", None)),
    (re.compile(r"test result: \S+ (\d+ passed; \d+ failed; \d+ ignored); .*"), _CARGO),
    (re.compile(r" *Summary \[.*\] (\d+) tests? run: .*"), _total("nextest", skipped_group=False)),
    (re.compile(r"error: no tests to run"), _fixed("nextest", 0)),
    (re.compile(r"(\d+) examples?, \d+ failures?(?:, (\d+) pending)?(?:, \d+ errors?.*)?"), _total("rspec")),
    (re.compile(r"OK \((\d+) tests?, \d+ assertions?\)"), _total("phpunit", skipped_group=False)),
    (re.compile(r"Tests: (\d+), Assertions: \d+(?:, (?!Skipped)[^,]*+)*+(?:, Skipped: (\d+))?.*"), _total("phpunit")),
    (re.compile(r"No tests executed!"), _fixed("phpunit", 0)),
    (re.compile(r"(?:\[\w+\] )?Tests run: (\d+), Failures: \d+, Errors: \d+, Skipped: (\d+)"), _total("maven")),
    (re.compile(r"(?:\[\w+\] )?No tests to run\."), _fixed("maven", 0)),
    (re.compile(r"> Task :(?:\S+:)?(?:test|\w+Test) (?:NO-SOURCE|SKIPPED)"), _fixed("gradle", 0)),
    (re.compile(r"> Task :(?:\S+:)?(?:test|\w+Test)(?: (?:UP-TO-DATE|FROM-CACHE|FAILED))?"), _fixed("gradle", None)),
    (re.compile(r"\d+% tests passed, \d+ tests failed out of (\d+)"), _total("ctest", skipped_group=False)),
    (re.compile(r"No tests were found!*"), _fixed("ctest", 0)),
    (re.compile(r" *(?:Passed|Failed|Skipped)!? +- (Failed: +\d+, Passed: +\d+, Skipped: +\d+), Total: .*"), _DOTNET),
    (re.compile(r"No test (?:is available in|matches the given) .*"), _fixed("dotnet", 0)),
    (re.compile(r"Ran (\d+) tests? across \d+ files?\..*"), _total("bun", skipped_group=False)),
)  # fmt: skip
