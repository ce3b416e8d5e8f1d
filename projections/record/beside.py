"""Two histories side by side: how much of them is the same, and the rest, aligned event by event."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final, NamedTuple

from domain.session.forking import names
from domain.session.record import Recorded, Whole
from projections.record.diff import alike, compared

MOST: Final = 300
"""How many events of each are aligned after the first difference."""


class EventPair(NamedTuple):
    """Events next to each other; None if only the other side has one."""

    a: Recorded | None
    b: Recorded | None
    same: bool


class Beside(NamedTuple):
    """`common` counts the events before the first difference; `more` says whether more events were left out."""

    common: int
    last: EventPair | None
    pairs: tuple[EventPair, ...]
    more: bool


def beside(a: Sequence[Recorded], b: Sequence[Recorded], whole: Whole) -> Beside:
    ours, theirs = compared(a), compared(b)
    known = names((*a, *b))
    common = 0
    for one, other in zip(ours, theirs, strict=False):
        if not alike(one, other, known, whole):
            break
        common += 1
    last = EventPair(ours[common - 1], theirs[common - 1], True) if common else None
    rest = ours[common : common + MOST], theirs[common : common + MOST]
    pairs = tuple(
        EventPair(one, other, one is not None and other is not None and alike(one, other, known, whole))
        for one, other in _aligned(*rest)
    )
    return Beside(common, last, pairs, len(ours) > common + MOST or len(theirs) > common + MOST)


def _aligned(a: Sequence[Recorded], b: Sequence[Recorded]) -> Iterator[tuple[Recorded | None, Recorded | None]]:
    """Events of the same kind next to each other."""
    topics = [[(found.event.TOPIC, found.event.__dict__.get("phase")) for found in side] for side in (a, b)]
    for _, i1, i2, j1, j2 in SequenceMatcher(None, topics[0], topics[1], autojunk=False).get_opcodes():
        for step in range(max(i2 - i1, j2 - j1)):
            yield (
                a[i1 + step] if i1 + step < i2 else None,
                b[j1 + step] if j1 + step < j2 else None,
            )
