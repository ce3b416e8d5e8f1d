"""A growing worklog: each event adds to its sections, and to the log of entries."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

LOG = "log"
"""The beginnings of sections that only grow; for every other section, the newest text counts."""

Row = tuple[str, str]
"""Section and text. `log` continues the newest entry or, with a heading, begins one. `log:<place>` belongs to the entry
of that place, wherever it is."""


class SectionText(NamedTuple):
    """The text of a section, starting at a version."""

    version: int
    text: str


class LogRow(NamedTuple):
    """A part of the log."""

    version: int
    section: str
    body: str

    @property
    def begins(self) -> bool:
        """Whether an entry begins with it."""
        return self.body.startswith("### ")


@dataclass(slots=True)
class Worklog:
    """Everything written, in the order of versions. `agents` are the names in the plan, by place."""

    sections: dict[str, list[SectionText]] = field(default_factory=dict)
    log: list[LogRow] = field(default_factory=list)
    agents: list[str] = field(default_factory=list)

    def add(self, version: int, row: Row) -> None:
        section, body = row
        if section.startswith(LOG):
            self.log.append(LogRow(version, section, body))
        elif self.newest(section) != body:
            self.sections.setdefault(section, []).append(SectionText(version, body))

    def newest(self, section: str) -> str | None:
        """The current text of a section."""
        bodies = self.sections.get(section)
        return bodies[-1].text if bodies else None

    def latest(self, version: int) -> dict[str, str]:
        """The text of every section at a version."""
        latest = {section: _upto(bodies, version) for section, bodies in self.sections.items()}
        return {section: body for section, body in latest.items() if body is not None}

    def rows(self, version: int, newest: int | None = None) -> list[Row]:
        """The log at a version: all of it, or only this many of its newest entries."""
        rows = self.log[: bisect_right(self.log, version, key=lambda row: row.version)]
        if newest is not None:
            rows = list(_newest(rows, newest))
        return [(row.section, row.body) for row in rows]


def _upto(bodies: list[SectionText], version: int) -> str | None:
    place = bisect_right(bodies, version, key=lambda body: body.version)
    return bodies[place - 1].text if place else None


def _newest(rows: list[LogRow], count: int) -> Iterator[LogRow]:
    """The rows of the newest entries, without those that belong to an earlier entry."""
    begun = [row.version for row in rows if row.begins]
    first = begun[-count] if len(begun) >= count else 0
    places = set()
    for row in rows[bisect_right(rows, first - 1, key=lambda row: row.version) :]:
        if row.begins:
            places.add(row.section)
        if not first or row.section in places:
            yield row
