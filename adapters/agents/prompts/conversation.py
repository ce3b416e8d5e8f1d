"""The conversation before a request, as the prompt of a new conversation tells it."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from adapters.agents.prompts.catalogue import checked
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
    texts = (f"Q: {_cut(each.asked, QUESTION)}\nA: {_cut(each.answered, ANSWER)}" for each in reversed(exchanges))
    latest = _latest(texts)
    if not latest:
        return ""
    digest = closed("\n\n".join(latest))
    return f'{_OPENING[spoken]}\n\n<material name="earlier turns">\n{digest}\n</material>\n\n{_NEXT[spoken]}'


_BEFORE: Final[dict[Language, str]] = {
    "en": "Earlier in this conversation (the workspace contains the files as they were left):",
    "ko": "이 대화에서 앞서 오간 말 (작업 폴더에는 그때의 파일이 그대로 있습니다):",
}


def conversation(exchanges: Sequence[Exchange], language: str) -> str:
    """The earlier messages and answers, oldest first; empty if there were none."""
    texts = (
        f"Person: {_cut(each.asked, QUESTION)}\nTeam: {_cut(each.answered, QUESTION) or '-'}"
        for each in reversed(exchanges)
    )
    latest = _latest(texts)
    return "\n\n".join([_BEFORE[checked(language)], *latest]) if latest else ""


def _latest(texts: Iterable[str]) -> list[str]:
    """Of texts that come newest first as many as fit into `TOTAL`, at least one; oldest first."""
    latest: list[str] = []
    room = TOTAL
    for text in texts:
        room -= len(text)
        if room < 0 and latest:
            break
        latest.insert(0, text)
    return latest


def _cut(text: str, most: int) -> str:
    text = text.strip()
    return text if len(text) <= most else f"{text[: most // 2]}\n[…]\n{text[-most // 2 :]}"
