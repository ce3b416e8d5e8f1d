"""Proof that one event is in a log whose head is signed, for people without the log."""

from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from adapters.proof.checkpoints import NotProved, SignedHead, head, opened, sign
from adapters.proof.merkle import inclusion_proof, leaf, proves
from adapters.store.port import Log
from adapters.store.rows import hashed
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


def check_proof(content: Any, key: Ed25519PublicKey) -> SignedHead:
    """The checkpoint that is proved to include the event; needs no log. Raises NotProved."""
    match content:
        case {
            "event": {
                "session": str() as stream,
                "version": int() as version,
                "type": str() as topic,
                "state": str() as state,
            } as event,
            "previousHash": str() as before,
            "index": int() as index,
            "proof": list() as path,
            "checkpoint": str() as note,
        }:
            pass
        case _:
            raise NotProved(Sentence("not_a_proof"))
    form = event.get("form", 1)
    if not isinstance(form, int) or isinstance(form, bool):
        raise NotProved(Sentence("not_a_proof"))
    try:
        proof, previous = [bytes.fromhex(part) for part in path], bytes.fromhex(before)
        chained = hashed(previous, stream, version, topic, state.encode(), form)
    except (TypeError, ValueError):
        raise NotProved(Sentence("not_a_proof")) from None
    # Only hashes are allowed in place of hashes: a longer one could contain the start of another event.
    if (
        isinstance(version, bool)
        or len(previous) != (32 if version > 1 else 0)
        or any(len(part) != 32 for part in proof)
    ):
        raise NotProved(Sentence("not_a_proof"))
    checkpoint = opened(note, key)
    if not proves(chained, index, checkpoint.size, proof, checkpoint.root):
        raise NotProved(Sentence("proof_leads_elsewhere"))
    return checkpoint
