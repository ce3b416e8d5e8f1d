"""How a session ended, in the reader's language: our own phrases are translated, everything else stays as recorded.
Imports little, for the command line."""

import posixpath
from collections.abc import Collection, Mapping
from typing import Any, Final

from domain.orchestration.endings import ALL_DONE, CHECKPOINT_DONE, RESET, RESET_DONE
from domain.session.state import Session
from domain.session.workspace import EVERYTHING, PathScope, touched
from domain.values.words import Language, Words, words
from projections.views.session import LandedView, ResultBase, ResultFile, ResultView

ROOM: Final = "projections.record"
_PHRASES: Final[Mapping[str, str]] = {
    CHECKPOINT_DONE: "outcome.checkpoint",
    ALL_DONE: "outcome.all_done",
    RESET: "outcome.reset",
    RESET_DONE: "outcome.reset",
    "success": "outcome.success",
    "cancelled": "outcome.cancelled",
}
"""The default summary."""


def outcome(view: Mapping[str, Any], language: Language) -> str:
    """The summary of a session's view (`projections/record/session.py`); empty before it ends."""
    recorded = str(view.get("finalSummary") or view.get("summary") or "")
    if not recorded:
        return ""
    if (sentence := view.get("finalSummarySentence")) and language != "en":
        from domain.values.sentences import in_language, of_data

        return in_language(of_data(sentence), language)
    say = words(language, ROOM)
    match view:
        case {"kind": "orchestration", "status": "partial", "reason": "rounds"} if recorded:
            return _unfinished(view, say)
        case {"kind": "delivery", "status": "success"} if recorded != "success" and language != "en":
            branch = (view.get("result") or {}).get("branch")
            key = "outcome.delivered" if branch else "outcome.delivered_only"
            return say.fill(key, {"n": view.get("iteration"), "branch": branch})
        case {"kind": "delivery", "finalSummary": "failed_budget_exhausted"}:
            return _exhausted(view, say)
        case _:
            return phrase(recorded, language)


def phrase(recorded: str, language: Language) -> str:
    """A phrase of ours in the reader's language; any other text as it is recorded."""
    return words(language, ROOM)(_PHRASES[recorded]) if recorded in _PHRASES else recorded


def _exhausted(view: Mapping[str, Any], say: Words) -> str:
    budget = view.get("budget") or {}
    reason = str(budget.get("reason") or "")
    if reason == "iterations":
        return say.fill("outcome.iterations", {"most": budget.get("maxIterations")})
    return say.fill("outcome.exhausted", {"reason": say.of("reason", reason)}) if reason else say("status.exhausted")


def _unfinished(view: Mapping[str, Any], say: Words) -> str:
    """Which agents are done and which are not, in Markdown."""
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


def result_of(session: Session, planned: Collection[str], scope: PathScope = EVERYTHING) -> ResultView | None:
    """None as long as nothing has changed. `planned` are the files and folders that the request or the plan named,
    relative to the workspace."""
    base, changes = session.base, session.changes
    if base is None or changes is None or not changes.files:
        return None
    folder = _below(session.workspace, base.repository)
    names = tuple(posixpath.normpath(posixpath.join(folder, path)) for path in planned)
    return ResultView(
        repository=base.repository,
        base=ResultBase(branch=base.base_branch, commit=base.base_commit),
        branch=session.branch,
        head=changes.head,
        commits=changes.commits,
        files=tuple(ResultFile(**dict(file), named=_is_named(file.path, names)) for file in changes.files),
        landed=LandedView(branch=session.landed.onto, commit=session.landed.commit) if session.landed else None,
        outside=scope.outside_of(touched(changes)),
    )


def _below(workspace: str | None, repository: str | None) -> str:
    """Where the workspace is in its repository; empty for the root."""
    if not workspace or not repository or not workspace.startswith(f"{repository}/"):
        return ""
    return workspace.removeprefix(f"{repository}/")


def _is_named(path: str, names: Collection[str]) -> bool:
    """Whether the file itself was named, or a folder above it."""
    return any(path == name or name == "." or path.startswith(f"{name}/") for name in names)
