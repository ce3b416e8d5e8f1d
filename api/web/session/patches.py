"""Patches taken apart into files, hunks and numbered lines; and those of several turns as one change of each file, in
which every line knows the turn that wrote it.

A patch shows only a part of a file: what no patch has shown is a run of unknown lines.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import reduce
from typing import Final, Literal

from domain.provenance.line_places import FileLines, beside, places_of
from domain.provenance.patches import named_by, names_of
from domain.provenance.path_changes import UNKNOWN_EFFECT, PathEffect

_PLACE: Final = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)")

Kind = Literal["place", "same", "added", "removed"]


@dataclass(slots=True)
class PatchLine:
    """A line of a file, or with the kind `place` the heading of what follows. `by` is the number of the turn that
    wrote or removed it, 0 where nobody asks; `was` the line of the base that it was before its file was renamed."""

    kind: Kind
    old: int | None
    new: int | None
    words: str
    by: int = 0
    heading: str = ""
    was: "PatchLine | None" = None


@dataclass(slots=True)
class ShownHunk:
    """Lines that follow one another; `start` counts the new file's lines before them."""

    start: int
    heading: str
    lines: list[PatchLine] = field(default_factory=list)


@dataclass(slots=True)
class FilePatch:
    """The changes of a patch to one file."""

    path: str
    before: str
    change: PathEffect = UNKNOWN_EFFECT
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
    """Each file of a patch, with what git says of it above its hunks."""
    files: list[FilePatch] = []
    old = new = 0
    for words in patch.split("\n"):
        if names := names_of(words):
            files.append(FilePatch(path=names[1], before=names[0]))
        elif not files:
            continue
        elif place := _PLACE.match(words):
            old, new = int(place[1]), int(place[3])
            files[-1].hunks.append(ShownHunk(new - 1 if place[4] != "0" else new, place[5]))
        elif not files[-1].hunks:
            file = files[-1]
            file.change = file.change.with_head(words)
            file.before, file.path = named_by((file.before, file.path), words)
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


AROUND: Final = 3
"""Unchanged lines that are shown before and after a change."""
COMPARED: Final = 400
"""Lines of a change among which those that came back are looked for."""
MOST_MATCHED: Final = 10_000
"""Lines of a renamed file, before and after, up to which those that stayed are found."""
_ENDLESS: Final = 1 << 40


@dataclass(slots=True)
class NetFile:
    """The changes to a file by all patches. Where these do not fit on one another, `lines` are theirs, one after the
    other."""

    path: str
    lines: list[PatchLine]
    composed: bool = True
    change: PathEffect = UNKNOWN_EFFECT


@dataclass(slots=True)
class UnseenLines:
    """Lines of the base that no patch has shown."""

    start: int
    count: int


_Sheet = list[UnseenLines | PatchLine]


class _UnfitError(Exception):
    """A patch that was not made on what the patches before it left."""


@dataclass(slots=True)
class _File:
    sheet: _Sheet
    parts: list[tuple[int, FilePatch]] = field(default_factory=list)
    fits: bool = True


def as_one(old: Sequence[PatchLine], new: Sequence[PatchLine]) -> list[PatchLine]:
    """The lines of a file that was removed and of one that was added, as the changes of one that was renamed."""
    before = [line for line in old if line.kind == "removed"]
    after = [line for line in new if line.kind == "added"]
    if len(before) + len(after) > MOST_MATCHED:
        return [*before, *after]
    sheet: _Sheet = []
    matcher = SequenceMatcher(None, [line.words for line in before], [line.words for line in after])
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag == "equal":
            sheet += [PatchLine("same", line.old, None, line.words) for line in before[i1:i2]]
        else:
            sheet += [*before[i1:i2], *after[j1:j2]]
    return _shown(sheet)


def net(turns: Iterable[tuple[int, Sequence[FilePatch]]]) -> list[NetFile]:
    """`turns` by their numbers, in the order in which their patches apply; files by their newest names."""
    files: dict[str, _File] = {}
    for number, patches in turns:
        lost: dict[str, list[PatchLine]] = {}
        made_now: list[_File] = []
        for patch in patches:
            file = files.pop(patch.before, None) or files.pop(patch.path, None)
            file = file or _File([] if patch.change.created else [UnseenLines(1, _ENDLESS)])
            files[patch.path] = file
            file.parts.append((number, patch))
            gone = _apply(file, patch, number)
            if patch.change.deleted:
                lost[patch.path] = gone
                continue
            if patch.change.created:
                made_now.append(file)
            for line in gone:
                if line.was is not None:
                    line.was.by = number
        for before, after in _renamed(lost, made_now if lost else ()):
            _follow(before, after, number)
    made = (_made(path, file) for path, file in files.items())
    return [file for file in made if file.lines or not file.change.changes_nothing]


def _renamed(
    lost: Mapping[str, list[PatchLine]], made: Iterable[_File]
) -> Iterator[tuple[list[PatchLine], list[PatchLine]]]:
    """The lines of each file that a turn removed, and of the one that it added where most of them say the same: turns
    record a renamed file as two."""
    sole: dict[str, str] = {}
    for path, lines in lost.items():
        for words in {line.words for line in lines}:
            sole[words] = "" if words in sole else path
    left = dict(lost)
    for file in made:
        after = [line for line in file.sheet if isinstance(line, PatchLine) and line.kind == "added"]
        votes = Counter(sole[line.words] for line in after if sole.get(line.words))
        path = max(votes, key=votes.__getitem__, default="")
        before = left.get(path, [])
        if not (file.fits and before) or len(before) + len(after) > MOST_MATCHED:
            continue
        same = Counter(line.words for line in before) & Counter(line.words for line in after)
        if 2 * same.total() > max(len(before), len(after)):
            del left[path]
            yield before, after


def _follow(before: Sequence[PatchLine], after: Sequence[PatchLine], number: int) -> None:
    """Gives the lines that a renamed file kept to the turns that wrote them, and the others to this one."""
    file = FileLines("", [line.words for line in before], [line.words for line in after])
    places = places_of(file)
    places |= beside(file, places)
    for at, old in enumerate(before):
        new = after[places[at].number] if at in places else None
        if new is None or new.words != old.words:
            if old.was is not None:
                old.was.by = number
        elif old.kind == "added":
            new.by, new.was = old.by, old.was
        else:
            new.was = old


def _made(path: str, file: _File) -> NetFile:
    change = reduce(PathEffect.then, (patch.change for _, patch in file.parts))
    if file.fits:
        return NetFile(path, _shown(_settled(file.sheet)), change=change)
    lines = []
    for number, patch in file.parts:
        lines += [PatchLine("place", None, None, "", by=number), *patch.lines]
        for line in patch.lines:
            line.by = number
    return NetFile(path, lines, composed=False, change=change)


def _apply(file: _File, patch: FilePatch, number: int) -> list[PatchLine]:
    """The lines that are gone."""
    if not file.fits:
        return []
    try:
        return [line for hunk in patch.hunks for line in _change(file.sheet, hunk, number)]
    except _UnfitError:
        file.fits = False
        return []


def _change(sheet: _Sheet, hunk: ShownHunk, number: int) -> list[PatchLine]:
    at = _place(sheet, hunk.start)
    heading = hunk.heading
    gone: list[PatchLine] = []
    for line in hunk.lines:
        if line.kind == "added":
            sheet.insert(at, PatchLine("added", None, None, line.words, by=number, heading=heading))
            at, heading = at + 1, ""
            continue
        at = _place_of(sheet, at, line.words)
        entry = sheet[at]
        assert isinstance(entry, PatchLine), "its words have just been learned"
        entry.heading, heading = entry.heading or heading, ""
        if line.kind == "removed":
            gone.append(entry)
        if line.kind == "removed" and entry.kind == "added":
            del sheet[at]
            continue
        if line.kind == "removed":
            entry.kind, entry.by = "removed", number
        at += 1
    return gone


def _place(sheet: _Sheet, before: int) -> int:
    """Places hunks where so many lines of the file come before; a run of unknown lines is split there."""
    for at, item in enumerate(sheet):
        if before == 0:
            return at
        if isinstance(item, UnseenLines):
            if item.count > before:
                sheet[at : at + 1] = [
                    UnseenLines(item.start, before),
                    UnseenLines(item.start + before, item.count - before),
                ]
                return at + 1
            before -= item.count
        elif item.kind != "removed":
            before -= 1
    if before:
        raise _UnfitError
    return len(sheet)


def _place_of(sheet: _Sheet, at: int, words: str) -> int:
    """The place of the next line of the file, which has these words."""
    while at < len(sheet):
        item = sheet[at]
        if isinstance(item, UnseenLines):
            rest = [UnseenLines(item.start + 1, item.count - 1)] if item.count > 1 else []
            sheet[at : at + 1] = [PatchLine("same", item.start, None, words), *rest]
            return at
        if item.kind != "removed":
            if item.words != words:
                raise _UnfitError
            return at
        at += 1
    raise _UnfitError


def _settled(sheet: _Sheet) -> _Sheet:
    """Drops lines that were removed and came back; in a change what was removed comes first."""
    rows: _Sheet = []
    block: list[PatchLine] = []
    for item in [*sheet, UnseenLines(0, 0)]:
        if isinstance(item, PatchLine) and item.kind != "same":
            block.append(item)
            continue
        rows += _without_returns(block)
        block = []
        rows.append(item)
    return rows[:-1]


def _without_returns(block: list[PatchLine]) -> list[PatchLine]:
    removed = [line for line in block if line.kind == "removed"]
    added = [line for line in block if line.kind == "added"]
    if not removed or not added or len(block) > COMPARED:
        return removed + added
    rows: list[PatchLine] = []
    words = [[line.words for line in lines] for lines in (removed, added)]
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, words[0], words[1], autojunk=False).get_opcodes():
        if tag != "equal":
            rows += removed[i1:i2] + added[j1:j2]
            continue
        rows += [PatchLine("same", line.old, None, line.words) for line in removed[i1:i2]]
    return rows


def _shown(sheet: _Sheet) -> list[PatchLine]:
    """The changes with what is around them, numbered; each group under its heading."""
    changed = [at for at, item in enumerate(sheet) if isinstance(item, PatchLine) and item.kind != "same"]
    near = {at for place in changed for at in range(place - AROUND, place + AROUND + 1)}
    rows: list[PatchLine] = []
    new, apart = 1, True
    for at, item in enumerate(sheet):
        if isinstance(item, UnseenLines):
            new, apart = new + item.count, True
            continue
        if item.kind != "removed":
            item.new, new = new, new + 1
        if at not in near:
            apart = True
            continue
        if apart:
            rows.append(PatchLine("place", item.old, item.new, item.heading))
        rows.append(item)
        apart = False
    return rows
