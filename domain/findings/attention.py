"""The order in which a person looks at a change: by facts of the record alone. Each fact ranks its hunks before those
that differ only in not having it; ties stay in file order, and every hunk is in the list."""

from collections.abc import Iterable, Mapping
from typing import Final, Literal, NamedTuple, get_args

from domain.provenance.patches import PatchHunk
from domain.provenance.path_changes import PathNote

AttentionFact = Literal[
    "changed_after_last_look",
    "weakened",
    "not_run",
    "comment",
    "outside",
    "written_by_fix",
    "several_agents",
]
FACTS: Final[tuple[AttentionFact, ...]] = get_args(AttentionFact)
WEIGHTS: Final[Mapping[AttentionFact, int]] = {
    "changed_after_last_look": 5,
    "weakened": 4,
    "not_run": 4,
    "comment": 4,
    "outside": 3,
    "written_by_fix": 3,
    "several_agents": 2,
}


class ShownFact(NamedTuple):
    """A fact about a hunk, and the event that shows it."""

    fact: AttentionFact
    version: int


class MapHunk(NamedTuple):
    """A hunk of the result with the facts about it; `place` counts the hunks in file order, from 0. `notes` say what
    became of a path where there are no lines."""

    hunk: PatchHunk
    place: int
    because: tuple[ShownFact, ...]
    notes: tuple[PathNote, ...] = ()

    @property
    def rank(self) -> int:
        return sum(WEIGHTS[each.fact] for each in self.because)


def by_attention(hunks: Iterable[MapHunk]) -> list[MapHunk]:
    """Sorts hunks so that the one that needs a look most comes first."""
    return sorted(hunks, key=lambda each: (-each.rank, each.place))
