"""Reads what proofs consist of: files, signed checkpoints and public keys."""

from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from adapters.proof import checkpoints
from adapters.proof.checkpoints import SignedHead
from api.cli import exits
from api.cli.error_words import words_of
from api.cli.exits import Failed
from api.cli.labels import sentence
from api.node.settings import Settings
from domain.values.sentences import sentence_of


def opened_checkpoint(path: Path, key: str | None, settings: Settings) -> SignedHead:
    """The content of the checkpoint. Raises Failed for a file that is none, or one that this key did not sign:
    neither says anything about the log.
    """
    note, public = read_words(path), public_key_of(key or _own_public_key(settings))
    try:
        return checkpoints.opened(note, public)
    except checkpoints.NotProved as error:
        is_none = getattr(sentence_of(error), "code", "") == "not_a_checkpoint"
        raise Failed(f"{path}: {words_of(error)}", code=exits.USAGE if is_none else exits.NOT_VERIFIED) from None


def public_key_of(text: str) -> Ed25519PublicKey:
    try:
        return checkpoints.public_key(text)
    except checkpoints.NotProved as error:
        raise Failed(words_of(error), code=exits.USAGE) from None


def _own_public_key(settings: Settings) -> str:
    try:
        return checkpoints.public_text(checkpoints.known_key(settings.signing_key))
    except checkpoints.NotProved as error:
        raise Failed(words_of(error), code=exits.USAGE) from None


def read_words(path: Path) -> str:
    """The text of the file, without a byte order mark. Raises Failed."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        problem = sentence("{path} cannot be read: {strerror}.", path=path, strerror=exits.reason_of(error))
        raise Failed(problem, code=exits.USAGE) from None
    except UnicodeDecodeError:
        raise Failed(sentence("{path} cannot be read: it is not UTF-8.", path=path), code=exits.USAGE) from None
