"""Triage: does this message need a plan and a team, or does one agent answer it directly? (S3, K-21…K-23)"""

import re
from functools import cache
from typing import Literal, NamedTuple

from domain.triage.words import DEFAULT_POLICY, POLICIES, SignalWords, TriageWords
from domain.values.base import Invalid, Value
from domain.values.sentences import Sentence
from domain.values.words import SPACE, composed, trimmed

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
    """How many different spellings match, counted only as far as the rule needs: `API api` are two."""
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
