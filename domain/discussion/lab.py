"""The policy lab: judge recorded discussions again with other profiles. Pure; no agent is asked.

The contributions are fixed, so a profile can only stop within the recorded rounds. If it would have continued after
them, the outcome is unknown and reported as such.
"""

from collections.abc import Sequence
from typing import Literal

from domain.convergence.assessment import Ending, Round, course
from domain.convergence.profiles import Profile
from domain.discussion.events import suggested
from domain.discussion.findings import counted
from domain.discussion.state import Discussion, RoundContribution
from domain.discussion.strategies import STRATEGIES
from domain.values.base import Value

Against = Literal["earlier", "same", "later", "unknown"]
"""`later`: the record stopped, but this profile would not have. `unknown`: the record has no stop to compare with."""


class LabTalk(Value):
    """A recorded discussion: its rounds, the suggestion after each round, how it stopped and what a person chose."""

    session_id: str
    kind: str
    strategy: str
    profile: str
    title: str = ""
    minimum: int
    max_rounds: int
    rounds: tuple[Round, ...]
    suggestions: tuple[str | None, ...]
    stop_reason: str | None
    choice: str | None = None
    decided_by: Literal["person", "expired", "cancelled"] | None = None

    @property
    def stopped(self) -> bool:
        """Returns whether the policy ended it at that point; an error or a person may have, too."""
        return self.stop_reason in ("converged", "stalled", "limit")


class LabOutcome(Value):
    """How a profile judges a discussion: `round` and `reason` of its stop, or `unknown` and None after the recorded
    end.

    `suggestion` is the choice that the last judgement up to then suggests. `overruled` says whether the person decided
    otherwise; None if no person decided or nothing was suggested.
    """

    profile: str
    reason: Ending | Literal["unknown"]
    round: int | None
    against: Against
    suggestion: str | None = None
    overruled: bool | None = None


class Tally(Value):
    """The outcomes of one profile, counted. Of the `converged` ones, `overruled` are those in which a person decided
    against the suggestion, and `upheld` those in which one followed it."""

    profile: str
    discussions: int
    earlier: int
    same: int
    later: int
    unknown: int
    converged: int
    upheld: int
    overruled: int


def talk(session: Discussion) -> LabTalk:
    """A discussion as recorded."""
    return LabTalk(
        session_id=session.id,
        kind=session.kind,
        strategy=session.strategy,
        profile=session.profile.id,
        title=session.title,
        minimum=STRATEGIES[session.strategy].minimum,
        max_rounds=session.max_rounds,
        rounds=tuple(Round(**entry._asdict()) for entry in counted(session)),
        suggestions=_suggestions(session),
        stop_reason=session.stop_reason,
        choice=session.decision.choice if session.decision else None,
        decided_by=_decided_by(session),
    )


def _suggestions(session: Discussion) -> tuple[str | None, ...]:
    """After each round, the choice that the last judgement so far suggests."""
    suggestions: list[str | None] = []
    for entry in session.rounds:
        if STRATEGIES[session.strategy].part(entry.round).judges:
            suggestions.append(_suggested(entry))
        else:
            suggestions.append(suggestions[-1] if suggestions else None)
    return tuple(suggestions)


def _suggested(entry: RoundContribution) -> str | None:
    return None if entry.problem else suggested(entry.feedback)


def _decided_by(session: Discussion) -> Literal["person", "expired", "cancelled"] | None:
    if session.decision is None:
        return None
    if session.state == "cancelled":
        return "cancelled"
    return "expired" if session.decision.expired else "person"


def rescore(talk: LabTalk, profile: Profile, name: str | None = None) -> LabOutcome:
    """Returns where and why this profile would have stopped the discussion, compared with the record. `name` is its
    display name."""
    number, reason = _stop(talk, profile)
    if number is None or reason is None:
        against: Against = "later" if talk.stopped else "unknown"
        return LabOutcome(profile=name or profile.id, reason="unknown", round=None, against=against)
    suggestion = talk.suggestions[number - 1]
    return LabOutcome(
        profile=name or profile.id,
        reason=reason,
        round=number,
        against="same" if talk.stopped and number == len(talk.rounds) else "earlier",
        suggestion=suggestion,
        overruled=_overruled(talk, suggestion),
    )


def _stop(talk: LabTalk, profile: Profile) -> tuple[int | None, Ending | None]:
    """The same rule as for live rounds (K-26, K-28): the strategy's minimum first, then the first reason to stop."""
    for number, metrics in enumerate(course(talk.rounds, profile), start=1):
        if metrics.recommendation != "continue" and number >= talk.minimum:
            return number, metrics.recommendation
        if metrics.recommendation == "continue" and number >= talk.max_rounds:
            return number, "limit"
    return None, None


def _overruled(talk: LabTalk, suggestion: str | None) -> bool | None:
    if talk.decided_by != "person" or suggestion is None:
        return None
    return talk.choice != suggestion


def tally(profile: str, outcomes: Sequence[LabOutcome]) -> Tally:
    """The outcomes of that profile, counted."""
    own = [outcome for outcome in outcomes if outcome.profile == profile]
    against = [outcome.against for outcome in own]
    converged = [outcome for outcome in own if outcome.reason == "converged"]
    return Tally(
        profile=profile,
        discussions=len(own),
        earlier=against.count("earlier"),
        same=against.count("same"),
        later=against.count("later"),
        unknown=against.count("unknown"),
        converged=len(converged),
        upheld=sum(outcome.overruled is False for outcome in converged),
        overruled=sum(outcome.overruled is True for outcome in converged),
    )
