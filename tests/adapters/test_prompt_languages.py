"""What the rules say in one spelling is told to agents in the language of their prompt, and in no other."""

import re
from typing import Any

import pytest

from adapters.agents.prompts.places import agents, reasons
from adapters.turns.prompting import prompt_of
from domain import replies
from domain.session.turns import TurnRequested
from domain.values.base import Invalid, Text, Unreadable
from tests.kit.stories import OrchestrationStory, subtask

ENGLISH = re.compile(r"[A-Za-z]+(?: [A-Za-z]+){2,}")
"""Three English words in a row."""
HANGUL = re.compile("[가-힣]")


@pytest.mark.parametrize(
    ("words", "english", "korean"),
    [
        (
            "- Backend (backend): judged for phase 3 (개발)",
            "- Backend (backend): judged for phase 3 (development)",
            "- Backend (backend): 판정할 phase: 3 (개발)",
        ),
        (
            "- Docs (docs): judged for phase 1 (기획), 3 (개발); pass: all is said; fail: a gap",
            "- Docs (docs): judged for phase 1 (planning), 3 (development); pass: all is said; fail: a gap",
            "- Docs (docs): 판정할 phase: 1 (기획), 3 (개발); pass: all is said; fail: a gap",
        ),
        ("- Data (data): completed", "- Data (data): completed", "- Data (data): 완료"),
        (
            "- A (x (y)): judged for phase 4 (디버깅)\n- B (b): completed",
            "- A (x (y)): judged for phase 4 (debugging)\n- B (b): completed",
            "- A (x (y)): 판정할 phase: 4 (디버깅)\n- B (b): 완료",
        ),
        ("anything else (x): is left", "anything else (x): is left", "anything else (x): is left"),
    ],
)
def test_who_is_judged_is_told_in_the_language(words: str, english: str, korean: str) -> None:
    assert (agents(words, "en"), agents(words, "ko")) == (english, korean)


def test_what_agents_wrote_is_not_touched() -> None:
    criteria = "pass: x): judged for phase 3 (개발)"
    words = f"- Backend (backend): judged for phase 3 (개발); {criteria}"
    assert agents(words, "en") == f"- Backend (backend): judged for phase 3 (development); {criteria}"


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
def test_why_an_answer_was_not_taken_is_told_in_the_language(kind: str, text: str) -> None:
    with pytest.raises(Unreadable) as problem:
        replies.read(kind, text)
    sentence = str(problem.value)
    english, korean = reasons(sentence, "en"), reasons(f"- {sentence}", "ko")
    assert HANGUL.search(english) is None and "after validation" not in english and "tuple" not in english
    assert korean.startswith("- 답변") and korean.endswith("니다.")
    assert ENGLISH.search(korean) is None, korean


@pytest.mark.parametrize(
    ("sentence", "korean"),
    [
        ("The reply holds no list of verdicts.", "답변에 판정 목록이 없습니다."),
        (
            "The list of verdicts does not fit at /verdicts/0/pass: should be true or false.",
            "답변의 판정 목록이 형식에 맞지 않습니다 (/verdicts/0/pass): true 또는 false여야 합니다.",
        ),
        (
            "The list of subtasks does not fit at /x: should have at least 1 entry.",
            "답변의 하위 작업 목록이 형식에 맞지 않습니다 (/x): 항목이 1개 이상이어야 합니다.",
        ),
        (
            "The list of verdicts in the reply cannot be read: it is cut off or holds a raw line break.",
            "답변의 판정 목록을 읽을 수 없습니다: 중간에 끊겼거나 문자열 안에 줄바꿈이 그대로 있습니다.",
        ),
        ("There is no employee 'X'; there are: A, B.", "'X'라는 직원이 없습니다. 있는 직원: A, B."),
        ("The judge did not answer.", "심사자가 답하지 않았습니다."),
        ("judge: timeout: No answer within 3 s.", "judge: 제한 시간을 넘겼습니다."),
        ("Something that nobody has foreseen.", "답변을 읽을 수 없습니다."),
    ],
)
def test_the_sentences_of_the_rules_have_their_korean(sentence: str, korean: str) -> None:
    assert reasons(sentence, "ko") == korean


def test_another_language_is_refused() -> None:
    for spelled in (reasons, agents):
        with pytest.raises(Invalid):
            spelled("- A (a): completed", "fr")


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

    def whole(text: Text) -> str:
        return story.whole(text)

    told: dict[str, Any] = {
        language: prompt_of(request, language=language, whole=whole).text for language in ("en", "ko")
    }
    assert HANGUL.search(told["en"].replace(story.run.prompt, "")) is None
    for english in ("judged for", "The reply holds", "cannot be read", "development"):
        assert english not in told["ko"]
    assert "- Backend (backend): 판정할 phase: 3 (개발)" in told["ko"]
    assert "- Backend (backend): judged for phase 3 (development)" in told["en"]
    if answer is not None:
        assert "답변" in told["ko"] and "list of verdicts" in told["en"]
