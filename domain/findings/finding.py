"""A finding: what several reports are about, and its life."""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from domain.findings.match import Match, Spot
from domain.findings.moments import FoundReport
from domain.findings.report_words import Features, FindingWeight

FindingOrigin = Literal["first", "missed", "self", "surface", "unplaced"]
FindingState = Literal["open", "claimed", "unchanged", "fixed", "reopened"]
FindingAct = Literal["raised", "repeated", "reopened", "claimed", "unchanged", "fixed", "disputed", "not_repeated"]
Fact = Literal[
    "first_look",
    "lines_not_seen_before",
    "lines_seen_before",
    "lines_of_a_fix",
    "file_new_in_scope",
    "no_place",
    "raised",
    "still_reported",
    "came_back",
    "worked_on",
    "neither_line_nor_file_changed",
    "changed_and_not_repeated",
    "passed_by_judge",
    "no_look_yet",
    "change_not_looked_at",
    "matters",
    "quiet_once",
    "quiet_twice_nothing_open",
    "quiet_twice_blocking_open",
    "brings_back_removed_lines",
    "disputed_twice",
    "three_attempts",
]


class FactAt(NamedTuple):
    """A fact of the record: the event that shows it, and the finding that it is about, where there is one."""

    fact: Fact
    version: int
    finding: str = ""


class LifeEvent(NamedTuple):
    """Something that happened to a finding; `number` is the round of a look, `turn` the turn of a change."""

    version: int
    act: FindingAct
    by: str = ""
    number: int = 0
    turn: str = ""
    match: Match = "new"


@dataclass(slots=True)
class LedgerFinding:
    """A finding as it stands. `report` is the newest one that is about it; `perhaps` the finding that it may be."""

    name: str
    report: FoundReport
    features: Features
    spot: Spot
    origin: FindingOrigin
    why: FactAt
    state_why: FactAt
    perhaps: str = ""
    state: FindingState = "open"
    gone: bool = False
    attempts: int = 0
    """Changes that were meant to fix it."""
    failed: int = 0
    """Of them, those after which it was reported again."""
    reopenings: int = 0
    disputes: int = 0
    reported: int = 0
    """The event of its newest report."""
    changed: int = 0
    """The newest change of its lines."""
    life: list[LifeEvent] = field(default_factory=list)

    steps: int = 0
    """How far it has been brought up to date with what concerns many findings."""

    @property
    def blocking(self) -> bool:
        return self.report.blocking

    @property
    def weight(self) -> FindingWeight:
        return self.features.weight

    @property
    def is_open(self) -> bool:
        return self.state != "fixed"

    def becomes(self, state: FindingState, why: FactAt, event: LifeEvent) -> None:
        self.state, self.state_why = state, why
        self.life.append(event)
