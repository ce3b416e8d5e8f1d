"""The agents of an orchestration in a table: their phases, verdicts and gates."""

import os
from typing import TYPE_CHECKING, Final

from api.cli.exits import of_view
from api.cli.labels import sentence
from api.cli.tables import columns
from domain.values.words import of_environment

if TYPE_CHECKING:
    from api.cli.answers import AgentView, Session


MARKS: Final = {"completed": "✓", "running": "▶", "failed": "✗", "skipped": "–", "pending": "·"}


_VERDICTS: Final = {True: "PASS", False: "FAIL"}


_GATES: Final = {"completed": "✅ done", "paused": "⏸ checkpoint", "active": "⏳ active", "stopped": "⏹ stopped"}


_FEEDBACK: Final = 80  # characters of a verdict's feedback next to its agent; all of it is in the history


def matrix(session: "Session") -> str:
    """A line for each agent: name, role, its phases, gate, and the last verdict on it."""
    return columns([_row(agent) for agent in session.get("agents") or ()])


def warnings(session: "Session") -> str:
    """The corrections and faults on the way, in the terminal's language."""
    wired = session.get("warningSentences") or [None] * len(session["warnings"])
    return "\n".join(of_view(text, data) for text, data in zip(session["warnings"], wired, strict=True))


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
    return str(agent["gate"]) if of_environment(os.environ) == "ko" else _GATES.get(str(agent["status"]), "")


def _phases(agent: "AgentView") -> str:
    """`✓1 ✓2 ▶3 ·4 ·5`"""
    place = int(agent["currentPhaseIdx"])
    here = {"completed": "✓", "paused": "⏸"}.get(str(agent["status"]), "▶")
    return " ".join(
        f"{here if at == place or here == '✓' else '✓' if at < place else '·'}{phase}"
        for at, phase in enumerate(agent["phaseProfile"])
    )
