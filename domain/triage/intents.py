"""Messages that are commands to the run rather than new work: continue, or reset (S1 §3.7, K-1, K-6).

Only the whole text counts, never its beginning: `초기화 코드를 작성해줘` asks for code and must not reset a run.
"""

import re
from typing import Literal

from domain.values.words import SPACE, composed, trimmed

Intent = Literal["continue", "reset"]

LONGEST = 64
"""Longer texts are not checked; every phrase fits, even as decomposed letters."""

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
    """What the whole text may mean, best match first; empty for any other message.

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
