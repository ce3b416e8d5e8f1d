"""Proof that one event is in a log whose head is signed, for people without the log."""

from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from adapters.proof.checkpoints import head, sign
from adapters.proof.merkle import inclusion_proof, leaf
from adapters.store.port import Log
from adapters.store.seal import sealed
from domain.values.base import Unknown
from domain.values.sentences import Sentence


def prove(store: Log, session_id: str, version: int, key: Ed25519PrivateKey) -> dict[str, Any]:
    """Proof for people without the log that an event is in it: the event, the path to the root, the signed checkpoint.
    The event is in its sealed form: of long texts it has only the digests.

    Raises Unknown if there is no such event, NotProved if the log is damaged.
    """
    checkpoint = head(store)
    hashes, previous, place = list[bytes](), b"", None
    for row in store.rows.events():
        if row.stream == session_id and row.version == version - 1:
            previous = row.hash
        if (row.stream, row.version) == (session_id, version):
            place = (len(hashes), row)
        hashes.append(row.hash)
        if len(hashes) == checkpoint.size:
            break
    if place is None:
        raise Unknown(Sentence("version_not_found", number=version, id=session_id))
    index, row = place
    return {
        "event": {
            "session": row.stream,
            "version": row.version,
            "type": row.topic,
            "form": row.form,
            "state": sealed(row.state, row.form).decode(),
        },
        "previousHash": previous.hex(),
        "index": index,
        "proof": [part.hex() for part in inclusion_proof([leaf(data) for data in hashes], index)],
        "checkpoint": sign(checkpoint, key),
    }
