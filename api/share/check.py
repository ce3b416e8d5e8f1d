"""Checks a shared file: its record by hashes, proofs and signature, and the page by rendering it again."""

import hashlib
import re
from typing import Final, NamedTuple

from pydantic import ValidationError

from adapters.proof.checkpoints import NotProved, SignedHead, opened, public_key
from adapters.proof.merkle import proves
from adapters.store.rows import hashed
from api.share.page import END, START, rendered_file
from api.share.shared_record import FORMAT, PackedRecord, SharedRecord
from domain.session.redaction import REDACTED
from domain.values.base import HansardError
from domain.values.sentences import Sentence

_SIGNATURE: Final = re.compile(r'<span hidden data-signature="([^"<>]*)"')


class FileCheck(NamedTuple):
    """The check of a shared file: what is wrong with it; nothing if it is as it was written."""

    problems: tuple[Sentence, ...]
    record: SharedRecord | None
    head: SignedHead | None


def checked(content: bytes, key: str | None = None) -> FileCheck:
    """Every fault of the file; `key` is the public key that must have signed, by default the one in the file."""
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        return FileCheck((Sentence("shared_not_utf8", number=error.start + 1),), None, None)
    start = text.find(START)
    end = text.find(END, start)
    if start < 0 or end < 0:
        return FileCheck((Sentence("shared_no_record"),), None, None)
    signature = _SIGNATURE.match(text, end + len(END))
    packed = PackedRecord(text[start + len(START) : end], signature[1] if signature else "")
    try:
        record = packed.opened()
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = "/".join(map(str, first["loc"])) or "JSON"
        return FileCheck((Sentence("shared_record_unreadable", place=place, detail=first["msg"]),), None, None)
    except ValueError as error:
        return FileCheck((Sentence("shared_record_unreadable", place="zlib", detail=str(error)),), None, None)
    if record.format != FORMAT:
        return FileCheck((Sentence("shared_other_format", number=record.format),), None, None)
    problems: list[Sentence] = []
    head = _signed(record, key, problems)
    if head is not None:
        problems += _events(record, head)
        if not packed.is_signed_by(public_key(record.public_key)):
            problems.append(Sentence("shared_record_not_as_signed"))
    problems += _texts(record)
    return FileCheck((*problems, *_page(text, record, packed)), record, head)


def _signed(record: SharedRecord, key: str | None, problems: list[Sentence]) -> SignedHead | None:
    try:
        if key is not None and key.strip() != record.public_key:
            raise NotProved(Sentence("checkpoint_of_another_key"))
        return opened(record.checkpoint, public_key(record.public_key))
    except NotProved as error:
        problems.append(Sentence("shared_not_signed", detail=error))
        return None


def _events(record: SharedRecord, head: SignedHead) -> list[Sentence]:
    """Each hash follows from the event and the one before; each run of them leads to the signed root."""
    problems = []
    previous = b""
    proofs = {proof.version: proof for proof in record.proofs}
    for number, event in enumerate(record.events, start=1):
        if event.version != number:
            problems.append(Sentence("shared_event_missing", version=number))
            return problems
        try:
            own = bytes.fromhex(event.hash)
            expected = hashed(previous, record.session, event.version, event.type, event.state.encode(), event.form)
        except ValueError:
            own, expected = b"", b"-"
        if len(own) != 32 or (not event.cut and own != expected):
            problems.append(Sentence("shared_event_changed", version=event.version))
        last = number == len(record.events)
        if last or event.cut or record.events[number].cut:
            proof = proofs.get(event.version)
            path = [] if proof is None else [bytes.fromhex(part) for part in proof.path if _is_hash(part)]
            if (
                proof is None
                or len(path) != len(proof.path)
                or not proves(own, proof.index, head.size, path, head.root)
            ):
                problems.append(Sentence("shared_event_not_proved", version=event.version))
        previous = own
    return problems


def _is_hash(part: str) -> bool:
    return len(part) == 64 and all(letter in "0123456789abcdef" for letter in part)


def _texts(record: SharedRecord) -> list[Sentence]:
    return [
        Sentence("shared_text_changed", digest=digest)
        for digest, content in record.texts.items()
        if content != REDACTED and hashlib.sha256(content.encode()).hexdigest() != digest
    ]


def _page(text: str, record: SharedRecord, packed: PackedRecord) -> list[Sentence]:
    """Tells where the file is not what the record is rendered as."""
    try:
        again = rendered_file(record, packed)
    except (HansardError, AssertionError, AttributeError, LookupError, TypeError, ValueError) as error:
        return [Sentence("shared_record_unreadable", place="events", detail=str(error)[:200])]
    if again == text:
        return []
    if len(again) == len(text):
        places = [at for at, (one, other) in enumerate(zip(text, again, strict=True)) if one != other]
    else:
        places = [_first_difference(text, again)]
    lines = sorted({text.count("\n", 0, at) + 1 for at in places[:20]})
    number = len(text[: places[0]].encode()) + 1
    return [Sentence("shared_page_differs", number=number, lines=[str(line) for line in lines], count=len(places))]


def _first_difference(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))
