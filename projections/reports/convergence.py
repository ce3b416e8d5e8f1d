"""`convergence`: how reviews and debates ended, after how many rounds, and how often people overruled them.

A discussion counts by when it began. Its last judgement *suggests* a choice (`domain/discussion/suggestion`): NEEDS_FIX
apply_fix, PASS skip, CHALLENGE revise, APPROVE accept. A person who makes that choice upholds it, a person who makes
another one overrules it. If nothing could be read, or the discussion was interrupted, the decision is `unclear`. Only
people overrule: expired and cancelled decisions are counted separately. A fork of a discussion that had already ended
is a what-if and does not count.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from domain.discussion import events as discussion
from domain.discussion.events import suggested
from domain.session.forks import SessionForked
from domain.session.record import Recorded
from projections.engine.ports import Database
from projections.facts import stop_reason
from projections.reports.ledger import FORKED, Fact, Filters, Ledger, ReportRow, ReportTotals, Values, share, spread

LEDGER = Ledger("convergence", {"strategy": "TEXT", "profile": "TEXT", "rounds": "BIGINT", "word": "TEXT"})


def _read(_: Database, recorded: Recorded) -> Values | None:
    match recorded.event:
        case discussion.DiscussionStarted(topic=topic):
            return {"what": "began", "strategy": topic.strategy, "profile": topic.profile.id}
        case SessionForked(profile=profile):
            return {"profile": profile.id if profile else None}
        case discussion.DecisionRequested(feedback=feedback):
            return {"what": "suggested", "word": suggested(feedback)}
        case discussion.Decided(choice=choice):
            return {"what": "decided", "word": choice}
        case discussion.Expired(choice=choice):
            return {"what": "expired", "word": choice}
        case discussion.DiscussionEvent() as event:
            reason = stop_reason(event)
            return {"what": "stopped", "rounds": event.round, "word": reason} if reason else None
        case _:
            return None


PROJECTION = LEDGER.projection(_read, discussion.DiscussionEvent)


@dataclass(slots=True)
class _DiscussionFacts:
    """A discussion according to its facts. `shared`: it had ended before it was forked."""

    kind: str
    strategy: str = ""
    profile: str = ""
    stop: str | None = None
    rounds: int = 0
    suggestion: str | None = None
    choice: str | None = None
    expired: bool = False
    shared: bool = False

    @property
    def decision(self) -> str | None:
        """upheld, overruled or unclear; None if no person decided."""
        if self.choice is None:
            return None
        if self.suggestion is None:
            return "unclear"
        return "upheld" if self.choice == self.suggestion else "overruled"


class ConvergenceFigures(ReportTotals):
    discussions: int
    open: int
    converged: int
    stalled: int
    limit: int
    error: int
    cancelled: int
    rounds_to_converge_mean: float | None
    rounds_to_converge_median: float | None
    rounds_to_converge_max: int | None
    decided: int
    upheld: int
    overruled: int
    unclear: int
    expired: int
    overruled_rate: float | None
    overruled_converged: int


class ConvergenceKey(ReportRow):
    kind: str
    strategy: str
    profile: str


class ConvergenceRow(ConvergenceFigures, ConvergenceKey):
    """Discussions of one kind, strategy and profile."""


def make(db: Database, filters: Filters) -> tuple[tuple[ConvergenceRow, ...], ConvergenceFigures]:
    talks = [_talk(facts) for facts in LEDGER.by_session(db, filters).values() if facts[0].what == "began"]
    counted = [talk for talk in talks if not talk.shared]
    groups: dict[tuple[str, str, str], list[_DiscussionFacts]] = {}
    for talk in counted:
        groups.setdefault((talk.kind, talk.strategy, talk.profile), []).append(talk)
    rows = (
        ConvergenceRow(kind=key[0], strategy=key[1], profile=key[2], **dict(_figures(groups[key])))
        for key in sorted(groups)
    )
    return tuple(rows), _figures(counted)


def _talk(facts: Sequence[Fact]) -> _DiscussionFacts:
    talk = _DiscussionFacts(facts[0].kind)
    for fact in facts:
        _go_on(talk, fact)
    return talk


def _go_on(talk: _DiscussionFacts, fact: Fact) -> None:
    word = fact["word"]
    match fact.what:
        case "began":
            talk.strategy, talk.profile = fact["strategy"], fact["profile"]
        case "stopped" if talk.stop is None:
            talk.stop, talk.rounds = word, fact["rounds"]
        case "suggested":
            talk.suggestion = word
        case "decided":
            talk.choice = word
        case "expired":
            talk.expired = True
        case what if what == FORKED:
            talk.shared = talk.stop is not None
            talk.profile = fact["profile"] or talk.profile


def _figures(talks: Sequence[_DiscussionFacts]) -> ConvergenceFigures:
    stops = Counter(talk.stop for talk in talks)
    decisions = Counter(talk.decision for talk in talks if talk.decision)
    rounds = spread([talk.rounds for talk in talks if talk.stop == "converged"])
    return ConvergenceFigures(
        discussions=len(talks),
        open=stops[None],
        converged=stops["converged"],
        stalled=stops["stalled"],
        limit=stops["limit"],
        error=stops["error"],
        cancelled=stops["cancelled"],
        rounds_to_converge_mean=rounds.mean,
        rounds_to_converge_median=rounds.median,
        rounds_to_converge_max=rounds.max,
        decided=decisions.total(),
        upheld=decisions["upheld"],
        overruled=decisions["overruled"],
        unclear=decisions["unclear"],
        expired=sum(talk.expired for talk in talks),
        overruled_rate=share(decisions["overruled"], decisions["upheld"] + decisions["overruled"]),
        overruled_converged=sum(talk.decision == "overruled" for talk in talks if talk.stop == "converged"),
    )


def found_by(db: Database, filters: Filters) -> list[str]:
    """The matching reviews and debates, newest first, without forks: those share their source's rounds."""
    sessions = LEDGER.by_session(db, filters).items()
    ids = [
        session_id
        for session_id, facts in sessions
        if facts[0].what == "began" and all(fact.what != FORKED for fact in facts)
    ]
    return ids[::-1]
