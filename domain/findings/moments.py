"""Gathers what the ledger reads: looks of those who judge, changes of those who work, and what is disputed, in their
order."""

from typing import Literal

from domain.values.base import Value

ReportSource = Literal["reviewer", "discussion", "judge", "person"]
IssueSeverity = Literal["critical", "major", "minor", ""]


class FoundReport(Value):
    """A report of one reviewer in one round, in its own words. `key` names the finding where the record itself does: an
    agent's phase for its judge. The rest is what the reviewer says about the place; absent parts are read from the
    words."""

    version: int
    title: str
    detail: str = ""
    source: ReportSource = "reviewer"
    by: str = ""
    blocking: bool = False
    severity: IssueSeverity = ""
    key: str = ""
    path: str = ""
    line: int | None = None
    symbol: str = ""
    kind: str = ""
    evidence: str = ""
    finding: str = ""


class LookTaken(Value):
    """Somebody has judged the work. `full`: all of it was in scope. `passed` are the keys that the judge lets pass."""

    version: int
    number: int
    by: str = ""
    reports: tuple[FoundReport, ...] = ()
    full: bool = True
    passed: frozenset[str] = frozenset()


class WorkChange(Value):
    """A turn has changed the work; its patch is a unified diff."""

    version: int
    turn: str = ""
    by: str = ""
    patch: str = ""


class Dispute(Value):
    """An objection to these reports, from the agent that does the work."""

    version: int
    reports: tuple[FoundReport, ...]


Moment = LookTaken | WorkChange | Dispute
