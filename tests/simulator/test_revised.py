"""What people want changed survives a kill at each event: the same end, and nobody's words lost, doubled or another's
(contract-3 §18)."""

from collections import Counter

import pytest

from domain.session.comments import CommentChanged, CommentMade
from domain.session.revisions import RevisionRequested
from projections.record.records import record_of
from projections.record.worklog import render
from tests.simulator.revised import ANN, ENDINGS, RevisedWorld, Story, told


def check(seeds: range) -> Counter[str]:
    """Returns how often each ending was told, and how many requests, comments and kills there were."""
    tally = Counter[str]()
    for seed in seeds:
        story = Story.of(seed)
        (calm, expected), (killed, end) = (told(story, trouble=trouble) for trouble in (False, True))
        assert end == expected, seed
        assert killed.refused == calm.refused, seed
        assert killed.killed >= 3, "the server was killed at each event"
        for world in (calm, killed):
            nobody_is_misquoted(world)
        tally[story.ending] += 1
        tally += Counter(requests=len(end.revisions), comments=len(end.comments), kills=killed.killed)
    return tally


def nobody_is_misquoted(world: RevisedWorld) -> None:
    """The person's words are there once, each as hers."""
    made = [each.event for each in world.events() if isinstance(each.event, CommentMade | RevisionRequested)]
    said = [each.text if isinstance(each, CommentMade) else each.text.head for each in made]
    assert said == world.said
    theirs = [each.event for each in world.events() if isinstance(each.event, CommentChanged)]
    assert {each.by for each in (*made, *theirs)} <= {ANN}
    entries = render(record_of(world.events()).worklog, world.end).split("\n### ")
    for words in said:
        [_] = [each for each in entries if words in each and "ann" in each.splitlines()[0]]
        assert all("of a person" in each for each in entries if words in each and "ann" not in each.splitlines()[0])


def test_a_kill_at_each_event_leads_to_the_same_end() -> None:
    seeds = range(3)
    assert check(seeds)["requests"] > len(seeds)


@pytest.mark.nightly
def test_a_thousand_requests_survive_a_kill_at_each_event() -> None:
    tally = check(range(3, 503))
    assert tally["requests"] >= 1_000 and all(tally[ending] > 20 for ending in ENDINGS), tally
