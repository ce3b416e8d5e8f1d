"""All findings of a session, folded from its looks and changes. Silence closes nothing: a finding is fixed when its
lines changed and a later look that had them in scope does not repeat it."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from domain.findings.advice import Advice, LookReports, LookStep, advice_on
from domain.findings.finding import FactAt, FindingAct, FindingOrigin, LedgerFinding, LifeEvent
from domain.findings.line_history import ChangedFiles, LineHistory
from domain.findings.match import NOWHERE, SAME, FindingIndex, Likeness, Match, Spot, matched
from domain.findings.moments import Dispute, FoundReport, LookTaken, Moment, WorkChange
from domain.findings.report_words import features_of
from domain.findings.reversals import RemovedLines

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
    _named: dict[str, int] = field(default_factory=dict)
    """The number of each finding by its name."""
    _removed: RemovedLines = field(default_factory=RemovedLines)
    _full_looks: list[int] = field(default_factory=list)
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
        pairs = {pair.report: pair for pair in matched(described, self.findings, self._index)}
        for place, report in enumerate(free):
            pair = pairs.get(place)
            named = self._finding(report.finding) if report.finding in self._named else None
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
        if look.full:
            self._full_looks.append(look.version)
        self.steps.append(LookStep.of(look, LookReports(news, repeated), self.findings, self.steps, urgent))

    def _finding(self, name: str) -> LedgerFinding:
        return self.findings[self._named[name]]

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

    def _described(self, report: FoundReport) -> Likeness:
        features = features_of(report)
        if not features.path or features.line is None:
            return Likeness(features, Spot(features.path))
        line = self.lines.at(features.path, features.line)
        return Likeness(features, Spot(features.path, line.name if line else None, features.line))

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
        number = self._named[finding.name] = len(self.findings)
        self.findings.append(finding)
        if not report.key:
            self._index.add(number, described.features)
        self._place(finding)
        return finding

    def _place(self, finding: LedgerFinding) -> None:
        """Where the next reports may meet it; one with a key is met by its key alone."""
        self._index.place(self._named[finding.name], finding.spot, by_key=bool(finding.report.key))

    def _repeat(self, look: LookTaken, finding: LedgerFinding, report: FoundReport, described: Likeness) -> None:
        was_fixed = finding.state == "fixed"
        finding.reopenings += was_fixed
        if finding.attempts:
            finding.failed, finding.attempts = finding.failed + 1, 0
        finding.report, finding.reported, finding.features = report, look.version, described.features
        if described.spot.number is not None or not finding.spot.path:
            finding.spot, finding.gone = described.spot, False
        self._place(finding)
        finding.state = "reopened" if was_fixed else "open"
        finding.state_why = FactAt("came_back" if was_fixed else "still_reported", look.version)
        act: FindingAct = "reopened" if was_fixed else "repeated"
        finding.life.append(LifeEvent(look.version, act, report.by or look.by, look.number, match="same"))

    def _origin(self, look: LookTaken, spot: Spot) -> tuple[FindingOrigin, FactAt]:
        """Where a new finding comes from, by the lines that it is about."""
        if not spot.path:
            return "unplaced", FactAt("no_place", look.version)
        earlier = self._full_looks
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
        return "missed", FactAt("lines_seen_before", earlier[bisect_left(earlier, max(author, touched))])

    def _close(self, look: LookTaken, seen: set[str]) -> None:
        """What is not repeated is fixed only if its lines changed and this look had them in scope; a judge's pass says
        so itself."""
        version = look.version
        settled = LifeEvent(version, "fixed", look.by, look.number)
        not_repeated = LifeEvent(version, "not_repeated", look.by, look.number)
        by_judge = FactAt("passed_by_judge", version)
        by_silence = FactAt("changed_and_not_repeated", version)
        for key in look.passed & self._keys.keys():
            finding = self._keys[key]
            if finding.state != "fixed" and finding.report.key == key:
                finding.becomes("fixed", by_judge, settled)
        for finding in [each for each in self.findings if each.state == "claimed"] if look.full else ():
            if finding.name in seen:
                continue
            if finding.changed > finding.reported and finding.spot.number is not None:
                finding.becomes("fixed", by_silence, settled)
            elif finding.reported < version and finding.life[-1].act == "claimed":  # which closes nothing by itself
                finding.life.append(not_repeated)

    # -- a change ----------------------------------------------------------------------------------------------------

    def _change(self, change: WorkChange) -> None:
        files = self.lines.apply(change.patch, change.version)
        self.changes.append(change.version)
        self._follow(files, change.version)
        ordered = [
            each
            for each in self.findings
            if each.state != "fixed" and (each.report.blocking or each.changed == change.version)
        ]
        self._claim(ordered, change, files)
        blocking = [each for each in ordered if each.report.blocking]
        if blocking:
            self.fixes[change.version] = _orderer(blocking, files).name
        names = frozenset(each.name for each in blocking)
        for others in self._removed.brought_back(files, names):
            first = min(others, key=self._named.__getitem__)
            self._to_ask.append(FactAt("brings_back_removed_lines", change.version, first))
        self._removed.take(files, names)

    def _follow(self, files: ChangedFiles, version: int) -> None:
        """Every finding stays at its line."""
        concerned = {path: self._index.within(path, reach.first, reach.last) for path, reach in files.reach.items()}
        near: dict[str, frozenset[int]] = {}
        for earlier, numbers in concerned.items():
            path = files.renamed.get(earlier, earlier)
            place_of = self.lines.finder(path) if numbers else None
            for finding in map(self.findings.__getitem__, numbers):
                spot = finding.spot
                number = None if spot.name is None or place_of is None else place_of(spot.name)
                if number is None or finding.gone or number != spot.number or path != spot.path:
                    finding.spot = spot = self._moved(finding, path, version, number)
                    self._place(finding)
                if spot.number is None or finding.gone:
                    continue
                if spot.path not in near:
                    near[spot.path] = self.lines.changed_near(spot.path, version)
                if spot.number in near[spot.path]:
                    finding.changed = version

    def _moved(self, finding: LedgerFinding, path: str, version: int, number: int | None) -> Spot:
        """The spot of a finding in a file that was changed, where it has this number, and whether its line is gone."""
        spot = finding.spot
        if spot.name is None or spot.number is None:
            finding.changed = version
            return spot._replace(path=path)
        if number is None and not finding.gone and (moved := self.lines.find(spot.name)):
            path, number = moved
        if number is None:
            finding.changed = finding.changed if finding.gone else version
            finding.gone = True
            return spot._replace(path=path)
        finding.gone = False
        return Spot(path, spot.name, number)

    def _claim(self, ordered: Sequence[LedgerFinding], change: WorkChange, files: ChangedFiles) -> None:
        """Who hands work back says that it is done; a patch that touches neither line nor file says nothing."""
        version = change.version
        worked_on, untouched = FactAt("worked_on", version), FactAt("neither_line_nor_file_changed", version)
        claimed = LifeEvent(version, "claimed", change.by, turn=change.turn)
        unchanged = LifeEvent(version, "unchanged", change.by, turn=change.turn)
        touched = files.touched | {""}
        for finding in ordered:
            finding.attempts += 1
            if finding.changed == version or finding.spot.path in touched:
                finding.state, finding.state_why = "claimed", worked_on
                finding.life.append(claimed)
            elif finding.state not in ("claimed", "unchanged"):  # else an earlier change has worked on it
                finding.becomes("unchanged", untouched, unchanged)

    # -- a dispute ---------------------------------------------------------------------------------------------------

    def _dispute(self, dispute: Dispute) -> None:
        described = [self._described(report) for report in dispute.reports]
        for pair in matched(described, self.findings, self._index):
            finding, report = self.findings[pair.finding], dispute.reports[pair.report]
            if pair.score < SAME or not finding.is_open:
                continue
            finding.disputes += 1
            finding.life.append(LifeEvent(dispute.version, "disputed", report.by, match="same"))
            if finding.disputes == DISPUTES and finding.blocking:
                self._to_ask.append(FactAt("disputed_twice", dispute.version, finding.name))


def _orderer(blocking: Sequence[LedgerFinding], files: ChangedFiles) -> LedgerFinding:
    """The finding that ordered a fix: the first whose file it touches, else the first."""
    return next((each for each in blocking if each.spot.path in files.touched), blocking[0])


def ledger_of(moments: Iterable[Moment]) -> FindingLedger:
    """The ledger of a session's looks and changes; the same ones always give the same ledger."""
    ledger = FindingLedger()
    for moment in moments:
        ledger.add(moment)
    return ledger
