"""Gathers what turns added, according to the record: the lines of their patches, and the commits that contain them."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import Final, NamedTuple

from domain.provenance.distinction import FAINT, LEAST_TOGETHER, TOGETHER, normal, weight
from domain.provenance.patches import PatchHunk, hunks

WRITTEN: Final = "+"
MOVED: Final = "~"


class WrittenRun(NamedTuple):
    """Lines without their blanks, with the lines before and after them; none at the ends of the file."""

    before: str | None
    names: tuple[str, ...]
    after: str | None


def written_runs(lines: Sequence[tuple[bool, str]]) -> Iterator[WrittenRun]:
    """The consecutive written lines among these; each line has a flag that says whether it was written."""
    place = 0
    for is_written, run in groupby(lines, key=lambda line: line[0]):
        names = tuple(name for _, name in run)
        end = place + len(names)
        if is_written:
            before = lines[place - 1][1] if place else None
            yield WrittenRun(before, names, lines[end][1] if end < len(lines) else None)
        place = end


class TurnWork:
    """A turn's patch. Lines that it removed and added again were only moved: they keep their author."""

    def __init__(self, session: str, turn: str, patch: str) -> None:
        self.session, self.turn = session, turn
        self.hunks: tuple[PatchHunk, ...] = tuple(hunks(patch.split("\n")))
        self.weights: dict[str, int] = {}
        self.words: dict[str, str] = {}
        additions, removed = Counter[str](), set[str]()
        for hunk in self.hunks:
            for line in hunk.lines:
                if line.sign == "+":
                    additions[self._read(line.text)] += 1
                elif line.sign == "-":
                    removed.add(normal(line.text))
        self.removed = frozenset(removed)
        self.moved = frozenset(name for name in additions if name in removed and self.weights[name] >= FAINT)
        self.added = Counter({name: count for name, count in additions.items() if name not in self.moved})
        self.after = [self._after(hunk, removed) for hunk in self.hunks]
        """For each hunk, the lines afterwards: whether the turn wrote or moved each one, and its text."""

    def _read(self, text: str) -> str:
        name = normal(text)
        if name not in self.weights:
            self.weights[name], self.words[name] = weight(text), text.strip()
        return name

    def _after(self, hunk: PatchHunk, removed: Collection[str]) -> list[tuple[str, str]]:
        lines = [(line.sign, normal(line.text)) for line in hunk.lines if line.sign != "-"]
        lines = [(MOVED if sign == "+" and name in self.moved else sign, name) for sign, name in lines]
        return [
            (MOVED, name) if sign == "+" and name in removed and self._moves_along(lines, place) else (sign, name)
            for place, (sign, name) in enumerate(lines)
        ]

    def _moves_along(self, lines: Sequence[tuple[str, str]], place: int) -> bool:
        """Returns whether a line that is not distinctive belongs to the lines around it, which the turn only moved."""
        around = [self._next(lines, place, step) for step in (1, -1)]
        return MOVED in around and WRITTEN not in around

    def _next(self, lines: Sequence[tuple[str, str]], place: int, step: int) -> str:
        """Returns how the next distinctive line came there; a blank if no line is new."""
        place += step
        while 0 <= place < len(lines) and lines[place][0] == "+" and self.weights[lines[place][1]] < FAINT:
            place += step
        return lines[place][0] if 0 <= place < len(lines) else " "

    def wrote(self, line: str, path: str, number: int) -> bool:
        """Returns whether the turn wrote the line with this text (without blanks) at this place of its own commit."""
        if line not in self.added or self.weights[line] >= FAINT:
            return line in self.added
        how = self._signs.get((path, number))
        return how == WRITTEN if how else all(sign == WRITTEN for sign, name in self._new if name == line)

    @cached_property
    def _new(self) -> list[tuple[str, str]]:
        return [entry for lines in self.after for entry in lines if entry[0] != " "]

    @cached_property
    def _signs(self) -> dict[tuple[str, int], str]:
        """Returns how each new line came to its place."""
        signs: dict[tuple[str, int], str] = {}
        for hunk, lines in zip(self.hunks, self.after, strict=True):
            after_lines = (line for line in hunk.lines if line.sign != "-")
            signs |= {
                (hunk.path, line.number): sign
                for line, (sign, _) in zip(after_lines, lines, strict=True)
                if sign != " "
            }
        return signs

    @cached_property
    def places(self) -> dict[str, list[tuple[int, int]]]:
        """Returns where each line was added: hunk, and index in `after`."""
        places = defaultdict[str, list[tuple[int, int]]](list)
        for hunk, lines in enumerate(self.after):
            for place, (sign, name) in enumerate(lines):
                if sign == WRITTEN:
                    places[name].append((hunk, place))
        return dict(places)

    @cached_property
    def runs(self) -> dict[str, set[WrittenRun]]:
        """By path, the consecutive lines that it wrote, with those around them."""
        runs = defaultdict[str, set[WrittenRun]](set)
        for hunk, lines in zip(self.hunks, self.after, strict=True):
            runs[hunk.path].update(written_runs([(sign == WRITTEN, name) for sign, name in lines]))
        return dict(runs)

    def paths_of(self, name: str) -> frozenset[str]:
        """The files in which it wrote this line."""
        return frozenset(self.hunks[hunk].path for hunk, _ in self.places.get(name, ()))

    def blocks_in(self, path: str, run: WrittenRun) -> list[tuple[str, ...]]:
        """The parts of another commit's run that show this turn's hand: all of a run between the same lines of the same
        file, or consecutive lines with enough words in several of them; of another file, one line more."""
        if run in self.runs.get(path, ()):
            return [run.names]
        blocks, start = list[tuple[str, ...]](), 0
        while start < len(run.names):
            length, paths = self._longest(run.names, start)
            block = run.names[start : start + length]
            distinctive = {name for name in block if self.weights[name] >= FAINT}
            least = LEAST_TOGETHER if path in paths else LEAST_TOGETHER + 1
            if len(distinctive) >= least and sum(self.weights[name] for name in distinctive) >= TOGETHER:
                blocks.append(block)
            start += max(length, 1)
        return blocks

    def _longest(self, names: Sequence[str], start: int) -> tuple[int, frozenset[str]]:
        """Returns how many lines from here on it wrote in this order, at most, and in which files."""
        longest, paths = 0, frozenset[str]()
        for hunk, place in self.places.get(names[start], ()):
            recorded, length = self.after[hunk], 0
            while (
                start + length < len(names)
                and place + length < len(recorded)
                and recorded[place + length] == (WRITTEN, names[start + length])
            ):
                length += 1
            if length >= longest:
                paths = (paths if length == longest else frozenset()) | {self.hunks[hunk].path}
                longest = length
        return longest, paths

    def hunk_of(self, text: str, path: str, number: int) -> PatchHunk | None:
        """The hunk that added a line: the one at this exact place, otherwise the first with this text."""
        name = normal(text)
        hunks = self._hunks.get(name, {})
        here = self._hunk_at.get((path, number))
        return self.hunks[here if here in hunks else next(iter(hunks))] if hunks else None

    @cached_property
    def _hunks(self) -> dict[str, dict[int, None]]:
        """The hunks that added each line, in order."""
        return {name: dict.fromkeys(hunk for hunk, _ in places) for name, places in self.places.items()}

    @cached_property
    def _hunk_at(self) -> dict[tuple[str, int], int]:
        """The hunk that contains each line."""
        numbers = ((hunk.path, line.number, index) for index, hunk in enumerate(self.hunks) for line in hunk.lines)
        return {(path, number): index for path, number, index in numbers if number}


@dataclass(frozen=True)
class SessionWork:
    """Everything that a session's turns added, on which base, in which commits."""

    session: str
    base: str
    commits: frozenset[str]
    turns: tuple[TurnWork, ...]
    source: str | None = None
    """The session that it was forked from, whose recorded answers it reuses."""

    def has(self, work: TurnWork) -> bool:
        """Returns whether another session reuses this turn."""
        place = work.turn.removeprefix(work.session)
        return any(turn.turn == self.session + place and turn.hunks == work.hunks for turn in self.turns)


@dataclass
class Works:
    """The work of many sessions, oldest first."""

    sessions: dict[str, SessionWork] = field(default_factory=dict)
    turns: dict[str, TurnWork] = field(default_factory=dict)
    owners: dict[str, list[TurnWork]] = field(default_factory=dict)
    commits: dict[str, str] = field(default_factory=dict)
    _replaced: dict[str, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, sessions: Iterable[SessionWork]) -> "Works":
        works = cls()
        for session in sessions:
            works.sessions[session.session] = session
            for commit in session.commits:
                works.commits.setdefault(commit, session.session)
            source = works.sessions.get(session.source or "")
            for turn in session.turns:
                if source is None or not source.has(turn):
                    works._add(turn)
        return works

    def _add(self, turn: TurnWork) -> None:
        self.turns[turn.turn] = turn
        for name in turn.added:
            self.owners.setdefault(name, []).append(turn)

    def replaced(self, turn: TurnWork) -> frozenset[str]:
        """The lines of a turn that later turns of its session took out, and did not write again."""
        if turn.turn not in self._replaced:
            turns = self.sessions[turn.session].turns
            later = turns[next((place for place, each in enumerate(turns) if each.turn == turn.turn), len(turns)) + 1 :]
            gone = set[str]()
            for each in later:
                lines_now = {name for lines in each.after for _, name in lines}
                gone = (gone | each.removed) - lines_now
            self._replaced[turn.turn] = frozenset(gone & turn.added.keys())
        return self._replaced[turn.turn]

    def written_by(self, commit: str, named: Iterable[str]) -> TurnWork | None:
        """The turn that made this commit, according to the record; None for any other commit, whatever it names."""
        session = self.commits.get(commit)
        turns = (self.turns[name] for name in named if name in self.turns)
        return next((turn for turn in turns if turn.session == session), None) if session else None
