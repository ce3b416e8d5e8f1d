"""The demands of each phase on an employee, and how a judge measures them: three mandatory items each (§1.8)."""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from adapters.agents.prompts.catalogue import checked
from domain.values.base import Invalid
from domain.values.phases import phase_name
from domain.values.sentences import Sentence
from domain.values.words import Language


class _Item(NamedTuple):
    title: str
    do: str
    gate: str


class _Phase(NamedTuple):
    aim: str
    items: tuple[_Item, _Item, _Item]


_ENGLISH: Final = (
    _Phase(
        "Plan only; do not write code.",
        (
            _Item(
                "Impact",
                "List every file, function and interface the change touches, and who uses them.",
                "Files and interfaces are named one by one, with their users.",
            ),
            _Item(
                "Dependencies",
                "Name what the work needs first (code, libraries, data, other agents) and in what order.",
                "Prerequisites and their order are stated; nothing is left to guesswork.",
            ),
            _Item(
                "Edge cases",
                "Name the inputs and states that could break it, and what should happen in each case.",
                "Concrete cases with the expected behaviour of each, not just “edge cases considered”.",
            ),
        ),
    ),
    _Phase(
        "Check the plan against the repository; do not write product code.",
        (
            _Item(
                "Real code",
                "Open the files the plan names and correct the plan wherever the code says otherwise.",
                "The report cites files and symbols that exist, and lists differences from the plan.",
            ),
            _Item(
                "Conflicts",
                "Check for conflicts with other agents' files, existing behaviour and public interfaces.",
                "Each possible conflict is named and resolved, or shown not to exist.",
            ),
            _Item(
                "Test strategy",
                "Name the existing and new tests that will prove the change, and the commands that run them.",
                "Tests and exact commands are listed and cover the edge cases.",
            ),
        ),
    ),
    _Phase(
        "Implement the task in the workspace.",
        (
            _Item(
                "Changed files",
                "List every file you changed and what changed in it.",
                "The list is complete and every change serves the task.",
            ),
            _Item(
                "Imports and exports",
                "Keep all references intact; search for remaining uses of what you renamed or removed.",
                "No import or export is broken, and a search or build shows it.",
            ),
            _Item(
                "Lint and build",
                "Run the project's linter and build, and report each command with its outcome.",
                "Both ran after the last change and passed, or the report shows that the project has none.",
            ),
        ),
    ),
    _Phase(
        "Run it, break it, fix it.",
        (
            _Item(
                "Run evidence",
                "Run the code and its tests; quote the commands and the decisive lines of output.",
                "The report quotes commands and real output from after the last change.",
            ),
            _Item(
                "Bugs",
                "List each bug found with its cause and its fix; if none, say what you tried.",
                "Each bug has a cause, a fix and a passing run; “none” comes with what was tried.",
            ),
            _Item(
                "Edge-case tests",
                "Add tests for the edge cases and show that they pass.",
                "The tests exist, pass, and would fail without the code.",
            ),
        ),
    ),
    _Phase(
        "Make the parts work as one.",
        (
            _Item(
                "Other agents",
                "Check that your part fits what the other agents delivered: interfaces, data, configuration.",
                "Each shared interface was exercised, and the result is reported.",
            ),
            _Item(
                "Documentation",
                "Update the documentation that the change makes wrong or incomplete.",
                "Updated documents are named, or the report shows that none is affected.",
            ),
            _Item(
                "Whole workflow",
                "Run the complete workflow as a user would, and report each step.",
                "The report quotes an end-to-end run with its result, and it meets the request.",
            ),
        ),
    ),
)

_KOREAN: Final = (
    _Phase(
        "계획만 세웁니다. 코드는 작성하지 않습니다.",
        (
            _Item(
                "영향 범위",
                "변경이 닿는 모든 파일·함수·인터페이스와 그 사용처를 나열하세요.",
                "파일과 인터페이스가 사용처와 함께 하나씩 적혀 있다.",
            ),
            _Item(
                "의존성",
                "먼저 필요한 것(코드, 라이브러리, 데이터, 다른 에이전트)과 그 순서를 적으세요.",
                "선행 조건과 순서가 명시되어 있고 추측에 맡긴 것이 없다.",
            ),
            _Item(
                "엣지 케이스",
                "깨질 수 있는 입력과 상태, 그리고 각각의 기대 동작을 적으세요.",
                '구체적인 사례마다 기대 동작이 있다. "고려했음"은 인정하지 않는다.',
            ),
        ),
    ),
    _Phase(
        "계획을 실제 저장소와 대조합니다. 제품 코드는 작성하지 않습니다.",
        (
            _Item(
                "실제 코드 대조",
                "계획에 나온 파일을 열어 보고, 코드와 다른 부분은 계획을 고치세요.",
                "실재하는 파일과 심볼을 인용하고 계획과의 차이를 나열했다.",
            ),
            _Item(
                "충돌 검사",
                "다른 에이전트의 파일, 기존 동작, 공개 인터페이스와 충돌하는지 확인하세요.",
                "가능한 충돌마다 해결책이 있거나 충돌이 없음을 보였다.",
            ),
            _Item(
                "테스트 전략",
                "변경을 증명할 기존·신규 테스트와 실행 명령을 적으세요.",
                "테스트와 정확한 명령이 있고 엣지 케이스를 다룬다.",
            ),
        ),
    ),
    _Phase(
        "작업 폴더에 과제를 구현합니다.",
        (
            _Item(
                "변경 파일",
                "변경한 모든 파일과 변경 내용을 나열하세요.",
                "목록이 빠짐없고 모든 변경이 과제에 필요한 것이다.",
            ),
            _Item(
                "import/export",
                "모든 참조를 유지하고, 이름을 바꾸거나 지운 것의 남은 사용처를 찾으세요.",
                "깨진 import/export가 없고 이를 보인 검색 또는 빌드가 있다.",
            ),
            _Item(
                "린트와 빌드",
                "프로젝트의 린트와 빌드를 실행하고 명령과 결과를 적으세요.",
                "마지막 변경 이후 실행해 모두 통과했거나, 프로젝트에 없음을 보였다.",
            ),
        ),
    ),
    _Phase(
        "실행하고, 깨뜨려 보고, 고칩니다.",
        (
            _Item(
                "실행 증거",
                "코드와 테스트를 실행하고 명령과 결정적인 출력 줄을 인용하세요.",
                "마지막 변경 이후의 명령과 실제 출력이 인용되어 있다.",
            ),
            _Item(
                "버그",
                "발견한 버그마다 원인과 수정을 적고, 없으면 무엇을 시도했는지 적으세요.",
                '버그마다 원인·수정·통과한 실행이 있다. "없음"에는 시도한 내용이 있다.',
            ),
            _Item(
                "엣지 케이스 테스트",
                "엣지 케이스 테스트를 추가하고 통과함을 보이세요.",
                "테스트가 존재하고, 코드가 없으면 실패하며, 지금은 통과한다.",
            ),
        ),
    ),
    _Phase(
        "각 부분이 하나로 동작하게 합니다.",
        (
            _Item(
                "다른 에이전트와의 통합",
                "인터페이스·데이터·설정이 다른 에이전트의 결과물과 맞는지 확인하세요.",
                "공유 인터페이스마다 실제로 실행해 본 결과가 있다.",
            ),
            _Item(
                "문서",
                "변경 때문에 틀리거나 부족해진 문서를 갱신하세요.",
                "갱신한 문서가 적혀 있거나, 영향받는 문서가 없음을 보였다.",
            ),
            _Item(
                "전체 워크플로우",
                "사용자 관점에서 전체 흐름을 실행하고 단계마다 결과를 적으세요.",
                "처음부터 끝까지의 실행 결과가 인용되어 있고 요청을 충족한다.",
            ),
        ),
    ),
)

_PHASES: Final[Mapping[Language, tuple[_Phase, ...]]] = {"en": _ENGLISH, "ko": _KOREAN}
_GATE: Final[Mapping[Language, str]] = {
    "en": "Gate: all three items are mandatory; your report must show the evidence for each.",
    "ko": "Gate: 세 항목 모두 필수이며, 보고에 항목별 증거가 있어야 합니다.",
}


def phase_instruction(number: int, language: str = "en") -> str:
    """The duty of an employee: the aim, three numbered items, the gate. Invalid at /phase or /language."""
    phase = _phase(number, language)
    items = (f"{place}. **{item.title}**: {item.do}" for place, item in enumerate(phase.items, start=1))
    return "\n".join((phase.aim, *items, _GATE[checked(language)]))


def rubric(number: int, language: str = "en") -> str:
    """The evidence that a judge must find in the report: a line with the phase, three items. Invalid at /phase or
    /language.
    """
    items = (f"- **{item.title}**: {item.gate}" for item in _phase(number, language).items)
    return "\n".join((f"Phase {number} ({phase_name(number, checked(language))})", *items))


def remaining_phases(numbers: Iterable[int], language: str = "en") -> str:
    """`3(개발)→4(디버깅)`; empty when nothing remains. Invalid at /language; the numbers are those of a profile."""
    spoken = checked(language)
    return "→".join(f"{number}({phase_name(number, spoken)})" for number in numbers)


def _phase(number: int, language: str) -> _Phase:
    phases = _PHASES[checked(language)]
    if not 1 <= number <= len(phases):
        raise Invalid({"/phase": Sentence("phase_not_found", number=1, most=len(phases))})
    return phases[number - 1]
