"""A session in words, for `hansard show` and at the end of the commands that see one through."""

from typing import Final

from api.cli import discussed
from api.cli.client import Json
from api.cli.discussed import Pairs
from api.cli.matrix import history, matrix
from api.cli.progress import MARKS, standing
from api.cli.terminal import counted, local_time, shortened

_TASK: Final = 300
"""Characters of each agent's task in the plan."""
_SUBJECT: Final = 100
"""Cells of a terminal that say again what was discussed."""
_LINES: Final = 20
"""Lines of a subject that are shown."""


def shown(session: Json, commands: list[str]) -> Pairs:
    """Everything that a person may want to know of a session."""
    turns = session.get("outstandingTurns") or ()
    return [
        ("session", session["id"]),
        ("kind", session["kind"]),
        ("status", session["status"]),
        ("title", session.get("title") or ""),
        *_of_its_kind(session),
        ("at work", ", ".join(_doing(turn) for turn in turns if not turn.get("elsewhere"))),
        ("waits for", ", ".join(_doing(turn) for turn in turns if turn.get("elsewhere"))),
        ("parent", session.get("parent") or ""),
        ("discussed in", ", ".join(session.get("children") or ())),
        ("last error", session.get("lastError") or ""),
        ("workspace", session.get("workspace") or ""),
        ("origin", session.get("origin") or ""),
        ("labels", ", ".join(session.get("labels") or ())),
        ("created", local_time(session["createdAt"])),
        ("updated", local_time(session["updatedAt"])),
        ("version", str(session["version"])),
        ("can now", ", ".join(commands)),
    ]


def _doing(turn: Json) -> str:
    """What is waited for; of an external agent its worker, who may not have come for the turn yet."""
    what = str(turn["phase"] or turn["work"])
    how = ", by an external worker" if turn.get("external") else ", not in this team" if turn.get("elsewhere") else ""
    return f"{turn['agent']} ({what}{how})"


def ended(session: Json, *, branch: str | None) -> Pairs:
    """The result of a session that was seen through."""
    failed = session["status"] in ("failed", "partial") or session.get("stopReason") == "error"
    return [
        ("session", str(session["id"])),
        ("status", str(session["status"])),
        *_result(session),
        ("error", str(session.get("lastError") or "") if failed else ""),
        ("used", ", ".join(standing(session)) if session["kind"] != "review" and session["kind"] != "debate" else ""),
        ("branch", branch or ""),
        ("workspace", str(session.get("workspace") or "") if branch else ""),
    ]


def _result(session: Json) -> Pairs:
    match session["kind"]:
        case "orchestration":
            reason = f" ({session['reason']})" if session.get("reason") else ""
            return [
                ("mode", f"{session['mode']}{reason}"),
                ("agents", matrix(session)),
                ("warnings", "\n".join(session["warnings"])),
                ("summary", session["summary"] or ""),
            ]
        case "review" | "debate":
            return [(_about(session), shortened(session[_about(session)], _SUBJECT)), *discussed.result(session)]
        case _:
            return [("summary", str(session.get("finalSummary") or ""))]


def _of_its_kind(session: Json) -> Pairs:
    match session["kind"]:
        case "orchestration":
            return _orchestration(session)
        case "review" | "debate":
            return _discussion(session)
        case _:
            return _delivery(session)


def _delivery(session: Json) -> Pairs:
    phases = session.get("phaseStatuses") or {}
    return [
        ("task", session.get("task") or ""),
        ("files", ", ".join(session.get("filePaths") or ())),
        ("validation", "\n".join(_command(step) for step in session.get("validationCommands") or ())),
        ("phases", "  ".join(f"{MARKS.get(mark, '?')} {phase}" for phase, mark in phases.items())),
        ("budget", ", ".join(standing(session))),
        ("summary", session.get("finalSummary") or ""),
    ]


def _orchestration(session: Json) -> Pairs:
    triage = session["triage"]
    seen = ", ".join(triage["signals"]) or "nothing"
    return [
        ("prompt", session["prompt"]),
        ("mode", f"{session['mode']} (triage saw {seen})"),
        ("employees", ", ".join(f"{found['name']} ({found['role']})" for found in session["employees"])),
        ("plan", _plan(session)),
        ("rounds", ", ".join(standing(session))),
        ("agents", matrix(session)),
        ("history", history(session)),
        ("warnings", "\n".join(session["warnings"])),
        ("reason", session.get("reason") or ""),
        ("summary", session["summary"] or ""),
    ]


def _plan(session: Json) -> str:
    """Version N: who does what in which phases."""
    if not session["planVersion"]:
        return ""
    return "\n".join([f"version {session['planVersion']}", *(_subtask(agent) for agent in session["agents"])])


def _subtask(agent: Json) -> str:
    words = [
        f"phases {', '.join(map(str, agent['phaseProfile']))}",
        *(["in parallel"] if agent["parallel"] else []),
        *(["then a checkpoint"] if agent["checkpoint"] else []),
    ]
    return f"- {agent['agent']} ({agent['role']}; {'; '.join(words)}): {' '.join(agent['task'].split())[:_TASK]}"


def _discussion(session: Json) -> Pairs:
    return [
        (_about(session), _beginning(session[_about(session)])),
        (
            "strategy",
            f"{session['strategy']}, at most {counted(session['maxRounds'], 'round')}, profile {session['profile']}",
        ),
        *discussed.in_full(session),
        ("choices", " or ".join(session["choices"])),
        ("decide until", local_time(session["expiresAt"]) if session.get("expiresAt") else ""),
    ]


def _about(session: Json) -> str:
    """The name of what is discussed."""
    return "subject" if session["kind"] == "review" else "plan"


def _beginning(text: str) -> str:
    lines = text.rstrip().splitlines()
    left = len(lines) - _LINES
    return "\n".join([*lines[:_LINES], *([f"(and {left} more lines)"] if left > 0 else [])])


def _command(step: Json) -> str:
    command = step["command"]
    return f"{command if isinstance(command, str) else ' '.join(command)}  ({step['stage']})"
