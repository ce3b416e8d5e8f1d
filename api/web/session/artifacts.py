"""The artifacts of a session, with what they say and change."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import orjson

from api.web.plain_text import cut
from api.web.session.context import LONG, SENTENCE, PanelContext
from api.web.session.reviews import ISSUES
from api.web.session.validation_report import ReportShown, in_lines, report
from domain.values.base import Text
from projections.record import artifacts as made
from projections.views.record import ArtifactItem

LISTED, SHOWN = 100, 10
"""Artifacts in the list, and those shown with their words."""
CONTENT, DIFF_LINES, DIFF_LINE = 3_000, 120, 400
READ: Final = 1_000_000
"""Bytes of JSON, at most, that is read to be shown for people."""


class ReviewShown(NamedTuple):
    score: int | None
    issues: Sequence[tuple[str, str]]
    remarks: Sequence[str]
    fixes: Sequence[str]


class PatchShown(NamedTuple):
    """`lines`: each with its kind."""

    lines: Sequence[tuple[str, str]]
    cut: bool
    added: int
    removed: int


class ArtifactWords(NamedTuple):
    """The content of an artifact: as a report, as a review, else as it is."""

    report: ReportShown | None
    review: ReviewShown | None
    content: str
    cut: bool
    diff: PatchShown | None


class ArtifactShown(NamedTuple):
    """`words` is None where only the list has it."""

    of: ArtifactItem
    words: ArtifactWords | None


@dataclass(frozen=True, slots=True)
class ArtifactList:
    count: int
    more: int
    rows: Sequence[ArtifactShown]


def artifacts(context: PanelContext) -> ArtifactList:
    """The newest with what they say and change; the others as a list."""
    existing = made.upto(context.record.artifacts, context.version)
    newest = [artifact.artifact_id for artifact in existing[-SHOWN:]]
    return ArtifactList(
        count=len(existing),
        more=max(0, len(existing) - LISTED),
        rows=[
            _artifact(context, artifact, whole=artifact.artifact_id in newest)
            for artifact in reversed(existing[-LISTED:])
        ],
    )


def _artifact(context: PanelContext, artifact: made.Artifact, *, whole: bool) -> ArtifactShown:
    return ArtifactShown(artifact.view(), _words(context, artifact) if whole else None)


def _words(context: PanelContext, artifact: made.Artifact) -> ArtifactWords:
    content, patch = made.texts(context.store, context.session.id, artifact)
    json = _json(context, artifact, content)
    words = in_lines(json) if json else content.head
    return ArtifactWords(
        report=report(json) if json else None,
        review=_review(json) if json and artifact.phase == "review" else None,
        content=cut(words, CONTENT),
        cut=len(words) > CONTENT or (content.digest is not None and not json),
        diff=diff(patch) if patch else None,
    )


def _review(json: str) -> ReviewShown | None:
    """The findings of a reviewer; None for what is no review."""
    try:
        review = orjson.loads(json)
        issues = [(str(each["title"]), str(each.get("detail") or "")) for each in review["blockingIssues"]]
        remarks = [str(each.get("title") or each) for each in review["nonBlockingIssues"] if isinstance(each, dict)]
        fixes = [str(step) for step in review["fixPlan"]]
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
        return None
    return ReviewShown(
        score=review.get("score"),
        issues=[(cut(title, SENTENCE), cut(detail, LONG)) for title, detail in issues[:ISSUES]],
        remarks=[cut(remark, SENTENCE) for remark in remarks[:ISSUES]],
        fixes=[cut(step, SENTENCE) for step in fixes[:ISSUES]],
    )


def _json(context: PanelContext, artifact: made.Artifact, text: Text) -> str:
    """All of an artifact that is JSON; nothing of others, of what is too long, and where the log has lost it."""
    if artifact.media_type != "application/json" or text.length > READ:
        return ""
    return text.head if text.digest is None else context.store.text(text.digest) or ""


def diff(patch: Text) -> PatchShown:
    """A patch line by line, each with its kind; at most `DIFF_LINES` of them."""
    lines = patch.head.removesuffix("\n").split("\n")
    return PatchShown(
        lines=[(_kind(words), cut(words, DIFF_LINE)) for words in lines[:DIFF_LINES]],
        cut=len(lines) > DIFF_LINES or patch.digest is not None,
        added=sum(_kind(words) == "added" for words in lines),
        removed=sum(_kind(words) == "removed" for words in lines),
    )


def _kind(words: str) -> str:
    if words.startswith(("+++", "---", "diff ", "index ", "new file", "deleted file", "rename ", "similarity ")):
        return "file"
    kinds = {"+": "added", "-": "removed", "@": "place"}
    return kinds.get(words[:1], "same")
