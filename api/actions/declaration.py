"""The declaration of an action: the one place for its path, scope, body, answer and texts. Routes, the description of
the API, forms and the tools for agents are read from it. An action gets a call, plain data without HTTP, and gives the
command that it stands for."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, TypeVar

from adapters.store.port import StoredReceipt
from api.actions.answers import WriterAnswer
from api.actions.bodies import Body, BodyByKind
from api.node.scopes import Scope
from api.system import System
from domain.values.base import Command, Value
from domain.values.json import JSON
from domain.values.sentences import Sentence
from projections.views.base import View

B = TypeVar("B", bound=Body)
C = TypeVar("C")


@dataclass(frozen=True, slots=True)
class ActionCall(Generic[C]):
    """The call of an action: who wants what done, whichever way it came in, through HTTP, a form or from this
    process."""

    system: System
    actor: str
    scope: Scope | None
    """What the caller's key may do; everything if no key is required."""
    body: C
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


Perform = Callable[[ActionCall[B]], Awaitable[Intent | View]]


class FormOf(NamedTuple):
    """The form in which pages ask for an action of a session.

    `fields` are places in the body, all of them if none are named; `units` are fields that people fill in another unit
    than programs, with the field of the body. `again`: it also applies to newer versions of a busy session, as long as
    its state is the one seen; `ends`: needs confirmation; `bound`: to the version seen.
    """

    fields: tuple[str, ...] = ()
    units: Mapping[str, str] = MappingProxyType({})
    again: bool = False
    ends: bool = False
    bound: bool = True


class Tool(NamedTuple):
    """The tool by which agents call an action. `kind`: of the sessions that it starts."""

    name: str
    description: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Action(Generic[B]):
    """Something that a person or a program can do. `refuses` are statuses beyond the usual."""

    path: str
    scope: Scope
    body: type[B] | BodyByKind
    answer: type[Value]
    summary: str
    example: Mapping[str, Any]
    perform: Perform[B]
    description: str = ""
    status: int = 200
    refuses: tuple[int, ...] = ()
    tag: str = "Sessions"
    form: FormOf | None = None
    tools: tuple[Tool, ...] = ()

    @property
    def name(self) -> str:
        return self.perform.__name__

    @property
    def verb(self) -> str:
        """The last part of the path: what forms and commands call it."""
        return self.path.rpartition("/")[2].strip("{}")

    @property
    def is_of_session(self) -> bool:
        return "{id}" in self.path

    @property
    def is_recorded(self) -> bool:
        """True if the writer carries it out, and keeps its answer with its events."""
        return issubclass(self.answer, WriterAnswer)

    def model(self, fields: Mapping[str, JSON]) -> type[Body]:
        """Returns the model of a body with these fields. Raises Invalid for an unknown kind."""
        return self.body.of(fields) if isinstance(self.body, BodyByKind) else self.body


def action(
    path: str,
    *,
    scope: Scope,
    body: type[B] | BodyByKind,
    answer: type[Value],
    summary: str,
    example: Mapping[str, Any],
    description: str = "",
    status: int = 200,
    refuses: tuple[int, ...] = (),
    tag: str = "Sessions",
    form: FormOf | None = None,
    tools: tuple[Tool, ...] = (),
) -> Callable[[Perform[B]], Action[B]]:
    """Declares the function below as what is done at this path."""

    def declared(perform: Perform[B]) -> Action[B]:
        return Action(
            path=path,
            scope=scope,
            body=body,
            answer=answer,
            summary=summary,
            example=example,
            perform=perform,
            description=description,
            status=status,
            refuses=refuses,
            tag=tag,
            form=form,
            tools=tools,
        )

    return declared
