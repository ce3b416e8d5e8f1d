"""What turns added, as the record has it: the lines of their patches, and whose commits they became."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import Final, NamedTuple

from domain.provenance.lines import FAINT, normal, weight
from domain.provenance.patches import PatchHunk, hunks

WRITTEN: Final = "+"
MOVED: Final = "~"


class WrittenRun(NamedTuple):
    """Lines without their blanks, and the one before and after them; none at the ends of the file."""

    before: str | None
    names: tuple[str, ...]
    after: str | None


class TurnWork:
    """A turn's patch. What it took away and added again it has only moved: that stays with who wrote it."""

    def __init__(self, session: str, turn: str, patch: str) -> None:
        self.session, self.turn = session, turn
        self.hunks: tuple[PatchHunk, ...] = tuple(hunks(patch.split("\n")))
        self.weights: dict[str, int] = {}
        self.words: dict[str, str] = {}
        written, removed = Counter[str](), set[str]()
        for hunk in self.hunks:
            for line in hunk.lines:
                if line.sign == "+":
                    written[self._read(line.text)] += 1
                elif line.sign == "-":
                    removed.add(normal(line.text))
        self.moved = frozenset(name for name in written if name in removed and self.weights[name] >= FAINT)
        self.added = Counter({name: count for name, count in written.items() if name not in self.moved})
        self.after = [self._after(hunk, removed) for hunk in self.hunks]
        """For each hunk the lines that are there afterwards: whether the turn wrote or moved it, and its words."""

    def _read(self, text: str) -> str:
        name = normal(text)
        if name not in self.weights:
            self.weights[name], self.words[name] = weight(text), text.strip()
        return name

    def _after(self, hunk: PatchHunk, removed: Collection[str]) -> list[tuple[str, str]]:
        found = [(line.sign, normal(line.text)) for line in hunk.lines if line.sign != "-"]
        found = [(MOVED if sign == "+" and name in self.moved else sign, name) for sign, name in found]
        return [
            (MOVED, name) if sign == "+" and name in removed and self._moves_along(found, place) else (sign, name)
            for place, (sign, name) in enumerate(found)
        ]

    def _moves_along(self, lines: Sequence[tuple[str, str]], place: int) -> bool:
        """Whether a line that says nothing alone goes with the lines around it, which the turn only moved."""
        around = [self._next(lines, place, step) for step in (1, -1)]
        return MOVED in around and WRITTEN not in around

    def _next(self, lines: Sequence[tuple[str, str]], place: int, step: int) -> str:
        """How the next line came there that says something; a blank where none is new."""
        place += step
        while 0 <= place < len(lines) and lines[place][0] == "+" and self.weights[lines[place][1]] < FAINT:
            place += step
        return lines[place][0] if 0 <= place < len(lines) else " "

    def wrote(self, line: str, path: str, number: int) -> bool:
        """Whether it wrote the line of its own commit that has these words, without blanks, at this place."""
        if line not in self.added or self.weights[line] >= FAINT:
            return line in self.added
        how = self._signs.get((path, number))
        return how == WRITTEN if how else all(sign == WRITTEN for sign, name in self._new if name == line)

    @cached_property
    def _new(self) -> list[tuple[str, str]]:
        return [entry for lines in self.after for entry in lines if entry[0] != " "]

    @cached_property
    def _signs(self) -> dict[tuple[str, int], str]:
        """How each new line came to its place."""
        found: dict[tuple[str, int], str] = {}
        for hunk, lines in zip(self.hunks, self.after, strict=True):
            kept = (line for line in hunk.lines if line.sign != "-")
            found |= {
                (hunk.path, line.number): sign for line, (sign, _) in zip(kept, lines, strict=True) if sign != " "
            }
        return found

    @cached_property
    def places(self) -> dict[str, list[tuple[int, int]]]:
        """Where each line was added: hunk, and place in `after`."""
        found = defaultdict[str, list[tuple[int, int]]](list)
        for hunk, lines in enumerate(self.after):
            for place, (sign, name) in enumerate(lines):
                if sign == WRITTEN:
                    found[name].append((hunk, place))
        return dict(found)

    @cached_property
    def runs(self) -> dict[str, set[WrittenRun]]:
        """By path the lines that it wrote one after the other, with those around them."""
        found = defaultdict[str, set[WrittenRun]](set)
        for hunk, lines in zip(self.hunks, self.after, strict=True):
            place = 0
            for written, run in groupby(lines, key=lambda line: line[0] == WRITTEN):
                names = tuple(name for _, name in run)
                end = place + len(names)
                if written:
                    before = lines[place - 1][1] if place else None
                    found[hunk.path].add(WrittenRun(before, names, lines[end][1] if end < len(lines) else None))
                place = end
        return dict(found)

    def hunk_of(self, text: str, path: str, number: int) -> PatchHunk | None:
        """The hunk that added a line: the one of that very place, else the first with these words."""
        name = normal(text)
        places = [hunk for hunk, _ in self.places.get(name, ())]
        here = [
            hunk
            for hunk in places
            if self.hunks[hunk].path == path and any(line.number == number for line in self.hunks[hunk].lines)
        ]
        return self.hunks[(here or places)[0]] if places else None


@dataclass(frozen=True)
class SessionWork:
    """All that a session's turns added, on which base, in which commits."""

    session: str
    base: str
    commits: frozenset[str]
    turns: tuple[TurnWork, ...]
    source: str | None = None
    """The session that it was forked from, whose recorded answers it uses again."""

    def has(self, work: TurnWork) -> bool:
        """Whether it is the work of a turn of its own that another session uses again."""
        place = work.turn.removeprefix(work.session)
        return any(turn.turn == self.session + place and turn.hunks == work.hunks for turn in self.turns)


@dataclass
class Works:
    """The work of many sessions, oldest first."""

    sessions: dict[str, SessionWork] = field(default_factory=dict)
    turns: dict[str, TurnWork] = field(default_factory=dict)
    owners: dict[str, list[TurnWork]] = field(default_factory=dict)
    commits: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, sessions: Iterable[SessionWork]) -> "Works":
        found = cls()
        for session in sessions:
            found.sessions[session.session] = session
            for commit in session.commits:
                found.commits.setdefault(commit, session.session)
            source = found.sessions.get(session.source or "")
            for turn in session.turns:
                if source is None or not source.has(turn):
                    found._add(turn)
        return found

    def _add(self, turn: TurnWork) -> None:
        self.turns[turn.turn] = turn
        for name in turn.added:
            self.owners.setdefault(name, []).append(turn)

    def written_by(self, commit: str, named: Iterable[str]) -> TurnWork | None:
        """The turn that made this very commit, as the record has it; None for any other, whatever it names."""
        session = self.commits.get(commit)
        turns = (self.turns[name] for name in named if name in self.turns)
        return next((turn for turn in turns if turn.session == session), None) if session else None
