"""The artifacts of a session, with what they say and change."""

from typing import Any, Final

import orjson

from api.web.plain_text import cut
from api.web.session.context import LONG, SENTENCE, PanelContext
from api.web.session.validation_report import in_lines, report
from api.web.session.work import ISSUES
from domain.values.base import Text
from projections.record import artifacts as made

LISTED, SHOWN = 100, 10
"""Artifacts in the list, and those shown with their words."""
CONTENT, DIFF_LINES, DIFF_LINE = 3_000, 120, 400
READ: Final = 1_000_000
"""Bytes of JSON, at most, that is read to be shown for people."""


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
    """The findings of a reviewer; None for what is no review."""
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
