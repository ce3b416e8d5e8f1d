"""Defines how a team decides: who may decide, and how many have to agree (contract-2 §15)."""

from collections import Counter
from collections.abc import Iterable
from typing import Annotated, Final, NamedTuple

from pydantic import Field

from domain.values.base import Forbidden, Value, absent
from domain.values.sentences import Sentence

_PERSON: Final = "person:"


class DecisionPolicy(Value):
    """How a session's decisions are made, according to the team file when the session started."""

    approvers: int = Field(default=1, ge=1, description="how many people have to make the same choice")
    not_author: bool = Field(default=False, description="whether the person who started it may not decide")
    authors: tuple[str, ...] = Field(default=(), description="who started it, and who forked it")
    who: tuple[str, ...] = Field(default=(), description="the keys that may decide; empty: every key with the scope")
    remind_ms: tuple[int, ...] = Field(default=(), description="when to send a reminder of a waiting decision")

    @property
    def guarded(self) -> bool:
        """Returns whether not just anybody may decide alone. Then nothing passes without a decision."""
        return self.approvers > 1 or self.not_author or bool(self.who)

    def check(self, actor: str) -> None:
        """Raises Forbidden, naming who may decide."""
        if self.not_author and actor in self.authors:
            raise Forbidden(self._refusal())
        self.check_listed(actor)

    def check_listed(self, actor: str) -> None:
        """Raises Forbidden for a key that the team file does not list, naming those that it lists."""
        if self.who and actor.removeprefix(_PERSON) not in self.who:
            raise Forbidden(Sentence("decision_of_others", names=list(self.others)))

    @property
    def others(self) -> tuple[str, ...]:
        """The keys that may decide, if they are listed."""
        own = {author.removeprefix(_PERSON) for author in self.authors} if self.not_author else set[str]()
        return tuple(name for name in self.who if name not in own)

    def _refusal(self) -> Sentence:
        if not self.who:
            return Sentence("decision_not_by_author")
        names = list(self.others)
        return Sentence("decision_of_others_but_author", names=names) if names else Sentence("decision_of_nobody")


def _absent(value: object) -> bool:
    return value is None


TeamPolicy = Annotated[
    DecisionPolicy | None,
    Field(exclude_if=_absent, description="how its decisions are made, where the team file says so"),
]


class DecisionComment(Value):
    """A person's remark with a decision: on lines of a file, on a file, or on the whole."""

    text: str
    path: str | None = Field(default=None, exclude_if=absent)
    line: int | None = Field(default=None, exclude_if=absent)
    end_line: int | None = Field(default=None, exclude_if=absent)

    @property
    def place(self) -> str:
        """`src/shop.py:12-14`; empty for the whole."""
        if self.path is None or self.line is None:
            return self.path or ""
        end = f"-{self.end_line}" if self.end_line not in (None, self.line) else ""
        return f"{self.path}:{self.line}{end}"


class Vote(NamedTuple):
    """A person's vote, until the decision is made."""

    actor: str
    choice: str
    rationale: str
    at: int
    comments: tuple[DecisionComment, ...] = ()


def missing(policy: DecisionPolicy, choices: Iterable[str], votes: Iterable[Vote]) -> dict[str, int]:
    """For each choice, how many more votes it needs."""
    votes_by_choice = Counter(vote.choice for vote in votes)
    return {choice: max(0, policy.approvers - votes_by_choice[choice]) for choice in choices}
