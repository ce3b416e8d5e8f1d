"""Where the map puts a planted fault, and where file order would: results of generated loops with known truth."""

import random
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, Final, NamedTuple

import pytest

from domain.delivery import events
from domain.provenance.path_changes import parts as parts_of
from domain.session.comments import Comments
from domain.session.validation import LineRange, NotRun, WorkCoverage
from projections.record import review_map
from projections.record.review_map import RecordedWork, mapped
from tests.domain.findings.loops import Loop, patch_lines

MEASURED: Final = 0.5
"""The share of results whose validation writes a coverage report; it has run four of five ordinary lines, and one of
two faulty ones."""


class Place(NamedTuple):
    """The places of a fault among all hunks, as shares: 0 is first."""

    by_risk: float
    by_file: float


def places(seed: int, patch: pytest.MonkeyPatch) -> Iterator[Place]:
    """The faults that are left in a loop of one to four rounds: most nobody has reported, some a fix has brought."""
    chance = random.Random(seed)  # noqa: S311 - no secret
    loop = Loop.of(seed)
    for _ in range(chance.randint(1, 4)):
        loop.look()
        loop.fix()
    moments = loop.moments
    text = "\n".join(patch_lines({}, loop.files))
    parts = [
        part._replace(hunk=part.hunk._replace(lines=part.hunk.lines[at : at + 8]))
        for part in parts_of(text.split("\n"))
        for at in range(0, len(part.hunk.lines), 8)
    ]
    faulty = {fault.text for fault in loop.faults if not fault.fixed}
    coverage = _coverage(chance, loop, faulty) if chance.random() < MEASURED else None
    patch.setattr(review_map, "moments_of", lambda *_: iter(moments))
    event = events.TestsPassed.model_construct(weakened=())
    history: Any = [SimpleNamespace(version=loop.version, event=event)]
    session: Any = SimpleNamespace(coverage=coverage, comments=Comments())
    result: Any = SimpleNamespace(files=(), outside=())
    ordered = mapped(RecordedWork(session, history, result, {}), parts, lambda text: text.head)
    for place, entry in enumerate(ordered):
        if any(line.text in faulty for line in entry.hunk.lines):
            yield Place(place / len(ordered), entry.place / len(ordered))


def _coverage(chance: random.Random, loop: Loop, faulty: set[str]) -> WorkCoverage:
    missed = {
        path: [
            number for number, line in enumerate(lines, start=1) if chance.random() < (0.5 if line in faulty else 0.2)
        ]
        for path, lines in loop.files.items()
    }
    parts = (
        NotRun(path=path, lines=tuple(LineRange(first=each, last=each) for each in numbers))
        for path, numbers in missed.items()
    )
    return WorkCoverage(path="coverage.json", not_run=tuple(parts))


@pytest.mark.parametrize("count", [10, pytest.param(100, marks=pytest.mark.nightly)])
def test_planted_faults_come_earlier_than_in_file_order(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    found: list[Place] = []
    seed = 0
    while len(found) < count:
        here = list(places(seed, monkeypatch))
        found += random.Random(-seed).sample(here, min(1, len(here)))  # noqa: S311 - no secret
        seed += 1
    by_risk, by_file = (sorted(each[at] for each in found) for at in (0, 1))
    early, early_by_file = (sum(each < 0.2 for each in places) for places in (by_risk, by_file))
    told = (
        f"median {by_risk[count // 2]:.2f} of the hunks (file order {by_file[count // 2]:.2f}), "
        f"in the first fifth {early} ({early_by_file}) of {count} faults, {seed} results"
    )
    assert sum(by_risk) < 0.75 * sum(by_file), told
