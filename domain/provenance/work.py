"""What turns added, as the record has it: the lines of their patches, and whose commits they became."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from domain.provenance.lines import FAINT, normal, weight
from domain.provenance.patches import Hunk, hunks


class TurnWork:
    """A turn's patch. What it took away and added again it has only moved: that stays with who wrote it."""

    def __init__(self, session: str, turn: str, patch: str) -> None:
        self.session, self.turn = session, turn
        self.hunks: tuple[Hunk, ...] = tuple(hunks(patch.split("\n")))
        self.weights: dict[str, int] = {}
        self.words: dict[str, str] = {}
        self.after: list[list[tuple[str, str]]] = []
        """For each hunk the lines that are there afterwards: sign and words without blanks."""
        added, removed = Counter[str](), Counter[str]()
        for hunk in self.hunks:
            self.after.append([(line.sign, normal(line.text)) for line in hunk.lines if line.sign != "-"])
            for line in hunk.lines:
                if line.sign == "+":
                    self._adds(line.text, added)
                elif line.sign == "-":
                    removed[normal(line.text)] += 1
        self.moved = frozenset(name for name in added if name in removed and self.weights[name] >= FAINT)
        self.added = Counter({name: count for name, count in added.items() if name not in self.moved})

    def _adds(self, text: str, added: Counter[str]) -> None:
        name = normal(text)
        added[name] += 1
        if name not in self.weights:
            self.weights[name], self.words[name] = weight(text), text.strip()

    @cached_property
    def places(self) -> dict[str, list[tuple[int, int]]]:
        """Where each line was added: hunk, and place in `after`."""
        found = defaultdict[str, list[tuple[int, int]]](list)
        for hunk, lines in enumerate(self.after):
            for place, (sign, name) in enumerate(lines):
                if sign == "+":
                    found[name].append((hunk, place))
        return dict(found)

    def hunk_of(self, text: str, path: str, number: int) -> Hunk | None:
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
            found.commits.update(dict.fromkeys(session.commits, session.session))
            for turn in session.turns:
                found.turns[turn.turn] = turn
                for name in turn.added:
                    found.owners.setdefault(name, []).append(turn)
        return found

    def written_by(self, commit: str, named: Iterable[str]) -> TurnWork | None:
        """The turn that made this very commit, as the record has it; None for any other, whatever it names."""
        session = self.commits.get(commit)
        turns = (self.turns[name] for name in named if name in self.turns)
        return next((turn for turn in turns if turn.session == session), None) if session else None
