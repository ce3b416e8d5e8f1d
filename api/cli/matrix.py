"""An orchestration's agents and phases, a discussion's rounds: where everybody stands, in a few aligned lines."""

from typing import Final

from api.cli.client import Json
from api.cli.terminal import columns

_VERDICTS: Final = {True: "PASS", False: "FAIL"}
_FEEDBACK: Final = 80
"""Characters of a verdict's feedback beside its agent; the whole of it stands in the history."""


def matrix(session: Json) -> str:
    """A line for each agent: name, role, its phases, gate, and the last verdict on it."""
    return columns([_row(agent) for agent in session.get("agents") or ()])


def history(session: Json) -> str:
    """A line for each verdict, round by round."""
    judged = [(said, agent) for agent in session.get("agents") or () for said in agent["history"]]
    judged.sort(key=lambda found: int(found[0]["round"]))
    return columns(
        [
            f"round {said['round']}",
            str(agent["agent"]),
            f"phase {said['phase']}",
            _VERDICTS.get(said["pass"], "FAIL"),
            str(said["feedback"]),
        ]
        for said, agent in judged
    )


def round_of(session: Json) -> list[str]:
    """Which round it is and of how many; nothing for a session that has none."""
    rounds = session.get("rounds")
    if isinstance(rounds, list):
        return [f"round {len(rounds)}/{session['maxRounds']}", *_convergence(session)]
    if session.get("mode") == "orchestrated":
        return [f"round {session['round']}/{session['lastRound']}"]
    return []


def _convergence(session: Json) -> list[str]:
    found = session.get("convergence")
    return [f"convergence {found['overallScore']:.2f}"] if found else []


def _row(agent: Json) -> list[str]:
    last = agent["history"][-1] if agent["history"] else None
    verdict = f"{_VERDICTS.get(last['pass'], 'FAIL')} {last['feedback'][:_FEEDBACK]}" if last else ""
    return [str(agent["agent"]), str(agent["role"]), _phases(agent), str(agent["gate"]), verdict]


def _phases(agent: Json) -> str:
    """`✓1 ✓2 ▶3 ·4 ·5`"""
    place = int(agent["currentPhaseIdx"])
    here = {"completed": "✓", "paused": "⏸"}.get(str(agent["status"]), "▶")
    return " ".join(
        f"{here if at == place or here == '✓' else '✓' if at < place else '·'}{phase}"
        for at, phase in enumerate(agent["phaseProfile"])
    )
