"""Events without a text that was taken out of the log."""

from hashlib import sha256
from typing import Any

import orjson

from adapters.store.seal import FORM, GONE, gone_places, loaded, put, quotes
from domain.session.redaction import REDACTED
from domain.values.base import INLINE_BYTES


def blanked(state: bytes, digest: str, form: int) -> bytes:
    """The state of an event without the text, whether it quotes the beginning or has the whole text as a value; the
    same bytes if it does neither."""
    if form < FORM:
        return _blanked_first_form(state, digest)
    event = loaded(state)
    matches = [quote for quote in quotes(state) if quote.digest == digest and not quote.blank]
    if event is None or not matches:
        return state
    for quote in matches:
        put(event, quote.path, REDACTED)
    whole = [(quote.path, digest) for quote in matches if quote.head is None]
    if whole:
        event[GONE] = [*gone_places(event), *whole]
    return orjson.dumps(event)


def _blanked_first_form(state: bytes, digest: str) -> bytes:
    event = orjson.loads(state)
    return orjson.dumps(event) if _blank(event, digest) else state


def _blank(value: Any, digest: str) -> bool:
    """True if something was blanked, in place."""
    if not isinstance(value, dict | list):
        return False
    if isinstance(value, dict) and value.get("digest") == digest and value.get("head", REDACTED) != REDACTED:
        value["head"] = REDACTED
        return True
    parts = list(value.items() if isinstance(value, dict) else enumerate(value))
    whole = [place for place, part in parts if isinstance(part, str) and _is_text(part, digest)]
    for place in whole:
        value[place] = REDACTED
    return sum(_blank(part, digest) for _, part in parts) > 0 or bool(whole)


def _is_text(words: str, digest: str) -> bool:
    """True if it is the text of this digest: requests are recorded in full, however long they are."""
    return len(words) > INLINE_BYTES // 4 and sha256(words.encode()).hexdigest() == digest
