"""Long texts, which stand beside the events that mention them."""

from typing import Protocol

from adapters.store.mapper import Broken
from domain.values.base import Text


class Texts(Protocol):
    """Where they are kept."""

    def text(self, digest: str) -> str | None: ...


def whole(texts: Texts, text: Text) -> str:
    """All of it. Raises Broken where it is gone: the beginning, which stands in the event, is not passed off for it."""
    if text.digest is None:
        return text.head
    found = texts.text(text.digest)
    if found is None:
        raise Broken(f"The text {text.digest} is not in the log any more; `hansard verify` says what else is missing.")
    return found
