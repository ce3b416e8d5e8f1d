"""Patches taken apart into files, hunks and numbered lines."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

_PLACE: Final = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)")
_NAMED: Final = re.compile(r"diff --git a/(.+) b/(.+)")

Kind = Literal["place", "same", "added", "removed"]


@dataclass(slots=True)
class PatchLine:
    """A line of a file, or with the kind `place` the heading of what follows. `by` is the number of the turn that
    wrote or removed it, 0 where nobody asks."""

    kind: Kind
    old: int | None
    new: int | None
    words: str
    by: int = 0
    heading: str = ""


@dataclass(slots=True)
class ShownHunk:
    """Lines that follow one another; `start` counts the new file's lines before them."""

    start: int
    heading: str
    lines: list[PatchLine] = field(default_factory=list)


@dataclass(slots=True)
class FilePatch:
    """What a patch does to one file."""

    path: str
    before: str
    created: bool = False
    hunks: list[ShownHunk] = field(default_factory=list)

    @property
    def lines(self) -> list[PatchLine]:
        """All lines, each hunk under its heading."""
        rows: list[PatchLine] = []
        for hunk in self.hunks:
            first = hunk.lines[0] if hunk.lines else PatchLine("same", None, None, "")
            rows += [PatchLine("place", first.old, first.new, hunk.heading), *hunk.lines]
        return rows


def files_of(patch: str) -> list[FilePatch]:
    """Each file of a patch; what git says of modes and hashes is left out."""
    files: list[FilePatch] = []
    old = new = 0
    for words in patch.split("\n"):
        if named := _NAMED.fullmatch(words):
            files.append(FilePatch(path=named[2], before=named[1]))
        elif not files:
            continue
        elif place := _PLACE.match(words):
            old, new = int(place[1]), int(place[3])
            files[-1].hunks.append(ShownHunk(new - 1 if place[4] != "0" else new, place[5]))
        elif not files[-1].hunks:
            files[-1].created |= words.startswith("new file mode")
        elif words[:1] in "+- ":
            kind: Kind = "added" if words[:1] == "+" else "removed" if words[:1] == "-" else "same"
            there, here = kind != "added", kind != "removed"
            if words:
                line = PatchLine(kind, old if there else None, new if here else None, words[1:])
                files[-1].hunks[-1].lines.append(line)
                old, new = old + there, new + here
    return files


def counts(lines: Sequence[PatchLine]) -> tuple[int, int]:
    """Lines added and removed."""
    kinds = [line.kind for line in lines]
    return kinds.count("added"), kinds.count("removed")
