"""What to look at first: every hunk of the changes by what the record knows about it, with the reasons."""

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from api.web.plain_text import cut
from api.web.session.context import SENTENCE, PanelContext, whole
from api.web.session.patches import NetFile, files_of, net
from api.web.session.turns import patch_of, turns_of
from domain.provenance.patches import HunkLine, PatchHunk
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
    entries = mapped(work, _hunks(context), partial(whole, context, most=10_000_000))
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
            }
            for place, entry in enumerate(entries)
        ],
    }


def _hunks(context: PanelContext) -> Iterator[PatchHunk]:
    """The net changes of all turns, in file order."""
    done = [turn for turn in turns_of(context) if turn.attempt and turn.attempt.patch]
    made = net((turn.number, files_of(patch_of(context, turn.attempt))) for turn in done if turn.attempt)
    for file in sorted(made, key=lambda each: each.path):
        yield from _parts(file)


def _parts(file: NetFile) -> Iterator[PatchHunk]:
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
