"""Decides whether a report is about a finding that is known: `same`, `maybe`, or `new`. One to one, the best pair
first."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Final, Literal, NamedTuple, Protocol

from domain.findings.report_words import Features

Match = Literal["same", "maybe", "new"]

SAME: Final = 5.0
MAYBE: Final = 3.0
NEAR: Final = 6
"""Lines within which a report may be about the same."""
_NEVER: Final = float("-inf")
_RARE: Final = 2
"""Findings that name an identifier at most, so that it says something."""
_FREQUENT: Final = 40
"""Findings with a word from which on it leads to none of them."""
_WORDS: Final = 3
"""Words that a report has in common with a finding before the two are compared."""


class Spot(NamedTuple):
    """The present place of something: the file by its present name, the line's name if it is known, and its number."""

    path: str
    name: int | None = None
    number: int | None = None


NOWHERE: Final = Spot("")


class Likeness(NamedTuple):
    """A report or a finding: what it says, and where it is."""

    features: Features
    spot: Spot


class Comparable(Protocol):
    """A report or a finding, by the parts that are compared."""

    @property
    def features(self) -> Features: ...

    @property
    def spot(self) -> Spot: ...


class MatchPair(NamedTuple):
    """A report by its place among those of its look, and a finding by its number."""

    score: float
    report: int
    finding: int


def score(one: Comparable, other: Comparable, spread: Mapping[str, int]) -> float:
    """Weighs the signs that both are about the same; `spread` counts the findings that name an identifier."""
    here, there = one.spot, other.spot
    if here.path and there.path and here.path != there.path:
        return _NEVER
    a, b = one.features, other.features
    if a.phrasing and a.phrasing == b.phrasing and here.number == there.number:
        return SAME + MAYBE
    total = _nearness(here, there)
    if names := a.names & b.names:
        rare = sum(spread.get(name, 0) <= _RARE for name in names)
        total += 2.0 * min(rare, 2) + 0.7 * min(len(names) - rare, 2)
    if a.symbol and a.symbol == b.symbol:
        total += 0.8
    if a.kind and b.kind:
        total += 1.2 if a.kind == b.kind else -2.5
    common = len(a.words & b.words)
    if common:
        total += 2.0 * common / min(len(a.words), len(b.words))
    return total


def _nearness(one: Spot, other: Spot) -> float:
    if one.number is None or other.number is None or not one.path or not other.path:
        return 0.0
    distance = abs(one.number - other.number)
    if distance == 0 or (one.name is not None and one.name == other.name):
        return 3.0
    return 1.5 * (NEAR + 1 - distance) / NEAR if distance <= NEAR else -1.5


@dataclass
class FindingIndex:
    """The findings by what could make a report one of them, so that not every pair is compared."""

    _names: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    _words: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    _phrasings: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    _blocks: dict[str, dict[int, set[int]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(set)))
    """The findings by file and block of lines."""
    _lineless: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    """The findings by file that are at no known line of it."""
    _spots: dict[int, Spot] = field(default_factory=dict)
    _keyed: set[int] = field(default_factory=set)
    """The findings that are met by their key alone."""
    spread: dict[str, int] = field(default_factory=dict)

    def add(self, number: int, features: Features) -> None:
        for name in features.names:
            self._names[name].append(number)
            self.spread[name] = self.spread.get(name, 0) + 1
        for word in features.words:
            self._words[word].append(number)
        self._phrasings[features.phrasing].append(number)

    def place(self, number: int, spot: Spot, *, by_key: bool) -> None:
        """Notes where a finding is from now on, and whether it is met by its key alone."""
        for group in self._beside(self._spots.get(number, NOWHERE)):
            group.discard(number)
        for group in self._beside(spot):
            group.add(number)
        self._spots[number] = spot
        if by_key:
            self._keyed.add(number)
        else:
            self._keyed.discard(number)

    def _beside(self, spot: Spot) -> Sequence[set[int]]:
        if not spot.path:
            return ()
        block = () if spot.number is None else (self._blocks[spot.path][spot.number // NEAR],)
        return block if spot.name is not None else (*block, self._lineless[spot.path])

    def within(self, path: str, first: int, last: int) -> set[int]:
        """The findings in the blocks of these lines, and those of the file that have none."""
        low, high = first // NEAR, last // NEAR
        blocks = self._blocks.get(path, {})
        return self._lineless.get(path, set()).union(*(blocks[each] for each in blocks if low <= each <= high))

    def candidates(self, report: Comparable) -> set[int]:
        """The findings that the report may be about."""
        features, spot = report.features, report.spot
        numbers_near: set[int] = {*self._phrasings.get(features.phrasing, ())}
        if spot.path and spot.number is not None and (blocks := self._blocks.get(spot.path)):
            block = spot.number // NEAR
            for each in (block - 1, block, block + 1):
                if each in blocks:
                    numbers_near |= blocks[each]
        for name in features.names:
            if self.spread.get(name, 0) <= _FREQUENT:
                numbers_near.update(self._names.get(name, ()))
        lists = [numbers for word in features.words if (numbers := self._words.get(word)) and len(numbers) <= _FREQUENT]
        if len(lists) >= _WORDS:
            counts = Counter(chain.from_iterable(lists))
            numbers_near.update([number for number, count in counts.items() if count >= _WORDS])
        return numbers_near - self._keyed


def matched(reports: Sequence[Comparable], findings: Sequence[Comparable], index: FindingIndex) -> Iterator[MatchPair]:
    """For each report at most one finding, at most one report for each finding: those that are the same first."""
    pairs = sorted(
        [
            (-points, place, number)
            for place, report in enumerate(reports)
            for number in index.candidates(report)
            if (points := score(report, findings[number], index.spread)) >= MAYBE
        ]
    )
    taken_reports: set[int] = set()
    taken_findings: set[int] = set()
    for points, place, number in pairs:
        if place not in taken_reports and number not in taken_findings:
            taken_reports.add(place)
            taken_findings.add(number)
            yield MatchPair(-points, place, number)
