"""The reviewer's map: the hunks of a result, ordered by what the record knows about each."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from domain.checks.weakening import Weakening
from domain.delivery.events import TestsPassed, ValidationFailed
from domain.findings.attention import FACTS, AttentionFact, MapHunk, ShownFact, by_attention
from domain.findings.ledger import FindingLedger, ledger_of
from domain.findings.line_history import NamedLines
from domain.findings.moments import LookTaken, WorkChange
from domain.orchestration.events import RoundValidated
from domain.provenance.patches import PatchHunk
from domain.session.comments import CommentMade, CommentPlace, Whereabouts
from domain.session.past_commands import Whole
from domain.session.record import Recorded
from domain.session.state import Session
from domain.session.validation import LineRange
from projections.record.moments import moments_of
from projections.views.review_map import AttentionView, MapHunkView, MapLine, ReviewMapView
from projections.views.session import ResultView

_UNSETTLED = ("open", "declined", "unchanged")


@dataclass(frozen=True, slots=True)
class RecordedWork:
    """A session as of a version, with its history up to there, its result, and where its comments' lines are."""

    session: Session
    history: Sequence[Recorded]
    result: ResultView
    whereabouts: Mapping[str, Whereabouts]


class _MapFacts:
    """What the record knows about places of the result."""

    def __init__(self, work: RecordedWork, whole: Whole) -> None:
        moments = list(moments_of(work.history, whole))
        self._ledger: FindingLedger = ledger_of(moments)
        self._agents = {each.version: each.by for each in moments if isinstance(each, WorkChange)}
        self._last_look = max((each.version for each in moments if isinstance(each, LookTaken)), default=0)
        self._weakened = _weakened(work.history)
        self._coverage = _coverage(work)
        self._deciding = {file.path for file in work.result.files if file.decides is not None}
        self._outside = {*work.result.outside}
        if any(file.named for file in work.result.files):
            self._outside |= {file.path for file in work.result.files if not file.named}
        self._comments = list(_places(work))

    def about(self, hunk: PatchHunk) -> tuple[ShownFact, ...]:
        """In the order in which facts are always told."""
        facts = {fact: version for fact, version in self._all(hunk) if version}
        return tuple(ShownFact(fact, facts[fact]) for fact in FACTS if fact in facts)

    def _all(self, hunk: PatchHunk) -> Iterator[tuple[AttentionFact, int]]:
        numbers = [line.number for line in hunk.lines if line.sign == "+"]
        runs = self._ledger.lines.between(hunk.path, numbers[0], numbers[-1]) if numbers else []
        newest = self._ledger.lines.newest.get(hunk.path, 0)
        changed = max((run.changed for run in runs), default=newest)
        if self._last_look and changed > self._last_look:
            yield "changed_after_last_look", changed
        yield "weakened", self._weakened.get(hunk.path, newest if hunk.path in self._deciding else 0)
        yield "not_run", self._not_run(hunk.path, numbers) if newest <= self._coverage.version else 0
        yield "comment", self._commented(hunk)
        yield "outside", (changed or newest) if hunk.path in self._outside else 0
        fixes = [version for run in runs for version in (run.author, run.changed) if version in self._ledger.fixes]
        yield "written_by_fix", max(fixes, default=0)
        yield "several_agents", self._several(runs)

    def _not_run(self, path: str, numbers: Sequence[int]) -> int:
        """The event of the validation, if it has not run one of these lines; what was changed later is not known."""
        ranges = self._coverage.lines.get(path, ())
        missed = any(each.first <= number <= each.last for each in ranges for number in numbers)
        return self._coverage.version if missed else 0

    def _several(self, runs: Iterable[NamedLines]) -> int:
        """The newest change, where more than one agent wrote these lines."""
        versions = {version for run in runs for version in (run.author, run.changed) if version in self._agents}
        return max(versions) if len({self._agents[version] for version in versions}) > 1 else 0

    def _commented(self, hunk: PatchHunk) -> int:
        numbers = [line.number for line in hunk.lines if line.number]
        first, last = min(numbers, default=0), max(numbers, default=0)
        versions = [
            version
            for version, place in self._comments
            if place.path == hunk.path
            and (place.line is None or (place.line <= last and (place.end_line or place.line) >= first))
        ]
        return max(versions, default=0)


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


def _places(work: RecordedWork) -> Iterator[tuple[int, CommentPlace]]:
    """Comments that are not settled: the event of each, and where it is."""
    made = {
        recorded.event.comment_id: recorded.version
        for recorded in work.history
        if isinstance(recorded.event, CommentMade)
    }
    for comment in work.session.comments.all:
        if comment.status not in _UNSETTLED or comment.path is None:
            continue
        whereabouts = work.whereabouts.get(comment.comment_id)
        now = whereabouts.now if whereabouts else None
        place = now or CommentPlace(path=comment.path, line=comment.line, end_line=comment.end_line)
        yield made.get(comment.comment_id, 0), place


def mapped(work: RecordedWork, hunks: Iterable[PatchHunk], whole: Whole) -> list[MapHunk]:
    """Every hunk, what needs a look most first."""
    facts = _MapFacts(work, whole)
    return by_attention(MapHunk(hunk, place, facts.about(hunk)) for place, hunk in enumerate(hunks))


def map_view(work: RecordedWork, hunks: Iterable[PatchHunk], whole: Whole) -> ReviewMapView:
    return ReviewMapView(
        version=work.session.version,
        head=work.result.head,
        unread=work.session.coverage.problem if work.session.coverage else None,
        items=tuple(map(_hunk_view, mapped(work, hunks, whole))),
    )


def _hunk_view(entry: MapHunk) -> MapHunkView:
    return MapHunkView(
        path=entry.hunk.path,
        place=entry.place + 1,
        lines=tuple(
            MapLine(sign=line.sign, text=line.text, number=line.number or None, old=line.old or None)
            for line in entry.hunk.lines
        ),
        because=tuple(AttentionView(fact=each.fact, version=each.version) for each in entry.because),
    )
