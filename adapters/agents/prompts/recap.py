"""What was said in a conversation that an agent cannot continue: the digest that its new conversation begins with."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from adapters.agents.prompts import Language, checked, closed

TOTAL: Final = 24_000
"""Characters of a digest; the latest turns are kept."""
QUESTION: Final = 600
ANSWER: Final = 4_000

_OPENING: Final[dict[Language, str]] = {
    "en": "This continues an earlier conversation, which is no longer available. What was said in it so far:",
    "ko": "이전 대화를 이어 갑니다. 이전 대화는 더 이상 열 수 없습니다. 지금까지의 내용:",
}
_NEXT: Final[dict[Language, str]] = {"en": "The current task:", "ko": "지금 할 일:"}


class Exchange(NamedTuple):
    """One earlier turn."""

    asked: str
    answered: str
    turn_id: str = ""


def recap(exchanges: Sequence[Exchange], language: str) -> str:
    """The digest; empty where nothing was said."""
    spoken = checked(language)
    kept: list[str] = []
    room = TOTAL
    for exchange in reversed(exchanges):
        words = f"Q: {_cut(exchange.asked, QUESTION)}\nA: {_cut(exchange.answered, ANSWER)}"
        room -= len(words)
        if room < 0 and kept:
            break
        kept.append(words)
    if not kept:
        return ""
    said = closed("\n\n".join(reversed(kept)))
    return f'{_OPENING[spoken]}\n\n<material name="earlier turns">\n{said}\n</material>\n\n{_NEXT[spoken]}'


_BEFORE: Final[dict[Language, str]] = {
    "en": "Said earlier in this conversation (the workspace holds the files as they were left):",
    "ko": "이 대화에서 앞서 오간 말 (작업 공간에는 그때의 파일이 그대로 있습니다):",
}


def conversation(exchanges: Sequence[Exchange], language: str) -> str:
    """The messages and answers before this one, oldest first; empty where nothing was said."""
    kept: list[str] = []
    room = TOTAL
    for exchange in reversed(exchanges):
        words = f"Person: {_cut(exchange.asked, QUESTION)}\nTeam: {_cut(exchange.answered, QUESTION) or '-'}"
        room -= len(words)
        if room < 0 and kept:
            break
        kept.append(words)
    return "\n\n".join([_BEFORE[checked(language)], *reversed(kept)]) if kept else ""


def _cut(text: str, most: int) -> str:
    text = text.strip()
    return text if len(text) <= most else f"{text[: most // 2]}\n[…]\n{text[-most // 2 :]}"
