"""What was made and written down: inputs, the reviewer's outcomes, artifacts with diffs, worklog, children."""

import re
from typing import Any, Final

import orjson

from api.web.plain_text import cut, newest_of, rendered, with_blocks
from api.web.session.context import LONG, SENTENCE, PanelContext, tame
from api.web.session.validation_report import in_lines, report
from domain.values.base import Text
from projections.record import artifacts as made
from projections.record import worklog as log
from projections.record.trail import ReviewMark

TASK: Final = 4_000
FILES, STEPS, LABELS, LISTED, SHOWN, CHILDREN = 50, 20, 32, 100, 10, 50
"""Entries: of lists of the input, of the list of artifacts, of artifacts shown with their words, of children."""
_TIME: Final = re.compile(r": ((\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)\.\d{3}Z)(?=</li>)")
CONTENT, DIFF_LINES, DIFF_LINE = 3_000, 120, 400
READ: Final = 1_000_000
"""Bytes of JSON, at most, that is read to be shown for people."""
ISSUES = 30
ENTRIES: Final = 1_000
"""Of the worklog's log, at most: more than its newest characters can hold."""


def inputs(context: PanelContext) -> dict[str, Any]:
    it, session = context.it, context.session
    files, steps = it.get("filePaths") or [], it.get("validationCommands") or []
    task = it.get("task") or it.get("prompt") or it.get("subject") or it.get("plan") or ""
    plan = it.get("plan") if it["kind"] == "orchestration" else None
    return {
        "task": cut(task, TASK),
        "plan": tame(cut(plan, TASK)) if plan else None,
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


# -- the delivery's own reviewer ---------------------------------------------------------------------------------------


def reviews(context: PanelContext) -> dict[str, Any]:
    """The newest outcome in full, the earlier ones as a table (S4 §9.3)."""
    outcomes = context.past(context.trail.outcomes)
    return {"newest": _outcome(outcomes[-1]) if outcomes else None, "all": [_outcome(one) for one in outcomes[-20:]]}


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


# -- artifacts -----------------------------------------------------------------------------------------------------


def artifacts(context: PanelContext) -> dict[str, Any]:
    """The newest with what they say and change; the others as a list."""
    existing = made.upto(context.record.artifacts, context.version)
    newest = [artifact.artifact_id for artifact in existing[-SHOWN:]]
    return {
        "count": len(existing),
        "more": max(0, len(existing) - LISTED),
        "list": [
            _artifact(context, artifact, whole=artifact.artifact_id in newest)
            for artifact in reversed(existing[-LISTED:])
        ],
    }


def _artifact(context: PanelContext, artifact: made.Artifact, *, whole: bool) -> dict[str, Any]:
    entry = artifact.view().wire()
    if not whole:
        return entry | {"shown": False}
    content, patch = made.texts(context.store, context.session.id, artifact)
    json = _json(context, artifact, content)
    words = in_lines(json) if json else content.head
    return entry | {
        "shown": True,
        "report": report(json) if json else None,
        "review": _review(json) if json and artifact.phase == "review" else None,
        "content": cut(words, CONTENT),
        "cut": len(words) > CONTENT or (content.digest is not None and not json),
        "diff": diff(patch) if patch else None,
    }


def _review(json: str) -> dict[str, Any] | None:
    """What a reviewer found; None for what is no review."""
    try:
        review = orjson.loads(json)
        issues = [(str(each["title"]), str(each.get("detail") or "")) for each in review["blockingIssues"]]
        remarks = [str(each.get("title") or each) for each in review["nonBlockingIssues"] if isinstance(each, dict)]
        fixes = [str(step) for step in review["fixPlan"]]
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
        return None
    return {
        "score": review.get("score"),
        "issues": [(cut(title, SENTENCE), cut(detail, LONG)) for title, detail in issues[:ISSUES]],
        "remarks": [cut(remark, SENTENCE) for remark in remarks[:ISSUES]],
        "fixes": [cut(step, SENTENCE) for step in fixes[:ISSUES]],
    }


def _json(context: PanelContext, artifact: made.Artifact, text: Text) -> str:
    """All of an artifact that is JSON; nothing of others, of what is too long, and where the log has lost it."""
    if artifact.media_type != "application/json" or text.length > READ:
        return ""
    return text.head if text.digest is None else context.store.text(text.digest) or ""


def diff(patch: Text) -> dict[str, Any]:
    """A patch line by line, each with its kind; at most `DIFF_LINES` of them."""
    lines = patch.head.removesuffix("\n").split("\n")
    return {
        "lines": [(_kind(words), cut(words, DIFF_LINE)) for words in lines[:DIFF_LINES]],
        "cut": len(lines) > DIFF_LINES or patch.digest is not None,
        "added": sum(_kind(words) == "added" for words in lines),
        "removed": sum(_kind(words) == "removed" for words in lines),
    }


def _kind(words: str) -> str:
    if words.startswith(("+++", "---", "diff ", "index ", "new file", "deleted file", "rename ", "similarity ")):
        return "file"
    kinds = {"+": "added", "-": "removed", "@": "place"}
    return kinds.get(words[:1], "same")


# -- the rest ------------------------------------------------------------------------------------------------------


def worklog(context: PanelContext) -> dict[str, Any]:
    language = context.language
    whole = log.render(context.record.worklog, context.session, newest=ENTRIES, language=language)
    text, shortened = newest_of(whole, language)
    return {"html": _local_times(rendered(with_blocks(text))), "cut": shortened}


def _local_times(html: str) -> str:
    """The times at the ends of entries, which the script shows in the reader's time."""
    return _TIME.sub(r': <time datetime="\1" data-local>\2 \3 UTC</time>', html)


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
