"""The parts of a trail: something that an event recorded, with the version of that event."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol, TypeVar

TONES: Final = {
    "review_blocking_detected": "bad",
    "phase_failed": "bad",
    "budget_exhausted": "bad",
    "partial_reached": "bad",
    "agent_failed": "bad",
    "verdict_overturned": "bad",
    "review_approved": "good",
    "completed": "good",
    "decided": "ask",
    "decision_requested": "ask",
    "checkpoint_reached": "ask",
    "expired": "ask",
    "continued": "ask",
    "plan_returned": "ask",
    "fix_requested": "ask",
}
"""The colour of an important event: good or bad news, or something that a person is asked or has said."""


def tone_of(topic: str, *, passed: bool | None = None) -> str:
    """A verdict's own news takes precedence over that of its kind."""
    if passed is not None:
        return "good" if passed else "bad"
    return TONES.get(topic.rpartition(".")[2], "note")


class Numbered(Protocol):
    @property
    def version(self) -> int: ...


class Step(NamedTuple):
    """The session entered a state, perhaps again."""

    version: int
    state: str


class Light(NamedTuple):
    """An event that readers should not miss."""

    version: int
    tone: str


class CountMark(NamedTuple):
    """Something counted: the n-th round, assessment, plan."""

    version: int
    number: int


class Verdict(NamedTuple):
    """A verdict on an agent: by the judge about `phases`, by a person who overturned it, or unreadable (K-15)."""

    version: int
    place: int
    round: int
    phases: tuple[int, ...]
    passed: bool
    feedback: str
    by: str


class ClaimMark(NamedTuple):
    """Phases that an agent claims to have completed; a claim is no verdict (K-12)."""

    version: int
    place: int
    round: int
    phases: tuple[int, ...]
    result: str


class ReviewMark(NamedTuple):
    """What the delivery's own reviewer found (S4 §9.3)."""

    version: int
    iteration: int
    artifact: str
    approved: bool
    score: int | None
    remarks: int | None
    issues: tuple[tuple[str, str], ...]
    fixes: tuple[str, ...]


class Opened(NamedTuple):
    """A discussion about this session began."""

    version: int
    child: str
    kind: str
    about: str
    strategy: str


class Closed(NamedTuple):
    """A discussion about this session ended."""

    version: int
    child: str
    choice: str
    by: str
    rounds: int


class ForkMark(NamedTuple):
    """The history up to here was copied from `source`, up to its event `source_version`."""

    version: int
    source: str
    source_version: int


class Left(NamedTuple):
    """What was left of the budget: iterations or rounds, and the usage reported so far."""

    version: int
    ms: int
    left: int
    total: int
    tokens: int | None
    cost: int | None


N = TypeVar("N", bound=Numbered)


def upto(marks: Sequence[N], version: int) -> Sequence[N]:
    """Its part up to that event."""
    return marks[: bisect_right(marks, version, key=lambda mark: mark.version)]
