"""Describes an event in the reader's language, from its type and data. Its stored `message` is not used."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from domain.values.base import DomainEvent
from domain.values.words import Language, words
from projections.record.placeholders import Data, Places

ROOM: Final = "projections.record"
"""`messages.toml` has a sentence for each topic: `event.<topic>`, or `event.<topic>.<variant>`."""
_DISCUSSIONS: Final = ("review", "debate")

NAMELESS: Final = "unauthenticated"
"""A person of whom nothing is known: keys are not asked for."""
_LONG: Final = {"reply", "patch", "context", "content", "topic"}
"""Fields that are slow to read, and that only sentences with a recorded message need."""


def describe(topic: str, data: Data, language: Language = "en", *, agents: Sequence[str] = (), actor: str = "") -> str:
    """One sentence; `agents` are the names of the session's agents in the order of the plan, `actor` is who did it: a
    person's words are never called an agent's. An unknown topic is shown by name."""
    say = words(language, ROOM)
    kind, _, last = topic.partition(".")
    event = f"{'discussion' if kind in _DISCUSSIONS else kind}.{last}"
    variant = _VARIANTS[event](data) if event in _VARIANTS else ""
    by = (f"event.{event}.{variant}.by_person", f"event.{event}.by_person") if is_person(actor) else ()
    for key in (*by, f"event.{event}.{variant}", f"event.{event}"):
        if key in say.messages:
            return say.fill(key, Places(say, data, agents, person(actor))).strip()
    return last.replace("_", " ").capitalize() or topic


def describe_landing(landing: Data, language: Language = "en") -> str:
    """Says how the newest landing ended, from a result's view."""
    topics = {"landed": "session.landed", "sent_back": "session.sent_back", "not_tried": "session.landing_not_tried"}
    return describe(topics[landing["status"]], {"before": "", "reasons": [], **landing}, language)


def recorded(event: DomainEvent, actor: str = "") -> str:
    """The `message` of the JSON API: the recorded one, otherwise in English."""
    stored = str(getattr(event, "message", ""))
    return stored or describe(event.TOPIC, event.model_dump(mode="json", by_alias=True, exclude=_LONG), actor=actor)


def is_person(actor: str) -> bool:
    """Returns whether a person did it, not an agent or Hansard itself."""
    return actor.startswith("person:") or actor == NAMELESS


def person(actor: str, language: Language = "en") -> str:
    """Returns who did something, by name; Hansard's own workers are shown as this machine."""
    kind, _, name = actor.partition(":")
    return words(language, ROOM)("this_machine") if kind == "worker" else name or actor


# -- which sentence --------------------------------------------------------------------------------------------------


def _requested(data: Data) -> str:
    work = data.get("work", "ask")
    if work == "wait" and data.get("deadline"):
        return "wait_until"
    return str(work) if work != "ask" else "step" if data.get("phase") else ""


def _answered(data: Data) -> str:
    if "prompt" not in data or (data["prompt"] or {}).get("length"):
        return ""
    works = {"setup": "prepare", "test": "validate", "supervisor": "package", "integrator": "land"}
    return works.get(str(data.get("role")), "")


def _baseline(data: Data) -> str:
    commands = data.get("commands") or ()
    if data.get("escapes") or not commands or not all(command.get("startable") for command in commands):
        return "unready"
    return "" if all(command.get("passed") for command in commands) else "red"


def _finished(data: Data) -> str:
    state = str(data.get("state"))
    if data.get("finalSummary") == "failed_no_progress":
        return "no_progress"
    if state in ("success", "exhausted", "cancelled"):
        return state
    return "stopped" if data.get("code") else str(data.get("status", "failed"))


def _ignored(data: Data) -> str:
    return {"has completed its phases": "done", "is not part of this run": "stranger"}.get(str(data.get("reason")), "")


def _pushed(data: Data) -> str:
    return "ours" if data.get("pushId") else "forced" if data.get("forced") else ""


def _taken(data: Data) -> str:
    return "" if not data.get("base") else "marked" if data.get("paths") else "base"


def _branch(data: Data) -> str:
    was = str(data.get("branchWas") or "new")
    return "" if was == "new" else was


_VARIANTS: Final[Mapping[str, Callable[[Data], str]]] = {
    "turn.requested": _requested,
    "turn.answered": _answered,
    "turn.permission_decided": lambda data: str(data.get("decision", "deny")),
    "turn.attempt_failed": lambda data: str(data.get("next", "retry")),
    "session.diverged": lambda data: "held" if data.get("held") else "",
    "session.workspace_prepared": lambda data: (
        "folder" if not data.get("repository") else "dirty" if data.get("dirty") else ""
    ),
    "session.result_published": lambda data: _branch(data) if data.get("branch") else "problem",
    "delivery.branch_published": _branch,
    "session.child_requested": lambda data: str(data.get("childKind", "review")),
    "session.child_closed": lambda data: str(data.get("by", "person")),
    "session.commented": lambda data: "lines" if data.get("line") else "file" if data.get("path") else "",
    "session.comment_answered": lambda data: str(data.get("answer")),
    "session.comment_changed": lambda data: str(data.get("status")),
    "session.commits_taken": _taken,
    "forge.pull_request_requested": lambda data: "follow" if data.get("follow") else "",
    "forge.push_requested": lambda data: str(data.get("hold") or ""),
    "forge.post_requested": lambda data: str(data.get("what") or ""),
    "forge.checks_ended": lambda data: str(data.get("conclusion") or ""),
    "forge.review_commented": lambda data: "" if data.get("counts") else "listed",
    "forge.pushed": _pushed,
    "delivery.baseline_recorded": _baseline,
    "session.unattended": lambda data: str(data.get("why")),
    "session.landed": lambda data: "already" if data.get("before") == data.get("commit") is not None else "",
    "session.sent_back": lambda data: str(data.get("reason") or "conflict"),
    "delivery.scope_decided": lambda data: str(data.get("decision") or "deny"),
    "delivery.budget_exhausted": lambda data: str(data.get("reason") or ""),
    "delivery.session_finished": _finished,
    "orchestration.session_started": lambda data: str(data.get("mode", "orchestrated")),
    "orchestration.baseline_recorded": _baseline,
    "orchestration.validated": lambda data: (
        "" if data.get("passed") else "failed" if data.get("newFailures") else "red"
    ),
    "orchestration.plan_made": lambda data: "" if data.get("agents") else "direct",
    "orchestration.work_reported": lambda data: str(data.get("result", "done")),
    "orchestration.verdict_refused": _ignored,
    "orchestration.verdict_given": lambda data: "pass" if data.get("pass") else "fail",
    "discussion.synthesized": lambda data: "fallback" if data.get("fallback") else "",
    "channel.message_rejected": lambda data: str(data.get("reason") or ""),
}


# -- what fills it ---------------------------------------------------------------------------------------------------
