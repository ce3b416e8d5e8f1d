"""How far a session is, in a few words: its round, or its iteration and what it has used of its budget; its agents and
their verdicts; its warnings."""

import os
from typing import TYPE_CHECKING, Final

from api.cli.exits import in_words
from api.cli.labels import recorded, sentence
from api.cli.terminal import columns, minutes

if TYPE_CHECKING:
    from api.cli.answers import AgentView, Session


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


# Agents and warnings.

MARKS: Final = {"completed": "✓", "running": "▶", "failed": "✗", "skipped": "–", "pending": "·"}
_VERDICTS: Final = {True: "PASS", False: "FAIL"}
_GATES: Final = {"completed": "✅ done", "paused": "⏸ checkpoint", "active": "⏳ active", "stopped": "⏹ stopped"}
_FEEDBACK: Final = 80  # characters of a verdict's feedback next to its agent; all of it is in the history


def matrix(session: "Session") -> str:
    """A line for each agent: name, role, its phases, gate, and the last verdict on it."""
    return columns([_row(agent) for agent in session.get("agents") or ()])


def warnings(session: "Session") -> str:
    """The corrections and faults on the way, in the terminal's language."""
    from domain.values.sentences import from_wire

    wired = session.get("warningSentences") or [None] * len(session["warnings"])
    pairs = zip(session["warnings"], wired, strict=True)
    return "\n".join(in_words(from_wire(text, data["code"], data["params"])) if data else text for text, data in pairs)


def history(session: "Session") -> str:
    """A line for each verdict, round by round."""
    judged = [(verdict, agent) for agent in session.get("agents") or () for verdict in agent["history"]]
    judged.sort(key=lambda pair: int(pair[0]["round"]))
    return columns(
        [
            sentence("round {n}", n=verdict["round"]),
            str(agent["agent"]),
            sentence("phase {n}", n=verdict["phase"]),
            _VERDICTS.get(verdict["pass"], "FAIL"),
            str(verdict["feedback"]),
        ]
        for verdict, agent in judged
    )


def _row(agent: "AgentView") -> list[str]:
    last = agent["history"][-1] if agent["history"] else None
    verdict = f"{_VERDICTS.get(last['pass'], 'FAIL')} {last['feedback'][:_FEEDBACK]}" if last else ""
    return [str(agent["agent"]), str(agent["role"]), _phases(agent), _gate(agent), verdict]


def _gate(agent: "AgentView") -> str:
    """The API has the seeds' words, which are Korean."""
    from domain.values.words import of_environment

    return str(agent["gate"]) if of_environment(os.environ) == "ko" else _GATES.get(str(agent["status"]), "")


def _phases(agent: "AgentView") -> str:
    """`✓1 ✓2 ▶3 ·4 ·5`"""
    place = int(agent["currentPhaseIdx"])
    here = {"completed": "✓", "paused": "⏸"}.get(str(agent["status"]), "▶")
    return " ".join(
        f"{here if at == place or here == '✓' else '✓' if at < place else '·'}{phase}"
        for at, phase in enumerate(agent["phaseProfile"])
    )
