"""Commands between their arrival and their answer, and the same answer again for the same key."""

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import orjson

from adapters.store.port import StoredReceipt
from adapters.writer.unit_of_work import CommandEnvelope
from domain.session.comments import AddComment
from domain.session.state import Session
from domain.values.base import Forbidden, HansardError, Refused, Stale, Unknown
from domain.values.sentences import Sentence, from_wire, sentence_of, wire

REFUSED = 0
"""The status of a receipt with a refusal; the API chooses the HTTP status."""
_ERRORS = 400
"""From here on, a status is the API's own, and the body is its problem document."""


class Busy(HansardError):
    """More commands wait than the writer accepts; try again."""


class KeyReused(HansardError):
    """The same key was used with another request."""


class Repeated(HansardError):
    """The first answer under the key was an error that never became a command: its status and its exact bytes."""

    replayed = True

    def __init__(self, receipt: StoredReceipt) -> None:
        super().__init__(Sentence("already_answered"))
        self.status, self.body = receipt.status, receipt.body


class CommandAnswer(NamedTuple):
    """The result of a command, with status and body for the API; `replayed` if it was answered before."""

    status: int
    body: bytes
    session_id: str = ""
    version: int = 0
    position: int = 0
    replayed: bool = False


def answer_to(envelope: CommandEnvelope, sessions: Mapping[str, Session], position: int) -> CommandAnswer:
    """The answer to a command that led to these sessions and to this position (contract §2).

    It describes the addressed session, or the one that a channel passed the command to.
    """
    session = sessions[envelope.session_id]
    more = session.receipt()
    if isinstance(envelope.command, AddComment):
        more |= {"commentId": session.comments.newest_id}
    subject = sessions.get(str(more.get("sessionId")), session) if more else session
    if subject is not session:
        more |= {"version": subject.version}
    body = {"sessionId": subject.id, "kind": subject.kind, "version": subject.version, "position": position, **more}
    fields = {name: value for name, value in body.items() if value is not None} if more else body
    return CommandAnswer(envelope.status, orjson.dumps(fields), subject.id, subject.version, position)


def same(first: str, second: str) -> None:
    """Raises KeyReused if one key comes with two requests."""
    if first != second:
        raise KeyReused(Sentence("idempotency_key_reused"))


def receipt_of(envelope: CommandEnvelope, answer: CommandAnswer, at: int) -> StoredReceipt:
    """The part of an answer that is kept under the envelope's key."""
    return StoredReceipt(_key(envelope), envelope.fingerprint, answer.status, answer.body, at)


def refusal_of(envelope: CommandEnvelope, error: HansardError, at: int) -> Callable[[int], StoredReceipt]:
    """A refusal is an answer, too: the same key is refused with the same text, whatever has happened since."""
    receipt = StoredReceipt(_key(envelope), envelope.fingerprint, REFUSED, orjson.dumps(_words(error)), at)
    return lambda _: receipt


def _key(envelope: CommandEnvelope) -> str:
    assert envelope.key is not None, "only a command with a key leaves a receipt"
    return envelope.key


def _words(error: HansardError) -> dict[str, Any]:
    words: dict[str, Any] = {"error": type(error).__name__, "sentence": str(error), **wire(sentence_of(error))}
    match error:
        case Refused():
            words["allowed"] = error.allowed
        case Stale():
            words |= {"expected": error.expected, "actual": error.actual}
    return words


def first_answer(receipt: StoredReceipt) -> CommandAnswer:
    """The answer that was given under the key; raises the earlier refusal, or Repeated."""
    if receipt.status >= _ERRORS:
        raise Repeated(receipt)
    words = orjson.loads(receipt.body)
    if receipt.status == REFUSED:
        raise _first_refusal(words)
    session_id, version = words.get("sessionId", ""), words.get("version", 0)
    return CommandAnswer(receipt.status, receipt.body, session_id, version, words["position"], replayed=True)


def again(error: Exception) -> Exception:
    """The error for a caller with the same key a moment later."""
    return _first_refusal(_words(error)) if isinstance(error, Refused | Stale | Unknown) else error


def _first_refusal(words: Mapping[str, Any]) -> HansardError:
    error: HansardError
    sentence = from_wire(words["sentence"], words.get("code"), words.get("params"))
    match words["error"]:
        case "Stale":
            error = Stale(expected=words["expected"], actual=words["actual"])
        case "Forbidden":
            error = Forbidden(sentence)
        case "Unknown":
            error = Unknown(sentence)
        case _:
            error = Refused(sentence, allowed=tuple(words.get("allowed", ())))
    error.replayed = True
    return error


def fingerprint(*parts: bytes) -> str:
    """The digest that identifies a request, together with its key."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()
