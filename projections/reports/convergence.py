"""`convergence`: how reviews and debates ended, after how many rounds, and how often people overruled them.

A discussion counts by when it began. Its last judgement *suggests* a choice (`domain/discussion/suggestion`): NEEDS_FIX
apply_fix, PASS skip, CHALLENGE revise, APPROVE accept. A person who makes that choice upholds it, a person who makes
another one overrules it. If nothing could be read, or the discussion was interrupted, the decision is `unclear`. Only
people overrule: expired and cancelled decisions are counted separately. A fork of a discussion that had already ended
is a what-if and does not count.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from domain.discussion import events as discussion
from domain.discussion.digest import suggested
from domain.session.forks import SessionForked
from domain.session.record import Recorded
from projections.engine.ports import Database
from projections.facts import stop_reason
from projections.reports.figures import Row, share, spread
from projections.reports.ledger import FORKED, Fact, Filters, Ledger, Values

LEDGER = Ledger("convergence", {"strategy": "TEXT", "profile": "TEXT", "rounds": "BIGINT", "word": "TEXT"})
STOPS = ("converged", "stalled", "limit", "error", "cancelled")
COLUMNS = (
    "kind", "strategy", "profile", "discussions", "open", *STOPS, "roundsToConvergeMean", "roundsToConvergeMedian",
    "roundsToConvergeMax", "decided", "upheld", "overruled", "unclear", "expired", "overruledRate",
    "overruledConverged",
)  # fmt: skip


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


def make(db: Database, filters: Filters) -> tuple[list[Row], Row]:
    talks = [_talk(facts) for facts in LEDGER.by_session(db, filters).values() if facts[0].what == "began"]
    counted = [talk for talk in talks if not talk.shared]
    groups: dict[tuple[str, str, str], list[_DiscussionFacts]] = {}
    for talk in counted:
        groups.setdefault((talk.kind, talk.strategy, talk.profile), []).append(talk)
    rows = [
        {"kind": kind, "strategy": strategy, "profile": profile, **_row(groups[kind, strategy, profile])}
        for kind, strategy, profile in sorted(groups)
    ]
    return rows, _row(counted)


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


def _row(talks: Sequence[_DiscussionFacts]) -> Row:
    stops = {stop: sum(talk.stop == stop for talk in talks) for stop in STOPS}
    decisions = _decisions(talks)
    clear = decisions["upheld"] + decisions["overruled"]
    return {
        "discussions": len(talks),
        "open": sum(talk.stop is None for talk in talks),
        **stops,
        **spread("roundsToConverge", [talk.rounds for talk in talks if talk.stop == "converged"]),
        "decided": sum(decisions.values()),
        **decisions,
        "expired": sum(talk.expired for talk in talks),
        "overruledRate": share(decisions["overruled"], clear),
        "overruledConverged": sum(talk.decision == "overruled" for talk in talks if talk.stop == "converged"),
    }


def _decisions(talks: Iterable[_DiscussionFacts]) -> dict[str, int]:
    decisions = [talk.decision for talk in talks]
    return {word: decisions.count(word) for word in ("upheld", "overruled", "unclear")}


def found_by(db: Database, filters: Filters) -> list[str]:
    """The matching reviews and debates, newest first, without forks: those share their source's rounds."""
    sessions = LEDGER.by_session(db, filters).items()
    ids = [
        session_id
        for session_id, facts in sessions
        if facts[0].what == "began" and all(fact.what != FORKED for fact in facts)
    ]
    return ids[::-1]
