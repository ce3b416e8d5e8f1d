"""Decides what a message asks for: a run or a direct answer (`triage`), to continue or reset (`intent`), or nearly that
(`nearly`)."""

import re
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Literal, NamedTuple

from domain.values.base import Invalid, Value
from domain.values.sentences import Sentence
from domain.values.words import SPACE, composed, trimmed


class SignalWords(Value):
    """The words to look for: `anywhere` also matches inside words, `whole` only between ASCII word boundaries; in any
    case."""

    anywhere: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()

    def __or__(self, other: "SignalWords") -> "SignalWords":
        return SignalWords(anywhere=_union(self.anywhere, other.anywhere), whole=_union(self.whole, other.whole))


class TriageWords(Value):
    """A triage policy: words about programming work, about several tasks in one message, file extensions, folder
    names."""

    keywords: SignalWords
    joiners: SignalWords
    endings: tuple[str, ...]
    folders: tuple[str, ...]

    def __or__(self, other: "TriageWords") -> "TriageWords":
        return TriageWords(
            keywords=self.keywords | other.keywords,
            joiners=self.joiners | other.joiners,
            endings=_union(self.endings, other.endings),
            folders=_union(self.folders, other.folders),
        )


def _union(some: tuple[str, ...], others: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(some + others))


def _each(words: str) -> tuple[str, ...]:
    return tuple(words.split())


# The order of the extensions matters: of `.json`, the first match, `.js`, is taken.
_ENDINGS_1 = _each("js ts jsx tsx py md json css html sql yml yaml sh go rs swift")
_FOLDERS_1 = _each("src bin public lib devlog config component components page pages api")

SEED_KO_1 = TriageWords(
    keywords=SignalWords(
        anywhere=_each(
            "구현 작성 만들어 수정 코딩 리팩 버그 에러 디버그 테스트 빌드 설치 배포 삭제 추가 변경 생성 개발 "
            "엔드포인트 서버 라우트 스키마 컴포넌트 모듈 함수 클래스"
        ),
        whole=_each("API DB"),
    ),
    joiners=SignalWords(anywhere=_each("그리고 다음에 먼저 또한 추가로")),
    endings=_ENDINGS_1,
    folders=_FOLDERS_1,
)
"""S3's rule with the words it shipped with: agrees with every row and test of the seed (K-21)."""

# Verbs of work and parts that one builds. Function, class, server and error are left out on purpose: they are what
# people ask about, and two of them would send a plain question through a whole run.
EN_1 = TriageWords(
    keywords=SignalWords(
        whole=_each(
            "implement implementing write writing create creating build building fix fixing refactor refactoring "
            "debug debugging test tests testing coding install deploy delete remove add adding change update "
            "modify rename migrate develop generate bug bugs endpoint endpoints schema schemas "
            "component components module modules API DB"
        ),
    ),
    joiners=SignalWords(
        whole=("then", "also", "after that", "afterwards", "additionally", "in addition", "furthermore")
    ),
    endings=_ENDINGS_1,
    folders=_FOLDERS_1,
)
"""The same rule for English (K-23)."""

DEFAULT_POLICY = "seed-ko@1"

POLICIES: Mapping[str, TriageWords] = MappingProxyType(
    {DEFAULT_POLICY: SEED_KO_1, "en@1": EN_1, "ko+en@1": SEED_KO_1 | EN_1}
)
"""Every released list by its name; a session's events record which one was used."""


# Triage: does this message need a plan and a team, or does one agent answer it directly? (S3, K-21…K-23)


Signal = Literal["length", "keyword", "keywords", "path", "multi"]

LONG = 80
"""In UTF-16 units, counted after composition (a syllable is one unit however it was typed) and trimming."""

ENOUGH = 2
"""Number of signals that require a run."""

# ASCII: `\b` must end API before 가, and case must not fold ſ into s (behaviour §7).
_FLAGS = re.ASCII | re.IGNORECASE


class Triage(Value):
    """The verdict and the signals for it, in the order of the rule."""

    orchestrate: bool
    signals: tuple[Signal, ...] = ()


class _Patterns(NamedTuple):
    keyword: re.Pattern[str]
    path: re.Pattern[str]
    several: re.Pattern[str]


def triage(text: str, policy: str = DEFAULT_POLICY) -> Triage:
    """Orchestrate if at least two of the five signals are present; an empty text has none.

    Raises `Invalid` for a policy that is not in `POLICIES`.
    """
    patterns = _patterns(policy)
    signals = _signals(trimmed(composed(text)), patterns)
    return Triage(orchestrate=len(signals) >= ENOUGH, signals=signals)


def _signals(text: str, patterns: _Patterns) -> tuple[Signal, ...]:
    keywords = _distinct_up_to_two(patterns.keyword, text)
    signals: dict[Signal, bool] = {
        "length": _utf16_units(text) >= LONG,
        "keyword": keywords >= 1,
        "keywords": keywords >= 2,
        "path": patterns.path.search(text) is not None,
        "multi": patterns.several.search(text) is not None,
    }
    return tuple(signal for signal, present in signals.items() if present)


def _distinct_up_to_two(pattern: re.Pattern[str], text: str) -> int:
    """Returns how many different spellings match, counted only as far as the rule needs: `API api` are two."""
    seen: set[str] = set()
    for match in pattern.finditer(text):
        seen.add(match[0])
        if len(seen) == 2:
            break
    return len(seen)


def _utf16_units(text: str) -> int:
    return len(text) + sum(character > "\uffff" for character in text)


@cache
def _patterns(policy: str) -> _Patterns:
    words = POLICIES.get(policy)
    if words is None:
        raise Invalid({"/policy": Sentence("triage_policy_not_found", names=list(POLICIES))})
    return _compiled(words)


def _compiled(words: TriageWords) -> _Patterns:
    endings = rf"\.(?:{_any_of(words.endings)})"
    # one digit represents "digits": the same texts match, and a long number is not read again from each of its digits
    numbered = rf"[0-9]\.[{SPACE}]"
    return _Patterns(
        keyword=re.compile("|".join([endings, *_alternatives(words.keywords)]), _FLAGS),
        path=re.compile(rf"(?:{_any_of(words.folders)})/", _FLAGS),
        several=re.compile("|".join([*_alternatives(words.joiners), r"\n\r?\n", numbered]), _FLAGS),
    )


def _alternatives(words: SignalWords) -> list[str]:
    whole = [rf"\b(?:{_any_of(words.whole)})\b"] if words.whole else []
    return [re.escape(word) for word in words.anywhere] + whole


def _any_of(words: tuple[str, ...]) -> str:
    return "|".join(map(re.escape, words))


# Messages that are commands to the run rather than new work: continue, or reset (S1 §3.7, K-1, K-6).


Intent = Literal["continue", "reset"]

LONGEST = 64
"""Longer texts are not checked; every phrase fits, even as decomposed letters."""

_GAP = f"[{SPACE}]*"

_CONTINUE = (
    "/?continue",
    f"이어서(?:{_GAP}해줘)?",
    f"계속(?:{_GAP}해줘)?",
    f"다음(?:{_GAP}해봐)?",
    f"리뷰(?:{_GAP}해봐)?",
)
_RESET = (
    "리셋해?",
    "초기화해?",
    f"페이즈?{_GAP}리셋해?",
    f"phase{_GAP}reset",
    "reset",
)
_PHRASES: tuple[tuple[Intent, re.Pattern[str]], ...] = (
    ("continue", re.compile("|".join(_CONTINUE), _FLAGS)),
    ("reset", re.compile("|".join(_RESET), _FLAGS)),
)


def intent(text: str) -> Intent | None:
    """The meaning of the whole text, trimmed and in any case, or None for any other message.

    `again` and `다시` do not mean continue. The caller checks whether there is anything to continue.
    """
    words = trimmed(text)
    if len(words) > LONGEST:
        return None
    words = composed(words)
    return next((meaning for meaning, phrase in _PHRASES if phrase.fullmatch(words)), None)


# -- nearly so: such a message starts nothing, it is asked about ------------------------------------------------------

Suggestion = Literal["continue", "reset", "cancel"]

_SOFTENED = f"(?:(?:please|just|now|ok|okay|so|let'?s|can you|could you|자|그럼|그냥|이제|제발)[{SPACE},]+)*"
_ENDING = (
    f"(?:을|를)?{_GAP}(?:진행{_GAP})?"
    f"(?:해|하자|하세요|하죠|해라|할래|할까요?|가자|가요|시작|시켜줘|부탁(?:해요?|합니다|드려요|드립니다)?"
    f"|(?:시작{_GAP})?(?:해|시작해){_GAP}(?:줘|줘요|주세요|주라|줄래요?|봐|봐요|보자|보세요|요)?)?"
)
_THANKS = f"(?:[{SPACE},]+(?:please|now|then|thanks?|지금|바로))*[{SPACE}.!~?…]*"

_WORDS: tuple[tuple[Suggestion, str], ...] = (
    (
        "continue",
        rf"(?:/?(?:continue|proceed|resume|go on|go ahead|carry on|keep going|keep on|move on|next)(?: on| with it)?"
        rf"|(?:이어서|이어|계속(?:해서)?|다음(?:{_GAP}단계)?(?:로)?|리뷰|진행){_ENDING})",
    ),
    (
        "reset",
        rf"(?:/?(?:reset|restart|start over|start again|start from scratch|from scratch|from the (?:beginning|start)"
        rf"|begin again)(?: it| that| all| everything| the run)?"
        rf"|(?:(?:페이즈?{_GAP})?리셋|초기화|다시{_GAP}처음부터|처음부터(?:{_GAP}다시)?){_ENDING}|다시{_GAP}시작{_ENDING})",
    ),
    (
        "cancel",
        rf"(?:/?(?:cancel|stop|abort|quit|halt|never ?mind)(?: it| that| this| all| everything| the run)?"
        rf"|(?:취소|중단|중지|정지|그만|스톱){_ENDING}|그만둬(?:줘|요)?|멈춰(?:줘|요|주세요)?)",
    ),
)
_NEAR_PHRASES = tuple(
    (meaning, re.compile(f"{_SOFTENED}{words}{_THANKS}", re.ASCII | re.IGNORECASE)) for meaning, words in _WORDS
)


def nearly(text: str) -> tuple[Suggestion, ...]:
    """Returns what the whole text may mean, best match first; empty for any other message.

    Exact phrases are not covered: call `intent` first.
    """
    words = trimmed(text)
    if len(words) > LONGEST:
        return ()
    words = composed(words)
    nearest = next((meaning for meaning, phrase in _NEAR_PHRASES if phrase.fullmatch(words)), None)
    if nearest is None:
        return ()
    return (nearest, *(meaning for meaning, _ in _NEAR_PHRASES if meaning != nearest))
