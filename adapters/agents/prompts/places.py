"""Texts around a request: the mode of a round, and why a question is repeated.

`mode`: employees of one round work at the same time, or one after another (§1.8).
"""

import re
from collections.abc import Callable, Mapping
from typing import Final, Literal

from adapters.agents.prompts import checked
from domain.values.template import Language

Mode = Literal["parallel", "sequential"]

_MODES: Final[Mapping[Language, Mapping[Mode, str]]] = {
    "en": {
        "parallel": """\
## Parallel Execution Mode ⚡

You work at the same time as the agents listed under `peers`, in the same workspace.
- Change only the files that are yours: those your task names. Never touch a file of another agent.
- Never change shared configuration (dependencies, lock files, build, lint or CI settings). Report what you need.
- You cannot see the others' results yet. Build on the interfaces in the plan, not on guesses about their code.""",
        "sequential": """\
## Sequential Execution Rules

You work alone now; the agents before you in this round are finished.
- Read their results below first and build on them. Do not redo or undo their work.
- If a result of theirs blocks or breaks your task, say so with file and reason; fix only what your task needs.""",
    },
    "ko": {
        "parallel": """\
## 병렬 실행 모드 ⚡

`peers`에 있는 에이전트들과 같은 작업 공간에서 동시에 작업합니다.
- 과제에 명시된 자신의 파일만 변경하세요. 다른 에이전트의 파일은 절대 건드리지 마세요.
- 공유 설정(의존성 목록, lock 파일, 빌드·린트·CI 설정)은 절대 변경하지 말고, 필요한 것을 보고하세요.
- 다른 에이전트의 결과는 아직 볼 수 없습니다. 추측하지 말고 계획에 있는 인터페이스를 기준으로 작업하세요.""",
        "sequential": """\
## 순차 실행 규칙

지금은 혼자 작업합니다. 이번 라운드의 앞선 에이전트들은 끝났습니다.
- 아래의 결과를 먼저 읽고 그 위에서 작업하세요. 같은 일을 다시 하거나 되돌리지 마세요.
- 앞선 결과가 과제를 막거나 깨뜨리면 파일과 이유를 적고, 과제에 필요한 범위에서만 고치세요.""",
    },
}

_FIRST: Final[Mapping[Language, str]] = {"en": "(you are the first agent)", "ko": "(첫 번째 에이전트입니다)"}


def work_mode(mode: Mode, language: str = "en") -> str:
    """The heading and the rules of the mode; Invalid at /language."""
    return _MODES[checked(language)][mode]


def first_agent(language: str = "en") -> str:
    """The text used if there are no earlier results; Invalid at /language."""
    return _FIRST[checked(language)]


# The preface of a prompt that is repeated because the last answer could not be read.

_WORDS = {
    "en": "Your last answer could not be used: {problem}\nNothing of it counts. Answer the whole request below again, "
    "in the form that it asks for.",
    "ko": "지난 답변은 사용할 수 없었습니다: {problem}\n그 답변은 반영되지 않았습니다. "
    "아래 요청 전체에 대해 요청된 형식으로 다시 답해 주세요.",
}


def again(problem: str, language: str) -> str:
    """The problem named, in the language of the prompt."""
    return _WORDS["ko" if language == "ko" else "en"].format(problem=problem)


# Recorded reasons of Hansard in Korean, for the page.

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


def in_korean(sentence: str) -> str | None:
    """A reason of Hansard in Korean; None for any other text."""
    for pattern, word in _SENTENCES:
        match = pattern.fullmatch(sentence)
        if match:
            return word(match)
    return None


def _none(match: re.Match[str]) -> str:
    return f"답변에 {_named(match[1])}이 없습니다."


def _several(match: re.Match[str]) -> str:
    return f"답변에 서로 어긋나는 {_named(match[1])}이 둘 이상 있습니다."


def _nobody(_: re.Match[str]) -> str:
    return "판정 목록에 이번 라운드에서 일한 에이전트가 없습니다."


def _broken(match: re.Match[str]) -> str:
    return f"답변의 {_named(match[1])}을 읽을 수 없습니다{_because(match[2])}"


def _misfit(match: re.Match[str]) -> str:
    place = f" ({match[2]})" if match[2] else ""
    return f"답변의 {_named(match[1])}이 형식에 맞지 않습니다{place}{_because(match[3])}"


def _employee(match: re.Match[str]) -> str:
    there = "없음" if match[2] == "none" else match[2]
    return f"{match[1]}라는 직원이 없습니다. 있는 직원: {there}."


def _silent(_: re.Match[str]) -> str:
    return "심사자가 답하지 않았습니다."


def _failed(match: re.Match[str]) -> str:
    return f"{match[1]}: {_CODES[match[2]]}."


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
        match = re.fullmatch(pattern, detail)
        if match:
            return f": {match.expand(words)}."
    return "."
