"""All findings of a session, folded from its looks and changes. Silence closes nothing: a finding is fixed when its
lines changed and a later look that had them in scope does not repeat it."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from domain.findings.advice import Advice, LookReports, LookStep, advice_on
from domain.findings.finding import FactAt, FindingAct, FindingOrigin, LedgerFinding, LifeEvent
from domain.findings.line_history import ChangedFiles, LineHistory
from domain.findings.match import NOWHERE, SAME, FindingIndex, Likeness, Match, Spot, matched
from domain.findings.meanwhile import Meanwhile
from domain.findings.moments import Dispute, FoundReport, LookTaken, Moment, WorkChange
from domain.findings.report_words import features_of, with_whole_name
from domain.findings.reversals import RemovedLines

POLICY: Final = "findings@1"
DISPUTES: Final = 2
"""Disputes of a finding after which a person is asked."""


@dataclass
class FindingLedger:
    """The findings in the order in which they were raised, and what each look meant."""

    steps: list[LookStep] = field(default_factory=list)
    lines: LineHistory = field(default_factory=LineHistory)
    changes: list[int] = field(default_factory=list)
    fixes: dict[int, str] = field(default_factory=dict)
    """The changes that were made while something blocking was open, and the finding that ordered each."""
    _findings: list[LedgerFinding] = field(default_factory=list)
    """Not all are up to date: what concerns many of them is kept in one place."""
    _meanwhile: Meanwhile = field(default_factory=Meanwhile)
    _open: "_OpenBlocking" = field(default_factory=lambda: _OpenBlocking([], []))
    _changed: set[int] = field(default_factory=set)
    """The findings whose lines have changed since they were reported, by number."""
    _keys: dict[str, LedgerFinding] = field(default_factory=dict)
    _index: FindingIndex = field(default_factory=FindingIndex)
    _named: dict[str, int] = field(default_factory=dict)
    """The number of each finding by its name."""
    _removed: RemovedLines = field(default_factory=RemovedLines)
    _full_looks: list[int] = field(default_factory=list)
    _to_ask: list[FactAt] = field(default_factory=list)

    @property
    def findings(self) -> Sequence[LedgerFinding]:
        """In the order in which they were raised, as they stand."""
        for finding in self._findings:
            self._meanwhile.bring(finding)
        return self._findings

    @property
    def advice(self) -> Advice:
        """Advises what to do now."""
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
        pairs = {pair.report: pair for pair in matched(described, self._findings, self._index)}
        for place, report in enumerate(free):
            pair = pairs.get(place)
            named = self._finding(report.finding) if report.finding in self._named else None
            if named is None and pair is not None and pair.score >= SAME:
                named = self._findings[pair.finding]
            if named is not None and named.name not in seen:
                seen.add(named.name)
                self._repeat(look, named, report, described[place])
                repeated.append(named)
                continue
            perhaps = self._findings[pair.finding].name if pair is not None and pair.score < SAME else ""
            seen.update({perhaps} - {""})
            news.append(self._raise(look, report, described[place], perhaps))
        self._close(look, seen)
        last = self.steps[-1].version if self.steps else 0
        urgent = [each for each in self._to_ask if each.version > last and self._finding(each.finding).is_open]
        if look.full:
            self._full_looks.append(look.version)
        self.steps.append(LookStep.of(look, LookReports(news, repeated), tuple(self._open.names), self.steps, urgent))

    def _finding(self, name: str) -> LedgerFinding:
        return self._findings[self._named[name]]

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
        features = with_whole_name(features_of(report), report, self.lines.with_blanks)
        if not features.path or features.line is None:
            return Likeness(features, Spot(features.path))
        line = self.lines.at(features.path, features.line)
        return Likeness(features, Spot(features.path, line.name if line else None, features.line))

    def _raise(self, look: LookTaken, report: FoundReport, described: Likeness, perhaps: str) -> LedgerFinding:
        origin, why = self._origin(look, described.spot)
        finding = LedgerFinding(
            name=f"F{len(self._findings) + 1}",
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
        number = self._named[finding.name] = len(self._findings)
        self._findings.append(finding)
        self._meanwhile.pass_over(finding)
        if report.blocking:
            self._open.numbers.append(number)
            self._open.names.append(finding.name)
        if not report.key:
            self._index.add(number, described.features)
        self._place(finding)
        return finding

    def _place(self, finding: LedgerFinding) -> None:
        """Notes where the next reports may meet the finding; one with a key is met by its key alone."""
        self._index.place(self._named[finding.name], finding.spot, by_key=bool(finding.report.key))

    def _repeat(self, look: LookTaken, finding: LedgerFinding, report: FoundReport, described: Likeness) -> None:
        self._meanwhile.bring(finding)
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
        number = self._named[finding.name]
        self._changed.discard(number)
        self._open.keep(number, finding)

    def _origin(self, look: LookTaken, spot: Spot) -> tuple[FindingOrigin, FactAt]:
        """Tells where a new finding comes from, by the lines that it is about."""
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
        """Settles what a look does not repeat: it is fixed only if its lines changed and this look had them in scope; a
        judge's pass says so itself."""
        settled = LifeEvent(look.version, "fixed", look.by, look.number)
        by_judge, by_silence = (FactAt(fact, look.version) for fact in ("passed_by_judge", "changed_and_not_repeated"))
        for key in look.passed & self._keys.keys():
            if self._keys[key].state != "fixed" and self._keys[key].report.key == key:
                self._settle(self._named[self._keys[key].name], by_judge, settled)
        if not look.full:
            return
        for number in [each for each in self._changed if self._findings[each].name not in seen]:
            self._settle(number, by_silence, settled)
        named = [self._finding(name) for name in seen]
        for finding in named:
            self._meanwhile.bring(finding)
        self._meanwhile.look(look.version, by=look.by, number=look.number)
        for finding in named:
            self._meanwhile.pass_over(finding)

    def _settle(self, number: int, why: FactAt, event: LifeEvent) -> None:
        finding = self._findings[number]
        self._meanwhile.bring(finding)
        finding.becomes("fixed", why, event)
        self._changed.discard(number)
        self._open.keep(number, finding)

    # -- a change ----------------------------------------------------------------------------------------------------

    def _change(self, change: WorkChange) -> None:
        files = self.lines.apply(change.patch, change.version)
        self.changes.append(change.version)
        blocking = [*self._open.names]
        concerned = [each for each in self._follow(files, change.version) if each.state != "fixed"]
        self._claim(concerned, change, files)
        if blocking:
            self.fixes[change.version] = self._orderer(files)
        names = frozenset(blocking)
        for others in self._removed.brought_back(files, names):
            first = min(others, key=self._named.__getitem__)
            self._to_ask.append(FactAt("brings_back_removed_lines", change.version, first))
        self._removed.take(files, names)

    def _follow(self, files: ChangedFiles, version: int) -> Iterator[LedgerFinding]:
        """Every finding stays at its line; yields those whose lines have changed."""
        concerned = {path: self._index.within(path, reach.first, reach.last) for path, reach in files.reach.items()}
        near: dict[str, frozenset[int]] = {}
        for earlier, numbers in concerned.items():
            path = files.renamed.get(earlier, earlier)
            place_of = self.lines.finder(path) if numbers else None
            for finding in map(self._findings.__getitem__, numbers):
                spot = finding.spot
                number = None if spot.name is None or place_of is None else place_of(spot.name)
                if number is None or finding.gone or number != spot.number or path != spot.path:
                    spot = self._moved(finding, path, version, number)
                    if spot.path != finding.spot.path:
                        self._meanwhile.bring(finding)
                    finding.spot = spot
                    self._place(finding)
                if spot.number is not None and not finding.gone:
                    if spot.path not in near:
                        near[spot.path] = self.lines.changed_near(spot.path, version)
                    if spot.number in near[spot.path]:
                        finding.changed = version
                if finding.changed == version:
                    yield finding

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

    def _claim(self, concerned: Sequence[LedgerFinding], change: WorkChange, files: ChangedFiles) -> None:
        """Claims everything that blocks, and what the patch is `concerned` with: handed back means done."""
        for finding in concerned:
            self._meanwhile.bring(finding)
        self._meanwhile.change(change.version, by=change.by, turn=change.turn, touched=files.touched)
        for finding in concerned:
            self._meanwhile.pass_over(finding)
            finding.attempts += 1
            worked_on = FactAt("worked_on", change.version)
            finding.becomes("claimed", worked_on, LifeEvent(change.version, "claimed", change.by, turn=change.turn))
            if finding.spot.number is not None:
                self._changed.add(self._named[finding.name])

    def _orderer(self, files: ChangedFiles) -> str:
        """The finding that ordered a fix: the first whose file it touches, else the first."""
        open_blocking = map(self._findings.__getitem__, self._open.numbers)
        touched = (each.name for each in open_blocking if each.spot.path in files.touched)
        return next(touched, self._open.names[0])

    # -- a dispute ---------------------------------------------------------------------------------------------------

    def _dispute(self, dispute: Dispute) -> None:
        described = [self._described(report) for report in dispute.reports]
        for pair in matched(described, self._findings, self._index):
            finding, report = self._findings[pair.finding], dispute.reports[pair.report]
            if pair.score < SAME or not finding.is_open:
                continue
            self._meanwhile.bring(finding)
            finding.disputes += 1
            finding.life.append(LifeEvent(dispute.version, "disputed", report.by, match="same"))
            if finding.disputes == DISPUTES and finding.blocking:
                self._to_ask.append(FactAt("disputed_twice", dispute.version, finding.name))


class _OpenBlocking(NamedTuple):
    """The findings that block and are not known to be fixed, in the order in which they were raised."""

    numbers: list[int]
    names: list[str]

    def keep(self, number: int, finding: LedgerFinding) -> None:
        """Take a finding in, or out, as it stands now."""
        place = bisect_left(self.numbers, number)
        is_in = self.numbers[place : place + 1] == [number]
        if finding.blocking and finding.is_open:
            if not is_in:
                self.numbers.insert(place, number)
                self.names.insert(place, finding.name)
        elif is_in:
            del self.numbers[place], self.names[place]


def ledger_of(moments: Iterable[Moment]) -> FindingLedger:
    """The ledger of a session's looks and changes; the same ones always give the same ledger."""
    ledger = FindingLedger()
    for moment in moments:
        ledger.add(moment)
    return ledger
