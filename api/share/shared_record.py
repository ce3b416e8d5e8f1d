"""The part of the log that a shared file holds: a session's events in their sealed form, the long texts, and the proof.

A text that may not be shown is left out whole, by its digest. Where it stands in an event itself, the event is cut: it
has its hash, and the events around it are proved on their own.
"""

import base64
import binascii
import zlib
from collections.abc import Iterator
from typing import Any, Final, Literal, NamedTuple

import orjson
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from pydantic import Field

from adapters.store.port import Log
from adapters.store.rows import Row
from adapters.store.seal import FORM, loaded, put, quotes, sealed
from domain.values.base import Value
from domain.values.words import Language

FORMAT: Final = 3
_SIGNED: Final = b"hansard shared record\n"
_LARGEST: Final = 536_870_912
"""Bytes up to which a record is unpacked: a stranger may have written it."""
Withheld = Literal["secret", "prompt", "transcript", "long"]
ON_REQUEST: Final = {"prompt": "prompts", "template": "prompts", "context": "prompts", "transcript": "transcripts"}
"""Fields whose texts are in the file only if they are asked for."""


class SharedEvent(Value):
    """An event as the log hashes it; a cut one is not as it was hashed."""

    version: int
    type: str
    form: int
    state: str
    hash: str
    cut: bool = False


class LeftOut(Value):
    """A text that is not in the file: the event that quotes it, and why."""

    version: int
    digest: str
    why: Withheld


class RunProof(Value):
    """The way from an event to the signed root; it proves every event before it, back to the last cut one."""

    version: int
    index: int
    path: tuple[str, ...]


class SharedRecord(Value):
    """Everything that the page is rendered from."""

    format: int = FORMAT
    session: str
    language: Language
    events: tuple[SharedEvent, ...]
    texts: dict[str, str]
    left_out: tuple[LeftOut, ...] = ()
    proofs: tuple[RunProof, ...]
    checkpoint: str
    public_key: str = Field(description="base64, as `hansard checkpoint --public-key` prints it")

    def strings(self) -> Iterator[str]:
        """Every text in it, as it was before it was written as JSON."""
        for event in self.events:
            yield from strings_in(halves(event.state)[0])
        yield from self.texts.values()


def strings_in(value: Any) -> Iterator[str]:
    """Every string in a JSON value, without the names of fields."""
    match value:
        case dict():
            for part in value.values():
                yield from strings_in(part)
        case list():
            for part in value:
                yield from strings_in(part)
        case str():
            yield value


class RecordTooLarge(Exception):
    """The record would be larger than any that is shared: a stranger may have written it."""


class PackedRecord(NamedTuple):
    """A record as a file has it: compressed, in base64, and signed. The signature is of these very letters, because
    others may stand for the same record; the hash of a cut event says nothing about what is left of it."""

    text: str
    signature: str

    @classmethod
    def of(cls, record: SharedRecord, key: Ed25519PrivateKey) -> "PackedRecord":
        """Compressed and signed."""
        text = base64.b64encode(zlib.compress(record.model_dump_json(by_alias=True).encode(), 9)).decode()
        return cls(text, base64.b64encode(key.sign(_SIGNED + text.encode())).decode())

    def opened(self) -> SharedRecord:
        """The record. Raises RecordTooLarge, and ValueError for anything else that is none."""
        try:
            unpacking = zlib.decompressobj()
            content = unpacking.decompress(base64.b64decode(self.text, validate=True), _LARGEST)
        except (binascii.Error, zlib.error) as error:
            raise ValueError(str(error)) from None
        if unpacking.unconsumed_tail:
            raise RecordTooLarge
        if not unpacking.eof or unpacking.unused_data:
            raise ValueError("zlib")
        return SharedRecord.model_validate_json(content)

    def signed(self, signature: str) -> "PackedRecord":
        """The same record with another signature."""
        return self._replace(signature=signature)

    def is_signed_by(self, key: Ed25519PublicKey) -> bool:
        """True if this key signed it."""
        try:
            signature = base64.b64decode(self.signature, validate=True)
            key.verify(signature, _SIGNED + self.text.encode())
        except (InvalidSignature, ValueError):
            return False
        return base64.b64encode(signature).decode() == self.signature


class QuotedText(NamedTuple):
    """A text that events refer to: the first event, the digest, and the field."""

    version: int
    digest: str
    content: str
    wish: str
    """The word after `--with` that asks for it; empty where it always belongs to the file."""


def texts_of(log: Log, row: Row) -> list[QuotedText]:
    """The long texts of an event; those of the old form are quoted by their beginning."""
    event = loaded(row.state) or {}
    places = [(quote.path, quote.digest, quote.head is None) for quote in quotes(row.state)]
    texts = []
    for path, digest, whole in places:
        content = _at(event, path) if whole else log.text(digest)
        if isinstance(content, str):
            wish = next((ON_REQUEST[str(part)] for part in path if str(part) in ON_REQUEST), "")
            texts.append(QuotedText(row.version, digest, content, wish))
    return texts


def _at(event: Any, path: tuple[str | int, ...]) -> Any:
    for part in path:
        event = event[part]
    return event


def halves(state: str) -> tuple[Any, list[tuple[tuple[str | int, ...], str]]]:
    """The event of a sealed form, and the places and digests of its texts."""
    words, _, seals = state.partition("\0")
    return orjson.loads(words), [(tuple(path), digest) for path, digest in orjson.loads(seals)] if seals else []


def filled(event: SharedEvent, texts: dict[str, str], beginning: Any) -> bytes:
    """The state of an event with the beginnings of its texts; what is left out is empty."""
    state, seals = halves(event.state)
    for path, digest in seals:
        if digest in texts:
            head = len(path) > 1 and path[-1] == "head"
            put(state, path, beginning(texts[digest]) if head else texts[digest])
    return orjson.dumps(state)


class Blanks(NamedTuple):
    """A part of an event without what may not be shown, and the texts that were there."""

    value: Any
    gone: tuple[tuple[str, Withheld], ...]


def sealed_words(row: Row) -> str:
    return sealed(row.state, row.form).decode()


def is_newest_form(row: Row) -> bool:
    return row.form == FORM
