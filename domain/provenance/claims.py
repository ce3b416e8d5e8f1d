"""Finds which turn wrote a line, if the record shows it; every other line stays unclaimed.

A commit in the record belongs to its turn alone. Any other commit may be a turn's work that was amended, rebased,
squashed or cherry-picked, or a person's own work: here a line belongs to a turn only if the turn added exactly this
text, no one else did, and the text cannot have been there before. One line's text is not enough: unless the commit
names the turn, the lines around it have to be the turn's, too, or the commit has most of its session's work.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

from domain.provenance.distinction import CLEAR, FAINT, TOGETHER, normal
from domain.provenance.work import WRITTEN, SessionWork, TurnWork, Works, WrittenRun


@dataclass(frozen=True, slots=True)
class CommitLines:
    """A commit: its parents, the turns that it names, and how often it adds and removes lines that turns wrote."""

    commit: str
    parents: tuple[str, ...]
    named: tuple[str, ...]
    added: Counter[str]
    removed: Counter[str]
    runs: list[tuple[str, WrittenRun]] = field(default_factory=list)
    """The consecutive lines that it adds, if turns wrote one of them: the path, and the lines around."""


class BlamedLine(NamedTuple):
    """A line of a file, and the line of the commit that it comes from."""

    line: int
    text: str
    commit: str
    origin: str = ""
    number: int = 0


class _Arrival(NamedTuple):
    """A line that came with a commit; without a turn if a person wrote it."""

    place: int
    turn: TurnWork | None


class Surroundings(NamedTuple):
    """Facts about the repository: which commits came before a session's base, which of its lines the base already had,
    and which had been removed before."""

    before: Callable[[str], Collection[str]]
    contested: Callable[[str], Collection[str]]
    removed: Callable[[str], Collection[str]]


@dataclass
class Claims:
    """The lines that each commit added, read from the oldest commit to the newest."""

    works: Works
    around: Surroundings
    commits: dict[str, CommitLines] = field(default_factory=dict)
    _index: dict[str, int] = field(default_factory=dict)
    _reach: list[int] = field(default_factory=list)
    _arrivals: dict[str, list[_Arrival]] = field(default_factory=lambda: defaultdict(list))
    _removals: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    """By line, the commits that remove it more often than they add it."""
    _claimed: dict[tuple[str, str], TurnWork] = field(default_factory=dict)
    _sessions: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def read(self, commits: Sequence[CommitLines]) -> None:
        for commit in commits:
            index = len(self._reach)
            reach = 1 << index
            for parent in commit.parents:
                if parent in self._index:
                    reach |= self._reach[self._index[parent]]
            self._index[commit.commit] = index
            self._reach.append(reach)
            self.commits[commit.commit] = commit
            for name in commit.removed - commit.added:
                self._removals[name].append(index)
            if commit.added:
                self._arrive(commit, index)

    def _arrive(self, commit: CommitLines, index: int) -> None:
        writer = self.works.written_by(commit.commit, commit.named)
        if writer is not None:
            for name in commit.added.keys() & writer.added.keys():
                self._arrivals[name].append(_Arrival(index, writer))
            return
        new = [name for name, count in commit.added.items() if count > commit.removed[name]]
        shown = _Shown(commit, self.works)
        likely = {name: candidates for name in new if (candidates := self._candidates(commit, name, index, shown))}
        shares = Counter[str]()
        for name, turns in likely.items():
            for session in {turn.session for turn in turns}:
                shares[session] += turns[0].weights[name]
        for name in new:
            turn = self._most_likely(commit, name, likely.get(name, ()), shares)
            self._arrivals[name].append(_Arrival(index, turn))
            if turn and commit.added[name] <= turn.added[name] and not commit.removed[name]:
                self._claimed[commit.commit, name] = turn
                self._sessions[commit.commit].add(turn.session)

    def _candidates(self, commit: CommitLines, name: str, index: int, shown: "_Shown") -> tuple[TurnWork, ...]:
        """The turns that may have added the line in this commit: those whose work was not there before, and that it
        names or shows more of."""
        came = [arrival.turn for arrival in self._arrivals[name] if self._precedes(arrival.place, index)]
        turns = {turn.turn for turn in came if turn}
        sessions = {turn.session for turn in came if turn}
        return tuple(
            owner
            for owner in self.works.owners.get(name, ())
            if owner.weights[name] >= FAINT
            and owner.turn not in turns
            and (owner.session not in sessions or owner.turn in commit.named)
            and commit.commit not in self.around.before(owner.session)
            and name not in self.around.contested(owner.session)
            and (owner.turn in commit.named or name not in self.around.removed(owner.session))
            and (owner.turn in commit.named or shown.has(owner, name))
        )

    def _most_likely(
        self, commit: CommitLines, name: str, turns: Sequence[TurnWork], shares: Counter[str]
    ) -> TurnWork | None:
        """A turn that the commit names; otherwise one of the session with the most lines in it, namely the last that
        wrote the line."""
        named = [turn for turn in turns if turn.turn in commit.named]
        if named:
            return named[-1]
        clear = [turn for turn in turns if turn.weights[name] >= CLEAR or shares[turn.session] >= TOGETHER]
        order = {turn.turn: place for place, turn in enumerate(clear)}
        return max(clear, key=lambda turn: (shares[turn.session], order[turn.turn]), default=None)

    def _precedes(self, earlier: int, later: int) -> bool:
        return earlier != later and bool(self._reach[later] >> earlier & 1)

    def _moved(self, commit: CommitLines, name: str) -> TurnWork | None:
        """The turn whose line the commit moves. None if a person wrote the same text before."""
        index = self._index[commit.commit]
        came = [arrival for arrival in self._arrivals[name] if self._precedes(arrival.place, index)]
        turn = came[-1].turn if came else None
        if turn is None or any(arrival.turn is None for arrival in came) or turn.weights[name] < FAINT:
            return None
        if commit.added[name] > turn.added[name] or name in self.around.contested(turn.session):
            return None
        return turn

    # -- the lines of a file --------------------------------------------------------------------------------------

    def of(self, lines: Sequence[BlamedLine]) -> list[TurnWork | None]:
        """The turn that wrote each line, in order."""
        names = [normal(line.text) for line in lines]
        owners = [self._turn(line, name) for line, name in zip(lines, names, strict=True)]
        anchors = [(place, turn) for place, turn in enumerate(owners) if turn is not None]
        for place, turn in anchors:
            if self._is_rewritten(lines[place].commit):
                for step in (1, -1):
                    self._extend(lines, names, owners, place, turn, step)
        self._fill(lines, names, owners)
        return owners

    def _fill(self, lines: Sequence[BlamedLine], names: Sequence[str], owners: list[TurnWork | None]) -> None:
        """Lines that are not distinctive also belong to a turn if all that it wrote at that place came with a commit of
        its work, between the same lines."""
        entries = ((None if turn else (line.commit, line.origin)) for line, turn in zip(lines, owners, strict=True))
        place = 0
        for source, run in groupby(list(entries)):
            start, place = place, place + len(list(run))
            if source is None or source[0] not in self.commits or not self._is_rewritten(source[0]):
                continue
            before, after = names[start - 1] if start else None, names[place] if place < len(names) else None
            gap = WrittenRun(before, tuple(names[start:place]), after)
            turns = self._turns_in(source[0])
            turn = next((turn for turn in turns if gap in turn.runs.get(source[1], ())), None)
            if turn and not any(self._is_restored(source[0], name, turn) for name in gap.names):
                owners[start:place] = [turn] * (place - start)

    def _turns_in(self, commit: str) -> list[TurnWork]:
        """The turns whose work the commit names, or contains other lines of; the last first."""
        sessions, named = self._sessions[commit], self.commits[commit].named
        names = [turn.turn for session in sorted(sessions) for turn in self.works.sessions[session].turns]
        return [self.works.turns[name] for name in (*reversed(names), *reversed(named)) if name in self.works.turns]

    def _turn(self, line: BlamedLine, name: str) -> TurnWork | None:
        commit = self.commits.get(line.commit)
        if commit is None:
            return None
        writer = self.works.written_by(line.commit, commit.named)
        if writer is not None and writer.wrote(name, line.origin, line.number):
            return writer
        if commit.removed[name] >= commit.added[name]:  # neither, if two diffs see a move differently
            return self._moved(commit, name)
        return None if writer else self._claimed.get((line.commit, name))

    def _is_rewritten(self, commit: str) -> bool:
        return self.works.written_by(commit, self.commits[commit].named) is None

    def _extend(
        self,
        lines: Sequence[BlamedLine],
        names: Sequence[str],
        owners: list[TurnWork | None],
        start: int,
        turn: TurnWork,
        step: int,
    ) -> None:
        """Lines that are not distinctive belong to the turn if they follow its line in the same commit as they did in
        its patch."""
        commit = lines[start].commit
        for hunk, place in turn.places.get(names[start], ()):
            recorded, at, here = turn.after[hunk], place + step, start + step
            while (
                0 <= here < len(lines)
                and 0 <= at < len(recorded)
                and owners[here] is None
                and lines[here].commit == commit
                and recorded[at] == (WRITTEN, names[here])
                and not self._is_restored(commit, names[here], turn)
            ):
                owners[here] = turn
                at, here = at + step, here + step

    def _is_restored(self, commit: str, name: str, turn: TurnWork) -> bool:
        """Returns whether a distinctive line was removed and then written by a person, in this commit or before it."""
        if turn.weights[name] < FAINT or name not in self._removals:
            return False
        index = self._index[commit]
        came = [each for each in self._arrivals[name] if each.place == index or self._precedes(each.place, index)]
        return any(
            self._precedes(first.place, gone) and self._precedes(gone, last.place)
            for gone in self._removals[name]
            for last in came
            if last.turn is None
            for first in came
        )


class _Shown:
    """The evidence in a commit of turns that it does not name: a person may write one line like an agent, but not a
    block of them, nor the same line between the same lines."""

    def __init__(self, commit: CommitLines, works: Works) -> None:
        self._commit, self._works = commit, works
        self._blocks: dict[str, frozenset[str]] = {}
        self._paths: dict[str, frozenset[str]] = {}
        self._mostly: dict[str, bool] = {}

    def has(self, turn: TurnWork, name: str) -> bool:
        """Returns whether more than the text says that the turn wrote the line. What a later turn of its session
        replaced is not in the session's result, so nothing but the turn's own commit can bring it."""
        if name in self._works.replaced(turn):
            return False
        if name in self._block(turn):
            return True
        session = self._works.sessions[turn.session]
        paths = frozenset[str]().union(*(self._shown_paths(each) for each in session.turns))
        return bool(paths) and (not paths.isdisjoint(turn.paths_of(name)) or self._has_most_of(session))

    def _block(self, turn: TurnWork) -> frozenset[str]:
        """The lines of the turn that the commit adds together with lines around them."""
        if turn.turn not in self._blocks:
            blocks = [(path, block) for path, run in self._commit.runs for block in turn.blocks_in(path, run)]
            self._blocks[turn.turn] = frozenset(name for _, block in blocks for name in block)
            self._paths[turn.turn] = frozenset(path for path, _ in blocks)
        return self._blocks[turn.turn]

    def _shown_paths(self, turn: TurnWork) -> frozenset[str]:
        self._block(turn)
        return self._paths[turn.turn]

    def _has_most_of(self, session: SessionWork) -> bool:
        """Returns whether at least half of the lines that the session's turns left are in the commit."""
        if session.session not in self._mostly:
            left = {
                name for turn in session.turns for name in turn.added if name and name not in self._works.replaced(turn)
            }
            self._mostly[session.session] = 2 * sum(name in self._commit.added for name in left) >= len(left) > 0
        return self._mostly[session.session]
