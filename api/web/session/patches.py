"""Patches taken apart into files and numbered lines."""

import re
from typing import Any, Final

from api.web.shown import cut

FILES, LINES, LINE = 100, 1_000, 400
"""Files of a patch, lines of a file and characters of a line that are shown."""
_PLACE: Final = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@ ?(.*)")
_NAMED: Final = re.compile(r"diff --git a/(.+) b/(.+)")


def files_of(patch: str) -> list[dict[str, Any]]:
    """Each file of a patch with its numbered lines; what git says of modes and hashes is left out."""
    found: list[dict[str, Any]] = []
    old = new = 0
    for words in patch.splitlines():
        if named := _NAMED.match(words):
            found.append({"path": cut(named[2], 300), "added": 0, "removed": 0, "lines": [], "cut": False})
        elif not found:
            continue
        elif place := _PLACE.match(words):
            old, new = int(place[1]), int(place[2])
            _add(found[-1], "place", "", "", place[3])
        elif words[:1] == "+" and not words.startswith("+++ "):
            found[-1]["added"] += 1
            _add(found[-1], "added", "", new, words[1:])
            new += 1
        elif words[:1] == "-" and not words.startswith("--- "):
            found[-1]["removed"] += 1
            _add(found[-1], "removed", old, "", words[1:])
            old += 1
        elif words[:1] == " ":
            _add(found[-1], "same", old, new, words[1:])
            old, new = old + 1, new + 1
    return found[:FILES]


def _add(file: dict[str, Any], kind: str, old: int | str, new: int | str, words: str) -> None:
    if len(file["lines"]) < LINES:
        file["lines"].append((kind, old, new, cut(words, LINE)))
    else:
        file["cut"] = True
