"""Changed files as rows for the page: headings, stretches without a change, and changes with who wrote them. The words
that a change touched are marked, keywords are bold, comments are soft."""

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import groupby, pairwise
from typing import Any, Final, NamedTuple

from markupsafe import Markup, escape

from api.web.plain_text import cut, shown
from api.web.session.context import SENTENCE
from api.web.session.patches import FilePatch, PatchLine, counts
from domain.provenance.path_changes import UNKNOWN_EFFECT, PathEffect

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
    change: PathEffect = UNKNOWN_EFFECT


def diffed(patches: Sequence[FilePatch]) -> list[Row]:
    """The files of one patch."""
    return rows_of([Changed(patch.path, patch.lines, change=patch.change) for patch in patches], {})


def rows_of(files: Sequence[Changed], origins: Mapping[int, object], *, alone: str = "") -> list[Row]:
    """Every file with its counts; its lines as far as there is room. `known` says of turns where their lines come
    from, `alone` names the one file that is looked at."""
    left, rows = ALL, []
    for place, (path, lines, composed, change) in enumerate(files[:FILES], start=1):
        wanted = alone in ("", path)
        room = (ALONE if alone else min(LINES, left)) if wanted else 0
        left -= min(len(lines), room)
        added, removed = counts(lines)
        rows.append(
            {
                "path": path,
                "before": change.renamed_from,
                "name": cut(posixpath.basename(path), SENTENCE),
                "place": place,
                "added": added,
                "removed": removed,
                "binary": change.binary and not lines,
                "composed": composed,
                "marks": (),
                "notes": [note for note in change.notes(lines=bool(lines)) if note.what != "renamed"],
                "folded": added + removed > LINES // 2 and not alone,
                "cut": len(lines) > room,
                "blocks": _blocks(lines[:room], path, origins),
            }
        )
    return rows


LINE: Final = 400
"""Characters of a line that are shown."""
ALIKE: Final = 0.4
"""The least share that two lines have in common which are shown as one line with other words."""
PAIRED: Final = 60
"""Lines of a change among which each removed line looks for the added one that is like it."""

_TOKEN: Final = re.compile(r"\w+|\s+|[^\w\s]")
_PYTHON: Final = (
    "and as assert async await break case class continue def del elif else except finally for from global if import in "
    "is lambda match nonlocal not or pass raise return try while with yield None True False"
)
_BRACES: Final = (
    "abstract async await break case catch class const continue default defer do else enum export extends final "
    "finally fn for from func function go if impl implements import in interface let match mod mut namespace new "
    "package pub private protected public return select static struct super switch throw throws trait try type "
    "typeof union use var void while yield true false null nil undefined"
)
_SHELL: Final = "case do done elif else esac export fi for function if in local return then until while"
_KEYWORDS: Final = {
    **dict.fromkeys(("py", "pyi"), _PYTHON),
    **dict.fromkeys(("sh", "bash"), _SHELL),
    **dict.fromkeys(
        ("js", "mjs", "ts", "tsx", "jsx", "go", "rs", "java", "kt", "c", "h", "cc", "cpp", "cs", "swift", "php"),
        _BRACES,
    ),
}
_STRING: Final = r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|`[^`]*`"

Span = tuple[int, int]


def code(lines: Sequence[PatchLine], path: str) -> list[Markup]:
    """The lines of one file as HTML, in order."""
    touched = changed_words(lines)
    syntax = _syntax(path)
    return [_html(cut(line.words, LINE), syntax, touched.get(id(line), ())) for line in lines]


# -- changed words -----------------------------------------------------------------------------------------------------
def changed_words(lines: Sequence[PatchLine]) -> dict[int, list[Span]]:
    """The differences of lines that took each other's place, by the identity of the line."""
    spans: dict[int, list[Span]] = {}
    for removed, added in _changes(lines):
        for old, new in _pairs(removed, added):
            ours, theirs = _tokens(old.words), _tokens(new.words)
            matcher = SequenceMatcher(None, ours, theirs, autojunk=False)
            if matcher.ratio() < ALIKE:
                continue
            codes = [code for code in matcher.get_opcodes() if code[0] != "equal"]
            spans[id(old)] = _spans(ours, [(i1, i2) for _, i1, i2, _, _ in codes])
            spans[id(new)] = _spans(theirs, [(j1, j2) for _, _, _, j1, j2 in codes])
    return spans


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


def _changes(lines: Sequence[PatchLine]) -> Iterator[tuple[list[PatchLine], list[PatchLine]]]:
    """Each stretch of removed lines with the added ones that follow it."""
    removed: list[PatchLine] = []
    added: list[PatchLine] = []
    for line in [*lines, PatchLine("place", None, None, "")]:
        if line.kind == "added":
            added.append(line)
            continue
        if added or line.kind != "removed":
            if removed and added:
                yield removed, added
            removed, added = [], []
        if line.kind == "removed":
            removed.append(line)


def _pairs(removed: Sequence[PatchLine], added: Sequence[PatchLine]) -> Iterator[tuple[PatchLine, PatchLine]]:
    if len(removed) == len(added) or len(removed) * len(added) > PAIRED * PAIRED:
        yield from zip(removed, added, strict=False)
        return
    left = list(added)
    for old in removed:
        likes = [(SequenceMatcher(None, old.words, new.words).quick_ratio(), -at) for at, new in enumerate(left)]
        best, at = max(likes, default=(0.0, 0))
        if best >= ALIKE:
            yield old, left[-at]
            del left[: -at + 1]


def _tokens(words: str) -> list[str]:
    return _TOKEN.findall(words[:LINE])


def _spans(tokens: Sequence[str], places: Sequence[Span]) -> list[Span]:
    starts = [0]
    for token in tokens:
        starts.append(starts[-1] + len(token))
    return [(starts[begin], starts[end]) for begin, end in places if begin < end]


# -- keywords and comments ---------------------------------------------------------------------------------------------
def _syntax(path: str) -> re.Pattern[str] | None:
    ending = path.rpartition(".")[2].lower()
    words = _KEYWORDS.get(ending)
    if words is None:
        return None
    comment = r"//.*|/\*.*?(?:\*/|$)" if words is _BRACES else "#.*"
    return re.compile(rf"(?P<string>{_STRING})|(?P<comment>{comment})|\b(?P<keyword>{'|'.join(words.split())})\b")


def _html(words: str, syntax: re.Pattern[str] | None, touched: Sequence[Span]) -> Markup:
    matches = list(syntax.finditer(words)) if syntax else []
    kinds = {match.span(): str(match.lastgroup) for match in matches if match.lastgroup != "string"}
    edges = sorted({0, len(words), *(min(edge, len(words)) for span in (*touched, *kinds) for edge in span)})
    pieces = []
    for place in pairwise(edges):
        kind = next((kind for span, kind in kinds.items() if _within(place, span)), "")
        pieces.append(_piece(words[slice(*place)], kind, any(_within(place, span) for span in touched)))
    return Markup("").join(pieces)


def _within(place: Span, span: Span) -> bool:
    return span[0] <= place[0] and place[1] <= span[1]


def _piece(words: str, kind: str, is_touched: bool) -> Markup:
    made = escape(shown(words))
    if kind == "keyword":
        made = Markup("<b>{}</b>").format(made)
    elif kind == "comment":
        made = Markup('<span class="small">{}</span>').format(made)
    return Markup("<mark>{}</mark>").format(made) if is_touched else made
