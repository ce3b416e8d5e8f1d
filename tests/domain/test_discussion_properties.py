"""Whatever agents say and people do: what holds of every review and every debate (S2; K-26…K-33)."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from domain.convergence.profiles import MYSTI, SEED, SHIPPED_V3
from domain.discussion.events import Assessed, Decided, DecisionRequested, Ending, RoundAdded
from domain.discussion.strategies import CHOICES, STRATEGIES
from domain.values.base import Refused
from tests.kit.discussing import DiscussionStory
from tests.kit.replies import challenge, critique, disputed, issue

WORDS = (
    "",
    "I agree, that is correct.",
    "I disagree: there is a flaw.",
    "동의하지 않습니다.",
    "<think>never closed",
    "가" * 6_000,
    '{"verdict": "PASS"',
    critique("PASS"),
    critique(issues=[issue("No test.")], pointsOfDisagreement=[disputed("It is fast.")]),
    challenge("APPROVE"),
    challenge(concerns=["No rollback."]),
)
STEPS = st.one_of(
    st.tuples(st.just("says"), st.sampled_from(WORDS)),
    st.tuples(st.just("says"), st.text(max_size=40)),
    st.tuples(st.just("breaks"), st.sampled_from(("timeout", "crash", "bad_output"))),
    st.tuples(st.just("decides"), st.sampled_from(("apply_fix", "skip", "revise", "accept"))),
    st.tuples(st.just("cancels"), st.just("enough")),
)
OFTEN = st.lists(st.one_of(st.tuples(st.just("says"), st.sampled_from(WORDS)), STEPS), max_size=14)


@settings(max_examples=100, deadline=None)
@given(
    strategy=st.sampled_from(sorted(STRATEGIES)),
    limit=st.integers(min_value=1, max_value=6),
    profile=st.sampled_from((SEED, SHIPPED_V3, MYSTI)),
    steps=OFTEN,
)
def test_a_discussion_keeps_its_promises(strategy: str, limit: int, profile: Any, steps: list[tuple[str, Any]]) -> None:
    most = max(limit, STRATEGIES[strategy].minimum)
    story = DiscussionStory(strategy, rounds=most, profile=profile)
    for verb, given_words in steps:
        before = story.talk
        try:
            if verb in ("says", "breaks") and not before.outstanding:
                continue
            getattr(story, verb)(given_words)
        except Refused:
            assert verb in ("decides", "cancels")
            assert story.now is before
        _holds(story, most)


def _holds(story: DiscussionStory, most: int) -> None:
    talk = story.talk
    assert len(talk.rounds) == len(talk.metrics) <= most
    assert [event.round for event in story.events if isinstance(event, RoundAdded)] == [r.round for r in talk.rounds]
    assert len([event for event in story.events if isinstance(event, Assessed)]) == len(talk.rounds)
    assert len([event for event in story.events if isinstance(event, Ending)]) == (talk.decision is not None) <= 1
    if talk.stop_reason in ("converged", "stalled", "limit"):
        assert len(talk.rounds) >= STRATEGIES[talk.strategy].minimum
    if talk.status in ("reviewing", "debating", "synthesizing"):
        assert len(talk.outstanding) == 1 and talk.decision is None and talk.choices == ()
    else:
        assert talk.outstanding == {}
    if talk.status == "waiting_for_decision":
        assert talk.choices == CHOICES[talk.kind] and talk.feedback is not None
        assert talk.stop_reason == "error" or (talk.synthesis is not None and talk.synthesis.length > 0)
    _waves_nothing_on(story)


def _waves_nothing_on(story: DiscussionStory) -> None:
    """A pass is always a verdict that an agent gave, and a person's decision is always a person's command."""
    for event in story.events:
        if isinstance(event, DecisionRequested) and event.feedback["verdict"] in ("PASS", "APPROVE"):
            assert any(
                output.feedback and output.feedback["verdict"] == event.feedback["verdict"] for output in story.rounds()
            )
            assert "problem" not in event.feedback
        if isinstance(event, Decided):
            assert story.talk.status == "decided"
