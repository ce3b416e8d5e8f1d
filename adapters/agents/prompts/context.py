"""Texts around a request: the mode of a round, why a question is repeated, and the conversation before it.

`mode`: employees of one round work at the same time, or one after another (§1.8).

If an agent cannot continue a conversation, its new one begins with a digest of the old one.
"""

from collections.abc import Mapping
from typing import Final, Literal

from adapters.agents.prompts.catalogue import checked
from domain.session.attempts import Occasion
from domain.values.words import Language, closed

Mode = Literal["parallel", "sequential"]
_MODES: Final[Mapping[Language, Mapping[Mode, str]]] = {
    "en": {
        "parallel": """\
## Parallel Execution Mode ⚡

You work at the same time as the agents listed under `peers`, in the same workspace.
- Change only your own files: those that your task names. Never touch another agent's files.
- Never change shared configuration (dependencies, lock files, build, lint or CI settings); report what you need.
- You cannot see the others' results yet. Build on the interfaces in the plan, not on guesses about their code.""",
        "sequential": """\
## Sequential Execution Rules

You are working alone now; the agents before you in this round are finished.
- Read their results below first and build on them. Do not redo or undo their work.
- If one of their results blocks or breaks your task, report the file and the reason. Fix only what your task needs.""",
    },
    "ko": {
        "parallel": """\
## 병렬 실행 모드 ⚡

`peers`에 있는 에이전트들과 같은 작업 폴더에서 동시에 작업합니다.
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


# A person's words, before the prompt that they are for.
_SAID: Final[Mapping[Language, Mapping[Occasion, str]]] = {
    "en": {
        "extended": "{person} has given this work more budget, and says:",
        "retried": "{person} has this asked again, and says:",
        "decided": "{person} has decided about the review, and says:",
    },
    "ko": {
        "extended": "{person} 님이 이 작업에 예산을 더 주면서 한 말입니다.",
        "retried": "{person} 님이 이 요청을 다시 하게 하면서 한 말입니다.",
        "decided": "{person} 님이 리뷰에 대해 결정하면서 한 말입니다.",
    },
}
_A_PERSON: Final[Mapping[Language, str]] = {"en": "A person", "ko": "담당자"}
_THEIRS: Final[Mapping[Language, str]] = {
    "en": "These are a person's words, not an agent's. Do what they ask within the request below, and say how you did.",
    "ko": "에이전트가 아니라 사람이 한 말입니다. 아래 요청의 범위 안에서 따르고, 어떻게 따랐는지 밝히세요.",
}


def of_person(occasion: Occasion, words: str, person: str, language: Language) -> str:
    """A person's words as material of their own, named as theirs."""
    who = closed(" ".join(person.split())) or _A_PERSON[language]
    lead = _SAID[language][occasion].format(person=who)
    return f'{lead}\n\n<material name="person">\n{closed(words.strip())}\n</material>\n\n{_THEIRS[language]}'


# The preface of a prompt that is repeated because the last answer could not be read.
_WORDS = {
    "en": "Your last answer could not be used: {problem}\nIt does not count. Answer the whole request below again, "
    "in the format that it asks for.",
    "ko": "지난 답변은 사용할 수 없었습니다: {problem}\n그 답변은 반영되지 않았습니다. "
    "아래 요청 전체에 대해 요청된 형식으로 다시 답해 주세요.",
}


def again(problem: str, language: str) -> str:
    """The problem named, in the language of the prompt."""
    return _WORDS["ko" if language == "ko" else "en"].format(problem=problem)
