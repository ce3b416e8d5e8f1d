"""Says where the record of a shared file is damaged, as closely as what is left of it tells.

A digit that base64 does not have is known at once. Any other one spoils what is unpacked from there on: before it are
the events and texts that still fit their hashes, after it is the place where nothing can be unpacked any more. First
between the two, each digit is tried until the signature fits. Where none does, only the two places can be said: a
changed table of codes shows later, with the first letter that it is about.
"""

import base64
import binascii
import hashlib
import json
import re
import zlib
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, Final, NamedTuple

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from adapters.proof.checkpoints import NotProved, public_key
from adapters.store.rows import hashed
from api.share.file_parts import RecordPlace
from api.share.shared_record import PackedRecord
from domain.session.redaction import REDACTED
from domain.values.sentences import Sentence

_DIGITS: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="
_STRANGE: Final = re.compile(rb"[^A-Za-z0-9+/=]|=(?=..)", re.DOTALL)
_KEY: Final = re.compile(rb"<code>([A-Za-z0-9+/]{43}=)</code>")
_HEADER: Final = re.compile(r'\{"format":\d+,"session":("[^"]*"),"language":"\w+","events":\[')
_LARGEST: Final = 67_108_864
"""Bytes that are unpacked of a damaged record."""
_TEXTS: Final = '],"texts":{'
_DECODER: Final = json.JSONDecoder()
_WORK: Final = 200_000_000
"""Bytes that are hashed at most to find a digit."""
_BEGINNING: Final = 200
"""Bytes before the first event."""
_MOST: Final = 10_000
"""Digits that are tried at most."""
_GROUP: Final = 4
_BYTES: Final = 3
_SUM: Final = 3
"""Groups after those that were unpacked in which the damage may be: that of the failure, or those of the checksum."""


class _Unpacked(NamedTuple):
    """Holds what could be unpacked, and how much of it there was after each group of digits."""

    content: bytes
    ends: list[int]


def damage_of(content: bytes, place: RecordPlace, key: str | None) -> Sentence:
    """Says where the record is damaged, which cannot be unpacked. `key` is the public key that must have signed; by
    default those that the page shows may have."""
    strange = _STRANGE.search(place.record)
    if strange is not None:
        return Sentence("shared_record_digit", number=place.first + strange.start() + 1)
    unpacked = _unpacked(place.record)
    sound = _sound(unpacked.content)
    first = bisect_left(unpacked.ends, sound.until) * _GROUP if sound.until else 0
    seen = min((bisect_left(unpacked.ends, sound.fault) + 1) * _GROUP, len(place.record))
    last = min((len(unpacked.ends) + _SUM) * _GROUP, len(place.record))
    keys, signature = _keys(content, key), place.signature.decode("latin-1")

    def fits(record: str) -> bool:
        return any(PackedRecord(record, signature).is_signed_by(each) for each in keys)

    places = [*range(seen - 1, first - 1, -1), *range(max(first, seen), last), *range(first - 1, -1, -1)]
    at = restored(place.record, places, fits, len(place.record)) if keys else None
    if at is not None:
        return Sentence("shared_byte_changed", number=place.first + at + 1, part=Sentence("shared_part_record"))
    numbers = {"first": place.first + first + 1, "last": place.first + last, "events": sound.events}
    return Sentence("shared_record_damaged", **numbers)


def _unpacked(record: bytes) -> _Unpacked:
    """Unpacks group by group, without the checksum at the end."""
    data = _decoded(record)
    unpacking, parts, ends, size = zlib.decompressobj(-zlib.MAX_WBITS), list[bytes](), list[int](), 0
    for at in range(0, len(data), _BYTES):
        try:
            part = unpacking.decompress(data[max(at, 2) : at + _BYTES], _LARGEST - size)
        except zlib.error:
            return _Unpacked(b"".join(parts), ends)
        parts.append(part)
        size += len(part)
        ends.append(size)
        if unpacking.eof or size >= _LARGEST:
            break
    return _Unpacked(b"".join(parts), ends)


def _decoded(record: bytes) -> bytes:
    with suppress(binascii.Error):
        return base64.b64decode(record[: len(record) // _GROUP * _GROUP].replace(b"=", b"A"))
    return b""


class _Sound(NamedTuple):
    """Counts the events that fit their hashes, up to a cut one, and the bytes that do; `fault` is where one shows."""

    events: int
    until: int
    fault: int


def _sound(content: bytes) -> _Sound:
    """Checks what was unpacked from its beginning. Nothing is known of what is left of a cut event."""
    text = content.decode("latin-1")  # so that a letter is a byte
    header = _HEADER.match(text)
    if header is None:
        return _Sound(0, 0, min(len(text), _BEGINNING))
    session, previous = header[1][1:-1], b""
    whole, until, any_cut = 0, header.end(), False
    items = _Items(text, until)
    for number, event in enumerate(items, start=1):
        cut, own = _checked(session, number, event, previous)
        if own is None:
            return _Sound(whole, until, items.past)
        any_cut, previous = any_cut or cut, own
        whole, until = (whole, until) if any_cut else (number, items.past)
    if not text.startswith(_TEXTS, items.past):
        return _Sound(whole, until, items.fault)
    items = _Items(text, items.past + len(_TEXTS))
    for digest in items:
        words = next(items, None)
        if not isinstance(words, str):
            break
        if words != REDACTED and _digest(words) != digest:
            return _Sound(whole, until, items.past)
        until = until if any_cut else items.past
    return _Sound(whole, until, items.fault)


def _digest(words: str) -> str | None:
    """The digest of a text; None for what is no text of ours."""
    try:
        return hashlib.sha256(words.encode("latin-1")).hexdigest()
    except UnicodeEncodeError:
        return None


class _Items:
    """Parses values with a comma or colon after each; knows where the last one ended, and where it could not go on."""

    def __init__(self, text: str, at: int) -> None:
        self._text, self.past, self.fault = text, at, at
        self._more = True

    def __iter__(self) -> "_Items":
        return self

    def __next__(self) -> Any:
        start = self.past + (self._text[self.past : self.past + 1] in (",", ":"))
        if not self._more:
            raise StopIteration
        try:
            value, self.past = _DECODER.raw_decode(self._text, start)
        except (ValueError, RecursionError) as error:
            position = getattr(error, "pos", start)
            self.fault = position if position > start else len(self._text)
            raise StopIteration from None
        self._more = self._text[self.past : self.past + 1] in (",", ":")
        self.fault = len(self._text) if self._more else self.past
        return value


def _checked(session: str, version: int, event: Any, previous: bytes) -> tuple[bool, bytes | None]:
    """True if the event is cut, and its hash; None if that does not fit."""
    try:
        own, cut = bytes.fromhex(event["hash"]), event["cut"] is True
        state = event["state"].encode("latin-1")
        expected = hashed(previous, session, version, event["type"], state, event["form"])
    except (KeyError, TypeError, ValueError, AttributeError):
        return False, None
    return cut, own if event["version"] == version and len(own) == 32 and (cut or own == expected) else None


def _keys(content: bytes, key: str | None) -> list[Ed25519PublicKey]:
    """The keys that may have signed the record."""
    keys = []
    for text in [key] if key is not None else [each.decode() for each in _KEY.findall(content)[:5]]:
        with suppress(NotProved):
            keys.append(public_key(text))
    return keys


def restored(text: bytes, places: Sequence[int], fits: Callable[[str], bool], size: int) -> int | None:
    """The place of the one digit in these places with another one in whose place the text fits; None if there is none.
    Gives up after about a second; `size` is how many bytes are hashed each time."""
    tried = bytearray(text)
    for at, digit in islice(_changes(text, places), min(_MOST, _WORK // max(1, size))):
        tried[at] = digit
        if fits(tried.decode("latin-1")):
            return at
        tried[at] = text[at]
    return None


def _changes(text: bytes, places: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yields what each digit may have been: first those that differ in one bit."""
    for bits in (True, False):
        for at in places:
            yield from ((at, digit) for digit in _DIGITS if ((digit ^ text[at]).bit_count() == 1) is bits)
