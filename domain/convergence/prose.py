"""The prose of a round, without thinking, code and verdicts, and which of its words are negated (K-26, K-30)."""

import re
from collections.abc import Collection, Sequence

from domain.values.base import Value
from domain.values.words import composed


class ConvergenceWords(Value):
    """Words that count for and against. `contrast` counts against and is never negated; `exceptions` do not count."""

    agreement: tuple[str, ...]
    disagreement: tuple[str, ...]
    contrast: tuple[str, ...]
    exceptions: tuple[str, ...] = ()


# Words that start like a listed one but mean something else, such as D26's "validation" (K-30).
_LOOKALIKES_1 = (
    *("acceptance test*", "acceptance criteri*", "correction*", "corrective*", "fairly", "flawless*", "opposite*"),
    *("validat*", "동의어*", "수용량*", "반대로", "반대편*", "반대쪽*"),
)

_KOREAN_AGREEMENT_1 = (
    *("동의*", "찬성*", "공감*", "합의*", "인정*", "수긍*", "납득*", "수용*", "받아들*"),
    *("타당*", "공정*", "옳*", "올바*"),
    *("맞습*", "맞다*", "맞아*", "맞는*", "맞음", "맞고", "맞네*", "맞죠", "맞지*"),
    *("정확하*", "정확한*", "정확합*", "정확했*", "문제없*", "문제 없*", "문제가 없*", "문제는 없*", "문제도 없*"),
    *("이상없*", "이상 없*", "이상이 없*"),
)
_KOREAN_DISAGREEMENT_1 = (
    *("반대*", "부동의*", "비동의*", "반박*", "반론*", "이의*", "이견*", "틀렸*", "틀린*", "틀리*", "틀립*", "잘못*"),
    *("부정확*", "부당*", "결함*", "결점*", "문제점*", "문제입*", "문제 있*", "문제가 있*", "문제는 있*", "문제도 있*"),
    *("문제가 많*", "문제가 되*", "문제가 됩*"),
)
_KOREAN_CONTRAST_1 = ("그러나", "다만", "*지만", "*니다만")

SEED_1 = ConvergenceWords(
    agreement=(
        *("agree*", "conced*", "concession*", "valid point*", "correct*", "accept*", "fair*", "acknowledg*"),
        *_KOREAN_AGREEMENT_1,
    ),
    disagreement=("disagree*", "incorrect*", "challeng*", "oppos*", "flaw*", *_KOREAN_DISAGREEMENT_1),
    contrast=("however", "but", *_KOREAN_CONTRAST_1),
    exceptions=_LOOKALIKES_1,
)
"""S2's words as stems, and the same in Korean."""

SHIPPED_V3_1 = ConvergenceWords(
    agreement=(
        *("agree*", "conced*", "valid*", "correct*", "accept*", "fair*", "acknowledg*", "good point*", "well taken*"),
        *("right*", "sound*", "solid*", "reasonable*"),
    ),
    disagreement=(
        *("disagree*", "incorrect*", "challeng*", "oppos*", "flaw*", "problematic*", "issue*", "concern*", "wrong*"),
        *("risk*", "vulnerab*", "missing*", "oversight*", "gap*"),
    ),
    contrast=("however",),
    exceptions=_LOOKALIKES_1,
)
"""The words that tokamak-ai-agent shipped with; English only, without "but"."""

MYSTI_1 = ConvergenceWords(
    agreement=("agree", "concede", "valid point", "correct", "accept", "well taken"),
    disagreement=("disagree", "incorrect", "wrong", "reject", "maintain", "defend"),
    contrast=("however",),
)
"""Mysti's words, as whole words; English only."""

WORD_LISTS = {"seed@1": SEED_1, "shipped-v3@1": SHIPPED_V3_1, "mysti@1": MYSTI_1}


_THOUGHT = re.compile(r"<(/?)(think(?:ing)?)>|\[(/?)(TOOL_CALL)\]", re.IGNORECASE)
_FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})([^\n]*)")
_HEADING = re.compile(r"[ \t]*#+\s")
_BRACE = re.compile(r"[{}]")
_BRACE_OR_STRING = re.compile(r'[{}]|"(?:[^"\\\n]|\\.)*+"?')
_COLON = re.compile(r"\s*:")


def talk(text: str) -> str:
    """The text in NFC without thinking blocks, fenced code, headings and objects that have a `verdict` key.

    A fence that is never closed extends to the end, as in Markdown. A thinking block or an object that is never closed
    is kept.
    """
    unthought = _without_thoughts(composed(text).replace("\r\n", "\n").replace("\r", "\n"))
    return _without_verdicts("\n".join(_talking_lines(unthought)))


def _without_thoughts(text: str) -> str:
    spans: list[tuple[int, int]] = []
    opened: tuple[str, int] | None = None
    for tag in _THOUGHT.finditer(text):
        name, closes = (tag[2] or tag[4]).lower(), bool(tag[1] or tag[3])
        if opened is None and not closes:
            opened = name, tag.start()
        elif opened is not None and closes and opened[0] == name:
            spans.append((opened[1], tag.end()))
            opened = None
    return _without(text, spans)


def _talking_lines(text: str) -> list[str]:
    """The lines outside of fences, without headings; omitted and blank lines become one empty line."""
    lines = [""]
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        talking = False
        if fence:
            if mark and mark[1].startswith(fence) and not mark[2].strip():
                fence = ""
        elif mark and not (mark[1][0] == "`" and "`" in mark[2]):
            fence = mark[1]
        else:
            talking = bool(line.strip()) and not _HEADING.match(line)
        if talking or lines[-1]:
            lines.append(line if talking else "")
    return lines


def _without_verdicts(text: str) -> str:
    """Without every balanced object that has a `verdict` key of its own.

    Braces within an object's strings do not count; outside of objects a quotation mark is prose and opens no string.
    """
    spans: list[tuple[int, int]] = []
    opened: list[int] = []
    with_verdict: list[bool] = []
    position = 0
    while token := (_BRACE_OR_STRING if opened else _BRACE).search(text, position):
        position = token.end()
        if token[0] == "{":
            opened.append(token.start())
            with_verdict.append(False)
        elif token[0] == "}" and opened:
            start = opened.pop()
            if with_verdict.pop():
                spans.append((start, position))
        elif token[0] == '"verdict"' and _COLON.match(text, position):
            with_verdict[-1] = True
    return _without(text, _outermost(spans))


def _outermost(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    outer: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if not outer or start >= outer[-1][1]:
            outer.append((start, end))
    return outer


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    pieces: list[str] = []
    position = 0
    for start, end in spans:
        pieces += (text[position:start], "\n")
        position = end
    return "".join([*pieces, text[position:]])


# -- negation ---------------------------------------------------------------------------------------------------------

# English negates before the word, Korean after it, both within the clause. An English negator reaches over at most
# four words, not over a conjunction, and not over a word of the other side ("no flaws accepted"). Korean negators bind
# to the nearest word before them and cancel each other out ("동의하지 않을 수 없습니다" agrees).

LINE = "\n"
_STOPS = frozenset(".;:!?…。！？；：|—–-" + LINE)
_PAUSES = frozenset(",()[]、，")

_NEGATORS = frozenset(
    [
        *("not", "no", "never", "cannot", "nor", "neither", "none", "nothing", "nobody", "without", "zero", "0"),
        *("hardly", "barely", "scarcely", "unable", "impossible", "refuse", "refuses", "refused"),
        *("dont", "doesnt", "didnt", "isnt", "arent", "wasnt", "werent", "cant", "couldnt", "wont", "wouldnt"),
    ]
)
_CONJUNCTIONS = frozenset(
    [
        *("and", "but", "because", "since", "although", "though", "while", "whereas", "however", "if", "unless"),
        *("when", "therefore", "thus", "hence"),
    ]
)
_REACH = 4

# Looks like a negation and is none, or affirms: "not only", "no doubt", "I could not agree more".
_AFFIRMING = re.compile(
    r"\b(?:not (?:only|just|merely|simply|without)|(?:why|or) not|without (?:a )?doubt"
    r"|no (?:doubt|question|objections?|problems?|reservations?|hesitations?|qualms?)"
    r"|(?:can not|could not|cannot|can't|couldn't|cant|couldnt)(?= agree more\b))(?![\w'])"
)

_NONE = frozenset(["none", "nil", "zero", "0", "nothing", "없음", "없습니다", "해당없음"])
_BEFORE_NONE = frozenset(
    [
        *("found", "remain", "remains", "remaining", "identified", "detected", "left", "are", "is", "were", "was"),
        *(":", "：", "|", "-", "–", "—", LINE),
    ]
)
_BEFORE_NONE_REACH = 5

_KOREAN = re.compile(r"[가-힣]")
_KOREAN_INSIDE = re.compile(r"지[는도]?[않못]|(?<!문제)(?<!이상)없|불가(?!피)|밖에")
_KOREAN_BEHIND = re.compile(
    r"(?:않(?!을까|나)|없|못|아니|아닙|아닌(?!가)|아님|불가(?!피)|어렵|어려|힘들|곤란|\w*밖에|말(?:아야|아라|고|자|라|지))"
)
_KOREAN_VERB = re.compile(r"하|합|해|했|함|할|됩|되|돼")
_KOREAN_END = re.compile(
    r"(?:니다|니다만|(?<![보마])다|요|죠|며|면서|지만|으나|므로|니까|는데|은데|해서|아서|어서|하면|으면|되면|라면"
    r"|[하되있없않이맞옳지했됐]고|(?<!결)함|음|임|됨)$"
)
_KOREAN_REACH = 4


def plain(text: str) -> str:
    """The case-folded text without phrases that only look like a negation."""
    return _AFFIRMING.sub(" ", text)


def negated(tokens: Sequence[str], start: int, end: int, *, words: Collection[int], opposite: Collection[int]) -> bool:
    """Whether the word at `tokens[start:end]` is negated. `words` are the positions of all counted words, `opposite`
    those of the other side."""
    return (
        _negated_before(tokens, start, opposite)
        or _none_behind(tokens, end)
        or _negated_korean(tokens, start, end, words)
    )


def _negated_before(tokens: Sequence[str], start: int, opposite: Collection[int]) -> bool:
    for at in range(start - 1, max(start - 2 - _REACH, -1), -1):
        token = tokens[at]
        if _negates(token):
            return True
        if token in _PAUSES:
            return _parenthesis_behind_negator(tokens, at)
        if token in _STOPS or token in _CONJUNCTIONS or at in opposite:
            return False
    return False


def _negates(token: str) -> bool:
    return token in _NEGATORS or token.endswith("n't")


def _parenthesis_behind_negator(tokens: Sequence[str], closing: int) -> bool:
    """As in "I do not, however, agree": words between commas, right after a negator. Not "No, really, I agree"."""
    for opening in range(closing - 1, max(closing - 5, 0), -1):
        if tokens[opening] in _STOPS:
            return False
        if tokens[opening] in _PAUSES:
            before = tokens[opening - 1]
            return _negates(before) and before != "no"
    return False


def _none_behind(tokens: Sequence[str], end: int) -> bool:
    """As in "Flaws: none", "flaws found: 0", "| flaws | none |", "결함: 없음"."""
    for at in range(end, min(end + _BEFORE_NONE_REACH, len(tokens))):
        if tokens[at] in _NONE:
            following = tokens[at + 1] if at + 1 < len(tokens) else LINE
            return following in _STOPS or following in _PAUSES or following in _BEFORE_NONE
        if tokens[at] not in _BEFORE_NONE:
            return False
    return False


def _negated_korean(tokens: Sequence[str], start: int, end: int, words: Collection[int]) -> bool:
    last = tokens[end - 1]
    count = len(_KOREAN_INSIDE.findall(last)) if end - start == 1 else 0
    if start and tokens[start - 1] in ("안", "못") and _KOREAN.match(last):
        count += 1
    for at in range(end, min(end + _KOREAN_REACH, len(tokens))):
        token = tokens[at]
        if _KOREAN_END.search(tokens[at - 1]) or token in _STOPS or token in _PAUSES or at in words:
            break
        count += bool(_KOREAN_BEHIND.match(token)) or _short_negation(tokens, at)
    return count % 2 == 1


def _short_negation(tokens: Sequence[str], at: int) -> bool:
    """As in "동의 안 합니다"; 안 alone also means a proposal."""
    return tokens[at] == "안" and at + 1 < len(tokens) and bool(_KOREAN_VERB.match(tokens[at + 1]))
