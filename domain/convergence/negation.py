"""Finds which words of a round's prose are negated, in English and in Korean (K-26, K-30).

English negates before the word, Korean after it, both within the clause. An English negator reaches over at most four
words, not over a conjunction, and not over a word of the other side ("no flaws accepted"). Korean negators bind to the
nearest word before them and cancel each other out ("동의하지 않을 수 없습니다" agrees).
"""

import re
from collections.abc import Collection, Sequence

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
    """Returns whether the word at `tokens[start:end]` is negated. `words` are the positions of all counted words,
    `opposite` those of the other side."""
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
