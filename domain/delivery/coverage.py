"""Finds which lines of a work no validation has run, by what its coverage report says: JSON of coverage.py, or lcov.

The report is written by the code that is validated, so nothing in it is believed to be well formed, and what is said of
it is only an order in which a person looks.
"""

import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from domain.checks.test_files import is_test
from domain.provenance.patches import PatchHunk
from domain.session.validation import LineRange, NotRun, WorkCoverage
from domain.values.json import JSON, Malformed, decode
from domain.values.sentences import Sentence

LARGEST: Final = 16_777_216
"""Bytes of a report."""
LAST_LINE: Final = 10_000_000
"""The largest number of a line in it."""
MOST_RANGES: Final = 2_000
"""Ranges of lines that are recorded of one validation."""
_RECORD: Final = re.compile(r"[A-Z][A-Z0-9]{1,15}:.*")
_DATA: Final = re.compile(r"DA:([1-9]\d{0,7}),(\d{1,20})(?:,[^,]*)?")


class RunLines(NamedTuple):
    """The lines of a file that have run, and those that have not."""

    run: frozenset[int]
    missed: frozenset[int]


Measured = Mapping[str, RunLines]
"""A report: the files by the names that it gives them."""


def measured(raw: bytes) -> Measured:
    """Returns what a report says about each file. A line that one of its parts calls run has run. Raises Malformed."""
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise Malformed(Sentence("not_utf8", number=problem.start)) from None
    parts = _coverage_py(decode(text)) if text.lstrip()[:1] == "{" else _lcov(text)
    files: dict[str, RunLines] = {}
    for name, lines in parts:
        earlier = files.get(name, RunLines(frozenset(), frozenset()))
        run = earlier.run | lines.run
        files[name] = RunLines(run, (earlier.missed | lines.missed) - run)
    if not files:
        raise Malformed(Sentence("coverage_empty"))
    return files


def _coverage_py(report: JSON) -> Iterator[tuple[str, RunLines]]:
    files = report.get("files") if isinstance(report, dict) else None
    if not isinstance(files, dict):
        raise Malformed(Sentence("coverage_without_files"))
    for name, entry in files.items():
        fields = entry if isinstance(entry, dict) else {}
        yield name, RunLines(*(_numbers(name, fields.get(key), key) for key in ("executed_lines", "missing_lines")))


def _numbers(name: str, value: JSON, key: str) -> frozenset[int]:
    numbers = value if isinstance(value, list) else [None]
    fit = frozenset(each for each in numbers if type(each) is int and 0 <= each <= LAST_LINE)
    if len(fit) < len(set(map(str, numbers))):
        raise Malformed(Sentence("coverage_lines_malformed", path=name[:200], key=key))
    return fit - {0}  # coverage.py counts an empty module as its line 0


def _lcov(text: str) -> Iterator[tuple[str, RunLines]]:
    name: str | None = None
    run: set[int] = set()
    missed: set[int] = set()
    for number, line in enumerate(text.splitlines(), start=1):
        line = line.strip()
        if line.startswith("SF:") and name is None and len(line) > len("SF:"):
            name = line.removeprefix("SF:")
        elif line.startswith("DA:") and name is not None and (match := _DATA.fullmatch(line)):
            (run if int(match[2]) else missed).add(int(match[1]))
        elif line == "end_of_record" and name is not None:
            yield name, RunLines(frozenset(run), frozenset(missed))
            name, run, missed = None, set(), set()
        elif line and (line.startswith(("SF:", "DA:")) or not (line.startswith("#") or _RECORD.fullmatch(line))):
            raise Malformed(Sentence("coverage_line_malformed", number=number))
    if name is not None:
        raise Malformed(Sentence("coverage_not_ended"))


class ReportNames(NamedTuple):
    """The rules by which names in a report become paths from the top: `tops` are the ways to write the top's own path,
    `folders` those that relative names may begin at."""

    tops: Collection[str]
    folders: Sequence[str]

    def paths(self, name: str) -> Iterator[str]:
        """Yields the paths that the name may mean, the likeliest first."""
        name = name.replace("\\", "/")
        if name.startswith("/"):
            yield from (name.removeprefix(f"{top}/") for top in self.tops if name.startswith(f"{top}/"))
            return
        for folder in self.folders:
            path = posixpath.normpath(posixpath.join(folder, name))
            if not path.startswith("../"):
                yield path


def of_work(report: Measured, names: ReportNames, added: Iterable[PatchHunk], path: str) -> WorkCoverage:
    """Returns the lines among the added ones that have not run. Of a file that the report does not have although it has
    others of its kind, those are all lines; tests are not asked for."""
    lines: dict[str, list[int]] = {}
    for hunk in added:
        lines.setdefault(hunk.path, []).extend(line.number for line in hunk.lines if line.sign == "+")
    entries: dict[str, RunLines] = {}
    for name, entry in report.items():
        entries |= {each: entry for each in names.paths(name) if each in lines and each not in entries}
    kinds = {posixpath.splitext(name)[1] for name in report} - {""}
    parts = []
    for file, numbers in lines.items():
        if file in entries:
            missed = entries[file].missed
            parts.append(NotRun(path=file, lines=_ranges(number for number in numbers if number in missed)))
        elif posixpath.splitext(file)[1] in kinds and not is_test(file):
            parts.append(NotRun(path=file, lines=_ranges(numbers), in_report=False))
    return _cut(path, [part for part in parts if part.lines])


def together(parts: Sequence[WorkCoverage]) -> WorkCoverage | None:
    """Returns what several validations of the same work say: a line has not run if none of them ran it."""
    telling = [part for part in parts if part.problem is None]
    if not telling:
        return parts[0] if parts else None
    first, *others = telling
    left = {part.path: part for part in first.not_run}
    for other in others:
        there = {part.path: part for part in other.not_run}
        left = {file: _both(part, there[file]) for file, part in left.items() if file in there}
    return _cut(first.path, [part for part in left.values() if part.lines], cut=any(part.cut for part in telling))


def _both(one: NotRun, other: NotRun) -> NotRun:
    common = _ranges(sorted(_spread(one) & _spread(other)))
    return NotRun(path=one.path, lines=common, in_report=one.in_report or other.in_report)


def _spread(part: NotRun) -> set[int]:
    return {number for each in part.lines for number in range(each.first, each.last + 1)}


def _ranges(numbers: Iterable[int]) -> tuple[LineRange, ...]:
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return tuple(LineRange(first=first, last=last) for first, last in ranges)


def _cut(path: str, parts: Sequence[NotRun], *, cut: bool = False) -> WorkCoverage:
    front, left = [], MOST_RANGES
    for part in parts:
        if left > 0:
            front.append(part.changed(lines=part.lines[:left]))
        cut |= len(part.lines) > left
        left -= len(part.lines)
    return WorkCoverage(path=path, not_run=tuple(front), cut=cut)
