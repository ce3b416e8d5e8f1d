"""Runs all benchmarks and writes what they measured into docs/benchmarks.md: `./dev bench`, or with a part of their
names, `./dev bench command_line`. Figures of benchmarks that did not run stay as they were."""

import os
import platform
import re
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "benchmarks.md"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
_ROW = re.compile(r"^\| `(?P<name>[^`]+)` \| (?P<figures>.*) \| (?P<when>[^|]*) \|$", re.MULTILINE)


def measured(report: str) -> dict[str, str]:
    """What each benchmark of a report (JUnit XML) said; of one that failed, this comes first."""
    rows: dict[str, str] = {}
    for case in ElementTree.fromstring(report).iter("testcase"):  # noqa: S314 - our own report
        sentences = [each.get("value", "") for each in case.iter("property") if each.get("name") == "measured"]
        failed = case.find("failure") is not None or case.find("error") is not None
        if failed or sentences:
            name = f"{case.get('classname', '').rpartition('.')[2]}::{case.get('name')}"
            rows[name] = "<br>".join([*(["**failed**"] if failed else []), *sentences]).replace("|", "\\|")
    return rows


def updated(page: str, rows: Mapping[str, str], when: str) -> str:
    """The page with these rows in its table, in place of older ones of the same benchmarks."""
    head, begin, rest = page.partition(BEGIN)
    table, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{PAGE} has no lines {BEGIN} and {END}")
    known = {row["name"]: (row["figures"], row["when"]) for row in _ROW.finditer(table)}
    known |= {name: (figures, when) for name, figures in rows.items()}
    lines = (f"| `{name}` | {figures} | {day} |" for name, (figures, day) in sorted(known.items()))
    return "\n".join(
        [f"{head}{begin}", "| benchmark | measured | when, where |", "|---|---|---|", *lines, f"{end}{tail}"]
    )


def _machine() -> str:
    load = ", busy" if os.getloadavg()[0] > (os.cpu_count() or 1) else ""
    versions = f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"
    return f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores{load}, {versions}"


def main(words: list[str]) -> int:
    """Run and write; the exit code is that of the benchmarks."""
    where = _machine()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        chosen = ["-k", " or ".join(words)] if words else []
        options = ["-n", "0", "-m", "benchmark", "-o", "junit_family=xunit1", f"--junitxml={report}", *chosen]
        code = subprocess.run([sys.executable, "-m", "pytest", "tests/benchmarks", *options], cwd=ROOT).returncode
        rows = measured(report.read_text("utf-8")) if report.exists() else {}
    if rows:
        PAGE.write_text(updated(PAGE.read_text("utf-8"), rows, where), "utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
