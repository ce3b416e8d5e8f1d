"""Changed files as rows for the page: headings, stretches without a change, and changes with who wrote them."""

import posixpath
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple

from markupsafe import Markup

from api.web.plain_text import cut
from api.web.session.context import SENTENCE
from api.web.session.marking import code
from api.web.session.patches import FilePatch, PatchLine, counts

FILES, LINES, ALL = 200, 1_000, 4_000
"""Files in the list; lines of a file and of all files that are shown."""
ALONE: Final = 10_000
"""Lines of a file that is shown by itself."""

Row = dict[str, Any]


class Changed(NamedTuple):
    """A file and its lines; `composed` says whether the changes of several turns became one."""

    path: str
    lines: Sequence[PatchLine]
    composed: bool = True


def diffed(patches: Sequence[FilePatch]) -> list[Row]:
    """The files of one patch."""
    return rows_of([Changed(patch.path, patch.lines) for patch in patches], {})


def rows_of(files: Sequence[Changed], origins: Mapping[int, object], *, alone: str = "") -> list[Row]:
    """Every file with its counts; its lines as far as there is room. `known` says of turns where their lines come
    from, `alone` names the one file that is looked at."""
    left, rows = ALL, []
    for place, (path, lines, composed) in enumerate(files[:FILES], start=1):
        wanted = alone in ("", path)
        room = (ALONE if alone else min(LINES, left)) if wanted else 0
        left -= min(len(lines), room)
        added, removed = counts(lines)
        rows.append(
            {
                "path": path,
                "name": cut(posixpath.basename(path), SENTENCE),
                "place": place,
                "added": added,
                "removed": removed,
                "composed": composed,
                "marks": (),
                "folded": added + removed > LINES // 2 and not alone,
                "cut": len(lines) > room,
                "blocks": _blocks(lines[:room], path, origins),
            }
        )
    return rows


def _blocks(lines: Sequence[PatchLine], path: str, origins: Mapping[int, object]) -> list[Row]:
    """Headings, stretches without a change, and changes: what was removed before what was added."""
    rows = list(zip(lines, code(lines, path), strict=True))
    return [
        {"kind": kind, "lines": _lines(list(group), origins, gutter=kind == "change")}
        for kind, group in groupby(rows, lambda row: row[0].kind if row[0].kind in ("place", "same") else "change")
    ]


def _lines(rows: Sequence[tuple[PatchLine, Markup]], origins: Mapping[int, object], *, gutter: bool) -> list[Row]:
    kinds = {line.kind for line, _ in rows}
    spoken = "added" if "added" in kinds else "removed"
    numbered, before = [], 0
    for line, html in rows:
        by = line.by if gutter and line.kind == spoken else 0
        label = by if by != before else 0
        before = by or before
        numbered.append({"line": line, "html": html, "by": by, "origin": origins.get(label)})
    return numbered
