"""What does not fit in an answer is described in one way, in words for people; replay ignores stored messages."""

import json
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain import replies
from domain.replay import Difference, first_difference
from domain.session.decision import Outcome
from domain.session.record import Causation, Recorded
from domain.values.base import Unreadable
from tests.kit.discussing import DiscussionStory
from tests.kit.replies import subtask
from tests.kit.stories import DeliveryStory, OrchestrationStory, Story

SAID = {
    "no-entry": ("subtasks", '{"subtasks":[]}', "/subtasks: should have at least 1 entry."),
    "no-object": ("subtasks", '{"subtasks":[5]}', "/subtasks/0: should be an object."),
    "no-list": ("subtasks", '{"subtasks":"x"}', "/subtasks: should be a list."),
    "no-name": ("subtasks", '{"subtasks":[{"task":"t"}]}', "/subtasks/0/agent: is missing."),
    "blank": ("subtasks", '{"subtasks":[{"agent":" ","task":"t"}]}', "/subtasks/0/agent: should not be blank."),
    "no-verdict": ("verdicts", '{"verdicts":[5]}', "/verdicts/0: should be an object."),
    "no-boolean": ("verdicts", '{"verdicts":[{"agent":"A","pass":1}]}', "/verdicts/0/pass: should be true or false."),
    "no-text": ("verdicts", '{"verdicts":[{"agent":1,"pass":true}]}', "/verdicts/0/agent: should be a text."),
    "no-issues": ("review", '{"verdict":"PASS","issues":"x"}', "/issues: should be a list."),
    "null": ("review_artifact", '{"blockingIssues":null}', "/blockingIssues: should be a list."),
    "missing": ("review_artifact", '{"fixPlan":[]}', "/blockingIssues: is missing."),
    "too-many": ("debate", json.dumps({"verdict": "APPROVE", "concerns": [""] * 201}), "at most 200 entries."),
    "too-long": ("debate", json.dumps({"verdict": "APPROVE", "concerns": ["x" * 65_537]}), "at most 65536 characters."),
    "no-word": (
        "review",
        '{"verdict":"PASS","issues":[{"severity":"huge","description":"d"}]}',
        "/issues/0/severity: should be 'critical', 'major' or 'minor'.",
    ),
}
COUNTED = {
    "below": ("review_synthesis", '{"verdict":"PASS","resolvedCount":-1}', "/resolvedCount: should be at least 0."),
    "above": (
        "review_synthesis",
        '{"verdict":"PASS","resolvedCount":1e17}',
        "/resolvedCount: should be a whole number.",
    ),
    "broken": ("debate_synthesis", '{"verdict":"APPROVE","consensusCount":1.5}', "should be a whole number."),
    "no-number": ("debate_synthesis", '{"verdict":"APPROVE","consensusCount":"1"}', "should be a whole number."),
}


def problem(kind: str, text: str) -> str:
    with pytest.raises(Unreadable) as unreadable:
        replies.read(kind, text)
    return str(unreadable.value)


@pytest.mark.parametrize(("kind", "text", "told"), [*SAID.values(), *COUNTED.values()], ids=[*SAID, *COUNTED])
def test_what_does_not_fit_is_said_in_words_for_people(kind: str, text: str, told: str) -> None:
    assert problem(kind, text).endswith(told)


# -- any misfit ----------------------------------------------------------------------------------------------------

TEXTS: dict[str, dict[str, Any]] = {
    "subtasks": {
        "subtasks": [
            {"agent": "A", "role": "qa", "task": "t", "start_phase": 1, "verification": {"affected_files": ["a"]}}
        ]
    },
    "direct_answer": {"direct_answer": "a", "subtasks": []},
    "verdicts": {"verdicts": [{"agent": "A", "pass": True, "feedback": "f"}], "allDone": True},
    "review": {
        "verdict": "PASS",
        "summary": "s",
        "issues": [{"severity": "minor", "description": "d", "suggestion": "s"}],
        "securityRisks": [{"description": "d", "severity": "s"}],
        "pointsOfDisagreement": [{"claim": "c", "explanation": "e"}],
    },
    "debate": {"verdict": "APPROVE", "concerns": ["c"], "edgeCases": ["e"]},
    "review_artifact": {
        "blockingIssues": [{"id": "i", "title": "t", "detail": "d"}],
        "score": 1,
        "fixPlan": ["f"],
    },
    "review_synthesis": {"verdict": "PASS", "summary": "s", "resolvedCount": 1},
    "debate_synthesis": {"verdict": "APPROVE", "summary": "s", "divergenceCount": 1},
}
LIBRARY = ("input", "valid", "tuple", "instance", "dictionary", "integer", "string", "field required", "asked for")
MISFITS = st.sampled_from(
    [None, True, 0, -1, 1.5, 1e17, "", " ", "x", [], [5], {}, {"a": 1}, ["x"] * 201, "x" * 65_537]
)


def places(value: Any, way: tuple[Any, ...] = ()) -> Iterable[tuple[Any, ...]]:
    """The ways to all that is in there."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inside:
        yield (*way, key)
        yield from places(part, (*way, key))


def put(value: Any, way: tuple[Any, ...], other: Any) -> Any:
    if not way:
        return other
    key, *rest = way
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[key] = put(copy[key], tuple(rest), other)
    return copy


@given(st.data())
def test_no_error_uses_the_words_of_the_library(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(sorted(TEXTS)))
    way = data.draw(st.sampled_from(list(places(TEXTS[kind]))))
    text = json.dumps(put(TEXTS[kind], way, data.draw(MISFITS)))
    try:
        replies.read(kind, text)
    except Unreadable as unreadable:
        output = str(unreadable).partition("does not fit")[2].partition(": ")[2]
        assert not [word for word in LIBRARY if word in output], output


# -- replay --------------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def each_decision_has_a_moment_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    tell = Story._tell

    def told(story: Story, decision: Outcome) -> None:
        tell(story, decision)
        story.at += 1

    monkeypatch.setattr(Story, "_tell", told)


def reviewed() -> Story:
    story = DiscussionStory(rounds=1)
    story.says('{"verdict":"PASS","issues":"x"}', "All in all.")
    return story


def planned() -> Story:
    story = OrchestrationStory()
    for _ in range(2):
        story.answer('{"subtasks":[]}')
    return story


def judged() -> Story:
    story = OrchestrationStory().planned(subtask("Backend", 3, 4))
    story.works("Backend")
    for _ in range(2):
        story.answer('{"verdicts":[5]}')
    return story


def delivered() -> Story:
    story = DeliveryStory().in_review()
    story.answer('{"blockingIssues":null}')
    return story


def difference(story: Story) -> Difference | None:
    """What replay finds."""
    history = [
        Recorded(version, story.id, version, metadata.at, Causation("tester", f"c{metadata.at}", story.id, "x"), event)
        for version, (event, metadata) in enumerate(story.history, start=1)
    ]
    return first_difference(history, story.whole)


@pytest.mark.parametrize("told", [reviewed, planned, judged, delivered])
def test_a_history_is_decided_the_same_way_whatever_its_stored_messages_say(told: Callable[[], Story]) -> None:
    story = told()
    story.history = [
        (event.model_copy(update={"message": "In older words."} if "message" in type(event).model_fields else {}), at)
        for event, at in story.history
    ]
    assert difference(story) is None
