"""All findings of a session, folded from its looks and changes. Silence closes nothing: a finding is fixed when its
lines changed and a later look that had them in scope does not repeat it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from domain.findings.advice import Advice, LookReports, LookStep, advice_on
from domain.findings.finding import FactAt, FindingAct, FindingOrigin, LedgerFinding, LifeEvent
from domain.findings.line_history import ChangedFiles, LineHistory, grouped
from domain.findings.match import NOWHERE, SAME, FindingIndex, Likeness, Match, Spot, matched
from domain.findings.moments import Dispute, FoundReport, LookTaken, Moment, WorkChange
from domain.findings.wording import Features, features_of
from domain.provenance.distinction import FAINT, weight

POLICY: Final = "findings@1"
DISPUTES: Final = 2
"""Disputes of a finding after which a person is asked."""


@dataclass
class FindingLedger:
    """The findings in the order in which they were raised, and what each look meant."""

    findings: list[LedgerFinding] = field(default_factory=list)
    steps: list[LookStep] = field(default_factory=list)
    lines: LineHistory = field(default_factory=LineHistory)
    changes: list[int] = field(default_factory=list)
    fixes: dict[int, str] = field(default_factory=dict)
    """The changes that were made while something blocking was open, and the finding that ordered each."""
    _keys: dict[str, LedgerFinding] = field(default_factory=dict)
    _index: FindingIndex = field(default_factory=FindingIndex)
    _removed: dict[tuple[str, str], frozenset[str]] = field(default_factory=dict)
    """Lines that a fix took out, by file and text: the findings that it was for."""
    _to_ask: list[FactAt] = field(default_factory=list)

    @property
    def advice(self) -> Advice:
        """What to do now."""
        return advice_on(self.steps, self.changes, self._to_ask)

    def add(self, moment: Moment) -> None:
        match moment:
            case LookTaken():
                self._look(moment)
            case WorkChange():
                self._change(moment)
            case Dispute():
                self._dispute(moment)

    # -- a look ------------------------------------------------------------------------------------------------------

    def _look(self, look: LookTaken) -> None:
        seen: set[str] = set()
        """Findings that this look repeats, or may repeat."""
        news: list[LedgerFinding] = []
        repeated: list[LedgerFinding] = []
        keyed = [report for report in look.reports if report.key]
        for report in keyed:
            self._take_keyed(look, report, news, repeated, seen)
        free = [report for report in look.reports if not report.key]
        described = [self._described(report) for report in free]
        self._index.place((number, each.spot) for number, each in enumerate(self.findings) if not each.report.key)
        earlier = [Likeness(each.features, each.spot) for each in self.findings]
        pairs = {pair.report: pair for pair in matched(described, earlier, self._index)} if self.findings else {}
        for place, report in enumerate(free):
            pair = pairs.get(place)
            named = self._named(report)
            if named is None and pair is not None and pair.score >= SAME:
                named = self.findings[pair.finding]
            if named is not None and named.name not in seen:
                seen.add(named.name)
                self._repeat(look, named, report, described[place])
                repeated.append(named)
                continue
            perhaps = self.findings[pair.finding].name if pair is not None and pair.score < SAME else ""
            seen.update({perhaps} - {""})
            news.append(self._raise(look, report, described[place], perhaps))
        self._close(look, seen)
        last = self.steps[-1].version if self.steps else 0
        urgent = [each for each in self._to_ask if each.version > last and self._finding(each.finding).is_open]
        self.steps.append(LookStep.of(look, LookReports(news, repeated), self.findings, self.steps, urgent))

    def _finding(self, name: str) -> LedgerFinding:
        return self.findings[_number(name) - 1]

    def _take_keyed(
        self,
        look: LookTaken,
        report: FoundReport,
        news: list[LedgerFinding],
        repeated: list[LedgerFinding],
        seen: set[str],
    ) -> None:
        """The record itself says which finding it is."""
        finding = self._keys.get(report.key)
        described = Likeness(features_of(report), NOWHERE)
        if finding is None:
            self._keys[report.key] = self._raise(look, report, described, "")
            news.append(self._keys[report.key])
            return
        seen.add(finding.name)
        self._repeat(look, finding, report, described)
        repeated.append(finding)

    def _named(self, report: FoundReport) -> LedgerFinding | None:
        """The finding that the reviewer names, as this ledger does."""
        return next((each for each in self.findings if each.name == report.finding), None) if report.finding else None

    def _described(self, report: FoundReport) -> Likeness:
        features = features_of(report)
        return Likeness(features, self._spot(features))

    def _spot(self, features: Features) -> Spot:
        if not features.path or features.line is None:
            return Spot(features.path)
        line = self.lines.at(features.path, features.line)
        return Spot(features.path, line.name if line else None, features.line)

    def _raise(self, look: LookTaken, report: FoundReport, described: Likeness, perhaps: str) -> LedgerFinding:
        origin, why = self._origin(look, described.spot)
        finding = LedgerFinding(
            name=f"F{len(self.findings) + 1}",
            report=report,
            features=described.features,
            spot=described.spot,
            origin=origin,
            why=why,
            perhaps=perhaps,
            state_why=FactAt("raised", report.version),
            reported=look.version,
        )
        match: Match = "maybe" if perhaps else "new"
        finding.life.append(LifeEvent(look.version, "raised", report.by or look.by, look.number, match=match))
        self.findings.append(finding)
        if not report.key:
            self._index.add(len(self.findings) - 1, described.features)
        return finding

    def _repeat(self, look: LookTaken, finding: LedgerFinding, report: FoundReport, described: Likeness) -> None:
        was_fixed = finding.state == "fixed"
        finding.reopenings += was_fixed
        if finding.attempts:
            finding.failed, finding.attempts = finding.failed + 1, 0
        finding.report, finding.reported, finding.features = report, look.version, described.features
        if described.spot.number is not None or not finding.spot.path:
            finding.spot, finding.gone = described.spot, False
        finding.state = "reopened" if was_fixed else "open"
        finding.state_why = FactAt("came_back" if was_fixed else "still_reported", look.version)
        act: FindingAct = "reopened" if was_fixed else "repeated"
        finding.life.append(LifeEvent(look.version, act, report.by or look.by, look.number, match="same"))

    def _origin(self, look: LookTaken, spot: Spot) -> tuple[FindingOrigin, FactAt]:
        """Where a new finding comes from, by the lines that it is about."""
        if not spot.path:
            return "unplaced", FactAt("no_place", look.version)
        earlier = [step.version for step in self.steps if step.full]
        if not earlier:
            return "first", FactAt("first_look", look.version)
        line = None if spot.number is None else self.lines.at(spot.path, spot.number)
        author, touched = line.author if line else 0, self.lines.touched.get(spot.path, 0)
        if author in self.fixes:
            return "self", FactAt("lines_of_a_fix", author, self.fixes[author])
        if touched > earlier[-1]:
            return "surface", FactAt("file_new_in_scope", touched)
        if author > earlier[-1]:
            return "first", FactAt("lines_not_seen_before", author)
        return "missed", FactAt("lines_seen_before", next(each for each in earlier if each >= max(author, touched)))

    def _close(self, look: LookTaken, seen: set[str]) -> None:
        """What is not repeated is fixed only if its lines changed and this look had them in scope; a judge's pass says
        so itself."""
        for finding in self.findings:
            if finding.report.key and finding.report.key in look.passed and finding.state != "fixed":
                self._settle(look, finding, FactAt("passed_by_judge", look.version))
            elif (
                finding.state == "claimed"
                and look.full
                and finding.name not in seen
                and finding.spot.number is not None
                and finding.changed > finding.reported
            ):
                self._settle(look, finding, FactAt("changed_and_not_repeated", look.version))

            elif (
                finding.state == "claimed"
                and look.full
                and finding.name not in seen
                and finding.reported < look.version
            ):
                self._leave(look, finding)

    def _leave(self, look: LookTaken, finding: LedgerFinding) -> None:
        """It was not repeated, which closes nothing by itself."""
        if finding.life[-1].act == "claimed":
            finding.life.append(LifeEvent(look.version, "not_repeated", look.by, look.number))

    def _settle(self, look: LookTaken, finding: LedgerFinding, why: FactAt) -> None:
        finding.state, finding.state_why = "fixed", why
        finding.life.append(LifeEvent(look.version, "fixed", look.by, look.number))

    # -- a change ----------------------------------------------------------------------------------------------------

    def _change(self, change: WorkChange) -> None:
        files = self.lines.apply(change.patch, change.version)
        self.changes.append(change.version)
        concerned = files.touched | files.renamed.keys()
        for finding in self.findings:
            if finding.spot.path in concerned:
                self._follow(finding, files, change.version)
        ordered = [each for each in self.findings if each.is_open and (each.blocking or each.changed == change.version)]
        for finding in ordered:
            self._claim(finding, change, files)
        blocking = [each for each in ordered if each.blocking]
        if blocking:
            self.fixes[change.version] = _orderer(blocking, files).name
        self._remember(change.version, files, blocking)

    def _follow(self, finding: LedgerFinding, files: ChangedFiles, version: int) -> None:
        spot = finding.spot
        path = files.renamed.get(spot.path, spot.path)
        if spot.name is None or spot.number is None:
            finding.spot, finding.changed = spot._replace(path=path), version
            return
        number = self.lines.number_of(path, spot.name)
        if number is None and (moved := self.lines.find(spot.name)):
            path, number = moved
        if number is None:
            finding.changed = finding.changed if finding.gone else version
            finding.spot, finding.gone = spot._replace(path=path), True
            return
        finding.spot, finding.gone = Spot(path, spot.name, number), False
        if self.lines.changed_near(path, number) == version:
            finding.changed = version

    def _claim(self, finding: LedgerFinding, change: WorkChange, files: ChangedFiles) -> None:
        """Who hands work back says that it is done; a patch that touches neither line nor file says nothing."""
        finding.attempts += 1
        if not finding.spot.path or finding.changed == change.version or finding.spot.path in files.touched:
            self._mark(finding, change, "claimed", FactAt("worked_on", change.version))
        elif finding.state not in ("claimed", "unchanged"):  # else an earlier change has worked on it
            self._mark(finding, change, "unchanged", FactAt("neither_line_nor_file_changed", change.version))

    def _mark(
        self, finding: LedgerFinding, change: WorkChange, state: Literal["claimed", "unchanged"], why: FactAt
    ) -> None:
        finding.state, finding.state_why = state, why
        finding.life.append(LifeEvent(change.version, state, change.by, turn=change.turn))

    def _remember(self, version: int, files: ChangedFiles, blocking: Sequence[LedgerFinding]) -> None:
        """Asks about a fix that brings back lines which another finding's fix took out."""
        removed, added = grouped(files.removed), grouped(files.added)
        names = frozenset(each.name for each in blocking)
        for path, texts in files.added.items():
            for text in texts:
                name = "".join(text.split())
                earlier = self._removed.get((path, name))
                if earlier and weight(text) >= FAINT and not earlier & names and name not in removed.get(path, ()):
                    self._to_ask.append(FactAt("brings_back_removed_lines", version, min(earlier, key=_number)))
                    break
        if not names:
            return
        for path, gone in removed.items():
            for name in gone - added.get(path, set()):
                self._removed[path, name] = names

    # -- a dispute ---------------------------------------------------------------------------------------------------

    def _dispute(self, dispute: Dispute) -> None:
        described = [self._described(report) for report in dispute.reports]
        self._index.place((number, each.spot) for number, each in enumerate(self.findings) if not each.report.key)
        earlier = [Likeness(each.features, each.spot) for each in self.findings]
        for pair in matched(described, earlier, self._index):
            finding, report = self.findings[pair.finding], dispute.reports[pair.report]
            if pair.score < SAME or not finding.is_open:
                continue
            finding.disputes += 1
            finding.life.append(LifeEvent(dispute.version, "disputed", report.by, match="same"))
            if finding.disputes == DISPUTES and finding.blocking:
                self._to_ask.append(FactAt("disputed_twice", dispute.version, finding.name))


def _number(name: str) -> int:
    return int(name[1:])


def _orderer(blocking: Sequence[LedgerFinding], files: ChangedFiles) -> LedgerFinding:
    """The finding that ordered a fix: the first whose file it touches, else the first."""
    return next((each for each in blocking if each.spot.path in files.touched), blocking[0])


def ledger_of(moments: Iterable[Moment]) -> FindingLedger:
    """The ledger of a session's looks and changes; the same ones always give the same ledger."""
    ledger = FindingLedger()
    for moment in moments:
        ledger.add(moment)
    return ledger
