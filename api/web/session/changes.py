"""What a session changed: file by file and line by line, by the turn that did it."""

from collections.abc import Sequence
from typing import Any

from api.web.session.patches import files_of
from api.web.session.standing import Standing
from api.web.session.turns import TurnCard, patch_of, turns_of
from api.web.shown import cut


def changes(standing: Standing) -> dict[str, Any]:
    """The turns that changed files, and the changes of one of them or of all, with the files as a list."""
    patched = [(turn, turn.attempt) for turn in turns_of(standing)]
    made = [(turn, files_of(patch_of(standing, attempt))) for turn, attempt in patched if attempt and attempt.patch]
    shown = [each for each in made if standing.turn in ("", each[0].id)]
    files: dict[str, list[int]] = {}
    for _, parts in shown:
        for part in parts:
            sums = files.setdefault(part["path"], [0, 0])
            sums[0], sums[1] = sums[0] + part["added"], sums[1] + part["removed"]
    return {
        "focus": standing.turn,
        "rounds": standing.session.kind != "delivery",
        "turns": [_turn(turn, parts) for turn, parts in made],
        "files": [(path, added, removed) for path, (added, removed) in sorted(files.items())],
        "shown": [_turn(turn, parts) | {"parts": parts} for turn, parts in shown],
    }


def _turn(turn: TurnCard, parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": turn.id,
        "number": turn.number,
        "agent": cut(turn.entry.agent, 60),
        "place": turn.entry.number,
        "version": turn.attempt.version if turn.attempt else 0,
        "added": sum(part["added"] for part in parts),
        "removed": sum(part["removed"] for part in parts),
    }
