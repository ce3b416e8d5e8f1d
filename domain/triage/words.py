"""The words that triage looks for, as data. A released list never changes: other words are a new version (K-21,
K-23)."""

from collections.abc import Mapping
from types import MappingProxyType

from domain.values.base import Value


class SignalWords(Value):
    """What to look for: `anywhere` also matches inside words, `whole` only between ASCII word boundaries; in any
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
