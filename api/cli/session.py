"""A session in words, for `show`, `diff`, and the end of the commands that follow one."""

import os
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final

from api.cli import discussion
from api.cli.discussion import Pairs
from api.cli.exits import is_held, worded
from api.cli.extension import extension_of
from api.cli.figures import figures
from api.cli.handover_words import landing_words, pull_request_words
from api.cli.labels import HOW_TO_ALLOW, NAMES, gap, recorded, refused_host, sentence
from api.cli.matrix import MARKS, history, matrix, warnings
from api.cli.path_words import path_words
from api.cli.reader_port import as_seen
from api.cli.result_notes import checks, only_applies, unchecked, weaker
from api.cli.tables import shortened
from api.cli.terminal import counted, local_time, one_line, visible_name
from api.cli.waits import doing, is_waiting, needs_branch, next_of, questions, why_waiting
from domain.values.words import of_environment, words
from projections.record import status

if TYPE_CHECKING:
    from api.cli.answers import AgentView, ExplainedCause, PlannedCommand, ResultFile, ResultView, Session

_STEPS: Final = {
    "scope": "hansard allow {}",
    "retry": "hansard retry {}",
    "extend": "",
    "continue": "hansard continue {}",
    "reset": "hansard reset {}",
}
"""The command that continues a session, by the action that it allows, best first. What extends it depends on what it
has used up."""
_EVIDENCE: Final = 5
"""Lines of evidence that are printed."""
_TASK: Final = 300
"""Characters of each agent's task in the plan."""
_SUBJECT: Final = 100
"""Cells of a terminal that repeat what was discussed."""
_NAMED: Final = 5
"""Changed files that the end of a command names."""
_FILES: Final = 50
"""Changed files that are listed; `hansard changes` shows all."""
_LINES: Final = 20
"""Lines of a subject that are shown."""


def details(session: "Session", commands: list[str], cause: "ExplainedCause | None" = None) -> Pairs:
    """Everything that a person may want to know of a session. `cause` is the event that says what went wrong."""
    turns = session.get("outstandingTurns") or ()
    return [
        ("session", session["id"]),
        ("kind", recorded("kind", session["kind"])),
        ("status", status_words(session)),
        ("title", session.get("title") or ""),
        *_of_its_kind(session),
        *changed(session),
        ("proves less", "\n".join(islice(weaker(session), _FILES))),
        ("at work", ", ".join(doing(turn) for turn in turns if not is_waiting(turn))),
        ("waits for", "\n".join(doing(turn) for turn in turns if is_waiting(turn))),
        ("next", next_of(session) if needs_branch(turns) else ""),
        *questions(session),
        ("parent", session.get("parent") or ""),
        ("discussed in", ", ".join(session.get("children") or ())),
        ("last error", _error(session)),
        ("evidence", _evidence(cause)),
        ("workspace", session.get("workspace") or ""),
        *_fence(session),
        ("origin", session.get("origin") or ""),
        ("labels", ", ".join(session.get("labels") or ())),
        ("created", local_time(session["createdAt"])),
        ("updated", local_time(session["updatedAt"])),
        ("version", str(session["version"])),
        ("can now", ", ".join(recorded("why_action", command) for command in commands)),
        *_scripted(session),
    ]


def status_words(session: "Session") -> str:
    """The status as people see it: a fork that waits until a person continues it does not run."""
    return recorded("status", as_seen(str(session["status"]), held=is_held(session)))


def _scripted(session: "Session") -> Pairs:
    """Says of a session with scripted agents that it is one."""
    return [("team", sentence("scripted agents take part, which do no real work") if session.get("scripted") else "")]


def _fence(session: "Session") -> Pairs:
    """The fence of its programs, and the gaps of that fence, where any ran in one; and what they may not reach."""
    fence = session.get("fence")
    gaps = map(gap, session.get("fenceGaps") or ())
    around = [("fence", NAMES.get(fence, fence)), ("not covered", "\n".join(gaps))] if fence else []
    return [*around, *refusals(session)]


def refusals(session: "Session") -> Pairs:
    """The hosts that its programs wanted to reach and may not, with how to allow them."""
    hosts = [refused_host(host) for host in session.get("refusedHosts") or ()]
    return [("refused hosts", "\n".join([*hosts, sentence(HOW_TO_ALLOW)] if hosts else []))]


def changed(session: "Session") -> Pairs:
    """The beginning of the session, its branch, and the files that it changed; unnamed ones are marked."""
    result = session.get("result")
    if not result:
        return []
    base = result["base"]
    return [
        ("base", f"{base['branch'] or sentence('detached')} ({base['commit'][:10]})" if result["repository"] else ""),
        ("branch", result["branch"] or ""),
        ("landing", landing_words(landing) if (landing := result.get("landing")) else ""),
        ("pull request", pull_request_words(pull) if (pull := result.get("pullRequest")) else ""),
        ("no branch", _without_branch(session, result)),
        ("changed", "\n".join(_file(file, result) for file in sorted(result["files"], key=_deciding_first)[:_FILES])),
        ("out of scope", ", ".join(map(visible_name, result["outside"][:_FILES]))),
    ]


def _deciding_first(file: "ResultFile") -> bool:
    """The sorting key that puts files that decide the validation before the others, tests aside."""
    return file.get("decides") != "settings"


def _without_branch(session: "Session", result: "ResultView") -> str:
    """Says why there is no branch, and how to get the changes all the same; nothing where none was to be made."""
    problem = worded(result, "branchProblem")
    only = only_applies(session)
    both = "The changes are kept: hansard merge {id}, or hansard apply {id}"
    hint = sentence("The changes are kept: hansard apply {id}" if only else both, id=session["id"])
    return f"{problem}\n{hint}" if problem else ""


def _file(file: "ResultFile", result: "ResultView") -> str:
    words = [
        sentence("binary") if file["added"] is None else f"+{file['added']} -{file['removed']}",
        *([] if file["status"] == "modified" else [recorded("file", file["status"])]),
        *([sentence("not named")] if result["namesFiles"] and not file["named"] else []),
        *([sentence("decides the validation")] if file.get("decides") else []),
        *([sentence("ignored by git")] if file.get("ignored") else []),
    ]
    return f"{path_words(file)} ({', '.join(words)})"


def outcome(session: "Session") -> Pairs:
    """The result of a session that was seen through."""
    failed = session["status"] in ("failed", "partial") or session.get("stopReason") == "error"
    return [
        ("session", str(session["id"])),
        ("status", status_words(session)),
        *_result(session),
        ("error", _error(session) if failed else ""),
        *(refusals(session) if failed else []),
        ("used", ", ".join(figures(session)) if session["kind"] != "review" and session["kind"] != "debate" else ""),
        *changed(session),
        ("workspace", str(session.get("workspace") or "") if session.get("result") else ""),
        *_scripted(session),
    ]


def in_four_lines(session: "Session") -> Pairs:
    """Says what was asked, changed, checked, and not checked, for sessions that change files."""
    if session["kind"] in ("review", "debate"):
        return []
    result = session.get("result")
    files = sorted(result["files"], key=_deciding_first) if result else []
    changes = [_file(file, result) for file in files[:_NAMED]] if result else []
    if len(files) > _NAMED:
        changes.append(sentence("and {n} more", n=len(files) - _NAMED))
    checked, left = "; ".join(checks(session)), " ".join(unchecked(session))
    if not files:
        checked, left = sentence("there was no change to check"), sentence("nothing")
    return [
        ("asked", shortened(one_line(str(session.get("task") or session.get("prompt") or "")), _SUBJECT)),
        ("changed", ", ".join(changes) or sentence("nothing")),
        ("checked", checked or sentence("nothing")),
        ("not checked", left or sentence("nothing that is known")),
    ]


def _error(session: "Session") -> str:
    """The last error, where the summary does not already say it."""
    error = worded(session, "lastError")
    summary = summary_of(session) or ""
    return "" if error in summary or (summary and summary in error) else error


def _result(session: "Session") -> Pairs:
    match session["kind"]:
        case "orchestration":
            return [
                ("mode", recorded("mode", str(session["mode"]))),
                ("reason", reason_of(session)),
                ("agents", matrix(session)),
                ("warnings", warnings(session)),
                ("summary", summary_of(session)),
            ]
        case "review" | "debate":
            name, subject = _about(session)
            beginning = discussion.plan_in(subject) or shortened(subject, _SUBJECT)
            changes = discussion.changes_in(subject)
            return [(name, beginning), ("changes", changes), *discussion.result(session)]
        case _:
            return [("reason", reason_of(session)), ("summary", summary_of(session))]


def _of_its_kind(session: "Session") -> Pairs:
    match session["kind"]:
        case "orchestration":
            return _orchestration(session)
        case "review" | "debate":
            return _discussion(session)
        case _:
            return _delivery(session)


def _delivery(session: "Session") -> Pairs:
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


def _orchestration(session: "Session") -> Pairs:
    triage = session["triage"]
    signals = ", ".join(recorded("session_signal", signal) for signal in triage["signals"])
    why = f" ({sentence('because of: {signals}', signals=signals)})" if signals else ""
    return [
        ("prompt", session["prompt"]),
        ("mode", f"{recorded('mode', session['mode'])}{why}"),
        ("employees", ", ".join(f"{employee['name']} ({employee['role']})" for employee in session["employees"])),
        ("plan", _plan(session)),
        ("rounds", ", ".join(figures(session))),
        ("agents", matrix(session)),
        ("history", history(session)),
        ("warnings", warnings(session)),
        ("reason", reason_of(session)),
        ("summary", summary_of(session)),
    ]


def _plan(session: "Session") -> str:
    """Version N: who does what in which phases."""
    if not session["planVersion"]:
        return ""
    return "\n".join(
        [sentence("version {n}", n=session["planVersion"]), *(_subtask(agent) for agent in session["agents"])]
    )


def _subtask(agent: "AgentView") -> str:
    words = [
        sentence("phases {phases}", phases=", ".join(map(str, agent["phaseProfile"]))),
        *([sentence("in parallel")] if agent["parallel"] else []),
        *([sentence("then a checkpoint")] if agent["checkpoint"] else []),
    ]
    return f"- {agent['agent']} ({agent['role']}; {'; '.join(words)}): {' '.join(agent['task'].split())[:_TASK]}"


def _discussion(session: "Session") -> Pairs:
    name, subject = _about(session)
    return [
        (name, discussion.plan_in(subject) or _beginning(subject)),
        (
            "strategy",
            sentence(
                "{strategy}, at most {rounds}, profile {profile}",
                strategy=recorded("strategy", session["strategy"]),
                rounds=counted(session["maxRounds"], "round"),
                profile=session["profile"],
            ),
        ),
        *discussion.in_full(session),
        ("choices", sentence(" or ").join(session["choices"])),
        ("decide until", local_time(session["expiresAt"]) if session.get("expiresAt") else ""),
    ]


def _about(session: "Session") -> tuple[str, str]:
    """Returns what is discussed, after the name of that."""
    if session["kind"] == "review":
        return "subject", session["subject"]
    return "plan", session["plan"] or ""


def _beginning(text: str) -> str:
    lines = text.rstrip().splitlines()
    left = len(lines) - _LINES
    return "\n".join([*lines[:_LINES], *([more_lines(left)] if left > 0 else [])])


def more_lines(number: int) -> str:
    """The number of lines that are left out."""
    return sentence("(and {n} more line)" if number == 1 else "(and {n} more lines)", n=number)


def _command(step: "PlannedCommand") -> str:
    command, stage = step["command"], step["stage"]
    named = "" if stage == "custom" else f"  ({recorded('stage', stage)})"
    return f"{command if isinstance(command, str) else ' '.join(command)}{named}"


def why_stopped(session: "Session", commands: Sequence[str], event: "ExplainedCause | None") -> Pairs:
    """The cause, the evidence and the next command of a session that stopped before it was done, or that waits; else
    nothing. `event` says what went wrong."""
    cause, waits = reason_of(session), why_waiting(session)
    if not cause and not event and not waits:
        return []
    shown = _evidence(event) or worded(session, "lastError")
    first = next(iter(steps(session, commands)), "")
    return [("cause", cause), ("evidence", shown), *(waits or [("next", first)])]


def _evidence(event: "ExplainedCause | None") -> str:
    """The first lines of what the event says, after its number; empty without one."""
    return "\n".join([f"{event['version']}. {event['lines'][0]}", *event["lines"][1:_EVIDENCE]]) if event else ""


def steps(session: "Session", commands: Sequence[str]) -> list[str]:
    """The commands that continue the session, best first; `commands` are the actions that it allows."""
    allowed = ((action, step) for action, step in _STEPS.items() if action in commands)
    return [extension_of(session) if action == "extend" else step.format(session["id"]) for action, step in allowed]


def reason_of(session: "Session") -> str:
    """Says why it stopped, in the terminal's language; empty where nothing stopped it."""

    reason = str(session.get("reason") or "")
    return words(of_environment(os.environ), "projections.record").of("reason", reason) if reason else ""


def summary_of(session: "Session") -> str:
    """The end of the session, in the terminal's language."""
    if not (session.get("finalSummary") or session.get("summary")):
        return ""
    return status.outcome(session, of_environment(os.environ))
