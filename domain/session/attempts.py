"""Outstanding turns and their attempts: what happens after an attempt has failed (contract-2 §10).

A turn is one question to one agent. A failed attempt is followed by another one: at once, after a wait, in a new
conversation, or by another agent. If none is left, the turn has failed, and a person may retry it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple, Self, get_args

from pydantic import Field

from domain.values.base import Unreadable, Value, absent
from domain.values.sentences import Sentence, coded, rewritten, sentence_of

Work = Literal["ask", "prepare", "validate", "package", "land", "wait"]
"""`wait` is a person's turn: no worker runs it, it only has a deadline."""
Retryable = Literal[
    "rate_limit", "overloaded", "network", "crash", "timeout", "idle", "unreadable", "lost_conversation", "workspace"
]
Waiting = Literal["setup", "branch"]
"""The set-up fails without the changes, too; or a person has the session's branch checked out, so that no result can
be put on it. It is tried again later, like a provider that is overloaded."""
Final = Literal["auth", "refused", "limit", "deadline"]
Unready = Literal["validation_not_startable", "validation_escapes_workspace", "setup_failed"]
"""Why a delivery's validation would prove nothing: no agent is asked."""
OldCode = Literal["provider", "bad_output"]
"""Codes that only old logs and old external workers contain."""
FailureCode = Literal[Retryable, Waiting, Final, Unready, OldCode]
RETRYABLE: frozenset[str] = frozenset((*get_args(Retryable), *get_args(Waiting), *get_args(OldCode)))


def _retryable(fields: dict[str, object]) -> bool:
    return fields.get("code") in RETRYABLE


class Failure(Value):
    """Why a turn has no usable answer: a value, never an exception."""

    code: FailureCode
    detail: str = ""
    retryable: bool = Field(default_factory=_retryable, description="whether asking again may help")
    retry_after: Annotated[float, Field(ge=0)] | None = Field(
        default=None, description="seconds to wait, if the agent says so"
    )
    sentence: Sentence | None = Field(
        default=None, exclude_if=absent, description="`detail` as data, where Hansard wrote it"
    )

    @classmethod
    def of(cls, code: FailureCode, why: str, *, retry_after: float | None = None) -> Self:
        """The failure for this reason; the reason is also kept as data if it is a sentence of Hansard."""
        return cls(code=code, detail=str(why), retry_after=retry_after, sentence=coded(why))

    @property
    def why(self) -> str:
        """The detail, as a sentence if it is one."""
        return self.sentence or self.detail

    @property
    def checked_out_in(self) -> str | None:
        """The folder in which a person has the session's branch checked out, where that is the reason."""
        reason = self.branch_in_use
        return str(reason.params["path"]) if reason is not None and reason.code == "branch_checked_out" else None

    @property
    def branch_in_use(self) -> Sentence | None:
        """The sentence that says where the session's branch is checked out and what to do, where that is the reason."""
        detail = self.sentence.params.get("detail") if self.sentence is not None else None
        return detail if self.code == "branch" and isinstance(detail, Sentence) else None

    def rewritten(self, change: Callable[[str], str]) -> Self:
        """The failure with `change` applied to its reason, for example to remove secrets."""
        why = rewritten(self.why, change)
        return self.changed(detail=str(why), sentence=coded(why))


Next = Literal["retry", "repair", "new_conversation", "fallback"]
PROVIDERS = ("rate_limit", "overloaded")
"""The failures after which a provider is waited for."""
PROVIDER_WAITS = frozenset((*PROVIDERS, *get_args(Waiting)))
"""Waits for others: they use up no minutes of the budget."""
_NEVER_AGAIN = frozenset(("refused", "limit", "deadline", *get_args(Unready)))


Seconds = Annotated[float, Field(ge=0, le=86_400)]


class RetryPolicy(Value):
    """How often, and after how long, a failed turn is retried. `second` is the length of a backoff second in
    milliseconds (1,000; tests shorten it)."""

    attempts: Annotated[int, Field(ge=1, le=100)] = 5
    backoff_seconds: Annotated[tuple[Seconds, ...], Field(min_length=1, max_length=50)] = (5.0, 30.0, 120.0, 600.0)
    max_wait_seconds: Annotated[float, Field(ge=0, le=2_592_000)] = 21_600.0
    repairs: Annotated[int, Field(ge=0, le=10)] = 1
    fallback: tuple[str, ...] = ()
    second: Annotated[int, Field(ge=0)] = 1_000

    def backoff(self, tries: int) -> float:
        """Seconds before the next try, after `tries` of them; the last entry repeats."""
        return self.backoff_seconds[min(tries, len(self.backoff_seconds)) - 1]


ONCE = RetryPolicy(attempts=1, repairs=0, second=0)
"""The policy of sessions from before attempts existed. They keep the rules of their time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tries:
    """The attempts of one turn so far. `tried` and `repaired` count since the last retry by a person; `ended` are all
    with a recorded end. While the turn waits, `until` is when it continues (milliseconds) and `reason` why it waits."""

    tried: int = 0
    repaired: int = 0
    ended: int = 0
    agents: tuple[str, ...] = ()
    until: int | None = None
    reason: str | None = None
    problem: Sentence | str = ""
    """What was wrong with the last answer, if the agent is asked again."""
    new_conversation: bool = False
    """Whether the next attempt starts a new conversation, because the last one was lost."""
    checked_out_in: str | None = None
    """The folder in which a person has the branch checked out that the turn waits for."""


FRESH = Tries()


# A person's words for the agents: the reason of an extension, a retry or a decision reaches the next prompt.

Occasion = Literal["extended", "retried", "decided"]
SUBSTITUTED = "substituted in a fork"
"""What a fork records as a reason where nobody gave one."""


class PersonWords(NamedTuple):
    """The words of a person, their occasion, and the event that has them (its version). The words of a decision are in
    the review or debate that was decided, `child`."""

    version: int
    occasion: Occasion
    words: str = ""
    child: str | None = None


_MOST_WORDS = 50
"""How many remarks of a person wait for an agent at most. Older ones stay in the record; a prompt has room for few, and
a command must not cost more the longer its session is."""


def with_words(unheard: tuple[PersonWords, ...], more: PersonWords) -> tuple[PersonWords, ...]:
    """The newest words that wait for an agent, with these; without words nothing is added."""
    if more.child is None and more.words.strip() in ("", SUBSTITUTED):
        return unheard
    return (*unheard[1 - _MOST_WORDS :], more)


class Outstanding(NamedTuple):
    """A turn that was requested and is not settled."""

    turn_id: str
    work: Work
    agent: str
    role: str
    requested_at: int
    phase: str | None = None
    round: int | None = None
    lane: int = 0
    deadline: str | None = None
    ordinal: int = 0
    role_ordinal: int = 0
    tries: Tries = FRESH
    heard: tuple[PersonWords, ...] = ()
    """What persons have said that its prompt tells the agent."""

    @property
    def provider_wait(self) -> int | None:
        """The end of a wait that a provider imposes, in milliseconds."""
        return self.tries.until if self.tries.reason in PROVIDER_WAITS else None


class NextAttempt(NamedTuple):
    """The step after a failed attempt: `at` is the time of the next one (milliseconds), None for immediately."""

    next: Next
    at: int | None = None
    agent: str | None = None


def step_after(
    failure: Failure, tries: Tries, policy: RetryPolicy, *, agent: str, at: int, barred: Sequence[str] = ()
) -> NextAttempt | None:
    """The next attempt; None if there is none left. `barred` agents never take over the turn."""
    tried = tries.tried + 1
    match failure.code:
        case "unreadable" | "bad_output":
            return NextAttempt("repair") if tries.repaired < policy.repairs else None
        case "auth":
            return _fallback(tries, policy, agent, barred)
        case code if code in _NEVER_AGAIN:
            return None
        case _ if tried >= policy.attempts:
            return _fallback(tries, policy, agent, barred)
        case "lost_conversation":
            return NextAttempt("new_conversation")
    seconds = policy.backoff(tried) if failure.retry_after is None else failure.retry_after
    if seconds > policy.max_wait_seconds:
        return _fallback(tries, policy, agent, barred)
    return NextAttempt("retry", at=at + round(seconds * policy.second))


def _fallback(tries: Tries, policy: RetryPolicy, agent: str, barred: Sequence[str]) -> NextAttempt | None:
    """The next agent of the list that has not yet tried the turn."""
    passed_over = {name.casefold() for name in (*tries.agents, agent, *barred)}
    free = next((name for name in policy.fallback if name.casefold() not in passed_over), None)
    return NextAttempt("fallback", agent=free) if free is not None else None


def after(tries: Tries, failure: Failure, step: NextAttempt, *, agent: str) -> Tries:
    """The attempts of the turn after this one is recorded."""
    repair, fallback = step.next == "repair", step.next == "fallback"
    return Tries(
        tried=0 if fallback else tries.tried + (not repair),
        repaired=0 if fallback else tries.repaired + repair,
        ended=tries.ended + 1,
        agents=(*tries.agents, agent) if fallback else tries.agents,
        until=step.at,
        reason=failure.code if step.at is not None else None,
        problem=failure.why if repair else "",
        new_conversation=step.next == "new_conversation",
        checked_out_in=failure.checked_out_in if step.at is not None else None,
    )


# Failures in words.


def unreadable(problem: Unreadable) -> Failure:
    """Returns a failure that says why an answer counts as none."""
    return Failure.of("unreadable", sentence_of(problem))


def failure_sentence(agent: str, failure: Failure) -> Sentence:
    """Whose turn failed, and why."""
    text = f"{agent}: {failure.code}: {failure.detail}".rstrip(": ")
    code, params = Sentence(f"failure_{failure.code}"), {"detail": failure.why} if failure.detail else {}
    named = "turn_failed_because" if failure.sentence else "turn_failed"
    return Sentence.foreign(text, named, agent=agent, failure=code, **params)
