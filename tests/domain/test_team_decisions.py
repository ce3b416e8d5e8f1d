"""Decisions of a team: N people choose the same, not the author, on what is shown now; nothing passes by default."""

import random
from dataclasses import replace
from typing import Any

import pytest

from domain.discussion.commands import CancelDiscussion
from domain.discussion.events import DecisionVoted, RoundAdded, seen_after
from domain.discussion.state import Discussion
from domain.kinds import fold, kind
from domain.replay import first_difference
from domain.session.children import Choice, Decide
from domain.session.record import Causation, Recorded
from domain.session.rules import carry_out
from domain.session.state import EventMetadata
from domain.session.team_decisions import DecisionPolicy, missing
from domain.session.turns import ExpireTurn, RetryTurn
from domain.values.base import DomainEvent, Forbidden, Refused, Text
from tests.kit.discussing import DiscussionStory, waiting
from tests.kit.stories import topics

HOUR = 3_600_000


def team(strategy: str = "review", *, expires_ms: int | None = None, **policy: Any) -> DiscussionStory:
    """One that waits for the decision of a team."""
    return waiting(strategy, decisions=DecisionPolicy(**policy), expires_ms=expires_ms)


def vote(story: DiscussionStory, choice: Choice, actor: str, *, seen: str | None = None) -> list[DomainEvent]:
    return story.when(Decide(choice=choice, actor=actor, seen=seen or story.talk.seen))


def test_a_decision_is_made_when_enough_people_agree() -> None:
    story = team(approvers=2)
    [first] = vote(story, "skip", "person:ada")
    assert isinstance(first, DecisionVoted)
    assert (first.choice, first.actor, first.seen) == ("skip", "person:ada", story.talk.seen)
    assert story.talk.status == "waiting_for_decision"
    assert missing(DecisionPolicy(approvers=2), story.talk.choices, story.talk.votes) == {"skip": 1, "apply_fix": 2}
    assert topics(vote(story, "apply_fix", "person:bob")) == ["decision.voted"]
    assert topics(vote(story, "skip", "person:eve"))[:2] == ["decision.voted", "review.decided"]
    assert story.talk.decision is not None
    assert [made.actor for made in story.talk.decision.votes] == ["person:ada", "person:eve"]


def test_one_person_has_one_vote_and_may_change_it() -> None:
    story = team(approvers=2)
    vote(story, "skip", "person:ada")
    assert "already" in str(story.refused(Decide(choice="skip", actor="person:ada", seen=story.talk.seen)))
    vote(story, "apply_fix", "person:ada")
    assert [(made.actor, made.choice) for made in story.talk.votes] == [("person:ada", "apply_fix")]
    vote(story, "skip", "person:bob")
    assert story.talk.status == "waiting_for_decision"
    vote(story, "skip", "person:ada")
    assert story.talk.status == "decided"


def test_the_vote_names_what_was_seen() -> None:
    story = team(approvers=2)
    assert "seen" in str(story.refused(Decide(choice="skip", actor="person:ada")))
    assert "changed" in str(story.refused(Decide(choice="skip", actor="person:ada", seen="0" * 64)))
    alone = waiting()
    assert "changed" in str(alone.refused(Decide(choice="skip", actor="ada", seen="0" * 64)))
    assert topics(vote(alone, "skip", "ada"))[:2] == ["decision.voted", "review.decided"]


@pytest.mark.parametrize(
    ("policy", "actor", "sentence"),
    [
        ({"who": ("bob", "eve")}, "person:ada", "Only bob, eve may decide this."),
        ({"who": ("bob", "eve"), "not_author": True, "authors": ("person:bob",)}, "person:bob", "Only eve may."),
        ({"not_author": True, "authors": ("person:ada",)}, "person:ada", "Anyone else whose key has the scope decide"),
        ({"who": ("ada",), "not_author": True, "authors": ("person:ada",)}, "person:ada", "lists nobody else"),
    ],
)
def test_a_person_who_may_not_decide_learns_who_may(policy: dict[str, Any], actor: str, sentence: str) -> None:
    story = team(**policy)
    refusal = story.refused(Decide(choice="skip", actor=actor, seen=story.talk.seen))
    assert isinstance(refusal, Forbidden) and sentence in str(refusal)


@pytest.mark.parametrize("strategy", ["review", "debate"])
def test_nothing_that_needs_approval_passes_by_itself(strategy: str) -> None:
    rejecting = {"review": "apply_fix", "debate": "revise"}[strategy]
    late = team(strategy, approvers=2, expires_ms=HOUR)
    late.when(ExpireTurn(turn_id=late.turn.turn_id), after=HOUR + 1)
    ended = team(strategy, approvers=2)
    ended.when(CancelDiscussion(reason="by its author"))
    for story in (late, ended):
        assert story.talk.decision is not None and story.talk.decision.choice == rejecting
    plain = team(strategy, expires_ms=HOUR)
    plain.when(ExpireTurn(turn_id=plain.turn.turn_id), after=HOUR + 1)
    assert plain.talk.decision is not None and plain.talk.decision.choice != rejecting


def test_votes_are_decided_again_in_the_same_way() -> None:
    story = team(approvers=2)
    vote(story, "apply_fix", "person:ada")
    vote(story, "skip", "person:bob")
    vote(story, "skip", "person:ada")
    history = [
        Recorded(
            number, story.id, number, metadata.at, Causation("a", f"c{_command(story, number)}", story.id, ""), event
        )
        for number, (event, metadata) in enumerate(story.history, start=1)
    ]
    assert first_difference(history, lambda text: story.whole(text)) is None


def _command(story: DiscussionStory, number: int) -> int:
    """Events of one command share its name: a vote begins one, and what follows at once belongs to it."""
    firsts = ("review.session_started", "turn.answered", "decision.voted")
    return sum(event.TOPIC in firsts for event in story.events[:number])


def test_a_second_round_of_talk_empties_the_ballot() -> None:
    story = DiscussionStory(decisions=DecisionPolicy(approvers=2))
    story.breaks()
    before = story.talk.seen
    vote(story, "skip", "person:ada")
    story.when(RetryTurn())
    story.breaks("timeout")
    assert story.talk.votes == () and story.talk.seen != before
    assert "changed" in str(story.refused(Decide(choice="skip", actor="person:bob", seen=before)))


# ------------------------------------------------------------------------------------------------- stale approvals


def mutated(history: list[DomainEvent], chance: random.Random) -> list[DomainEvent]:
    """The same history with one character, number or word of the diff or of the findings changed."""
    shown = [place for place, event in enumerate(history) if seen_after("", event)]
    place = chance.choice(shown)
    event = history[place]
    dump = event.model_dump()
    while True:
        path = chance.choice(_leaves(dump, _SHOWN[type(event).TOPIC.partition(".")[2]]))
        *above, last = path
        inner = dump
        for step in above:
            inner = inner[step]
        inner[last] = _changed(inner[last], chance)
        other = type(event).model_validate(dump)
        if other != event:
            return [*history[:place], other, *history[place + 1 :]]


_SHOWN = {
    "session_started": (("topic", "subject", "head"), ("topic", "tree")),
    "round_added": (("content", "head"), ("role",), ("agent",), ("problem",)),
    "synthesized": (("synthesis", "head"),),
    "decision_requested": (("feedback", "summary"), ("feedback", "verdict"), ("feedback", "issues"), ("dissent",)),
}


def _leaves(dump: dict[str, Any], names: tuple[tuple[str, ...], ...]) -> list[tuple[str, ...]]:
    return [path for path in names if path[0] in dump]


def _changed(value: Any, chance: random.Random) -> Any:
    if isinstance(value, str) and value:
        place = chance.randrange(len(value))
        return value[:place] + chr(chance.randrange(0x21, 0x2FFF)) + value[place + chance.randrange(2) :]
    if isinstance(value, list | tuple):
        return [*value, str(chance.random())]
    return str(chance.random())


def stale_approvals(number: int) -> int:
    """How many of so many changed sessions take a vote on what was there before."""
    story, chance, accepted = team(approvers=2), random.Random(7), 0  # noqa: S311
    seen, history = story.talk.seen, story.events
    metadata = EventMetadata(story.id, story.at)
    for _ in range(number):
        other = fold(story.kind, [(event, metadata) for event in mutated(history, chance)])
        assert isinstance(other, Discussion) and other.choices
        try:
            carry_out(kind(story.kind), other, Decide(choice="skip", actor="person:ada", seen=seen), metadata)
            accepted += 1
        except Refused:
            continue
    return accepted


def test_no_stale_approval_is_accepted() -> None:
    assert stale_approvals(2_000) == 0


@pytest.mark.nightly
def test_no_stale_approval_is_accepted_of_many() -> None:
    assert stale_approvals(50_000) == 0


def test_a_longer_text_counts_as_a_whole() -> None:
    """Only the head of a long text is in the event; its digest covers the rest."""
    one, two = (Text.of("a" * 20_000 + end)[0] for end in "xy")
    added = next(event for event in team().events if isinstance(event, RoundAdded))
    seen = {seen_after("", added.model_copy(update={"content": text})) for text in (one, two)}
    assert len(seen) == 2 and one.head == two.head
    assert replace(team().talk, votes=()).seen == team().talk.seen
