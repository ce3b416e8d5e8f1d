"""The place `reasons` of the prompts that ask once more: why an answer could not be taken, in the prompt's language.

The request holds the sentences of the rules, which are English. What of them has no Korean is said in general words:
better less than a sentence that the agent's language does not have.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final

from adapters.agents.prompts import checked

_UNREADABLE: Final = "답변을 읽을 수 없습니다."
_NAMES: Final[Mapping[str, str]] = {
    "list of verdicts": "판정 목록",
    "list of subtasks": "하위 작업 목록",
    "direct answer": "직접 답변",
}
_CODES: Final[Mapping[str, str]] = {
    "timeout": "제한 시간을 넘겼습니다",
    "idle": "너무 오래 응답이 없었습니다",
    "deadline": "기한이 지났습니다",
    "limit": "답변이 너무 깁니다",
    "crash": "비정상으로 끝났습니다",
    "refused": "답변을 거부했습니다",
    "provider": "모델 제공자가 오류를 냈습니다",
    "auth": "인증에 실패했습니다",
    "bad_output": "쓸 수 있는 출력이 없습니다",
    "rate_limit": "사용 한도에 걸렸습니다",
    "overloaded": "모델 제공자가 과부하 상태입니다",
    "network": "네트워크가 끊겼습니다",
    "unreadable": "답변을 읽을 수 없습니다",
    "lost_conversation": "이전 대화를 찾을 수 없습니다",
    "workspace": "작업 공간에 문제가 있습니다",
}
_DETAILS: Final[tuple[tuple[str, str], ...]] = (
    (r"should have at least (\d+) entr(?:y|ies)", r"항목이 \1개 이상이어야 합니다"),
    (r"should have at most (\d+) entr(?:y|ies)", r"항목이 \1개 이하여야 합니다"),
    (r"should have at most (\d+) characters?", r"\1자 이하여야 합니다"),
    (r"should be true or false", "true 또는 false여야 합니다"),
    (r"should be a text", "문자열이어야 합니다"),
    (r"should be a list", "목록이어야 합니다"),
    (r"should be a number", "수여야 합니다"),
    (r"should be an object", "객체여야 합니다"),
    (r"is missing", "값이 없습니다"),
    (r"should not be blank", "비어 있으면 안 됩니다"),
    (r"one agent has several verdicts", "한 에이전트에 판정이 여러 개 있습니다"),
    (r"it is cut off or holds a raw line break", "중간에 끊겼거나 문자열 안에 줄바꿈이 그대로 있습니다"),
    (r'The key (".*") (?:stands|occurs) twice in one object', r"한 객체에 키 \1가 두 번 있습니다"),
    (r"This is not JSON: .*", "JSON이 아닙니다"),
)


def reasons(words: str, language: str = "en") -> str:
    """Line by line; Invalid at /language."""
    if checked(language) == "en":
        return words
    return "\n".join(_line(line) for line in words.splitlines())


def _line(line: str) -> str:
    dash, sentence = ("- ", line[2:]) if line.startswith("- ") else ("", line)
    return dash + _korean(sentence) if sentence.strip() else line


def _korean(sentence: str) -> str:
    for pattern, told in _SENTENCES:
        found = pattern.fullmatch(sentence)
        if found:
            return told(found)
    return _UNREADABLE


def _none(found: re.Match[str]) -> str:
    return f"답변에 {_named(found[1])}이 없습니다."


def _several(found: re.Match[str]) -> str:
    return f"답변에 서로 어긋나는 {_named(found[1])}이 둘 이상 있습니다."


def _nobody(_: re.Match[str]) -> str:
    return "판정 목록에 이번 라운드에서 일한 에이전트가 없습니다."


def _broken(found: re.Match[str]) -> str:
    return f"답변의 {_named(found[1])}을 읽을 수 없습니다{_because(found[2])}"


def _misfit(found: re.Match[str]) -> str:
    place = f" ({found[2]})" if found[2] else ""
    return f"답변의 {_named(found[1])}이 형식에 맞지 않습니다{place}{_because(found[3])}"


def _employee(found: re.Match[str]) -> str:
    there = "없음" if found[2] == "none" else found[2]
    return f"{found[1]}라는 직원이 없습니다. 있는 직원: {there}."


def _silent(_: re.Match[str]) -> str:
    return "심사자가 답하지 않았습니다."


def _failed(found: re.Match[str]) -> str:
    return f"{found[1]}: {_CODES[found[2]]}."


_SENTENCES: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...]] = (
    (re.compile(r"The reply holds no (.+)\."), _none),
    (re.compile(r"The reply holds more than one (.+), and they contradict each other\."), _several),
    (re.compile(r"The list of verdicts judges nobody who worked in this round\."), _nobody),
    (re.compile(r"The (.+?) in the reply cannot be read: (.*?)\.?"), _broken),
    (re.compile(r"The (.+?) does not fit(?: at (/\S*))?: (.*?)\.?"), _misfit),
    (re.compile(r"There is no employee (.+?); there are: (.+)\."), _employee),
    (re.compile(r"The judge did not answer\."), _silent),
    (re.compile(rf"(.+?): ({'|'.join(_CODES)})(?:: .*)?"), _failed),
)


def _named(name: str) -> str:
    return _NAMES.get(name, "JSON")


def _because(detail: str) -> str:
    for pattern, words in _DETAILS:
        found = re.fullmatch(pattern, detail)
        if found:
            return f": {found.expand(words)}."
    return "."
