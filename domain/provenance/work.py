"""What turns added, according to the record: the lines of their patches, and the commits that contain them."""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import groupby
from typing import Final, NamedTuple

from domain.provenance.patches import PatchHunk, hunks

# What a line shows about its author: its text without blanks, and how distinctive it is.

FAINT: Final = 4
"""Below this weight, a line says nothing about its author: `}`, `return None`, an import."""
CLEAR: Final = 12
"""From this weight on, a single line is enough."""
TOGETHER: Final = 24
"""If the lines of one session in a commit have this weight together, each of them counts."""

_WORD: Final = re.compile(r"[^\W_]+")
_FOREIGN: Final = 12
"""The weight of a character outside ASCII: in some scripts one character is a word."""
_IMPORT: Final = re.compile(r"\s*(?:from|import|using|use|require|package|#\s*include|@import)\b")
_COMMON: Final = frozenset(
    """
    abstract and any as assert async await begin bool boolean break case catch char class const continue def default
    delete dict do double elif else end enum equal error except exception expect export extends extern false final
    finally float fn for from func function get global go goto if impl implements import in init int interface is it
    lambda let list long loop main match mod mut name namespace new nil none not null number object of ok or override
    package pass print println private protected pub public raise readonly ref require rescue ret return self set
    short static str string struct super switch test then this throw throws trait true try type typeof undefined
    unless unsigned until use using val var virtual void when where while with yield
    """.split()  # noqa: SIM905
)


def normal(text: str) -> str:
    """A line without its blanks: indentation does not matter."""
    return "".join(text.split())


@lru_cache(maxsize=65_536)
def weight(text: str) -> int:
    """How distinctive a line is, in letters: common words and imports count nothing. It needs the blanks between
    words."""
    if _IMPORT.match(text):
        return 0
    words = (word for word in _WORD.findall(text) if word.casefold() not in _COMMON)
    return sum(1 if letter.isascii() else _FOREIGN for word in words for letter in word)


# Which finding of a review a change addresses.

NEAR: Final = 3
"""Maximum number of lines between the place that a finding names and the change that addresses it."""
_QUOTED: Final = re.compile(r"`([^`\n]{3,})`|'([^'\n]{3,})'|\"([^\"\n]{3,})\"")
_CODE: Final = re.compile(r"\b(?:\w+[._]\w+(?:[._]\w+)*|\w+(?=\()|[a-z]+[A-Z]\w*)")
_SHORTEST_NAME: Final = 4


class NamedFinding(NamedTuple):
    """What a review asked for; `version` is the event that contains it."""

    version: int
    title: str
    detail: str


def demanded(findings: Sequence[NamedFinding], hunk: PatchHunk | None) -> NamedFinding | None:
    """The finding that a change addresses: the one that names its place or its words best; None if two match equally
    well."""
    if len(findings) == 1 or hunk is None:
        return findings[0] if len(findings) == 1 else None
    scores = sorted(((_score(finding, hunk), place) for place, finding in enumerate(findings)), reverse=True)
    if not scores or scores[0][0] == 0 or (len(scores) > 1 and scores[0][0] == scores[1][0]):
        return None
    return findings[scores[0][1]]


def _score(finding: NamedFinding, hunk: PatchHunk) -> int:
    words = f"{finding.title}\n{finding.detail}"
    changed = "\n".join(line.text for line in hunk.lines if line.sign != " ")
    parts = {part for match in _QUOTED.findall(words) for part in match if part} | set(_CODE.findall(words))
    mentions = sum(1 for part in parts if part in changed and part != hunk.path)
    return _place(words, hunk) + mentions


def _place(words: str, hunk: PatchHunk) -> int:
    """A match of the line counts more than one of the file, and the whole path more than the file name."""
    name = hunk.path.rpartition("/")[2]
    for path, worth in ((hunk.path, 4), (name, 2)):
        match = (
            re.search(rf"(?<![\w/.-]){re.escape(path)}(?::(\d+)|\b)", words) if len(path) >= _SHORTEST_NAME else None
        )
        if match:
            return worth + (4 if match[1] and _is_near(int(match[1]), hunk) else 0)
    return 0


def _is_near(number: int, hunk: PatchHunk) -> bool:
    numbers = [line.number for line in hunk.lines if line.number]
    return bool(numbers) and numbers[0] - NEAR <= number <= numbers[-1] + NEAR


WRITTEN: Final = "+"
MOVED: Final = "~"


class WrittenRun(NamedTuple):
    """Lines without their blanks, with the lines before and after them; none at the ends of the file."""

    before: str | None
    names: tuple[str, ...]
    after: str | None


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
        """Whether a line that is not distinctive belongs to the lines around it, which the turn only moved."""
        around = [self._next(lines, place, step) for step in (1, -1)]
        return MOVED in around and WRITTEN not in around

    def _next(self, lines: Sequence[tuple[str, str]], place: int, step: int) -> str:
        """How the next distinctive line came there; a blank if no line is new."""
        place += step
        while 0 <= place < len(lines) and lines[place][0] == "+" and self.weights[lines[place][1]] < FAINT:
            place += step
        return lines[place][0] if 0 <= place < len(lines) else " "

    def wrote(self, line: str, path: str, number: int) -> bool:
        """Whether the turn wrote the line with this text (without blanks) at this place of its own commit."""
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
        """Where each line was added: hunk, and index in `after`."""
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
            place = 0
            for is_written, run in groupby(lines, key=lambda line: line[0] == WRITTEN):
                names = tuple(name for _, name in run)
                end = place + len(names)
                if is_written:
                    before = lines[place - 1][1] if place else None
                    runs[hunk.path].add(WrittenRun(before, names, lines[end][1] if end < len(lines) else None))
                place = end
        return dict(runs)

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
        """Whether another session reuses this turn."""
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

    def written_by(self, commit: str, named: Iterable[str]) -> TurnWork | None:
        """The turn that made this commit, according to the record; None for any other commit, whatever it names."""
        session = self.commits.get(commit)
        turns = (self.turns[name] for name in named if name in self.turns)
        return next((turn for turn in turns if turn.session == session), None) if session else None
