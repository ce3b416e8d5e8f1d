"""A session in words, for `show`, `diff`, and the end of the commands that follow one."""

import os
from collections.abc import Sequence
from typing import Final

from api.cli import discussion
from api.cli.discussion import Pairs
from api.cli.exits import worded
from api.cli.figures import MARKS, figures, history, matrix, warnings
from api.cli.labels import NAMES, gap, recorded
from api.cli.options import Json
from api.cli.terminal import counted, local_time, put, put_pairs, shortened
from domain.values.words import of_environment

_STEPS: Final = {
    "scope": "hansard allow {}",
    "retry": "hansard retry {}",
    "extend": "hansard extend {} --iterations N --reason WHY",
    "continue": "hansard continue {}",
    "reset": "hansard reset {}",
}
"""The command that continues a session, by the action that it allows, best first."""
_EVIDENCE: Final = 5
"""Lines of evidence that are printed."""
_TASK: Final = 300
"""Characters of each agent's task in the plan."""
_SUBJECT: Final = 100
"""Cells of a terminal that say again what was discussion."""
_FILES: Final = 50
"""Changed files that are listed; `hansard changes` shows all."""
_LINES: Final = 20
"""Lines of a subject that are shown."""


def details(session: Json, commands: list[str]) -> Pairs:
    """Everything that a person may want to know of a session."""
    turns = session.get("outstandingTurns") or ()
    return [
        ("session", session["id"]),
        ("kind", recorded("kind", session["kind"])),
        ("status", recorded("status", session["status"])),
        ("title", session.get("title") or ""),
        *_of_its_kind(session),
        *changed(session),
        ("at work", ", ".join(_doing(turn) for turn in turns if not _waits(turn))),
        ("waits for", ", ".join(_doing(turn) for turn in turns if _waits(turn))),
        ("parent", session.get("parent") or ""),
        ("discussed in", ", ".join(session.get("children") or ())),
        ("last error", _error(session)),
        ("workspace", session.get("workspace") or ""),
        *_fence(session),
        ("origin", session.get("origin") or ""),
        ("labels", ", ".join(session.get("labels") or ())),
        ("created", local_time(session["createdAt"])),
        ("updated", local_time(session["updatedAt"])),
        ("version", str(session["version"])),
        ("can now", ", ".join(recorded("why_action", command) for command in commands)),
    ]


def _fence(session: Json) -> Pairs:
    """What held its programs, and what that did not hold; nothing where none ran."""
    if not session.get("fence"):
        return []
    gaps = map(gap, session.get("fenceGaps") or ())
    return [("fence", NAMES.get(session["fence"], session["fence"])), ("not held", "\n".join(gaps))]


def _waits(turn: Json) -> bool:
    return bool(turn.get("elsewhere") or turn.get("machine"))


def _doing(turn: Json) -> str:
    """What is waited for; of an external agent its worker, who may not have come for the turn yet."""
    what = str(turn["phase"] or turn["work"])
    if turn.get("machine"):
        return f"{turn['agent']} ({what}, on the machine {turn['machine']}, which has the workspace)"
    how = ", by an external worker" if turn.get("external") else ", not in this team" if turn.get("elsewhere") else ""
    return f"{turn['agent']} ({what}{how})"


def changed(session: Json) -> Pairs:
    """What the session began with, its branch, and the files that it changed; unnamed ones are marked."""
    result = session.get("result")
    if not result:
        return []
    base = result["base"]
    return [
        ("base", f"{base['branch'] or 'detached'} at {base['commit'][:10]}" if result["repository"] else ""),
        ("branch", result["branch"] or ""),
        ("changed", "\n".join(_file(file) for file in result["files"][:_FILES])),
        ("out of scope", ", ".join(result["outside"][:_FILES])),
    ]


def _file(file: Json) -> str:
    lines = "binary" if file["added"] is None else f"+{file['added']} -{file['removed']}"
    status = "" if file["status"] == "modified" else f", {file['status']}"
    return f"{file['path']} ({lines}{status}{'' if file['named'] else ', not named'})"


def outcome(session: Json) -> Pairs:
    """The result of a session that was seen through."""
    failed = session["status"] in ("failed", "partial") or session.get("stopReason") == "error"
    return [
        ("session", str(session["id"])),
        ("status", recorded("status", str(session["status"]))),
        *_result(session),
        ("error", _error(session) if failed else ""),
        ("used", ", ".join(figures(session)) if session["kind"] != "review" and session["kind"] != "debate" else ""),
        *changed(session),
        ("workspace", str(session.get("workspace") or "") if session.get("result") else ""),
    ]


def _error(session: Json) -> str:
    """The last error, where the summary does not already say it."""
    error = worded(session, "lastError")
    summary = summary_of(session) or ""
    return "" if error in summary or (summary and summary in error) else error


def _result(session: Json) -> Pairs:
    match session["kind"]:
        case "orchestration":
            return [
                ("mode", str(session["mode"])),
                ("reason", reason_of(session)),
                ("agents", matrix(session)),
                ("warnings", warnings(session)),
                ("summary", summary_of(session)),
            ]
        case "review" | "debate":
            subject = str(session[_about(session)])
            beginning = discussion.plan_in(subject) or shortened(subject, _SUBJECT)
            changes = discussion.changes_in(subject)
            return [(_about(session), beginning), ("changes", changes), *discussion.result(session)]
        case _:
            return [("reason", reason_of(session)), ("summary", summary_of(session))]


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
        ("phases", "  ".join(f"{MARKS.get(mark, '?')} {recorded('phase', phase)}" for phase, mark in phases.items())),
        ("budget", ", ".join(figures(session))),
        ("reason", reason_of(session)),
        ("summary", summary_of(session)),
    ]


def _orchestration(session: Json) -> Pairs:
    triage = session["triage"]
    seen = ", ".join(triage["signals"]) or "nothing"
    return [
        ("prompt", session["prompt"]),
        ("mode", f"{session['mode']} (triage saw {seen})"),
        ("employees", ", ".join(f"{employee['name']} ({employee['role']})" for employee in session["employees"])),
        ("plan", _plan(session)),
        ("rounds", ", ".join(figures(session))),
        ("agents", matrix(session)),
        ("history", history(session)),
        ("warnings", warnings(session)),
        ("reason", reason_of(session)),
        ("summary", summary_of(session)),
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
    subject = str(session[_about(session)])
    return [
        (_about(session), discussion.plan_in(subject) or _beginning(subject)),
        (
            "strategy",
            f"{session['strategy']}, at most {counted(session['maxRounds'], 'round')}, profile {session['profile']}",
        ),
        *discussion.in_full(session),
        ("choices", " or ".join(session["choices"])),
        ("decide until", local_time(session["expiresAt"]) if session.get("expiresAt") else ""),
    ]


def _about(session: Json) -> str:
    """The name of what is discussion."""
    return "subject" if session["kind"] == "review" else "plan"


def _beginning(text: str) -> str:
    lines = text.rstrip().splitlines()
    left = len(lines) - _LINES
    return "\n".join([*lines[:_LINES], *([f"(and {left} more lines)"] if left > 0 else [])])


def _command(step: Json) -> str:
    command = step["command"]
    return f"{command if isinstance(command, str) else ' '.join(command)}  ({step['stage']})"


_WIDTH: Final = 100
"""Cells of a terminal that a line of a field takes at most; `hansard show` has the whole."""
_DIFF_LINES: Final = 6
_OWN: Final = frozenset({"session", "parent", "discussed in", "workspace", "created", "updated", "version", "can now"})
"""What any two sessions have of their own."""


def put_divergence(divergence: Json | None) -> None:
    """The first event of each that the other does not have."""
    if divergence is None:
        put("Both have the same events.")
        return
    for name in ("a", "b"):
        event = divergence[name]
        words = f"version {event['version']}, {event['type']}: {event['message']}" if event else "nothing more"
        put(f"{name}: {shortened(words, _WIDTH)}")


def put_sides(one: Json, other: Json, cost: Json) -> None:
    """Every field of which they say different things, that of `a` above that of `b`."""
    sides = dict(details(one, [])), dict(details(other, []))
    tokens = [cost[name]["tokens"] for name in ("a", "b")]
    spent: Pairs = [("tokens", _beside(*("" if used is None else f"{used:,}" for used in tokens)))]
    names = [name for name in dict.fromkeys((*sides[0], *sides[1])) if name not in _OWN]
    rows = [(name, _beside(sides[0].get(name, ""), sides[1].get(name, ""))) for name in names]
    put_pairs([("session", _beside(one["id"], other["id"])), *rows, *spent])


def _beside(one: str, other: str) -> str:
    return "" if one == other else f"a  {_cut(one)}\nb  {_cut(other)}"


def _cut(text: str) -> str:
    lines = text.rstrip().splitlines() or ["-"]
    more = [f"(and {len(lines) - _DIFF_LINES} more lines)"] if len(lines) > _DIFF_LINES else []
    return "\n   ".join([*(shortened(line, _WIDTH) for line in lines[:_DIFF_LINES]), *more])


def why_stopped(session: Json, commands: Sequence[str], event: Json | None) -> Pairs:
    """The cause, the evidence and the next command of a session that stopped before it was done; else nothing.
    `found` is the event that says what went wrong."""
    cause = reason_of(session)
    if not cause and not event:
        return []
    lines = [f"{event['version']}. {event['lines'][0]}", *event["lines"][1:_EVIDENCE]] if event else []
    shown = "\n".join(lines) or worded(session, "lastError")
    first = next(iter(steps(session, commands)), "")
    return [("cause", cause), ("evidence", shown), ("next", first)]


def steps(session: Json, commands: Sequence[str]) -> list[str]:
    """The commands that continue the session, best first; `commands` are the actions that it allows."""
    return [step.format(session["id"]) for action, step in _STEPS.items() if action in commands]


def reason_of(session: Json) -> str:
    """Why it stopped, in the terminal's language; empty where nothing stopped it."""
    from domain.values.words import words

    reason = str(session.get("reason") or "")
    return words(of_environment(os.environ), "projections.record").of("reason", reason) if reason else ""


def summary_of(session: Json) -> str:
    """How it ended, in the terminal's language."""
    if not (session.get("finalSummary") or session.get("summary")):
        return ""
    from projections.record.outcome import outcome  # the views that `--help` does not need

    return outcome(session, of_environment(os.environ))
