"""The basic types: instants, values, events, commands, and the ways in which a command can fail."""

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, ClassVar, Final, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from domain.values.sentences import Sentence

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def iso(at: int) -> str:
    """`2026-11-21T22:30:00.000Z`"""
    return (_EPOCH + timedelta(milliseconds=at)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def milliseconds(text: str) -> int:
    """The instant of an ISO text; without an offset it is read as UTC. Raises ValueError."""
    when = datetime.fromisoformat(text)
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return (when - _EPOCH) // timedelta(milliseconds=1)


# -- values, events, commands ------------------------------------------------------------------------------------------


INLINE_BYTES = 16_384
"""A text with more UTF-8 bytes than this is stored once, by its digest; events that refer to it keep its beginning."""


class Value(BaseModel):
    """An immutable, closed value; camelCase on the wire, snake_case in Python."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        defer_build=True,  # there are hundreds of these classes, and a start needs only a few
    )

    def changed(self, **changes: object) -> Self:
        """A copy with other fields, which are not validated (as in `model_copy`); several times as fast.

        Raises TypeError for a field that the value does not have.
        """
        if not changes.keys() <= self.__dict__.keys():
            raise TypeError(f"{type(self).__name__} has no field {', '.join(changes.keys() - self.__dict__.keys())}")
        copy = object.__new__(type(self))
        give = object.__setattr__
        give(copy, "__dict__", self.__dict__ | changes)
        give(copy, "__pydantic_fields_set__", self.__pydantic_fields_set__)
        give(copy, "__pydantic_extra__", None)
        give(copy, "__pydantic_private__", None)
        return copy


class Blob(Value):
    """The full text, if it is too long for an event."""

    digest: str
    content: str


class Derived(Value):
    """How a text follows from earlier events of its session, so that it is not stored again.

    `rounds` are the contributions to a discussion up to an event, `subject` is what it discusses, and `prompt` is a
    template filled with the context of a turn's request.
    """

    what: Literal["subject", "rounds", "prompt"]
    session_id: str
    version: int = Field(description="the last event that it follows from; for a prompt, the request")
    seen: str | None = Field(default=None, description="identifies the contributions")
    between: str | None = Field(default=None, description="what separates them; an empty line, if not given")
    template: str | None = Field(default=None, description="SHA-256 of the template")
    language: str | None = Field(default=None, description="the language of the template")


class Text(Value):
    """A text of any length: `head` holds up to `INLINE_BYTES`, `digest` (SHA-256) identifies the whole.

    A derived text has neither in the log.
    """

    head: str = ""
    length: int = Field(default=0, description="UTF-8 bytes of the whole text")
    digest: str | None = None
    derived: Derived | None = Field(default=None, description="how it follows from earlier events, if it is not stored")

    @classmethod
    def of(cls, content: str) -> tuple[Self, tuple[Blob, ...]]:
        """The text, and what has to be stored separately, next to the event that refers to it."""
        encoded = content.encode()
        if len(encoded) <= INLINE_BYTES:
            return cls(head=content, length=len(encoded)), ()
        digest = hashlib.sha256(encoded).hexdigest()
        head = encoded[:INLINE_BYTES].decode(errors="ignore")
        return cls(head=head, length=len(encoded), digest=digest), (Blob(digest=digest, content=content),)

    def shown(self) -> str:
        """The text for quoting; for a long one its beginning, and how much there is."""
        if self.digest is None:
            return self.head
        return f"{self.head}\n[… cut here: {len(self.head.encode())} of {self.length} bytes]"


MOST: Final = 2**53 - 1
"""The largest count: the largest integer that every reader of JSON knows exactly."""
Count = Annotated[int, Field(ge=0, le=MOST)]


class Usage(Value):
    """What one turn cost, as reported by the agent: None is unknown, not zero. Money in millionths.

    `input_tokens` includes what was read from and written to a cache, `cached_tokens` is what was read from it;
    `output_tokens` includes `reasoning_tokens`.
    """

    input_tokens: Count | None = None
    cached_tokens: Count | None = None
    output_tokens: Count | None = None
    reasoning_tokens: Count | None = None
    cost_micros: Count | None = None

    @property
    def tokens(self) -> int | None:
        if self.input_tokens is None or self.output_tokens is None:
            return self.input_tokens if self.output_tokens is None else self.output_tokens
        return self.input_tokens + self.output_tokens


class DomainEvent(BaseModel):
    """A fact of a session, in the past tense. `TOPIC` is its name in the log and never changes.

    Closed when we make one, tolerant when an old or newer log brings one: unknown fields are ignored.
    """

    model_config = ConfigDict(
        frozen=True, alias_generator=to_camel, validate_by_name=True, validate_by_alias=True, defer_build=True
    )
    TOPIC: ClassVar[str]


class Command(Value):
    """A request to change a session. Time and ids are passed with it; `blobs` are the long texts that its events will
    refer to."""

    REFUSAL: ClassVar[str] = "does_not_take_command"
    """The code with which a session refuses this command if it does not take it."""
    ACTION: ClassVar[str] = ""
    """The action by which a person asks for it, as in the session's allowed actions; empty where none does."""
    blobs: tuple[Blob, ...] = Field(default=(), exclude=True)


class StartCommand(Command):
    """A command that begins a session; no session takes it twice."""


class HansardError(Exception):
    """An error, in one sentence; a `Sentence` also has a code. `replayed`: the same answer as before.

    The tree of errors; `api.http.problems` gives each its HTTP status:

    HansardError
    ├── Invalid                what was sent does not fit: which field, and why
    ├── Malformed              not JSON by our rules
    │   └── EmptyMessage
    ├── Unknown                no such thing
    ├── Stale                  the session is newer than the version that the caller saw
    ├── Refused                the session does not allow this now
    │   ├── Forbidden          others may do this, but not the caller
    │   │   └── ScopeNeeded
    │   ├── LeaseLost          a worker no longer holds its turn
    │   ├── Moved              the workspace changed while the turn ran
    │   └── NotStarted         who would do the work is not there
    │       ├── AgentNotReady
    │       └── NoTeam
    ├── Problem                an error of HTTP itself
    │   └── UnknownHost
    ├── Busy                   the writer has too many commands waiting
    ├── KeyReused              an idempotency key came with another request
    ├── Repeated               the first answer under a key was an error, and is given again
    ├── StoreError             the store does not answer now
    │   ├── Broken             it will not answer until a person repairs it
    │   │   ├── DamagedEvent
    │   │   ├── NotEmpty       the target of a migration
    │   │   └── ViewsBroken
    │   ├── Conflict           another process has stored a version first
    │   ├── Rewound            the log has gone back since this process last wrote to it
    │   ├── Fenced             the attempt does not hold the turn
    │   ├── LogInUse           a process has the log open that is to be replaced
    │   ├── Moving             the source of a migration was written to
    │   ├── Unconfirmed        the database did not say whether it committed
    │   └── ViewsUnavailable
    │       └── ViewsBroken
    ├── WorkspaceError         git or the folder of a session
    │   ├── BranchMoved
    │   ├── CommitNotHere
    │   ├── DoesNotFit
    │   ├── GitRefused
    │   ├── InTheWay
    │   ├── NewerVersions
    │   ├── Lasting            trying again does not help
    │   │   ├── CommitsFail
    │   │   ├── CommitsInTheWay
    │   │   └── NotShown       the person's filters cannot show their files
    │   ├── MergeConflict
    │   ├── NoBranch
    │   ├── NotConverted
    │   ├── NotHere            a partial clone lacks it
    │   └── TooLarge
    ├── ForgeError             a forge does not do what it was asked
    │   ├── ForgeAway
    │   ├── ForgeLimited
    │   ├── ForgeNonsense
    │   └── ForgeRefused
    ├── Unreadable             what an agent says is not what was asked for
    ├── Misreadable            a program could mistake a value for an option
    ├── Rejected               an agent cannot take a turn
    ├── PeerError              an agent answers one of our requests with an error
    ├── Unsupported            an agent asks for something that we do not have
    ├── BadForge, BadProject, BadSecret, BadTeam       files of settings that cannot be used
    ├── NoFence                programs cannot be fenced as the settings ask
    ├── NotImported            an export cannot be taken in
    │   └── AlreadyThere
    ├── NotProved              a proof does not hold
    ├── Unchecked              something outside the log could not be checked
    └── Unfit                  a file cannot be read as expected
    """

    replayed: bool = False


class Refused(HansardError):
    """The session does not allow this now."""

    def __init__(self, sentence: str, *, allowed: tuple[str, ...] = ()) -> None:
        super().__init__(sentence)
        self.allowed = allowed


class Forbidden(Refused):
    """Other people may do this, but not the caller."""


class Stale(HansardError):
    """The session is newer than the version that the caller saw."""

    def __init__(self, *, expected: int, actual: int) -> None:
        super().__init__(Sentence("version_mismatch", number=actual, given=expected))
        self.expected, self.actual = expected, actual


class Unknown(HansardError):
    """No such thing."""


class Invalid(HansardError):
    """Well-formed but not valid: which field (a JSON pointer) and why."""

    def __init__(self, errors: Mapping[str, str]) -> None:
        super().__init__("; ".join(f"{pointer}: {detail}" for pointer, detail in errors.items()))
        self.errors = dict(errors)


class Unreadable(HansardError):
    """An agent's reply that does not fit the question."""


# Changed copies: what is immutable is never modified in place.

K = TypeVar("K")
V = TypeVar("V")
D = TypeVar("D")


def changed(value: D, **changes: object) -> D:
    """A copy of a dataclass without slots, with other fields: like `dataclasses.replace`, several times as fast.

    Raises TypeError for a field that it does not have.
    """
    fields = vars(value)
    if not changes.keys() <= fields.keys():
        raise TypeError(f"{type(value).__name__} has no field {', '.join(changes.keys() - fields.keys())}")
    copy = object.__new__(type(value))
    vars(copy).update(fields, **changes)
    return copy


def absent(value: object) -> bool:
    """For `exclude_if` of a field that is left out where it is null."""
    return value is None


def none_listed(values: object) -> bool:
    """For `exclude_if` of a list that is left out where it is empty."""
    return not values


def counted(counts: dict[str, int], key: str) -> dict[str, int]:
    return counts | {key: counts.get(key, 0) + 1}


def without(mapping: dict[K, V], gone: K) -> dict[K, V]:
    """A copy without one key, whether or not it is there."""
    return {key: value for key, value in mapping.items() if key != gone}
