"""Signed checkpoints (C2SP tlog-checkpoint, Ed25519) and proofs of inclusion: for somebody who trusts only a key.

A hash chain alone does not show that its end was cut off; a checkpoint that is kept elsewhere does.
"""

import base64
import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from adapters.audit.merkle import Tree, inclusion_proof, leaf, proves
from adapters.store import SqliteStore
from adapters.store.rows import Row
from domain.base import HansardError

ORIGIN = "hansard"
_DASH = "\N{EM DASH}"


class NotProved(HansardError):
    """What was to be proved does not hold, or is not what it says it is."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """So many events had this tree head, says whoever holds the key."""

    origin: str
    size: int
    root: bytes

    def body(self) -> str:
        return f"{self.origin}\n{self.size}\n{base64.b64encode(self.root).decode()}\n"


def signing_key(path: Path) -> Ed25519PrivateKey:
    """The log's own key; made on first use, readable by its owner only."""
    try:
        return Ed25519PrivateKey.from_private_bytes(base64.b64decode(path.read_text()))
    except FileNotFoundError:
        key = Ed25519PrivateKey.generate()
        secret = key.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())
        path.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(base64.b64encode(secret).decode() + "\n")
        return key
    except (OSError, ValueError) as error:
        raise NotProved(f"The signing key {path} cannot be read: {error}.") from None


def public_text(key: Ed25519PrivateKey) -> str:
    """The public key in base64, to be kept where the log's keeper cannot change it."""
    return base64.b64encode(key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)).decode()


def public_key(text: str) -> Ed25519PublicKey:
    """Raises NotProved."""
    try:
        return Ed25519PublicKey.from_public_bytes(base64.b64decode(text.strip(), validate=True))
    except ValueError as error:
        raise NotProved(f"This is no public key: {error}.") from None


def head(store: SqliteStore) -> Checkpoint:
    """The checkpoint over everything that is in the log now."""
    tree = Tree()
    for row in store.rows.events():
        tree.add(row.hash)
    return Checkpoint(ORIGIN, tree.size, tree.root())


def sign(checkpoint: Checkpoint, key: Ed25519PrivateKey) -> str:
    """The signed note."""
    public = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    signature = _key_id(checkpoint.origin, public) + key.sign(checkpoint.body().encode())
    return f"{checkpoint.body()}\n{_DASH} {checkpoint.origin} {base64.b64encode(signature).decode()}\n"


def _key_id(name: str, public: bytes) -> bytes:
    return hashlib.sha256(f"{name}\n".encode() + b"\x01" + public).digest()[:4]


def opened(note: str, key: Ed25519PublicKey) -> Checkpoint:
    """The checkpoint of a note whose signature holds. Raises NotProved."""
    body, separator, signatures = note.partition("\n\n")
    try:
        origin, size, root = body.split("\n")
        checkpoint = Checkpoint(origin, int(size), base64.b64decode(root, validate=True))
        dash, name, signed = signatures.strip().split(" ")
        data = base64.b64decode(signed, validate=True)
    except ValueError:
        raise NotProved("This is no checkpoint.") from None
    public = key.public_bytes(Encoding.Raw, PublicFormat.Raw)
    if not separator or dash != _DASH or name != origin or data[:4] != _key_id(origin, public):
        raise NotProved("The checkpoint is not signed with this key.")
    try:
        key.verify(data[4:], checkpoint.body().encode())
    except InvalidSignature:
        raise NotProved("The checkpoint's signature does not hold.") from None
    return checkpoint


def holds(store: SqliteStore, checkpoint: Checkpoint) -> str | None:
    """What is wrong with the log in the light of a checkpoint; None when it still begins with what was signed."""
    tree = Tree()
    for row in store.rows.events():
        if tree.size == checkpoint.size:
            break
        tree.add(row.hash)
    if tree.size < checkpoint.size:
        return f"the log has been cut: {checkpoint.size} events were signed, {tree.size} are there"
    if tree.root() != checkpoint.root:
        return f"the first {checkpoint.size} events are not those that were signed"
    return None


def prove(store: SqliteStore, session_id: str, version: int, key: Ed25519PrivateKey) -> dict[str, Any]:
    """That one event is in the log, for somebody without it: the event, the path to the root, the signed checkpoint."""
    rows = list(store.rows.events())
    wanted = [place for place, row in enumerate(rows) if (row.stream, row.version) == (session_id, version)]
    if not wanted:
        raise NotProved(f"There is no version {version} of {session_id!r}.")
    leaves = [leaf(row.hash) for row in rows]
    row, index = rows[wanted[0]], wanted[0]
    before = next((found.hash for found in rows if (found.stream, found.version) == (session_id, version - 1)), b"")
    tree = Tree()
    for found in rows:
        tree.add(found.hash)
    return {
        "event": {"session": row.stream, "version": row.version, "type": row.topic, "state": row.state.decode()},
        "previousHash": before.hex(),
        "index": index,
        "proof": [part.hex() for part in inclusion_proof(leaves, index)],
        "checkpoint": sign(Checkpoint(ORIGIN, tree.size, tree.root()), key),
    }


def check_proof(found: dict[str, Any], key: Ed25519PublicKey) -> Checkpoint:
    """The checkpoint that the event is proved to be in; needs no log. Raises NotProved."""
    try:
        event, proof = found["event"], [bytes.fromhex(part) for part in found["proof"]]
        row = Row(0, event["session"], event["version"], event["type"], event["state"].encode(), b"")
        chained = row.chained(bytes.fromhex(found["previousHash"]))
        index, note = int(found["index"]), str(found["checkpoint"])
    except (KeyError, TypeError, ValueError, AttributeError):
        raise NotProved("This is no proof.") from None
    checkpoint = opened(note, key)
    if not proves(chained, index, checkpoint.size, proof, checkpoint.root):
        raise NotProved("The proof does not lead from the event to the checkpoint.")
    return checkpoint
