"""Counting words: how far a text agrees, and how much two texts have in common. Linear in the length of the text."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import NamedTuple

from domain.convergence.negation import negated, plain
from domain.convergence.profiles import SEED, Profile
from domain.convergence.prose import talk
from domain.convergence.word_lists import WORD_LISTS, ConvergenceWords

# A line that starts with a lower-case letter, or with a Korean negator, continues the previous line's sentence.
_WRAPPED = re.compile(r"\n(?=[ \t]*(?:[a-z]|않|없|못|아니|아닙))")
_TOKEN = re.compile(r"\d+(?:[.,]\d+)+|\w+(?:'\w+)*|[.,;:!?…()\[\]|。！？、，；：—\n]|(?<=\s)[-–](?=\s)")
_MARKUP = str.maketrans({"’": "'", "*": None, "`": None, "~": None})


class AgreementSignals(NamedTuple):
    """The numbers of words in a text that agree and that disagree."""

    agreement: int
    disagreement: int

    @property
    def ratio(self) -> float:
        """a / (a + d); 0.5 if there are no such words."""
        total = self.agreement + self.disagreement
        return self.agreement / total if total else 0.5


class Reading(NamedTuple):
    """A text as far as it is judged: its signals, the words to compare, and whether it has any words at all, however
    short."""

    signals: AgreementSignals
    words: frozenset[str]
    says: bool


def agreement(text: str, profile: Profile = SEED) -> float:
    """The share of agreeing words in the text, 0 to 1; 0.5 if there are none of either kind.

    A negated word counts for the other side: "I do not agree" disagrees, "no flaws" agrees.
    """
    return _signals(_prose(text), WORD_LISTS[profile.words]).ratio


def similarity(a: str, b: str, profile: Profile = SEED) -> float:
    """The share of words that two texts have in common, 0 to 1; 0 if either has no words, or both (K-30)."""
    return overlap(_words(_prose(a), profile.similarity), _words(_prose(b), profile.similarity), profile) or 0.0


def read(text: str, profile: Profile) -> Reading:
    """The signals and the words of a text, in one pass."""
    return _read(text, profile.words, profile.similarity)


@lru_cache(maxsize=256)
def _read(text: str, words: str, similarity: str) -> Reading:
    """A discussion is judged after each round with all earlier rounds, so recent texts are cached."""
    prose = _prose(text)
    says = any(map(str.isalnum, prose))
    return Reading(signals=_signals(prose, WORD_LISTS[words]), words=_words(prose, similarity), says=says)


def forget_read(_: str | None) -> None:
    """Drop the words of recent texts. Which sessions had them is not kept."""
    _read.cache_clear()


def overlap(a: frozenset[str], b: frozenset[str], profile: Profile) -> float | None:
    """Common words divided by all words, or by the larger set, depending on the profile; None if they cannot be
    compared."""
    if not a or not b:
        return None
    whole = len(a | b) if profile.similarity == "jaccard" else max(len(a), len(b))
    return len(a & b) / whole


def _words(text: str, similarity: str) -> frozenset[str]:
    folded = text.casefold()
    if similarity == "larger":
        return frozenset(word for word in folded.split() if len(word) > 3 and any(map(str.isalnum, word)))
    return frozenset(word for word in _split(folded) if len(word) >= 3)


def _split(text: str) -> list[str]:
    """Runs of letters, digits, `_` and combining marks, which `\\w` would leave out (Hindi, Thai)."""
    between = {ord(c): " " for c in set(text) if not (c.isalnum() or c == "_" or unicodedata.category(c)[0] == "M")}
    return text.translate(between).split()


def _prose(text: str) -> str:
    """The prose in it, without format characters such as the soft hyphen, which would split "disagree"."""
    prose = talk(text)
    return prose.translate({ord(c): None for c in set(prose) if unicodedata.category(c) == "Cf"})


def _signals(text: str, words: ConvergenceWords) -> AgreementSignals:
    tokens = _tokens(text)
    lexicon = _lexicon(words)
    found_for = _find(tokens, lexicon.agreement, lexicon.exceptions)
    found_against = _find(tokens, lexicon.disagreement, lexicon.exceptions)
    contrasts = len(_find(tokens, lexicon.contrast, lexicon.exceptions))
    counted = found_for.keys() | found_against.keys()

    def turned(matches: dict[int, int], opposite: dict[int, int]) -> int:
        return sum(negated(tokens, at, end, words=counted, opposite=opposite) for at, end in matches.items())

    agreeing_turned, opposing_turned = turned(found_for, found_against), turned(found_against, found_for)
    return AgreementSignals(
        agreement=len(found_for) - agreeing_turned + opposing_turned,
        disagreement=len(found_against) - opposing_turned + agreeing_turned + contrasts,
    )


def _tokens(text: str) -> Sequence[str]:
    joined = _WRAPPED.sub(" ", text).translate(_MARKUP).casefold()
    return [token.strip("_") or "_" for token in _TOKEN.findall(plain(joined))]


class _Lexicon(NamedTuple):
    agreement: re.Pattern[str]
    disagreement: re.Pattern[str]
    contrast: re.Pattern[str]
    exceptions: re.Pattern[str]


@cache
def _lexicon(words: ConvergenceWords) -> _Lexicon:
    return _Lexicon(*map(_pattern, (words.agreement, words.disagreement, words.contrast, words.exceptions)))


def _pattern(entries: Iterable[str]) -> re.Pattern[str]:
    """Matches at the start of a token that is followed by a space, the next token and a space."""
    patterns = [re.escape(entry).replace(r"\*", r"[\w']*").replace(r"\ ", " ") for entry in entries]
    return re.compile(f"(?:{'|'.join(sorted(patterns, key=len, reverse=True)) or '(?!)'}) ")


def _find(tokens: Sequence[str], pattern: re.Pattern[str], exceptions: re.Pattern[str]) -> dict[int, int]:
    """Returns where listed words begin and end, in tokens; an entry of two words covers both."""
    matches: dict[int, int] = {}
    for at, (token, following) in enumerate(pairwise((*tokens, ""))):
        both = f"{token} {following} "
        match = pattern.match(both)
        if match and not exceptions.match(both):
            matches[at] = at + (2 if match.end() > len(token) + 1 else 1)
    return matches
