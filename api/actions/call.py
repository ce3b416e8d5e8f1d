"""What an action gets and gives: a call, plain data without HTTP, and the command that it stands for."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from adapters.store.port import StoredReceipt
from api.node.scopes import Scope
from api.system import System
from domain.values.base import Command
from domain.values.sentences import Sentence

B = TypeVar("B")


@dataclass(frozen=True, slots=True)
class ActionCall(Generic[B]):
    """Who wants what done, whichever way it came in: through HTTP, a form or from this process."""

    system: System
    actor: str
    scope: Scope | None
    """What the caller's key may do; everything if no key is required."""
    body: B
    session: str = ""
    """The session that the call is about; empty if it is about none."""
    part: str = ""
    """The part of the session that the call is about, such as a comment; empty if it is about all of it."""
    version: int | None = None
    """The version that the command is bound to."""
    key: str | None = None
    """The caller's idempotency key."""
    fingerprint: str = ""
    """What identifies the call, together with its key."""
    trace: str = ""
    """The caller's `traceparent`."""

    @property
    def owned_key(self) -> str | None:
        """The key as it is stored: each caller has separate keys."""
        return None if self.key is None else f"{self.actor} {self.key}"

    def receipt(self) -> StoredReceipt | None:
        """Returns the earlier answer under the key."""
        return None if self.owned_key is None else self.system.store.receipt(self.owned_key)


@dataclass(frozen=True, slots=True)
class Intent:
    """A command for a session. `starts`: the session is new; `ok`: the answer also contains `{"ok": true}`;
    `warnings`: what the caller should know, which is not recorded."""

    session_id: str
    command: Command
    starts: bool = False
    status: int = 200
    tagged: bool = True
    ok: bool = False
    warnings: tuple[Sentence, ...] = ()
