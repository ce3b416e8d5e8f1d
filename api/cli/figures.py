"""The progress of a session in a few words: its round, or its iteration and what it has used of its budget."""

import time
from datetime import datetime
from typing import TYPE_CHECKING, Final

from api.cli.labels import recorded, sentence
from api.cli.terminal import minutes
from api.cli.waits import is_paused

if TYPE_CHECKING:
    from api.cli.answers import Session


_STANDS_STILL: Final = frozenset({"permission", "imported"})
_PROVIDER: Final = frozenset({"rate_limit", "overloaded", "setup", "branch"})


def stands_still(session: "Session") -> bool:
    """True if the budget's clock does not run: nobody is at work, or a person or a provider is waited for."""
    turns = [turn for turn in session.get("outstandingTurns") or () if turn.get("work") != "wait"]
    if session["status"] != "running" or is_paused(session) or not turns:
        return True
    if any(turn.get("waitingFor") == "permission" for turn in turns):
        return True
    return all(turn.get("waitingFor") in _STANDS_STILL | _PROVIDER for turn in turns)


def present(session: "Session") -> "Session":
    """The session with the time that it has used by now: `elapsedMs` is as of its last event."""
    budget = session.get("budget")
    if not isinstance(budget, dict) or stands_still(session):
        return session
    since = datetime.fromisoformat(str(session["updatedAt"])).timestamp()
    elapsed = int(budget["elapsedMs"]) + max(0, round((time.time() - since) * 1000))
    return {**session, "budget": {**budget, "elapsedMs": elapsed}}


def figures(session: "Session", *, waited_ms: int = 0) -> list[str]:
    """Rounds, or iteration and budget, each in a few words; nothing for a session that has none."""
    budget = session.get("budget")
    if not isinstance(budget, dict):
        return round_of(session)
    elapsed = int(budget["elapsedMs"]) + waited_ms
    words = [
        sentence("iteration {n}/{most}", n=session.get("iteration", 0), most=budget["maxIterations"]),
        sentence("{used} of {most} min", used=minutes(elapsed), most=budget["maxMinutes"]),
    ]
    if budget.get("tokens") is not None:
        words.append(sentence("{n} tokens", n=f"{budget['tokens']:,}") + _of_limit(budget.get("maxTokens")))
    if (spent := budget.get("costMicros")) is not None:
        words.append(sentence("{money} spent", money=_dollars(spent)) + _of_money(budget.get("maxCostMicros")))
    if reason := budget.get("reason"):
        words.append(sentence("exhausted by {what}", what=recorded("amount", reason)))
    return words


def _of_limit(limit: int | None) -> str:
    return sentence(" of {limit}", limit=f"{limit:,}") if limit is not None else ""


def _dollars(micros: int) -> str:
    from domain.values.budget import dollars  # not before an amount is shown: it takes longer than the rest of a start

    return dollars(micros)


def _of_money(limit: int | None) -> str:
    return sentence(" of {limit}", limit=_dollars(limit)) if limit is not None else ""


def round_of(session: "Session") -> list[str]:
    """The number of the round and of all rounds; nothing for a session that has none."""
    rounds = session.get("rounds")
    if isinstance(rounds, list):
        return [sentence("round {n}/{most}", n=len(rounds), most=session["maxRounds"]), *_convergence(session)]
    if session.get("mode") == "orchestrated":
        return [sentence("round {n}/{most}", n=session["round"], most=session["lastRound"])]
    return []


def _convergence(session: "Session") -> list[str]:
    metrics = session.get("convergence")
    return [sentence("score {score}", score=f"{metrics['overallScore']:.2f}")] if metrics else []
