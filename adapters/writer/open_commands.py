"""Commands that wait for their answer."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field

from adapters.store.errors import Conflict, Fenced
from adapters.store.port import StoredReceipt, Write
from adapters.writer.answers import CommandAnswer, again, answer_to, first_answer, receipt_of, same
from adapters.writer.unit_of_work import CommandEnvelope
from domain.session.state import Session
from domain.session.turns import Settled


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
