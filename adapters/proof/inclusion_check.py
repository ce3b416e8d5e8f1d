"""The check of a proof that an event is in a log, without that log."""

from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from adapters.proof.checkpoints import NotProved, SignedHead, opened
from adapters.proof.merkle import proves
from adapters.store.rows import hashed
from domain.values.sentences import Sentence


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
