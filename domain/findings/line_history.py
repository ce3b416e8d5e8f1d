"""Follows which line is which through all patches of a session: moved, replaced (the replacement inherits), gone,
renamed.

A line of the base has no author; every other one has the change that wrote it first. What a patch does not mention only
moves up or down. Which removed line an added one replaces is what `domain/provenance/line_places` says, else the order.
"""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final, NamedTuple

from domain.provenance.distinction import normal
from domain.provenance.line_places import FileLines, LinePlace, places_of
from domain.provenance.patches import hunks, names_at

_HUNK: Final = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_NEW: Final = re.compile(r"@@ -0,0 \+1(?:,(\d+))? @@.*")
_ENDLESS: Final = 2**31
"""More lines than a file has: of the base only the order is known."""
MOST_COMPARED: Final = 2_000
"""Lines of a patch up to which moved ones are looked for; in a longer one, replaced lines are paired by their order."""


class NamedLines(NamedTuple):
    """Consecutive lines with consecutive names. `author` is the change that wrote them first, 0 for the base; `changed`
    the last one that touched them."""

    name: int
    length: int
    author: int = 0
    changed: int = 0


class KnownLine(NamedTuple):
    """A line: what identifies it, who wrote it first, and when it was changed last."""

    name: int
    author: int
    changed: int


class LineReach(NamedTuple):
    """The numbers of the first and the last line that has changed, was moved, or is beside such a one, as they were."""

    first: int
    last: int


_WHOLE: Final = LineReach(0, _ENDLESS)


class ChangedFiles(NamedTuple):
    """The effect of a patch: the files that it touched by their new names, and what became of old names; the texts of
    lines that it removed and added, by file; where each of them, by any name, may have other lines."""

    touched: frozenset[str]
    renamed: dict[str, str]
    removed: dict[str, list[str]]
    added: dict[str, list[str]]
    reach: dict[str, LineReach]


@dataclass
class LineHistory:
    """The lines of all files that patches or findings have named so far."""

    files: dict[str, tuple[NamedLines, ...]] = field(default_factory=dict)
    touched: dict[str, int] = field(default_factory=dict)
    """The first change that touched each file."""
    newest: dict[str, int] = field(default_factory=dict)
    """The newest one."""
    with_blanks: set[str] = field(default_factory=set)
    """The touched files with blanks in their names, which words do not show."""
    _names: int = 1
    _places: dict[str, "_LineIndex"] = field(default_factory=dict)

    def at(self, path: str, number: int) -> KnownLine | None:
        """The line with this number; None past the end of a file that the session wrote."""
        runs = self._file(path)
        numbers = self._index(path, runs).numbers
        place = bisect_right(numbers, number) - 1
        left = number - numbers[place] if place >= 0 else 0
        if place < 0 or left >= runs[place].length:
            return None
        run = runs[place]
        return KnownLine(run.name + left, run.author, run.changed)

    def between(self, path: str, first: int, last: int) -> list[NamedLines]:
        """The lines from number `first` to `last`."""
        runs = self._file(path)
        return _slice(runs, self._index(path, runs).numbers, first, last + 1)

    def changed_near(self, path: str, version: int) -> frozenset[int]:
        """The numbers of the lines that this change was the last to touch, and of those beside them."""
        runs = self._file(path)
        numbers = self._index(path, runs).numbers
        changed = [(number, run.length) for run, number in zip(runs, numbers, strict=True) if run.changed == version]
        return frozenset(each for number, length in changed for each in range(number - 1, number + length + 1))

    def number_of(self, path: str, name: int) -> int | None:
        """Finds where in this file the line is now; None if it is not there."""
        return self.finder(path)(name)

    def finder(self, path: str) -> Callable[[int], int | None]:
        """The same for many lines of one file."""
        runs = self.files.get(path, ())
        _, numbers, names, order = self._index(path, runs)

        def number_of(name: int) -> int | None:
            place = bisect_right(names, name) - 1
            if place < 0:
                return None
            offset, run = name - names[place], order[place]
            return numbers[run] + offset if offset < runs[run].length else None

        return number_of

    def find(self, name: int) -> tuple[str, int] | None:
        """The file and the place of a line that has left its file."""
        for path in self.files:
            if (number := self.number_of(path, name)) is not None:
                return path, number
        return None

    def _index(self, path: str, runs: tuple[NamedLines, ...]) -> "_LineIndex":
        index = self._places.get(path)
        if index is None or index.runs is not runs:
            index = self._places[path] = _LineIndex.of(runs)
        return index

    def _file(self, path: str) -> tuple[NamedLines, ...]:
        if path not in self.files:
            self.files[path] = (NamedLines(self._fresh(_ENDLESS), _ENDLESS),)
        return self.files[path]

    def _fresh(self, count: int) -> int:
        name, self._names = self._names, self._names + count
        return name

    def apply(self, patch: str, version: int) -> ChangedFiles:
        """Follow every line through one more patch."""
        sections = list(_sections(patch))
        before = {each.old: self._file(each.old) for each in sections if each.old}
        heirs = _heirs(sections)
        made = {}
        reach: dict[str, LineReach] = {}
        for section in sections:
            if section.old and section.old != section.new:
                self.files.pop(section.old, None)
            runs, changed = self._changed(section, before, heirs, version)
            made[section.new or section.old] = runs
            if section.old == section.new:
                reach.setdefault(section.old, changed)
            else:
                reach |= dict.fromkeys(filter(None, (section.old, section.new)), _WHOLE)
        self.files |= made
        for path in made:
            self.touched.setdefault(path, version)
            if " " in path:
                self.with_blanks.add(path)
            self.newest[path] = version
        for section in sections:
            if section.old in self.touched and section.new:
                self.touched[section.new] = min(self.touched[section.new], self.touched[section.old])
        return ChangedFiles(
            touched=frozenset(made),
            renamed={each.old: each.new for each in sections if each.old and each.new and each.old != each.new},
            removed={each.old: each.texts("-") for each in sections if each.old},
            added={each.new: each.texts("+") for each in sections if each.new},
            reach=reach,
        )

    def _changed(
        self, section: "_Section", before: dict[str, tuple[NamedLines, ...]], heirs: "_Heirs", version: int
    ) -> tuple[tuple[NamedLines, ...], LineReach]:
        """The lines of a file after a patch, and which of those before it are not where they were."""
        if not section.new:
            return (), _WHOLE
        old = before.get(section.old, ())
        numbers = self._index(section.old, old).numbers if old else []
        past = numbers[-1] + old[-1].length if old else 1
        runs: list[NamedLines] = []
        cursor, place, count, first = 1, 0, 0, _ENDLESS
        for block in section.blocks:
            _join(runs, _slice(old, numbers, cursor, block.old))
            count += max(0, min(block.old, past) - cursor)
            first = min(first, count)
            count += len(block.added)
            if block.added and not heirs:
                _join(runs, [NamedLines(self._fresh(len(block.added)), len(block.added), version, version)])
            for number in range(len(block.added) if heirs else 0):
                heir = heirs.get((section.new, place + number))
                inherited = self._inherited(heir, before) if heir else None
                name, author = inherited[::2] if inherited else (self._fresh(1), version)
                _join(runs, [NamedLines(name, 1, author, version)])
            cursor, place = block.old + len(block.removed), place + len(block.added)
        _join(runs, _slice(old, numbers, cursor, _ENDLESS))
        return tuple(runs), LineReach(first, cursor if count == cursor - 1 else _ENDLESS)

    def _inherited(self, heir: tuple[str, int], before: dict[str, tuple[NamedLines, ...]]) -> NamedLines | None:
        """The line that a new one replaces, as it was before the patch."""
        runs = before[heir[0]]
        return next(iter(_slice(runs, self._index(heir[0], runs).numbers, heir[1], heir[1] + 1)), None)


class _LineIndex(NamedTuple):
    """The runs of a file by the number of their first line, and by their names."""

    runs: tuple[NamedLines, ...]
    numbers: list[int]
    names: list[int]
    """The first name of each run, sorted."""
    order: list[int]
    """Which run each of them is."""

    @classmethod
    def of(cls, runs: tuple[NamedLines, ...]) -> "_LineIndex":
        names = [run.name for run in runs]
        order = sorted(range(len(runs)), key=names.__getitem__)
        numbers = [*accumulate([run.length for run in runs], initial=1)]
        return cls(runs, numbers[:-1], [names[place] for place in order], order)


class _Block(NamedTuple):
    """Lines that take the place of others; `old` is the number of the first removed line, or of the one after."""

    old: int
    removed: tuple[str, ...]
    added: tuple[str, ...]


class _Section(NamedTuple):
    """A file's part of a patch; an empty name where the file is not there before or after."""

    old: str
    new: str
    blocks: tuple[_Block, ...]

    def texts(self, sign: str) -> list[str]:
        return [text for block in self.blocks for text in (block.removed if sign == "-" else block.added)]


_Heirs = dict[tuple[str, int], tuple[str, int]]
"""By file and place among its added lines: the file and the number of the removed line that it replaces."""


def _sections(patch: str) -> Iterator[_Section]:
    lines = patch.split("\n")
    starts = [at for at, line in enumerate(lines) if line.startswith("diff --git ")]
    if not starts and patch.strip():
        starts = [0]
    for start, end in zip(starts, [*starts, len(lines)][1:], strict=True):
        part = lines[start:end]
        size = next((at for at, line in enumerate(part) if line.startswith("@@")), len(part))
        head, names = part[:size], names_at(part, 0)
        is_new = any(line.startswith(("new file mode", "--- /dev/null")) for line in head)
        if names and is_new and (whole := _whole(part[size:])):
            yield _Section("", names[1], (whole,))
            continue
        names = names or next(((hunk.path, hunk.path) for hunk in hunks(part) if hunk.path), None)
        if names is None:
            continue
        new = "" if any(line.startswith(("deleted file mode", "+++ /dev/null")) for line in head) else names[1]
        yield _Section("" if is_new else names[0], new, tuple(_blocks(part[size:])))


def _whole(body: Sequence[str]) -> _Block | None:
    """A file that was not there: its one hunk, read at once; None where it is anything else."""
    match = _NEW.fullmatch(body[0]) if body else None
    count = int(match[1] or 1) if match else 0
    added = body[1 : count + 1]
    if not count or len(added) != count or not all(line.startswith("+") for line in added):
        return None
    return _Block(1, (), tuple([line[1:] for line in added]))


def _blocks(body: Iterable[str]) -> Iterator[_Block]:
    """The changed stretches of a file's hunks, between lines that stay. A hunk has as many lines as its header says."""
    shift, lines = 0, iter(body)
    for head in filter(None, map(_HUNK.match, lines)):
        old, new, left_old, left_new = int(head[1]), int(head[3]), int(head[2] or 1), int(head[4] or 1)
        step = 1 if old else 0  # a file that was not there counts no old lines
        removed: list[str] = []
        added: list[str] = []
        number = 0
        while left_old > 0 or left_new > 0:
            line = next(lines, None)
            if line is None:
                break
            sign = line[:1]
            if sign == "-":
                number = number or old
                removed.append(line[1:])
                old, left_old = old + step, left_old - 1
            elif sign == "+":
                number = number or new - shift
                added.append(line[1:])
                new, left_new = new + 1, left_new - 1
            elif sign != "\\":
                if number:
                    yield _Block(number, tuple(removed), tuple(added))
                    shift += len(added) - len(removed)
                    number, removed, added = 0, [], []
                old, new = old + step, new + 1
                left_old, left_new = left_old - 1, left_new - 1
        if removed or added:
            yield _Block(number, tuple(removed), tuple(added))
            shift += len(added) - len(removed)


def _heirs(sections: Sequence[_Section]) -> _Heirs:
    """Finds which added lines replace which removed ones: those that say the same, in this file or another, then in
    order."""
    numbers = {each.old: _numbers(each) for each in sections if each.old}
    heirs: _Heirs = {}
    taken: set[tuple[str, int]] = set()
    for section, place, target in _moves(sections):
        source = (section.old, numbers[section.old][place])
        if (target.path, target.number) not in heirs and source not in taken:
            heirs[target.path, target.number] = source
            taken.add(source)
    for section in sections:
        place = 0
        for block in section.blocks if section.old and section.new else ():
            free = [
                (section.old, block.old + offset)
                for offset in range(len(block.removed))
                if (section.old, block.old + offset) not in taken
            ]
            open_places = [at for at in range(place, place + len(block.added)) if (section.new, at) not in heirs]
            for at, source in zip(open_places, free, strict=False):
                heirs[section.new, at] = source
            place += len(block.added)
    return heirs


def _moves(sections: Sequence[_Section]) -> Iterator[tuple[_Section, int, LinePlace]]:
    """Removed lines that stand elsewhere in the patch: the place of each among those that its file lost, and where."""
    files = [FileLines(each.new or each.old, each.texts("-"), each.texts("+")) for each in sections]
    total = sum(len(each.before) + len(each.after) for each in files)
    if total > MOST_COMPARED:
        return
    added = {normal(line) for file in files for line in file.after}
    for section, file in zip(sections, files, strict=True):
        if not section.old or added.isdisjoint(map(normal, file.before)):
            continue
        others = [other for other in files if other is not file and other.after]
        places = places_of(file, others)
        for place, target in places.items():
            yield section, place, target


def _numbers(section: _Section) -> list[int]:
    """The old numbers of the lines that a file lost."""
    return [block.old + offset for block in section.blocks for offset in range(len(block.removed))]


def _slice(runs: Sequence[NamedLines], numbers: Sequence[int], first: int, past: int) -> list[NamedLines]:
    """The lines from number `first` to the one before `past`; `numbers` are those of the first lines of the runs."""
    if first >= past:
        return []
    low, high = max(bisect_right(numbers, first) - 1, 0), bisect_right(numbers, past - 1)
    slices = list(runs[low:high])
    if slices and (short := numbers[high - 1] + slices[-1].length - past) > 0:
        name, length, author, changed = slices[-1]
        slices[-1] = NamedLines(name, length - short, author, changed)
    if slices and (skipped := first - numbers[low]) > 0:
        name, length, author, changed = slices[0]
        slices[0] = NamedLines(name + skipped, length - skipped, author, changed)
        if length <= skipped:  # the file has no such line
            del slices[0]
    return slices


def _join(runs: list[NamedLines], more: Sequence[NamedLines]) -> None:
    """Append runs, as one with the last where they follow it."""
    if runs and more:
        last, first = runs[-1], more[0]
        if first == (last.name + last.length, first.length, last.author, last.changed):
            runs[-1:] = [NamedLines(last.name, last.length + first.length, last.author, last.changed), *more[1:]]
            return
    runs += more


def grouped(lines: dict[str, list[str]]) -> dict[str, set[str]]:
    """The texts without blanks, by file."""
    groups: dict[str, set[str]] = defaultdict(set)
    for path, texts in lines.items():
        groups[path] |= {"".join(text.split()) for text in texts}
    return groups
