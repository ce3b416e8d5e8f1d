"""The order of the reviewer's map: each fact ranks its hunks before those without; every hunk is there."""

import random

import pytest

from domain.findings.attention import FACTS, MapHunk, ShownFact, by_attention
from domain.provenance.patches import HunkLine, PatchHunk


def hunk(place: int, *facts: int) -> MapHunk:
    lines = (HunkLine("+", f"line {place}", place + 1),)
    return MapHunk(PatchHunk("a.py", lines), place, tuple(ShownFact(FACTS[each], 7) for each in sorted(facts)))


@pytest.mark.parametrize("seed", range(50))
def test_each_fact_ranks_its_hunks_before_those_without(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - no secret
    hunks = [hunk(place, *chance.sample(range(len(FACTS)), chance.randint(0, len(FACTS)))) for place in range(60)]
    ordered = by_attention(chance.sample(hunks, len(hunks)))
    assert sorted(ordered, key=lambda each: each.place) == hunks, "every hunk is in the list, once"
    for at, one in enumerate(ordered):
        for other in ordered[at + 1 :]:
            mine, theirs = {each.fact for each in one.because}, {each.fact for each in other.because}
            assert not mine < theirs, "a fact more never ranks lower"
            assert mine != theirs or one.place < other.place, "ties are in file order"
