"""What a session changed: the files as a tree, line by line, each line by the turn that wrote it."""

import posixpath
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from api.web.plain_text import cut
from api.web.session.context import PanelContext
from api.web.session.diffing import Changed, Row, rows_of
from api.web.session.netting import net
from api.web.session.origins import Origins
from api.web.session.patches import FilePatch, counts, files_of
from api.web.session.turns import TurnCard, patch_of, turns_of


def changes(context: PanelContext) -> dict[str, Any]:
    """The turns that changed files, and the changes of one of them or of all."""
    done = [turn for turn in turns_of(context) if turn.attempt and turn.attempt.patch]
    made = [(turn, files_of(patch_of(context, turn.attempt))) for turn in done if turn.attempt]
    shown = [(turn, files) for turn, files in made if context.turn in ("", turn.id)]
    origins = Origins(context)
    by_turn = {turn.number: origins.of(turn) for turn, _ in shown}
    files = _net(shown)
    result = context.it.get("result") or {}
    marks = _marks(result, origins.failing())
    rows = rows_of(files, by_turn, alone=context.file)
    for row in rows:
        row["marks"] = marks.get(row["path"], ())
    return {
        "focus": context.turn,
        "file": context.file,
        "turns": [_turn(turn, parts) for turn, parts in made],
        "count": len(files),
        "added": sum(row["added"] for row in rows),
        "removed": sum(row["removed"] for row in rows),
        "folders": [(folder, list(group)) for folder, group in groupby(rows, _folder)],
        "files": [row for row in rows if context.file in ("", row["path"])],
        "marked": {mark for group in marks.values() for mark in group},
        "taken": _taken(context, result),
    }


def _net(shown: Sequence[tuple[TurnCard, Sequence[FilePatch]]]) -> list[Changed]:
    files = [Changed(file.path, file.lines, file.composed) for file in net((turn.number, made) for turn, made in shown)]
    return sorted(files, key=lambda file: posixpath.split(file.path))


def _folder(row: Row) -> str:
    return posixpath.dirname(str(row["path"]))


def _turn(turn: TurnCard, files: Sequence[FilePatch]) -> Row:
    added, removed = counts([line for file in files for line in file.lines])
    agent = cut(turn.entry.agent, 60)
    return {"id": turn.id, "number": turn.number, "agent": agent, "added": added, "removed": removed}


def _taken(context: PanelContext, result: Mapping[str, Any]) -> dict[str, Any] | None:
    """Where the changes are, and the commands that fetch them."""
    if not result:
        return None
    name = context.session.id
    commands = {"apply": f"apply {name}", "merge": f"merge {name} --squash", "pr": f"pr {name}"}
    return {
        "branch": result["branch"],
        "commits": len(result["commits"]),
        "commands": [(command, f"hansard {words}") for command, words in commands.items()],
    }


def _marks(result: Mapping[str, Any], failing: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Notes on files, by path."""
    outside = set(result.get("outside") or ())
    marks = {}
    for file in result.get("files") or ():
        path = file["path"]
        properties = {
            "unnamed": not file["named"],
            "outside": path in outside,
            "fails": any(path in line for line in failing),
        }
        marks[path] = tuple(mark for mark, holds in properties.items() if holds)
    return marks
