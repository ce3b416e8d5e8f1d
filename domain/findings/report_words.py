"""Reads what a report's words say: the place, names from the code, its kind, and whether there is evidence."""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from string import ascii_lowercase
from typing import Final, Literal, NamedTuple

from domain.findings.moments import FoundReport

FindingWeight = Literal["strong", "plain", "soft"]

SOFT: Final = frozenset({"docs", "style", "naming", "test", "design"})
"""Kinds that are a matter of taste or a wish."""
HARDENING: Final = "hardening"
"""A matter of taste without evidence."""

_LONGEST: Final = 8_000
"""Characters of a report that are read for its features."""
_CODE: Final = re.compile(r"```.*?(?:```|\Z)|`[^`\n]+`", re.DOTALL)
_QUOTED: Final = re.compile(r"`([^`\n]{2,120})`")
_PLACE: Final = re.compile(r"(?<![\w/.:])((?:[\w.@+-]+/)*[\w@+-][\w.@+-]*\.[A-Za-z]\w{0,9}):([1-9]\d{0,6})\b")
_PATH: Final = re.compile(r"(?<![\w/.:])((?:[\w.@+-]+/)+[\w@+-][\w.@+-]*\.[A-Za-z]\w{0,9})\b")
_NAME: Final = re.compile(r"\b(?:[A-Za-z_]\w*(?:[._]\w+)+|[A-Za-z_]\w*(?=\()|[a-z]+[A-Z]\w*|[A-Z][a-z]+[A-Z]\w*)")
_HUMP: Final = re.compile(r"[a-z][A-Z]")
_WORD: Final = re.compile(r"[^\W\d_]{2,}")
_NO_WORD: Final = {code: " " for code in range(128) if not chr(code).islower()}
"""What parts the words of a text in ASCII."""
_EVIDENCE: Final = (
    *("reproduc", "traceback", "stack trace", "failing test", "test fails", "tests fail", "fails with", " raises "),
    *("crashes with", "crashes on", "crashed with", "with the input", "for the input", "instead of ", "expected "),
    *("재현", "실패하는 테스트", "테스트가 실패", "입력하면", "예외가 발생", "실행해 보니", "실행했더니"),
)
_HALVES: Final = {"instead of ": ("returns", "gives", "prints"), "expected ": (" got ", " but ", " actual")}
"""Words that are evidence only together with one of these."""

_STEMS: Final[Mapping[str, str]] = {
    stem: kind
    for kind, stems in {
        "security": "secur vulnerab inject xss csrf spoof auth leak secret sanitiz escap trust travers 보안 취약 주입 "
        "인증 유출 위조 권한",
        "concurrency": "race concurr deadlock lock thread atomic 경쟁 동시 교착 스레드 원자",
        "performance": "perform slow quadratic latenc memory n+1 성능 느리 느림 지연 메모리",
        "errors": "exception unhandled crash error panic 예외 오류 에러 크래시",
        "data": "round overflow precis encod decimal off-by-one boundar corrupt lose loses lost null nil empty 반올림 "
        "오버플로 정밀 인코딩 경계 손상 누락 빈",
        "test": "test tests testing coverage untested 테스트 커버리지",
        "docs": "docs document docstring readme comment changelog typo spelling 문서 주석 오타 맞춤법",
        "style": "style format indent whitespac lint pep8 consisten cosmetic nit 스타일 서식 들여쓰기 공백 일관",
        "naming": "naming rename renam misnam 이름 네이밍 변수명 함수명",
        "design": "refactor abstract coupl architect duplicat cleaner simplif extract modular readab 리팩 추상 결합 "
        "중복 구조 단순화 가독",
        "hardening": "harden defensiv theoretic hypothetic might could potential 방어적 이론적 잠재 혹시 만약",
    }.items()
    for stem in stems.split()
}
_LENGTHS: Final = tuple(sorted({len(stem) for stem in _STEMS}, reverse=True))
_SYNONYMS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("documentation", "doc"), "docs"),
    **dict.fromkeys(("formatting", "lint", "nit"), "style"),
    **dict.fromkeys(("tests", "testing", "coverage"), "test"),
    **dict.fromkeys(("refactoring", "maintainability", "architecture"), "design"),
    **dict.fromkeys(("error", "error-handling", "robustness"), "errors"),
}
_BLAND: Final = frozenset(
    """
    the and for that this with from are was not but has have had its into than then when where which while will would
    should must can does did been being only also still very more most such some any all one two use used uses using
    there here they them their your you our out off over under after before because about between other same new old
    code file files line lines function method class value values change changes please needs need instead
    합니다 있습니다 없습니다 않습니다 됩니다 때문에 그리고 그러나 하지만 대한 위한 경우 또한
    """.split()  # noqa: SIM905
) | frozenset(ascii_lowercase)


class Features(NamedTuple):
    """The features by which reports are compared."""

    path: str
    line: int | None
    names: frozenset[str]
    words: frozenset[str]
    symbol: str
    kind: str
    weight: FindingWeight
    phrasing: str
    """All of its words without blanks and case: the same report once more."""


@lru_cache(maxsize=4_096)
def features_of(report: FoundReport) -> Features:
    """Returns what the report says, or what its words say where it does not."""
    text = f"{report.title}\n{report.detail}"[:_LONGEST]
    prose = _CODE.sub(" ", text) if "`" in text else text
    path, line = _place(report, text)
    lower = prose.casefold()
    words = frozenset(lower.translate(_NO_WORD).split() if lower.isascii() else _WORD.findall(lower)) - _BLAND
    names = _names(text, prose)
    if path:
        names -= {path, path.rpartition("/")[2]}
    kind = _kind(report, words)
    evidence = bool(report.evidence.strip()) or _shows_evidence(lower)
    phrasing = "".join(text.split()).casefold()
    weight = _weight(report, kind, evidence=evidence)
    return Features(path, line, frozenset(names), words, report.symbol, kind, weight, phrasing)


def forget_reports(_: str | None) -> None:
    """Drop what recent reports say. Which sessions had them is not kept."""
    features_of.cache_clear()


def _names(text: str, prose: str) -> set[str]:
    """Finds the names: what is quoted, and what only code writes so. No name has a blank, so each piece of the prose is
    read alone."""
    quoted = [each.strip().removesuffix("()") for each in _QUOTED.findall(text)] if "`" in text else []
    names = {each for each in quoted if each and not (":" in each and _PLACE.fullmatch(each))}
    if _is_marked(prose):
        for piece in prose.split():
            if _is_marked(piece):
                names.update(_NAME.findall(piece))
    return names


def _is_marked(text: str) -> bool:
    """Returns whether a text has what every such name has, in a fraction of the time that a search takes."""
    return "_" in text or "." in text or "(" in text or (not text.islower() and _HUMP.search(text) is not None)


def _shows_evidence(lower: str) -> bool:
    """Words from code do not count; the caller has taken them out."""
    phrases = [phrase for phrase in _EVIDENCE if phrase in lower]
    return any(phrase not in _HALVES or any(half in lower for half in _HALVES[phrase]) for phrase in phrases)


def _place(report: FoundReport, text: str) -> tuple[str, int | None]:
    if report.path:
        return report.path.removeprefix("./"), report.line
    if ":" in text and (match := _PLACE.search(text)):
        return match[1].removeprefix("./"), int(match[2])
    match = _PATH.search(text) if "/" in text else None
    return (match[1].removeprefix("./"), None) if match else ("", None)


def with_whole_name(features: Features, report: FoundReport, paths: Iterable[str]) -> Features:
    """The features with the whole name of the file, if it is one of these `paths` with blanks, which words alone do not
    show."""
    if report.path or not features.path:
        return features
    text = f"{report.title}\n{report.detail}"[:_LONGEST]
    names = [name for name in paths if name.endswith(features.path) and name != features.path and name in text]
    if not names:
        return features
    path = max(names, key=len)
    line = re.search(rf"{re.escape(path)}:([1-9]\d{{0,6}})\b", text)
    return features._replace(path=path, line=int(line[1]) if line else features.line)


def _kind(report: FoundReport, words: frozenset[str]) -> str:
    """The kind that it names, or the one that most of its words name; empty if none does, or two do as much."""
    if label := report.kind.strip().casefold():
        return _SYNONYMS.get(label, label)
    kinds_named = [kind for kind in map(_kind_of, words) if kind]
    if not kinds_named:
        return ""
    counts: dict[str, int] = {}
    for kind in kinds_named:
        counts[kind] = counts.get(kind, 0) + 1
    if len(counts) > 1:
        counts.pop(HARDENING, None)  # `could` and `might` say less than any other word
    most = max(counts.values())
    kinds = [kind for kind, count in counts.items() if count == most]
    return kinds[0] if len(kinds) == 1 else ""


@lru_cache(maxsize=16_384)
def _kind_of(word: str) -> str:
    for length in _LENGTHS:
        if kind := _STEMS.get(word[:length]):
            return kind
    return ""


def _weight(report: FoundReport, kind: str, *, evidence: bool) -> FindingWeight:
    """Beside the reviewer's own severity, which decides what blocks."""
    if report.severity == "critical" or (evidence and kind not in SOFT):
        return "strong"
    return "soft" if kind in SOFT or (kind == HARDENING and not evidence) else "plain"
