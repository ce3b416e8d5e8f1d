"""Commands between their arrival and their answer, and the same answer again for the same key."""

import asyncio
import hashlib
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson

from adapters.store.errors import Conflict, Fenced
from adapters.store.port import StoredReceipt, Write
from adapters.writer.unit_of_work import CommandEnvelope
from domain.session.comments import AddComment
from domain.session.state import Session
from domain.session.turns import Settled
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


@dataclass(slots=True, eq=False)
class Pending:
    """A command that waits for its answer or error, which goes to `future` (of `loop`, if it has one)."""

    envelope: CommandEnvelope
    future: "Future[CommandAnswer] | asyncio.Future[CommandAnswer]"
    loop: asyncio.AbstractEventLoop | None = None
    write: Write | None = None
    sessions: dict[str, Session] = field(default_factory=dict)
    prepared: CommandAnswer | None = None
    twin: "Pending | None" = None
    answer: CommandAnswer | None = None
    error: Exception | None = None
    tries: int = 0

    def restart(self) -> None:
        """Forget the decision; the command is decided again."""
        self.write = self.prepared = self.twin = self.answer = self.error = None
        self.sessions = {}

    def is_overtaken(self, error: Conflict | Fenced) -> bool:
        """True if this command's write was the one in conflict."""
        entries = self.write.entries if self.write is not None else ()
        match error:
            case Conflict():
                return self.envelope.key in error.keys or any(entry.session_id in error.streams for entry in entries)
            case Fenced():
                settled = (entry.event for entry in entries if isinstance(entry.event, Settled))
                return any(event.turn_id == error.turn_id for event in settled)

    @property
    def ended(self) -> bool:
        return self.answer is not None or self.error is not None

    def wanted(self) -> bool:
        """True if the caller still waits for it; from now on it cannot leave."""
        if isinstance(self.future, Future):
            return self.future.set_running_or_notify_cancel()
        return not self.future.cancelled()

    def resolve(self) -> None:
        if self.loop is not None and self.future.done():
            return  # the caller has left
        if self.answer is not None:
            self.future.set_result(self.answer)
        else:
            self.future.set_exception(self.error or RuntimeError("The command came to no end."))

    # -- under a key -----------------------------------------------------------------------------------------------

    def answered_before(self, key: str, receipts: Mapping[str, StoredReceipt], first: "dict[str, Pending]") -> bool:
        """True if the same request was answered before, or comes twice in this batch."""
        earlier = first.setdefault(key, self)
        if earlier is not self:
            same(earlier.envelope.fingerprint, self.envelope.fingerprint)
            self.twin = earlier
            return True
        receipt = receipts.get(key)
        if receipt is None:
            return False
        same(receipt.fingerprint, self.envelope.fingerprint)
        self.answer = first_answer(receipt)
        return True

    def receipt(self) -> Callable[[int], StoredReceipt]:
        """The store makes the receipt when it knows the position; the caller gets the same answer."""

        def receipt(position: int) -> StoredReceipt:
            self.prepared = answer_to(self.envelope, self.sessions, position)
            return receipt_of(self.envelope, self.prepared, self.sessions[self.envelope.session_id].updated_at)

        return receipt

    def repeat(self) -> None:
        """Take over the answer of the same request earlier in this batch."""
        if self.twin is None or self.ended:
            return
        if self.twin.answer is not None:
            self.answer = self.twin.answer._replace(replayed=True)
        elif self.twin.error is not None:
            self.error = again(self.twin.error)


def answer_callers(batch: Iterable[Pending]) -> None:
    """Answer the callers; each event loop is woken once."""
    loops: dict[asyncio.AbstractEventLoop, list[Pending]] = {}
    for pending in batch:
        if pending.loop is None:
            pending.resolve()
        else:
            loops.setdefault(pending.loop, []).append(pending)
    for loop, answers in loops.items():
        try:
            loop.call_soon_threadsafe(_resolve_all, answers)
        except RuntimeError:
            continue  # the loop has ended, and its callers with it


def _resolve_all(batch: Iterable[Pending]) -> None:
    for pending in batch:
        pending.resolve()


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
