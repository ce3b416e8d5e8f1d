"""Checks a shared file: its record by hashes, proofs and signature, and the page by rendering it again."""

import base64
import hashlib
from typing import NamedTuple

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from pydantic import ValidationError

from adapters.proof.checkpoints import NotProved, SignedHead, opened, public_key
from adapters.proof.merkle import proves
from adapters.store.rows import hashed
from api.share.file_parts import RecordPlace, part_at, place_of
from api.share.page import rendered_file
from api.share.record_damage import damage_of, restored
from api.share.shared_record import FORMAT, PackedRecord, RecordTooLarge, SharedRecord
from domain.session.redaction import REDACTED
from domain.values.base import HansardError
from domain.values.sentences import Sentence, of_pydantic


class FileCheck(NamedTuple):
    """The check of a shared file: what is wrong with it; nothing if it is as it was written."""

    problems: tuple[Sentence, ...]
    record: SharedRecord | None
    head: SignedHead | None


def checked(content: bytes, key: str | None = None) -> FileCheck:
    """Every fault of the file; `key` is the public key that must have signed, by default the one in the file."""
    place = place_of(content)
    if not content or place is None:
        return _nothing(Sentence("shared_no_record" if content else "shared_file_empty"))
    if place.past == len(content):
        return _nothing(Sentence("shared_file_ends_in_record", number=len(content)))
    packed = PackedRecord(place.record.decode("latin-1"), place.signature.decode("latin-1"))
    try:
        record = packed.opened()
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = "/".join(map(str, first["loc"])) or "JSON"
        return _nothing(Sentence("shared_record_unreadable", place=where, detail=of_pydantic(first)))
    except RecordTooLarge:
        return _nothing(Sentence("shared_record_too_large"))
    except ValueError:
        return _nothing(damage_of(content, place, key))
    if record.format != FORMAT:
        return _nothing(Sentence("shared_other_format", number=record.format))
    problems: list[Sentence] = []
    head = _signed(record, key, problems)
    if head is not None:
        problems += _events(record, head)
        problems += _signature(place, packed, public_key(record.public_key))
    problems += _texts(record)
    return FileCheck((*problems, *_page(content, record, packed)), record, head)


def _nothing(problem: Sentence) -> FileCheck:
    return FileCheck((problem,), None, None)


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


def _signature(place: RecordPlace, packed: PackedRecord, key: Ed25519PublicKey) -> list[Sentence]:
    """Checks that the record is as it was signed; where not, perhaps one digit says why."""
    if packed.is_signed_by(key):
        return []
    again = base64.b64encode(base64.b64decode(packed.text)).decode()
    if again != packed.text:  # the last digit has bits that do not count
        number = place.first + _first_difference(again.encode(), place.record) + 1
        return [Sentence("shared_byte_changed", number=number, part=Sentence("shared_part_record"))]
    size = len(place.signature)
    at = restored(place.signature, range(size), lambda each: packed.signed(each).is_signed_by(key), len(place.record))
    if at is not None:
        number = place.beside + at + 1
        return [Sentence("shared_byte_changed", number=number, part=Sentence("shared_part_signature"))]
    return [Sentence("shared_record_not_as_signed", first=place.beside + 1, last=place.beside + size)]


def _page(content: bytes, record: SharedRecord, packed: PackedRecord) -> list[Sentence]:
    """Compares the file with what the record is rendered as."""
    try:
        again = rendered_file(record, packed).encode()
    except (HansardError, AssertionError, AttributeError, LookupError, TypeError, ValueError) as error:
        return [Sentence("shared_page_not_rendered", detail=str(error)[:200])]
    if again == content:
        return []
    if again.startswith(content):
        return [Sentence("shared_file_ends", number=len(content), size=len(again))]
    if content.startswith(again):
        return [Sentence("shared_file_goes_on", number=len(again))]
    at = _first_difference(content, again)
    values = {"number": at + 1, "part": part_at(again, at)}
    lines = [str(content.count(b"\n", 0, at) + 1)]
    if len(again) != len(content):
        return [Sentence("shared_bytes_differ_from", **values, lines=lines)]
    places = [at for at, (one, other) in enumerate(zip(content, again, strict=True)) if one != other]
    if len(places) == 1:
        return [Sentence("shared_byte_changed", **values)]
    lines = list(dict.fromkeys(str(content.count(b"\n", 0, at) + 1) for at in places[:20]))
    return [Sentence("shared_bytes_changed", **values, lines=lines, count=len(places))]


def _first_difference(one: bytes, other: bytes) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))
