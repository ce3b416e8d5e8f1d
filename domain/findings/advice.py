"""Decides whether another round is worth it. Nothing here approves what is blocking, and nothing stops before the last
fix has been looked at; budgets, limits and people stay above all of it."""

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from domain.findings.finding import FactAt, LedgerFinding
from domain.findings.moments import LookTaken

Recommendation = Literal["continue", "confirm", "stop", "ask"]

ATTEMPTS: Final = 3
"""Attempts after which a finding is a person's, and returns up to which it matters."""
FULL_LOOKS: Final = 3
"""Looks at all of the work within which a plain finding that is new matters."""
_QUIET: Final = 2


class Advice(NamedTuple):
    """The advice after the looks so far: `quiet` counts those at the end in which nothing mattered. `still_open` are
    the findings that block although a second look, that of `version`, was quiet."""

    quiet: int
    recommendation: Recommendation
    facts: tuple[FactAt, ...] = ()
    version: int = 0
    still_open: tuple[str, ...] = ()

    @property
    def because(self) -> tuple[FactAt, ...]:
        return self.facts + tuple(FactAt("quiet_twice_blocking_open", self.version, name) for name in self.still_open)


class LookReports(NamedTuple):
    """The findings that a look raised, and those that it reported again."""

    new: Sequence[LedgerFinding]
    repeated: Sequence[LedgerFinding]


class LookStep(NamedTuple):
    """A look, and what it meant. `open_blocking` are the findings that block and are not known to be fixed."""

    version: int
    number: int
    by: str
    full: bool
    blocking: int
    remarks: int
    quiet: int
    open_blocking: tuple[str, ...]
    advice: Advice

    @classmethod
    def of(
        cls,
        look: LookTaken,
        reports: LookReports,
        open_blocking: tuple[str, ...],
        steps: Sequence["LookStep"],
        urgent: Sequence[FactAt],
    ) -> "LookStep":
        """`urgent`: what has come up since the last look and only a person can settle."""
        full_looks = sum(step.full for step in steps) + look.full
        mattering = [each for each in reports.new if each.blocking and _is_new_matter(each, full_looks)]
        mattering += [each for each in reports.repeated if each.blocking and _matters_still(each)]
        quiet = 0 if mattering else (steps[-1].quiet if steps else 0) + 1
        tried = [each.name for each in reports.repeated if each.blocking and each.failed >= ATTEMPTS]
        persons = (*urgent, *(FactAt("three_attempts", look.version, name) for name in tried))
        every = (*reports.new, *reports.repeated)
        return cls(
            version=look.version,
            number=look.number,
            by=look.by,
            full=look.full,
            blocking=sum(each.blocking for each in every),
            remarks=sum(not each.blocking for each in every),
            quiet=quiet,
            open_blocking=open_blocking,
            advice=_advice(look.version, quiet, mattering, persons, open_blocking),
        )


def _is_new_matter(finding: LedgerFinding, full_looks: int) -> bool:
    """A strong one always; a plain one early, unless a fix brought it; one of taste never."""
    if finding.weight == "strong":
        return True
    return finding.weight == "plain" and finding.origin != "self" and full_looks <= FULL_LOOKS


def _matters_still(finding: LedgerFinding) -> bool:
    if finding.weight != "strong":
        return False
    return finding.reopenings < ATTEMPTS if finding.state == "reopened" else finding.failed < ATTEMPTS


def _advice(
    version: int,
    quiet: int,
    mattering: Sequence[LedgerFinding],
    persons: tuple[FactAt, ...],
    open_blocking: tuple[str, ...],
) -> Advice:
    if persons:
        return Advice(quiet, "ask", persons)
    if mattering:
        return Advice(quiet, "continue", tuple(FactAt("matters", version, each.name) for each in mattering))
    if quiet < _QUIET:
        return Advice(quiet, "confirm", (FactAt("quiet_once", version),))
    if open_blocking:
        return Advice(quiet, "ask", version=version, still_open=open_blocking)
    return Advice(quiet, "stop", (FactAt("quiet_twice_nothing_open", version),))


def advice_on(steps: Sequence[LookStep], changes: Sequence[int], to_ask: Sequence[FactAt]) -> Advice:
    """Advises what to do now: a finding that only a person can settle comes first, then a change that nobody has looked
    at."""
    quiet = steps[-1].quiet if steps else 0
    last = steps[-1].version if steps else 0
    urgent = tuple(reason for reason in to_ask if reason.version > last)
    if urgent:
        return Advice(quiet, "ask", urgent)
    if not steps:
        return Advice(0, "continue", (FactAt("no_look_yet", changes[-1] if changes else 0),))
    if changes and changes[-1] > last:
        return Advice(quiet, "continue", (FactAt("change_not_looked_at", changes[-1]),))
    return steps[-1].advice
