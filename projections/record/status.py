"""A session's status in words: why it waits for a person, and how it ended, in the reader's language.

Our own phrases are translated, everything else stays as recorded. Imports little, for the command line.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from domain.orchestration.phrases import ALL_DONE, CHECKPOINT_DONE, RESET, RESET_DONE
from domain.values.words import Language, Words, words

if TYPE_CHECKING:
    from domain.values.sentences import SentenceData

_WHY: Final = {
    "converged": "The discussion converged; a person decides.",
    "stalled": "The discussion stalled; a person decides.",
    "limit": "The discussion used up its rounds; a person decides.",
    "error": "An agent failed in the discussion; a person decides.",
    "scope_done": "The requested scope is done; a person decides how to continue.",
    "iterations": "The iterations are used up.",
    "minutes": "The time is used up.",
    "tokens": "The token limit is reached.",
    "cost": "The cost limit is reached.",
    "rounds": "The rounds are used up.",
    "plan_invalid": "There is no valid plan.",
    "agent_failed": "An agent failed.",
    "no_change": "Nothing was changed.",
    "validation_failed": "The validation fails with the changes.",
    "comments_unchanged": "Comments were left as they were.",
    "no_progress": "The last iterations made no progress.",
    "outside_scope": "Files outside the scope were changed; a person decides.",
    "scope_checkpoint": "Files outside the scope were changed; continuing permits these changes.",
    "held": "No recorded answer fits from here; a person continues the fork.",
    "turn_failed": "A turn has no attempt left; retry it.",
    "validation_not_startable": "A validation command cannot be started.",
    "validation_escapes_workspace": "The validation would test another folder.",
    "setup_failed": "The set-up failed.",
    "branch_checked_out": "A person has checked out its branch.",
    "landing_sent_back": "The result does not fit the branch as it is now.",
    "landing_not_tried": "The result was not landed: the repository is not ready for it.",
    "landing_failed": "The landing could not run.",
    "checks_attempts": "The checks still fail.",
    "checks_unchanged": "The checks fail, and the last revision changed nothing.",
    "max_revisions": "The number of revisions is used up.",
    "max_cost": "The money for revisions is used up.",
    "forced_push": "Somebody replaced commits of the branch by force.",
    "closed": "The pull request was closed.",
    "branch_gone": "The branch is gone at the forge.",
    "cannot_merge": "Other commits could not be merged.",
    "ci_settings": "The push changes settings of the CI.",
    "from_issue": "The first push of work that began with an issue.",
    "refused": "The forge refused it.",
    "no_workspace": "The workspace is not on this machine.",
    "cannot_revise": "The session takes no change requests now.",
}


def why(cause: str | None) -> str:
    """The sentence for the code of a cause."""
    return _WHY.get(cause or "", "A person decides.")


# -- how it ended ------------------------------------------------------------------------------------------------------


ROOM: Final = "projections.record"
_PHRASES: Final[Mapping[str, str]] = {
    CHECKPOINT_DONE: "outcome.checkpoint",
    ALL_DONE: "outcome.all_done",
    RESET: "outcome.reset",
    RESET_DONE: "outcome.reset",
    "success": "outcome.success",
    "cancelled": "outcome.cancelled",
    "failed_no_progress": "outcome.no_progress",
}
"""The default summary."""
_UNCHANGED: Final = "Nothing was changed."
_BRANCH: Final = " Branch hansard/"
"""The words before the branch in the summary of a success."""


def outcome(view: Mapping[str, Any], language: Language) -> str:
    """The summary of a session's view (`projections/record/session.py`), which says first if nothing was changed; empty
    before it ends."""
    summary = _summary(view, language)
    if _is_stopped_run(view) and summary:
        return _on_validation(view, summary, words(language, ROOM))
    if not summary or not changed_nothing(view):
        return summary
    say = words(language, ROOM)
    alone = say("outcome.unchanged_alone")
    if summary.startswith((_UNCHANGED, alone)):
        return summary
    if "\n" in summary:
        return f"{alone}\n\n{summary}"
    return say.fill("outcome.unchanged", {"summary": summary})


def changed_nothing(view: Mapping[str, Any]) -> bool:
    """True if work was done or planned, has stopped, and no file is changed."""
    if view.get("reason") == "no_change":
        return True
    match view:
        case {"status": "cancelled" | "reset", "inPlace": True}:
            return False  # an agent may have been stopped in the middle of its work
        case {"kind": "delivery", "status": "failed" | "cancelled", "iteration": int(begun)} if begun:
            pass
        case {"kind": "orchestration", "status": "partial" | "reset", "agents": [_, *_], "workspace": str()}:
            pass
        case _:
            return False
    return not (view.get("result") or {}).get("files")


def without_unchanged(summary: str, language: Language) -> str:
    """A summary without the words that nothing was changed, for where they are said before it."""
    return summary.removeprefix(words(language, ROOM)("outcome.unchanged_alone")).lstrip()


def _is_stopped_run(view: Mapping[str, Any]) -> bool:
    """True if it is a run that has stopped with changes of which it is known how they were validated."""
    stopped = view.get("kind") == "orchestration" and view.get("status") in ("done", "checkpoint", "partial")
    return stopped and "validated" in (view.get("result") or {})


def _summary(view: Mapping[str, Any], language: Language) -> str:
    recorded = str(view.get("finalSummary") or view.get("summary") or "")
    if not recorded:
        return ""
    if (sentence := view.get("finalSummarySentence")) and language != "en":
        return _worded(sentence, language)
    say = words(language, ROOM)
    match view:
        case {"kind": "orchestration", "status": "partial", "reason": "rounds"}:
            return _unfinished(view, say)
        case {"kind": "orchestration", "status": "partial", "reason": "validation_failed", "agents": [_, *_]}:
            return _unfinished(view, say)
        case {"kind": "delivery", "status": "success", "result": None} if _BRANCH in recorded:
            summary = recorded.rpartition(_BRANCH)[0] if language == "en" else _delivered(view, say)
            return say.fill("outcome.unchanged", {"summary": summary})
        case {"kind": "delivery", "status": "success"} if recorded != "success" and language != "en":
            return _delivered(view, say)
        case {"kind": "delivery", "finalSummary": "failed_budget_exhausted"}:
            return _exhausted(view, say)
        case _:
            return phrase(recorded, language)


def phrase(recorded: str, language: Language) -> str:
    """A phrase of ours in the reader's language; any other text as it is recorded, but for lines of ours in it."""
    if recorded in _PHRASES:
        return words(language, ROOM)(_PHRASES[recorded])
    if language == "en" or type(recorded) is not str:  # a sentence is worded with the names of its values
        return recorded
    return _worded(recorded, language)


def _worded(text: "str | SentenceData", language: Language) -> str:
    """A text, or a sentence as data, in the reader's language."""
    from domain.values.sentences import in_language, of_data, recognized  # what prints lists starts without them

    return in_language(recognized(text) if isinstance(text, str) else of_data(text), language)


def _delivered(view: Mapping[str, Any], say: Words) -> str:
    """The iteration, what was validated, the result of the review, and the branch, if there is one."""
    steps = [step["command"] for step in view.get("validationCommands") or ()]
    commands = ", ".join(step if isinstance(step, str) else " ".join(step) for step in steps)
    branch = (view.get("result") or {}).get("branch")
    mark = (view.get("phaseStatuses") or {}).get("review")
    review = say("outcome.not_reviewed" if mark == "skipped" else "outcome.approved")
    values = {"n": view.get("iteration"), "commands": commands, "branch": branch, "review": review}
    summary = say.fill("outcome.delivered" if branch else "outcome.delivered_only", values)
    summary = _on_validation(view, summary, say)
    reviewed = (view.get("result") or {}).get("reviewed")
    if not reviewed or reviewed["shown"] >= reviewed["of"]:
        return summary
    percent = reviewed["shown"] * 100 // reviewed["of"]
    return say.fill("outcome.reviewed", {"summary": summary.removesuffix("."), "percent": percent})


def _on_validation(view: Mapping[str, Any], summary: str, say: Words) -> str:
    """The summary, with what a reader has to know of the validation."""
    result = view.get("result")
    if not result:
        return summary
    validated, report = result.get("validated"), view.get("report") or {}
    notes: list[tuple[str, dict[str, Any]]] = []
    if validated is None:
        notes.append(("no_tests" if result.get("why") == "no_tests" else "not_validated", {}))
    else:
        if weakened := report.get("weakened"):
            notes.append(("weakened", {"n": len(weakened)}))
        if fails_as_before(view):
            notes.append(("red", {"commands": ", ".join(validated["commands"])}))
        if not validated["cleanRoom"]:
            notes.append(("not_cloned", {}))
        notes += [("flaky", flake) for flake in report.get("flaky") or () if not flake["known"]]
    for code, values in notes:  # each note begins a sentence of its own
        summary = say.fill(f"outcome.{code}", {**values, "summary": summary.removesuffix(".")})
    return summary


def fails_as_before(view: Mapping[str, Any]) -> bool:
    """True if the validation fails on the result, and nothing says so because it failed before the changes, too."""
    validated = (view.get("result") or {}).get("validated") or {}
    return (
        validated.get("passed") is False
        and view.get("kind") == "orchestration"
        and (view.get("reason") != "validation_failed")
    )


def is_phrase(recorded: str) -> bool:
    """Returns whether the text is one of our own, which says no more than the status."""
    return recorded in _PHRASES


def _exhausted(view: Mapping[str, Any], say: Words) -> str:
    budget = view.get("budget") or {}
    reason = str(budget.get("reason") or "")
    if reason == "iterations":
        return say.fill("outcome.iterations", {"most": budget.get("maxIterations")})
    return say.fill("outcome.exhausted", {"reason": say.of("reason", reason)}) if reason else say("status.exhausted")


def _unfinished(view: Mapping[str, Any], say: Words) -> str:
    """Returns which agents are done and which are not, in Markdown."""
    agents = view.get("agents") or ()
    done = [agent for agent in agents if agent["completed"]]
    pending = [agent for agent in agents if not agent["completed"]]
    lines = [
        say.fill("outcome.done", {"n": len(done)}),
        *(f"- ✅ {agent['agent']} ({agent['role']})" for agent in done),
        "",
        say.fill("outcome.pending", {"n": len(pending)}),
        *(
            f"- ⏳ {agent['agent']} ({agent['role']}): {say.of('step', str(agent['currentPhase']))}"
            for agent in pending
        ),
        "",
        say("outcome.continue"),
    ]
    return "\n".join(lines)
