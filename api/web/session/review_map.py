"""Shows what to look at first: every hunk of the changes by what the record knows about it, with the reasons."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, Final

from api.web.plain_text import cut
from api.web.session.changes import whole_changes
from api.web.session.context import SENTENCE, PanelContext, whole
from api.web.session.diffing import Changed
from domain.provenance.patches import HunkLine, PatchHunk
from domain.provenance.path_changes import PatchPart
from domain.provenance.path_changes import whole as whole_path
from projections.record.review_map import RecordedWork, mapped
from projections.record.session import view
from projections.views.session import ResultView

HUNKS, LINES = 400, 60
"""Hunks of which the lines are shown, and lines of each; the others are named."""
_SIGNS: Final = {"added": "+", "removed": "-"}


def review_map(context: PanelContext) -> dict[str, Any]:
    result = getattr(view(context.session), "result", None)
    if context.turn or not isinstance(result, ResultView):
        return {"hunks": []}
    history = context.store.history(context.session.id, upto=context.version)
    work = RecordedWork(context.session, history, result, context.whereabouts)
    entries = mapped(work, _every_part(context), partial(whole, context, most=10_000_000))
    coverage = context.session.coverage
    return {
        "unread": context.worded(coverage.problem) if coverage and coverage.problem else "",
        "hunks": [
            {
                "path": entry.hunk.path,
                "name": cut(entry.hunk.path, SENTENCE),
                "line": next((line.number or line.old for line in entry.hunk.lines if line.sign != " "), 1),
                "lines": entry.hunk.lines[:LINES] if place < HUNKS else (),
                "more": max(0, len(entry.hunk.lines) - LINES) if place < HUNKS else len(entry.hunk.lines),
                "because": entry.because,
                "notes": entry.notes,
            }
            for place, entry in enumerate(entries)
        ],
    }


def _every_part(context: PanelContext) -> Iterator[PatchPart]:
    """The changes of the result, in file order."""
    for file in sorted(whole_changes(context), key=lambda each: each.path):
        change = file.change
        if not file.lines or change.changes_mode or change.renamed_from:
            yield whole_path(file.path, replace(change, binary=change.binary and not file.lines))
        for hunk in _hunks(file):
            yield PatchPart(hunk, change)


def _hunks(file: Changed) -> Iterator[PatchHunk]:
    lines: list[HunkLine] = []
    for line in file.lines:
        if line.kind == "place":
            if lines:
                yield PatchHunk(file.path, tuple(lines))
            lines = []
            continue
        lines.append(HunkLine(_SIGNS.get(line.kind, " "), line.words, line.new or 0, line.old or 0))
    if lines:
        yield PatchHunk(file.path, tuple(lines))
