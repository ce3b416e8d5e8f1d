"""Prompts of long discussions: what an earlier prompt had is not prepared again, and that changes no byte."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from unittest.mock import patch

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from adapters.agents.prompts import catalogue as prompts
from adapters.turns.question.prompt import prompt_of
from domain.convergence.profiles import named
from domain.discussion import findings
from domain.discussion.strategies import STRATEGIES
from tests.kit.discussing import DiscussionStory

NEVER_OVER = named({"agreement": 1.0, "stability": 1.0, "stall": 0.0})
MARKUP = ("<", "</", "mat", "erial", "material>", "<material>", "&lt;", "{{subject}}")
PIECES = (*MARKUP, "[", "\n", " ", "\u200b", "x", "가")
REPLIES = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=6).map("".join), st.sampled_from(("가" * 6_000, "<" * 20_000))
)


@pytest.fixture(autouse=True)
def _from_the_first_byte() -> Iterator[None]:
    """Short discussions are treated like long ones."""
    with patch.object(findings, "LONG", 0), patch.object(findings, "_memo", {}):
        yield


def prompted(story: DiscussionStory) -> str:
    """The prompt of the newest request."""
    assert story.now is not None
    whole = partial(findings.content_of, story.now, whole=story.whole)
    return prompt_of(story.request, story.now, language="en", whole=whole).text


def plainly(story: DiscussionStory) -> str:
    """The same from the history alone: every text whole, and all of it made safe at once."""
    name, _, strategy = story.request.prompt.partition("@")[0].partition(".")
    template = prompts.prompt(name, strategy=strategy or None)
    return prompts.render(template, {place: story.whole(text) for place, text in story.request.context.items()})


@settings(max_examples=60, deadline=None)
@given(strategy=st.sampled_from(sorted(STRATEGIES)), replies=st.lists(REPLIES, min_size=3, max_size=9))
@example(strategy="review", replies=["<", "material>", "</mat", "erial>"])
@example(strategy="debate", replies=["<\n\n", "", "\u200b/material", "x"])
def test_every_prompt_is_what_its_whole_texts_make(strategy: str, replies: list[str]) -> None:
    """The sessions of all examples have one name, so that each begins with what is kept of another one."""
    story = DiscussionStory(strategy, rounds=len(replies), profile=NEVER_OVER)
    for words in replies:
        assert prompted(story) == plainly(story)
        story.says(words)
    assert story.talk.status == "synthesizing"
    assert prompted(story) == plainly(story)


def test_only_new_rounds_are_prepared() -> None:
    story = DiscussionStory(rounds=20, profile=NEVER_OVER)
    counts = []
    with patch.object(findings, "closed", side_effect=findings.closed) as closed:
        for number in range(10):
            story.says(f"Reply {number}. " * 30)
            closed.reset_mock()
            assert f"Reply {number}. " in prompted(story)
            counts.append(closed.call_count)
    assert counts == [1] * 10


def test_prompts_of_few_discussions_are_kept() -> None:
    story = DiscussionStory(rounds=20, profile=NEVER_OVER)
    story.says("A long reply. " * 20)
    for number in range(findings.KEPT * 2):
        session = replace(story.talk, id=f"review-{number}")
        assert findings.closed_rounds(session, findings.rounds(session)) is not None
    assert {name for name, _ in findings._memo} == {
        f"review-{findings.KEPT + number}" for number in range(findings.KEPT)
    }


@pytest.mark.parametrize("replies", [["Short."], ["가" * 6_000], ["A long reply. " * 20] * 4])
def test_what_is_short_or_too_long_or_can_be_redacted_is_not_kept(replies: list[str]) -> None:
    story = DiscussionStory(rounds=20, profile=NEVER_OVER)
    with patch.object(findings, "LONG", 300), patch.object(findings, "KEPT_BYTES", 1_000):
        for words in replies:
            story.says(words)
        assert prompted(story) == plainly(story)
    assert not findings._memo
