"""What a session was given and what was written down: inputs, the reviewer's outcomes, children."""

from typing import Any, Final

from api.web.plain_text import cut
from api.web.session.context import LONG, SENTENCE, PanelContext, tame
from projections.record.trail import ReviewMark

TASK: Final = 4_000
FILES, STEPS, LABELS, CHILDREN = 50, 20, 32, 50
"""Entries: of lists of the input, and of children."""
ISSUES = 30


def task(context: PanelContext) -> dict[str, Any]:
    """What was asked for, where the title of the page does not say all of it."""
    it = context.it
    words = str(it.get("task") or it.get("prompt") or it.get("subject") or it.get("plan") or "").strip()
    first, _, rest = words.partition("\n")
    return {"task": cut(rest.strip() if first.strip() == it["title"] else words, TASK)}


def inputs(context: PanelContext) -> dict[str, Any]:
    it, session = context.it, context.session
    files, steps = it.get("filePaths") or [], it.get("validationCommands") or []
    plan = it.get("plan") if it["kind"] == "orchestration" else None
    return {
        "plan": tame(cut(context.worded(plan), TASK)) if plan else None,
        "plan_version": it.get("planVersion"),
        "files": [cut(path, SENTENCE) for path in files[:FILES]],
        "more_files": max(0, len(files) - FILES),
        "steps": [_step(step) for step in steps[:STEPS]],
        "more_steps": max(0, len(steps) - STEPS),
        "labels": [cut(label, 64) for label in it["labels"][:LABELS]],
        "workspace": cut(session.workspace or "", 2 * SENTENCE),
        "origin": cut(it["origin"], 200),
        "employees": [(cut(one["name"], 60), cut(one["role"], 40)) for one in (it.get("employees") or [])[:FILES]],
        "strategy": it.get("strategy"),
        "profile": it.get("profile"),
        "triage": it.get("triage"),
        "mode": it.get("mode"),
        "created": it["createdAt"],
    }


def _step(step: dict[str, Any]) -> dict[str, str]:
    command = step["command"]
    words = command if isinstance(command, str) else " ".join(command)
    return {"stage": str(step["stage"]), "command": cut(words, SENTENCE)}


def reviews(context: PanelContext) -> dict[str, Any]:
    """The newest outcome in full, the earlier ones as a table (S4 §9.3)."""
    outcomes = context.past(context.trail.outcomes)
    return {"newest": _outcome(outcomes[-1]) if outcomes else None, "all": [_outcome(one) for one in outcomes[-20:]]}


SHOWN: Final = 5
"""Open findings that the overview shows; their tab has all."""


def open_findings(context: PanelContext) -> dict[str, Any]:
    """What the newest review blocks, while it is worked on."""
    outcomes = context.past(context.trail.outcomes)
    blocked = outcomes[-1].issues if outcomes and not outcomes[-1].approved else ()
    return {
        "issues": [(cut(title, SENTENCE), cut(detail, SENTENCE)) for title, detail in blocked[:SHOWN]],
        "more": max(0, len(blocked) - SHOWN),
    }


def _outcome(review: ReviewMark) -> dict[str, Any]:
    return {
        "version": review.version,
        "iteration": review.iteration,
        "artifact": review.artifact,
        "decision": "approved" if review.approved else "blocked",
        "score": review.score,
        "blocking": len(review.issues),
        "remarks": review.remarks,
        "issues": [(cut(title, SENTENCE), cut(detail, LONG)) for title, detail in review.issues[:ISSUES]],
        "fixes": [cut(step, SENTENCE) for step in review.fixes[:ISSUES]],
        "more": max(0, len(review.issues) - ISSUES),
    }


def family(context: PanelContext) -> dict[str, Any]:
    """The parent of this session and its discussions, with their outcome as recorded here."""
    session = context.session
    ends = {mark.child: mark for mark in context.past(context.trail.closed)}
    opened = context.past(context.trail.opened)
    about = getattr(session, "about", None)
    return {
        "parent": session.parent,
        "about": about.about if about else "",
        "forked_from": context.past(context.trail.forks)[-1:],
        "children": [
            {
                "id": mark.child,
                "kind": mark.kind,
                "about": mark.about,
                "strategy": mark.strategy,
                "version": mark.version,
                "end": ends.get(mark.child),
            }
            for mark in reversed(opened[-CHILDREN:])
        ],
        "more": max(0, len(opened) - CHILDREN),
    }
