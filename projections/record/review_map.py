"""The reviewer's map: the hunks of a result, ordered by what the record knows about each."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from domain.checks.weakening import Weakening
from domain.delivery.events import TestsPassed, ValidationFailed
from domain.findings.attention import FACTS, AttentionFact, MapHunk, ShownFact, by_attention
from domain.findings.ledger import FindingLedger, ledger_of
from domain.findings.line_history import NamedLines
from domain.findings.moments import LookTaken, Moment, WorkChange
from domain.orchestration.events import RoundValidated
from domain.provenance.patches import names_at
from domain.provenance.path_changes import PatchPart, PathEffect, renamed_paths
from domain.provenance.path_changes import whole as whole_path
from domain.session.comments import CommentMade, CommentPlace, CommentSide, Whereabouts
from domain.session.past_commands import Whole
from domain.session.record import Recorded
from domain.session.state import Session
from domain.session.validation import LineRange
from projections.record.moments import moments_of
from projections.views.review_map import AttentionView, MapHunkView, MapLine, PathNoteView, ReviewMapView
from projections.views.session import ResultFile, ResultView

_UNSETTLED = ("open", "declined", "unchanged")


@dataclass(frozen=True, slots=True)
class RecordedWork:
    """A session as of a version, with its history up to there, its result, and where its comments' lines are."""

    session: Session
    history: Sequence[Recorded]
    result: ResultView
    whereabouts: Mapping[str, Whereabouts]


class _MapFacts:
    """The record's knowledge about places of the result."""

    def __init__(self, work: RecordedWork, whole: Whole) -> None:
        moments = list(moments_of(work.history, whole))
        self._ledger: FindingLedger = ledger_of(moments)
        self._agents = {each.version: each.by for each in moments if isinstance(each, WorkChange)}
        self._changes = _changes(moments)
        self._last_look = max((each.version for each in moments if isinstance(each, LookTaken)), default=0)
        self._weakened = _weakened(work.history)
        self._coverage = _coverage(work)
        self._deciding = {file.path for file in work.result.files if file.decides is not None}
        self._outside = {*work.result.outside}
        if any(file.named for file in work.result.files):
            self._outside |= {file.path for file in work.result.files if not file.named}
        self._comments = list(_places(work))

    def about(self, part: PatchPart) -> tuple[ShownFact, ...]:
        """In the order in which facts are always told."""
        all_facts = list(self._all(part) if part.hunk.lines else self._whole(part.hunk.path))
        if not part.hunk.lines and part.change.renamed_from:
            all_facts += self._whole(part.change.renamed_from)
        facts: dict[AttentionFact, int] = {}
        for fact, version in all_facts:
            facts[fact] = max(version, facts.get(fact, 0))
        facts = {fact: version for fact, version in facts.items() if version}
        return tuple(ShownFact(fact, facts[fact]) for fact in FACTS if fact in facts)

    def _all(self, part: PatchPart) -> Iterator[tuple[AttentionFact, int]]:
        hunk = part.hunk
        numbers = [line.number for line in hunk.lines if line.sign == "+"]
        runs = self._ledger.lines.between(hunk.path, numbers[0], numbers[-1]) if numbers else []
        newest = self._ledger.lines.newest.get(hunk.path, 0)
        changed = max((run.changed for run in runs), default=newest)
        if self._last_look and changed > self._last_look:
            yield "changed_after_last_look", changed
        yield "weakened", self._weakened.get(hunk.path, newest if hunk.path in self._deciding else 0)
        yield "not_run", self._not_run(hunk.path, numbers) if newest <= self._coverage.version else 0
        yield "comment", self._commented(part)
        yield "outside", (changed or newest) if hunk.path in self._outside else 0
        fixes = [version for run in runs for version in (run.author, run.changed) if version in self._ledger.fixes]
        yield "written_by_fix", max(fixes, default=0)
        yield "several_agents", self._several(runs)

    def _whole(self, path: str) -> Iterator[tuple[AttentionFact, int]]:
        """The facts that concern a path and not its lines."""
        versions = self._changes.get(path, ())
        newest = max(versions, default=0)
        if self._last_look and newest > self._last_look:
            yield "changed_after_last_look", newest
        yield "weakened", self._weakened.get(path, newest if path in self._deciding else 0)
        yield "comment", max((each.version for each in self._comments if each.place.path == path), default=0)
        yield "outside", newest if path in self._outside else 0
        yield "written_by_fix", max((version for version in versions if version in self._ledger.fixes), default=0)
        yield "several_agents", newest if len({self._agents[version] for version in versions}) > 1 else 0

    def _not_run(self, path: str, numbers: Sequence[int]) -> int:
        """The event of the validation, if it has not run one of these lines; what was changed later is not known."""
        ranges = self._coverage.lines.get(path, ())
        missed = any(each.first <= number <= each.last for each in ranges for number in numbers)
        return self._coverage.version if missed else 0

    def _several(self, runs: Iterable[NamedLines]) -> int:
        """The newest change, where more than one agent wrote these lines."""
        versions = {version for run in runs for version in (run.author, run.changed) if version in self._agents}
        return max(versions) if len({self._agents[version] for version in versions}) > 1 else 0

    def _commented(self, part: PatchPart) -> int:
        """The newest comment on lines of a hunk: on those of the result, or on those that the base has there."""
        lines, change = part.hunk.lines, part.change
        before = "" if change.created else change.renamed_from or part.hunk.path
        new = _LineSpan.of(part.hunk.path, [line.number for line in lines])
        old = _LineSpan.of(before, [line.old for line in lines])
        versions = [
            each.version for each in self._comments if (old if each.side == "old" else new).has_part_of(each.place)
        ]
        return max(versions, default=0)


class _LineSpan(NamedTuple):
    """The lines that a hunk shows of a file, on one of its sides; none are 0 to 0."""

    path: str
    first: int
    last: int

    @classmethod
    def of(cls, path: str, numbers: Iterable[int]) -> "_LineSpan":
        shown = [number for number in numbers if number]
        return cls(path, min(shown, default=0), max(shown, default=0))

    def has_part_of(self, place: CommentPlace) -> bool:
        if place.path != self.path:
            return False
        return place.line is None or (place.line <= self.last and (place.end_line or place.line) >= self.first)


class _PlacedComment(NamedTuple):
    """A comment that is not settled: the event that made it, and where it is."""

    version: int
    side: CommentSide
    place: CommentPlace


def _changes(moments: Iterable[Moment]) -> dict[str, list[int]]:
    """The changes that touched each path, in their order."""
    changes: dict[str, list[int]] = defaultdict(list)
    for moment in moments:
        lines = moment.patch.split("\n") if isinstance(moment, WorkChange) else ()
        names = [names_at(lines, at) for at, line in enumerate(lines) if line.startswith("diff --git ")]
        for path in {path for pair in names for path in pair or ()}:
            changes[path].append(moment.version)
    return changes


class _Coverage(NamedTuple):
    """The lines that the newest validation has not run, by file, and its event."""

    version: int = 0
    lines: Mapping[str, tuple[LineRange, ...]] = MappingProxyType({})


def _coverage(work: RecordedWork) -> _Coverage:
    """Of a validation of the work as it is now; what people or another iteration have added since is not known."""
    if work.session.coverage is None:
        return _Coverage()
    versions = (each.version for each in work.history if isinstance(each.event, TestsPassed | RoundValidated))
    return _Coverage(max(versions), {each.path: each.lines for each in work.session.coverage.not_run})


def _weakened(history: Iterable[Recorded]) -> dict[str, int]:
    """The files that the newest validation says make it prove less, and its event."""
    newest: tuple[int, tuple[Weakening, ...]] = (0, ())
    for recorded in history:
        if isinstance(recorded.event, TestsPassed | ValidationFailed | RoundValidated):
            newest = (recorded.version, recorded.event.weakened)
    return {each.path: newest[0] for each in newest[1] if each.path}


def _places(work: RecordedWork) -> Iterator[_PlacedComment]:
    """Comments on files that are not settled. Lines of the base stay where they are: the result may not have them."""
    made = {
        recorded.event.comment_id: recorded.version
        for recorded in work.history
        if isinstance(recorded.event, CommentMade)
    }
    for comment in work.session.comments.all:
        if comment.status not in _UNSETTLED or comment.path is None:
            continue
        whereabouts = work.whereabouts.get(comment.comment_id) if comment.side == "new" else None
        now = whereabouts.now if whereabouts else None
        place = now or CommentPlace(path=comment.path, line=comment.line, end_line=comment.end_line)
        yield _PlacedComment(made.get(comment.comment_id, 0), comment.side, place)


def complete(parts: Iterable[PatchPart], result: ResultView) -> list[PatchPart]:
    """The parts of a patch with every changed path of the result: a renamed file that is the same is one part, and a
    path that the patch does not have (it may be cut) is one without lines."""
    every = list(parts)
    changes: dict[str, PathEffect] = {}
    for part in every:
        path = part.hunk.path
        changes[path] = changes[path].then(part.change) if path in changes else part.change
    joined = renamed_paths(changes, renames_of(result))
    pure = {path: change for path, change in joined.items() if change.keeps_bytes}
    gone = {change.renamed_from for change in pure.values()}
    remaining = [part for part in every if part.hunk.path not in gone and part.hunk.path not in pure]
    remaining += [whole_path(path, change) for path, change in pure.items()]
    for file in result.files:
        if file.path not in changes:
            remaining.append(whole_path(file.path, change_of(file)))
    return sorted(remaining, key=lambda part: part.hunk.path)


def renames_of(result: ResultView) -> list[tuple[str, str]]:
    """The old and the new path of each renamed file."""
    return [(file.renamed_from, file.path) for file in result.files if file.renamed_from]


def change_of(file: ResultFile) -> PathEffect:
    """The effect on a path as the list of files has it."""
    return PathEffect(
        created=file.status == "added",
        deleted=file.status == "deleted",
        binary=file.added is None,
        renamed_from=file.renamed_from or "",
    )


def mapped(work: RecordedWork, parts: Iterable[PatchPart], whole: Whole) -> list[MapHunk]:
    """Every hunk and every path without one, what needs a look most first."""
    facts = _MapFacts(work, whole)
    return by_attention(
        MapHunk(part.hunk, place, facts.about(part), part.notes)
        for place, part in enumerate(complete(parts, work.result))
    )


def map_view(work: RecordedWork, parts: Iterable[PatchPart], whole: Whole) -> ReviewMapView:
    return ReviewMapView(
        version=work.session.version,
        head=work.result.head,
        unread=work.session.coverage.problem if work.session.coverage else None,
        items=tuple(map(_hunk_view, mapped(work, parts, whole))),
    )


def _hunk_view(entry: MapHunk) -> MapHunkView:
    return MapHunkView(
        path=entry.hunk.path,
        place=entry.place + 1,
        lines=tuple(
            MapLine(sign=line.sign, text=line.text, number=line.number or None, old=line.old or None)
            for line in entry.hunk.lines
        ),
        notes=tuple(PathNoteView(what=each.what, old=each.old or None, new=each.new or None) for each in entry.notes),
        because=tuple(AttentionView(fact=each.fact, version=each.version) for each in entry.because),
    )
