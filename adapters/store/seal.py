"""Seals events: the form that is hashed holds digests in place of quoted texts, so that a redaction changes no hash.

An event quotes a long text by its beginning (`head`), next to the digest, or has the whole text as a value. The sealed
form has "" there, and a list of the places and digests after the event. Where a whole value was redacted, the event has
the place and the digest under `redacted`; readers ignore that.
"""

import re
from collections.abc import Iterator
from hashlib import sha256
from typing import Any, Final, NamedTuple

import orjson

from domain.session.redaction import REDACTED
from domain.values.base import INLINE_BYTES

FORM: Final = 2
"""The form of new events. The first one hashes the state as it is."""
LONG: Final = INLINE_BYTES // 4
"""Characters from which a value may be a whole text."""
GONE: Final = "redacted"
_DIGEST: Final = re.compile(rb'"digest":"[0-9a-f]{64}"')
_HEX: Final = re.compile(r"[0-9a-f]{64}")
Path = tuple[str | int, ...]


class Quote(NamedTuple):
    """A quoted text. `head` is its beginning as the event has it, None for a whole value."""

    path: Path
    digest: str
    head: str | None
    blank: bool


def sealed(state: bytes, form: int) -> bytes:
    """The bytes of an event that are hashed. A state that is not written as we write it is hashed as it is."""
    if form < FORM or not _may_quote(state):
        return state
    event = loaded(state)
    if event is None:
        return state
    seals = [(quote.path, quote.digest) for quote in _quotes(event)]
    if not seals:
        return state
    for path, _ in seals:
        put(event, path, "")
    event.pop(GONE, None)
    return orjson.dumps(event) + b"\0" + orjson.dumps(seals)


def quotes(state: bytes) -> list[Quote]:
    """The quoted texts of an event of the second form."""
    event = loaded(state) if _may_quote(state) else None
    return [] if event is None else list(_quotes(event))


def beginning(content: str) -> str:
    """The part of a long text that an event quotes."""
    return content.encode()[:INLINE_BYTES].decode(errors="ignore")


def _may_quote(state: bytes) -> bool:
    return len(state) > LONG or b'"redacted":[' in state or _DIGEST.search(state) is not None


def loaded(state: bytes) -> dict[str, Any] | None:
    """The event, if these bytes are the only way in which we write it."""
    try:
        event = orjson.loads(state)
    except orjson.JSONDecodeError:
        return None
    return event if isinstance(event, dict) and orjson.dumps(event) == state else None


def _quotes(event: dict[str, Any]) -> Iterator[Quote]:
    gone = {tuple(path): digest for path, digest in gone_places(event)}
    yield from _walk({name: part for name, part in event.items() if name != GONE}, (), gone)


def gone_places(event: dict[str, Any]) -> list[tuple[list[str | int], str]]:
    """The places of whole values that were redacted."""
    match event.get(GONE):
        case [*entries] if all(
            isinstance(each, list) and len(each) == 2 and isinstance(each[0], list) and isinstance(each[1], str)
            for each in entries
        ) and all(isinstance(part, str | int) for path, _ in entries for part in path):
            return [(path, digest) for path, digest in entries]
        case _:
            return []


def _walk(value: Any, path: Path, gone: dict[Path, str]) -> Iterator[Quote]:
    match value:
        case {"digest": str() as digest, "head": str() as head} if _HEX.fullmatch(digest):
            yield Quote((*path, "head"), digest, head, head == REDACTED)
        case dict():
            for name, part in value.items():
                yield from _walk(part, (*path, name), gone)
        case list():
            for place, part in enumerate(value):
                yield from _walk(part, (*path, place), gone)
        case str() if value == REDACTED and path in gone:
            yield Quote(path, gone[path], None, blank=True)
        case str() if len(value) > LONG:
            yield Quote(path, sha256(value.encode()).hexdigest(), None, blank=False)


def put(event: Any, path: Path, value: str) -> None:
    for part in path[:-1]:
        event = event[part]
    event[path[-1]] = value
