"""Writes the file: all of a session where it has room, else without the longest of its texts."""

from typing import Final, NamedTuple

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from adapters.store.port import Log
from api.share.collection import SharedSession, SharingRules
from api.share.page import rendered_file
from api.share.shared_record import PackedRecord, SharedRecord

MOST_BYTES: Final = 2_000_000
"""How large a file may become, for each thousand events or part of it."""
_CAREFUL: Final = 0.97


class FileToShow(NamedTuple):
    """A file, and the record that it is rendered from."""

    record: SharedRecord
    html: str


def signed_file(record: SharedRecord, key: Ed25519PrivateKey) -> str:
    """The file of a record, with the signature of all that is in it."""
    return rendered_file(record, PackedRecord.of(record, key))


def file_to_show(
    log: Log, session_id: str, version: int | None, key: Ed25519PrivateKey, rules: SharingRules
) -> FileToShow:
    """The file of a session up to a version. Raises Unknown, and NotProved for a log that was changed."""
    session = SharedSession(log, session_id, version, key, rules)
    most, room = MOST_BYTES * -(-session.count // 1_000), session.size
    whole = _made(session, room, key)
    if len(whole.html.encode()) <= most:
        return whole
    least = _made(session, 0, key)
    base = len(least.html.encode())
    # a text is in the record, compressed, and in the page: how much its bytes take there shows only afterwards
    each = (len(whole.html.encode()) - base) / max(1, session.size)
    while (room := int(min(room, (most - base) / max(each, 0.01)) * _CAREFUL)) > 0:
        made = _made(session, room, key)
        size = len(made.html.encode())
        if size <= most:
            return made
        each = (size - base) / room
    return least


def _made(session: SharedSession, room: int, key: Ed25519PrivateKey) -> FileToShow:
    record = session.record(room)
    return FileToShow(record, signed_file(record, key))
