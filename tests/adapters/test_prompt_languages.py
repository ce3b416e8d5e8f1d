"""Agents get the texts of the rules in the language of their prompt, and in no other."""

import re
from typing import get_args

import pydantic
import pytest

from adapters.turns.question.prompt import prompt_of
from domain import replies
from domain.orchestration.state import Orchestration
from domain.session.attempts import Failure, FailureCode, failure_sentence
from domain.session.turns import TurnRequested
from domain.values.base import Unreadable
from domain.values.sentences import in_language, sentence_of
from tests.kit.replies import plan, subtask
from tests.kit.stories import OrchestrationStory

ENGLISH = re.compile(r"[A-Za-z]+(?: [A-Za-z]+){2,}")
"""Three English words in a row."""
HANGUL = re.compile("[가-힣]")


MISFITS = {
    "verdicts": [
        "nothing",
        '{"verdicts": [',
        '{"verdicts": [{"agent": "A", "pass": "true"}]}',
        '{"verdicts": [{"agent": "A"}]}',
        '{"verdicts": [{"agent": "", "pass": true}]}',
        '{"verdicts": [{"agent": 1, "pass": true}]}',
        '{"verdicts": [1]}',
        '{"verdicts": [{"agent": "A", "pass": true}, {"agent": "a", "pass": true}]}',
        '{"verdicts": [], "verdicts": []}',
        '{"verdicts": [' + ", ".join(['{"agent": "A", "pass": true}'] * 201) + "]}",
        '{"verdicts": [{"agent": "A", "pass": true,}]}',
    ],
    "subtasks": [
        "nothing",
        '{"subtasks": []}',
        '{"subtasks": [{"agent": "A"}]}',
        '{"subtasks": [',
        '{"subtasks": [3]}',
    ],
}


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in MISFITS.items() for text in texts])
def test_the_reason_for_refusing_an_answer_is_in_the_language(kind: str, text: str) -> None:
    with pytest.raises(Unreadable) as problem:
        replies.read(kind, text)
    sentence = sentence_of(problem.value)
    english, korean = in_language(sentence, "en"), in_language(sentence, "ko")
    assert english == sentence
    assert HANGUL.search(english) is None and "after validation" not in english and "tuple" not in english
    assert korean.startswith("답변") and korean.endswith(".")
    assert ENGLISH.search(korean) is None, korean


def test_a_refused_plan_is_requested_again_in_one_language() -> None:
    story = OrchestrationStory()
    story.answer(plan(subtask("Nobody")))
    output = prompts_of(story, story.request)
    assert "- There is no employee 'Nobody'; there are: " in output["en"]
    assert "- 'Nobody': 그런 구성원이 없습니다. 있는 구성원: " in output["ko"] and "no employee" not in output["ko"]


def test_english_texts_of_old_logs_are_shown_as_they_are() -> None:
    story, request = judging("I forgot the JSON.")
    story.run.verdict_problem = str(story.run.verdict_problem)
    assert "The reply holds no list of verdicts." in prompts_of(story, request)["ko"]


@pytest.mark.parametrize("code", get_args(FailureCode))
def test_why_a_turn_failed_has_korean_words(code: FailureCode) -> None:
    failed = failure_sentence("Ada", Failure(code=code, detail="some words"))
    assert failed == f"Ada: {code}: some words"
    assert re.fullmatch(r"Ada: [^a-z]+\.", in_language(failed, "ko"))


def prompts_of(story: OrchestrationStory, request: TurnRequested) -> dict[str, str]:
    """The prompt in both languages. The run is folded from a snapshot, as long ones are."""
    adapter = pydantic.TypeAdapter(Orchestration)
    run = adapter.validate_json(adapter.dump_json(story.run))
    return {language: prompt_of(request, run, language=language, whole=story.whole).text for language in ("en", "ko")}


def judging(answer: str | None) -> tuple[OrchestrationStory, TurnRequested]:
    """A run whose judge is asked; after an answer that cannot be read, once more."""
    story = OrchestrationStory().planned(subtask("Backend"), subtask("Docs", 3, 5))
    while story.run.state == "working":
        story.works(story.asked[0])
    if answer is not None:
        story.answer(answer)
    return story, story.request


@pytest.mark.parametrize("answer", [None, "I forgot the JSON.", '{"verdicts": []'])
def test_a_judge_is_asked_in_one_language(answer: str | None) -> None:
    story, request = judging(answer)
    output = prompts_of(story, request)
    assert HANGUL.search(output["en"].replace(story.run.prompt, "")) is None
    for english in ("judged for", "The reply holds", "cannot be read", "development"):
        assert english not in output["ko"]
    assert "- Backend (backend): 판정할 phase: 3 (개발)" in output["ko"]
    assert "- Backend (backend): judged for phase 3 (development)" in output["en"]
    if answer is not None:
        assert "답변" in output["ko"] and "list of verdicts" in output["en"]
