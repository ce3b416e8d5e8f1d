"""Signed checkpoints (C2SP tlog-checkpoint, Ed25519) and proofs of inclusion, for people who trust only a key.

A hash chain alone does not show that its end was cut off; a checkpoint that is kept elsewhere does."""

import base64
import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from adapters.proof.merkle import Tree
from adapters.store.port import Log
from adapters.store.rows import Row
from domain.values.base import HansardError
from domain.values.sentences import Sentence

ORIGIN = "hansard"
_DASH = "\N{EM DASH}"


class NotProved(HansardError):
    """The proof does not hold, or the file is not what it claims to be."""


@dataclass(frozen=True, slots=True)
class SignedHead:
    """This many events had this tree head, according to the holder of the key."""

    origin: str
    size: int
    root: bytes

    def body(self) -> str:
        return f"{self.origin}\n{self.size}\n{base64.b64encode(self.root).decode()}\n"


def signing_key(path: Path) -> Ed25519PrivateKey:
    """The log's own key; created on first use, readable only by its owner."""
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
        raise NotProved(Sentence("signing_key_unreadable", path=path, detail=error)) from None


def known_key(path: Path) -> Ed25519PrivateKey:
    """The log's own key, if it has one. Raises NotProved."""
    if not path.exists():
        raise NotProved(Sentence("signing_key_missing", path=path))
    return signing_key(path)


def public_text(key: Ed25519PrivateKey) -> str:
    """The public key in base64, to be kept where the owner of the log cannot change it."""
    return base64.b64encode(key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)).decode()


def public_key(text: str) -> Ed25519PublicKey:
    """Raises NotProved."""
    try:
        return Ed25519PublicKey.from_public_bytes(base64.b64decode(text.strip(), validate=True))
    except ValueError as error:
        raise NotProved(Sentence("not_a_public_key", detail=error)) from None


def head(store: Log) -> SignedHead:
    """The checkpoint over everything in the log now. Raises NotProved if a chain is broken: damaged logs should not be
    signed."""
    growing = GrowingHead(store)
    growing.read()
    return growing.now()


class GrowingHead:
    """The checkpoint of a growing log: each row is read once."""

    def __init__(self, store: Log) -> None:
        # Reads events: who only checks a proof goes without all their classes.
        from adapters.proof.redactions import ChangedEvents, redaction_in

        self._rows, self._tree, self._position = store.rows, Tree(), 0
        self._redaction_in, self._changed = redaction_in, ChangedEvents(store.rows.known_texts)

    @property
    def size(self) -> int:
        return self._tree.size

    def read(self) -> None:
        """Add new rows. Raises NotProved if a chain is broken, except where a redaction of an older version is why."""
        heads = dict[str, Row]()
        for row in self._rows.events(after=self._position):
            before = heads.get(row.stream) or self._rows.row(row.stream, row.version - 1)
            if row.chained(before.hash if before else b"") != row.hash:
                self._changed.add(row, form=before.form if before else 1)
            if (event := self._redaction_in(row)) is not None:
                self._changed.drop(row.stream, event)
            heads[row.stream] = row
            self._tree.add(row.hash)
            self._position = row.position
        if (changed := self._changed.first()) is not None:
            raise NotProved(Sentence("event_changed", position=changed))

    def now(self) -> SignedHead:
        return SignedHead(ORIGIN, self._tree.size, self._tree.root())


def sign(checkpoint: SignedHead, key: Ed25519PrivateKey) -> str:
    """The signed note."""
    public = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    signature = _key_id(checkpoint.origin, public) + key.sign(checkpoint.body().encode())
    return f"{checkpoint.body()}\n{_DASH} {checkpoint.origin} {base64.b64encode(signature).decode()}\n"


def _key_id(name: str, public: bytes) -> bytes:
    return hashlib.sha256(f"{name}\n".encode() + b"\x01" + public).digest()[:4]


def opened(note: str, key: Ed25519PublicKey) -> SignedHead:
    """The checkpoint of a note that this key signed; others may have signed it, too. Raises NotProved."""
    body, separator, signatures = note.partition("\n\n")
    checkpoint = _checkpoint(body)
    if not separator or checkpoint is None or checkpoint.body() != f"{body}\n" or not signatures.endswith("\n"):
        raise NotProved(Sentence("not_a_checkpoint"))
    key_id = _key_id(checkpoint.origin, key.public_bytes(Encoding.Raw, PublicFormat.Raw))
    ours = [
        signed for signed in map(_signature, signatures[:-1].split("\n")) if signed[:2] == (checkpoint.origin, key_id)
    ]
    if not ours:
        raise NotProved(Sentence("checkpoint_of_another_key"))
    try:
        key.verify(ours[0][2], checkpoint.body().encode())
    except InvalidSignature:
        raise NotProved(Sentence("checkpoint_signature_invalid")) from None
    return checkpoint


def noted(note: str) -> SignedHead | None:
    """Returns the checkpoint in a note, whoever signed it; None if the note holds none."""
    return _checkpoint(note.partition("\n\n")[0])


def _checkpoint(body: str) -> SignedHead | None:
    try:
        body.encode()
        origin, size, root = body.split("\n")
        return SignedHead(origin, int(size), base64.b64decode(root, validate=True))
    except ValueError:
        return None


def _signature(line: str) -> tuple[str, bytes, bytes]:
    """Name, key id and signature of a signature line. Raises NotProved."""
    try:
        dash, name, signed = line.split(" ")
        data = base64.b64decode(signed, validate=True)
    except ValueError:
        raise NotProved(Sentence("not_a_checkpoint")) from None
    if dash != _DASH or not name or len(data) < 5:
        raise NotProved(Sentence("not_a_checkpoint"))
    return name, data[:4], data[4:]


def holds(store: Log, checkpoint: SignedHead) -> str | None:
    """The fault of the log according to a checkpoint; None if it still begins with what was signed."""
    tree = Tree()
    for row in store.rows.events():
        if tree.size == checkpoint.size:
            break
        tree.add(row.hash)
    if tree.size < checkpoint.size:
        return Sentence("fault_log_cut", number=checkpoint.size, most=tree.size)
    if tree.root() != checkpoint.root:
        return Sentence("fault_signed_events", number=checkpoint.size)
    return None
