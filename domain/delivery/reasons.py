"""Why a validation failed: the output lines that name a failing test or the first error."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

MOST: Final = 20
LONGEST: Final = 300
"""Maximum length of a reason."""
_ANSI: Final = re.compile(r"\x1b\[[0-9;?]*+[ -/]*+[@-~]")
_LINES: Final = 20_000
"""How many lines at the end of the output are read."""

_TESTS: Final = re.compile(
    r"(?:FAILED|ERROR)\s+\S+::.*"  # pytest, its summary
    r"|(?:FAILED|ERROR)\s+\S+\.py\b.*"
    r"|(?:FAIL|ERROR):\s+\w+\s+\(.*\)"  # unittest
    r"|\s*---\s+FAIL:\s+\S+.*"  # go test
    r"|test\s+\S.*\s\.\.\.\s+FAILED"  # cargo test
    r"|\s*FAIL\s+\S.*"  # jest, vitest, and the packages of go test
    r"|\s*●\s+\S.*›.*"  # jest, one test
    r"|\s*(?:✕|✗|×)\s+\S.*"  # vitest, mocha
    r"|not ok\s+\d+.*"  # node --test, TAP
)
_CHECKS: Final = re.compile(
    r"\S+\(\d+,\d+\):\s+error\s+TS\d+.*"  # tsc
    r"|\S+:\d+:\d+\s+-\s+error\s+TS\d+.*"  # tsc --pretty
    r"|\S+:\d+(?::\d+)?:\s+error:.*"  # mypy, compilers
    r"|\S+:\d+:\d+:\s+[A-Z]{1,5}\d{2,4}\b.*"  # ruff, flake8
    r"|\s*\S+\.go:\d+(?::\d+)?:\s+.*"  # go vet, go build
    r"|error(?:\[E?\d+\])?:\s+.*"  # cargo, rustc
)
_ESLINT: Final = re.compile(r"\s+(\d+:\d+)\s+error\s+(.*)")
_RUFF: Final = re.compile(r"[A-Z]{1,5}\d{2,4}\s+(?:\[\*\]\s+)?\S.*")
_ARROW: Final = re.compile(r"\s*-->\s+(\S+:\d+:\d+)")
_FIRST: Final = re.compile(
    r"E\s{2,}\S.*|[\w.]*(?:Error|Exception|Interrupt)\b(?::.*)?|panic:.*|.*command not found.*|.*Cannot find module.*"
)
_NOISE: Final = re.compile(
    r"error: (?:could not compile|aborting due to|test failed, to rerun|\d+ targets? failed).*|FAIL\s*"
)


def reasons(output: str) -> tuple[str, ...]:
    """Failing tests and errors of checkers, in order; otherwise the first error. At most 20, without duplicates and
    noise.

    Supports pytest, unittest, jest, vitest, node, go, cargo, tsc, eslint, ruff and mypy.
    """
    lines = [_ANSI.sub("", line).rstrip() for line in output.splitlines()[-_LINES:]]
    named = list(_named(lines))
    if not any(_TESTS.fullmatch(line) or _CHECKS.fullmatch(line) for line in named):
        first = next((line for line in lines if _FIRST.fullmatch(line)), None)
        named += [first] if first else []
    return tuple(dict.fromkeys(_short(line) for line in named))[:MOST]


def _named(lines: list[str]) -> Iterator[str]:
    """The lines that name what failed. eslint and ruff print the file name on a separate line."""
    file = code = ""
    for line in lines:
        if _NOISE.fullmatch(line.strip()):
            continue
        if match := _ESLINT.fullmatch(line):
            yield f"{file}:{match[1]} {' '.join(match[2].split())}"
        elif code and (match := _ARROW.fullmatch(line)):
            yield f"{match[1]} {code}"
        elif _TESTS.fullmatch(line) or _CHECKS.fullmatch(line):
            yield line
        code = line if _RUFF.fullmatch(line) else code if not line or line == code else ""
        if line and not line[0].isspace():
            file = line


def _short(line: str) -> str:
    words = line.strip()
    return words if len(words) <= LONGEST else f"{words[: LONGEST - 1]}…"


_SECONDS = re.compile(r"\d+(\.\d+)? ?m?s\b")


def failing(summary: str) -> str:
    """The reasons of a failed validation, without durations."""
    return "failures " + _SECONDS.sub("", summary)


def blocking(titles: Iterable[str]) -> str:
    """The blocking issues of a review, in any order."""
    return "issues " + "; ".join(sorted(title.casefold() for title in titles))
