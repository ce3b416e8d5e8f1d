"""The digest of a conversation that an agent cannot continue: its new conversation begins with it."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from adapters.agents.prompts import checked
from domain.values.words import Language, closed

TOTAL: Final = 24_000
"""Maximum length of a digest; the latest turns are kept."""
QUESTION: Final = 600
ANSWER: Final = 4_000

_OPENING: Final[dict[Language, str]] = {
    "en": "This continues an earlier conversation that is no longer available. The conversation so far:",
    "ko": "이전 대화를 이어 갑니다. 이전 대화는 더 이상 열 수 없습니다. 지금까지의 내용:",
}
_NEXT: Final[dict[Language, str]] = {"en": "The current task:", "ko": "지금 할 일:"}


class Exchange(NamedTuple):
    """One earlier turn."""

    asked: str
    answered: str
    turn_id: str = ""


def recap(exchanges: Sequence[Exchange], language: str) -> str:
    """The digest; empty if there were no messages."""
    spoken = checked(language)
    exchanges_kept: list[str] = []
    room = TOTAL
    for exchange in reversed(exchanges):
        words = f"Q: {_cut(exchange.asked, QUESTION)}\nA: {_cut(exchange.answered, ANSWER)}"
        room -= len(words)
        if room < 0 and exchanges_kept:
            break
        exchanges_kept.append(words)
    if not exchanges_kept:
        return ""
    digest = closed("\n\n".join(reversed(exchanges_kept)))
    return f'{_OPENING[spoken]}\n\n<material name="earlier turns">\n{digest}\n</material>\n\n{_NEXT[spoken]}'


_BEFORE: Final[dict[Language, str]] = {
    "en": "Earlier in this conversation (the workspace contains the files as they were left):",
    "ko": "이 대화에서 앞서 오간 말 (작업 공간에는 그때의 파일이 그대로 있습니다):",
}


def conversation(exchanges: Sequence[Exchange], language: str) -> str:
    """The earlier messages and answers, oldest first; empty if there were none."""
    lines: list[str] = []
    room = TOTAL
    for exchange in reversed(exchanges):
        words = f"Person: {_cut(exchange.asked, QUESTION)}\nTeam: {_cut(exchange.answered, QUESTION) or '-'}"
        room -= len(words)
        if room < 0 and lines:
            break
        lines.append(words)
    return "\n\n".join([_BEFORE[checked(language)], *reversed(lines)]) if lines else ""


def _cut(text: str, most: int) -> str:
    text = text.strip()
    return text if len(text) <= most else f"{text[: most // 2]}\n[…]\n{text[-most // 2 :]}"
