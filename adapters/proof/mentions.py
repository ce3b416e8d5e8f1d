"""The long texts that an event refers to by digest."""

import re
from collections.abc import Iterator
from typing import Any

import orjson

_DIGEST = re.compile(rb'"(?:digest|template)":"[0-9a-f]{64}"')
_TEXT = {"head", "length", "digest"}
_PROMPT = {"what", "sessionId", "version", "template", "language"}


def mentioned(state: bytes) -> Iterator[str]:
    """The digests of the texts in an event's row; none for a row that is not JSON."""
    if _DIGEST.search(state) is None:  # most events have none and need not be parsed
        return
    try:
        yield from _walk(orjson.loads(state))
    except orjson.JSONDecodeError:
        return


def _walk(value: Any) -> Iterator[str]:
    match value:
        case {"digest": str() as digest} if value.keys() == _TEXT:
            yield digest
        case {"template": str() as digest} if value.keys() == _PROMPT:
            yield digest
        case dict():
            for part in value.values():
                yield from _walk(part)
        case list():
            for part in value:
                yield from _walk(part)
        case _:
            return
