"""Messages that are no work but a word to the run: go on, or start afresh (S1 §3.7, K-1, K-6).

Only the whole text counts, never its beginning: `초기화 코드를 작성해줘` asks for code and must not wipe a run.
"""

import re
from typing import Literal

from domain.values.spelling import SPACE, composed, trimmed

Intent = Literal["continue", "reset"]

LONGEST = 64
"""Characters of the longest text that is looked at; every phrase fits, even typed letter by letter."""

_FLAGS = re.ASCII | re.IGNORECASE
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
    """What the whole text says, trimmed and in any case, or None: then it is a message like any other.

    `again` and `다시` are no continue intent; whether there is anything to go on with is the caller's question.
    """
    words = trimmed(text)
    if len(words) > LONGEST:
        return None
    words = composed(words)
    return next((meaning for meaning, phrase in _PHRASES if phrase.fullmatch(words)), None)
