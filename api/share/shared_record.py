"""What a shared file holds of the log: a session's events in their sealed form, the long texts, and the proof.

A text that may not be shown is left out whole, by its digest. Where it stands in an event itself, the event is cut: it
has its hash, and the events around it are proved on their own.
"""

from typing import Any, Final, Literal, NamedTuple

import orjson
from pydantic import Field

from adapters.store.port import Log
from adapters.store.rows import Row
from adapters.store.seal import FORM, loaded, put, quotes, sealed
from domain.values.base import Value
from domain.values.words import Language

FORMAT: Final = 2
_SIGNED: Final = b"hansard shared record\n"
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
    signature: str = ""
    """By the same key, of everything else here: the hash of a cut event says nothing about what is left of it."""

    def signed_bytes(self) -> bytes:
        """What `signature` is made of."""
        return _SIGNED + self.model_copy(update={"signature": ""}).json_text().encode()

    def json_text(self) -> str:
        """The one way in which a file has it: JSON without `<`, so that it can stand in a page."""
        dumped = orjson.dumps(self.model_dump(mode="json", by_alias=True)).decode()
        return dumped.replace("<", "\\u003c")


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
