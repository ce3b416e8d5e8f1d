"""People's comments on a result, each under the lines that it is about, and the forms to make and settle them."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from api.web.plain_text import cut
from api.web.session.context import LONG, PanelContext
from api.web.session.diffing import Row
from api.web.session.finding_rows import says_of
from domain.session.comments import Comment, CommentSide

LineKey = tuple[str, CommentSide, int]
_PATHS: Final = 10
"""Paths that are shown of those that an answer names."""


@dataclass
class Threads:
    """Comments by the line under which they stand, by file, and all others."""

    by_line: dict[LineKey, list[Row]] = field(default_factory=lambda: defaultdict(list))
    by_file: dict[str, list[Row]] = field(default_factory=lambda: defaultdict(list))
    others: list[Row] = field(default_factory=list)


def threads_of(context: PanelContext) -> Threads:
    """All comments that nobody has withdrawn."""
    threads = Threads()
    for comment in context.session.comments.all:
        if comment.status == "withdrawn":
            continue
        row = _row(context, comment)
        if row["at"] is not None:
            threads.by_line[row["at"]].append(row)
        elif row["path"] and not row["outdated"]:
            threads.by_file[row["path"]].append(row)
        else:
            threads.others.append(row)
    return threads


def put_under_lines(threads: Threads, rows: Sequence[Row]) -> list[Row]:
    """Add to files and lines the comments that are about them. Returns those that no row shows."""
    for file in rows:
        before = file["before"] or file["path"]
        below = [row for path in {file["path"], before} for row in threads.by_file.pop(path, ())]
        if file["composed"]:
            for line in (each for block in file["blocks"] for each in block["lines"] if block["kind"] != "place"):
                keys: list[LineKey] = []
                keys += [(file["path"], "new", line["line"].new)] if line["line"].new else []
                keys += [(before, "old", line["line"].old)] if line["line"].old else []
                line["comments"] = [row for key in keys for row in threads.by_line.pop(key, ())]
        rest = [key for key in threads.by_line if key[0] == file["path"] or key[:2] == (before, "old")]
        file["comments"] = below + [row for key in rest for row in threads.by_line.pop(key)]
    left = [row for group in (*threads.by_line.values(), *threads.by_file.values()) for row in group]
    return [*threads.others, *left]


def _row(context: PanelContext, comment: Comment) -> dict[str, Any]:
    whereabouts = context.whereabouts.get(comment.comment_id)
    now = whereabouts.now if whereabouts else None
    line, path = (now.end_line, now.path) if now else (None, comment.path)
    at: LineKey | None = (now.path, "new", line) if now and line else None
    if at is None and comment.side == "old" and comment.path and comment.end_line:
        at = (comment.path, "old", comment.end_line)
    change = comment.newest_change
    return {
        "id": comment.comment_id,
        "who": cut(comment.by.removeprefix("person:"), 60),
        "when": comment.at,
        "text": cut(comment.text, LONG),
        "status": comment.status,
        "reason": cut(change.reason, LONG) if change else "",
        "changer": cut(change.by.removeprefix("person:"), 60) if change else "",
        "says": says_of(comment.status),
        "at": at,
        "path": path or "",
        "lines": _lines(comment),
        "quote": comment.quote if at is None or (whereabouts and whereabouts.outdated) else (),
        "outdated": bool(whereabouts and whereabouts.outdated),
        "answers": [
            {
                "answer": each.answer,
                "words": cut(context.worded(each.words), LONG),
                "turn": each.turn_id.rpartition(".")[2],
                "changed": [cut(path, LONG) for path in each.changed_paths[:_PATHS]],
            }
            for each in comment.answers
        ],
    }


def _lines(comment: Comment) -> str:
    """`src/shop.py:12-14`, as the person saw it."""
    if comment.path is None:
        return ""
    end = f"-{comment.end_line}" if comment.end_line != comment.line else ""
    return comment.path if comment.line is None else f"{comment.path}:{comment.line}{end}"
