"""Finds where the lines of a file are now, by what they say: blanks do not matter, and only distinctive lines speak for
themselves, as in blame. Commits do not matter, so that rebases, squashes and merges do not either.

A line is found where its words are, or else between the lines around it; in a short file, also above or below all
changes. Where two places could be meant, neither is: no place is better than a wrong one.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

from domain.provenance.distinction import CLEAR, FAINT, normal, weight

NEAR: Final = 12
"""Lines within which others confirm that a line is meant."""


class LinePlace(NamedTuple):
    """A line of a file, from 0."""

    path: str
    number: int


class FileLines(NamedTuple):
    """A file before and after; without lines where it is not there."""

    path: str
    before: Sequence[str]
    after: Sequence[str]


class LineRun(NamedTuple):
    """Consecutive lines of a file, from 0; `last` is one of them."""

    path: str
    first: int
    last: int


def places_of(main: FileLines, others: Collection[FileLines] = ()) -> dict[int, LinePlace]:
    """The places of the lines that `main` had before, for those that still stand: in `main` as it is now, else in the
    other files, if none of them had it before."""
    names = [normal(line) for line in main.before]
    within = _within(main.before, names, [normal(line) for line in main.after])
    places = {line: LinePlace(main.path, number) for line, number in within.items()}
    missing = [line for line in range(len(names)) if line not in places]
    here = {normal(line) for line in main.after}
    return places | (_elsewhere(main.before, names, missing, others, here) if missing else {})


def beside(file: FileLines, places: Mapping[int, LinePlace]) -> dict[int, LinePlace]:
    """Returns the places of further lines of a file, each right below or above one whose place is known: also of lines
    that say what others say, when a copy of them came or went. As in a diff, what stands above is the older."""
    names, after = ([normal(line) for line in lines] for lines in (file.before, file.after))
    number_of = {line: place.number for line, place in places.items() if place.path == file.path}
    number_of |= {-1: -1, len(names): len(after)}
    taken = set(number_of.values())
    additions: dict[int, LinePlace] = {}
    for step, lines in ((1, range(len(names))), (-1, range(len(names) - 1, -1, -1))):
        for line in lines:
            number = number_of.get(line - step, -2) + step
            if line in places or line in number_of or number in taken or not 0 <= number < len(after):
                continue
            if line - step in number_of and names[line] == after[number]:
                number_of[line] = number
                taken.add(number)
                additions[line] = LinePlace(file.path, number)
    return additions


def moved_whole(main: FileLines, others: Collection[FileLines], places: Mapping[int, LinePlace]) -> str | None:
    """Returns the path of the one new file that says all that `main` said, where few of its lines have `places` in it:
    it was moved before its name was used again. Git does not see that of files under 400 bytes."""
    stays = sum(place.path == main.path for place in places.values())
    if 2 * stays >= len(main.before) or not any(map(weight, main.before)):
        return None
    paths = [other.path for other in others if not other.before and list(other.after) == list(main.before)]
    return paths[0] if len(paths) == 1 else None


def longest_run(places: Mapping[int, LinePlace], first: int, last: int) -> LineRun | None:
    """The most of the lines from `first` to `last` that stand together, in their order."""
    best: LineRun | None = None
    run: LineRun | None = None
    for line in range(first, last + 1):
        place = places.get(line)
        if place is None:
            run = None
            continue
        follows = run is not None and (run.path, run.last + 1) == place
        run = run._replace(last=place.number) if run and follows else LineRun(place.path, place.number, place.number)
        if best is None or run.last - run.first > best.last - best.first:
            best = run
    return best


def _within(before: Sequence[str], names: Sequence[str], after: Sequence[str]) -> dict[int, int]:
    """The places in the same file: of lines that are there once by their words, of all others by those around them."""
    anchors = _anchors(before, names, after)
    if not anchors:
        return _edges(before, names, after)
    ordered = sorted(anchors)
    old, new = _positions(names), _positions(after)
    places = dict(anchors)
    for line, name in enumerate(names):
        if line in places or name not in new:
            continue
        at = bisect_left(ordered, line)
        above, below = ordered[at - 1] if at else -1, ordered[at] if at < len(ordered) else len(names)
        low = anchors.get(above, -1)
        high = anchors[below] if below in anchors else len(after)
        number = _between(old[name], new[name], line, (above, below), (low, high))
        if number is not None and not _same_around(names, after, line, number):
            number = None
        elif number is None:
            number = _beside(names, after, line, (above, below), (low, high))
        if number is not None:
            places[line] = number
    return _one_each(places)


def _anchors(before: Sequence[str], names: Sequence[str], after: Sequence[str]) -> dict[int, int]:
    """The distinctive lines that are there once, before and after, and near another one of them then and now."""
    old, new = Counter(names), Counter(after)
    once = {name: number for number, name in enumerate(after) if new[name] == 1}
    telling = [line for line, name in enumerate(names) if old[name] == 1 and weight(before[line]) >= FAINT]
    matches = {line: once[names[line]] for line in telling if names[line] in once}
    if len(telling) == 1:
        return matches
    return {line: number for line, number in matches.items() if _is_near(line, matches)}


def _edges(before: Sequence[str], names: Sequence[str], after: Sequence[str]) -> dict[int, int]:
    """The lines down to the first change and up from the last one, as any diff has them, in a file of which nothing
    else is known, such as a short one. Not those that could be either, or that say nothing."""
    same = [old == new for old, new in zip(names, after, strict=False)]
    same_up = [old == new for old, new in zip(reversed(names), reversed(after), strict=False)]
    top, end = _begins(same), _begins(same_up)
    shift = len(after) - len(names)
    from_top = {line: line for line in range(top)}
    from_end = {line: line + shift for line in range(len(names) - end, len(names))}
    places: dict[int, int] = {}
    for run, other in ((from_top, from_end), (from_end, from_top)):
        if any(weight(before[line]) for line in run):
            places |= {line: number for line, number in run.items() if other.get(line, number) == number}
    return _one_each(places)


def _begins(same: Sequence[bool]) -> int:
    """Returns how many are true before the first that is not."""
    return same.index(False) if False in same else len(same)


def _is_near(line: int, matches: Mapping[int, int]) -> bool:
    """True if the next lines above and below that are found were near it, on the same side, before: the same words
    alone may be somebody else's."""
    above = next((each for each in range(line - 1, line - NEAR - 1, -1) if each in matches), None)
    below = next((each for each in range(line + 1, line + NEAR + 1) if each in matches), None)
    sides = [
        0 < (matches[each] - matches[line]) * (1 if each > line else -1) <= NEAR
        for each in (above, below)
        if each is not None
    ]
    return bool(sides) and all(sides)


def _same_around(names: Sequence[str], after: Sequence[str], line: int, number: int) -> bool:
    """True if the lines right above and below are the same."""
    return all(
        (names[line + step] if 0 <= line + step < len(names) else None)
        == (after[number + step] if 0 <= number + step < len(after) else None)
        for step in (-1, 1)
    )


def _positions(names: Sequence[str]) -> dict[str, list[int]]:
    positions: dict[str, list[int]] = defaultdict(list)
    for number, name in enumerate(names):
        positions[name].append(number)
    return positions


def _between(old: list[int], new: list[int], line: int, around: tuple[int, int], now: tuple[int, int]) -> int | None:
    """The place between the nearest lines that are known: only if these words are as often there as before."""
    first, past = bisect_left(old, around[0] + 1), bisect_left(old, around[1])
    begin, end = bisect_left(new, now[0] + 1), bisect_left(new, now[1])
    if now[0] >= now[1] or past - first != end - begin:
        return None
    return new[begin + bisect_left(old, line) - first]


def _beside(
    names: Sequence[str], after: Sequence[str], line: int, around: tuple[int, int], now: tuple[int, int]
) -> int | None:
    """The place in a block that was moved: next to the line above or below that is known, whichever is the only one,
    if nothing was added or removed that says the same."""
    if now[0] < now[1] or names.count(names[line]) != after.count(names[line]):
        return None
    candidates = set()
    for anchor, place in zip(around, now, strict=True):
        step = 1 if line > anchor else -1
        number = place + line - anchor
        if 0 <= anchor < len(names) and 0 <= number < len(after):
            pairs = zip(range(anchor, line + step, step), range(place, number + step, step), strict=True)
            if all(names[each] == after[other] for each, other in pairs):
                candidates.add(number)
    return candidates.pop() if len(candidates) == 1 else None


def _one_each(places: dict[int, int]) -> dict[int, int]:
    """Without the lines that were found where another one is."""
    taken = Counter(places.values())
    return {line: number for line, number in places.items() if taken[number] == 1}


# -- other files -------------------------------------------------------------------------------------------------------


def _elsewhere(
    before: Sequence[str],
    names: Sequence[str],
    missing: Sequence[int],
    others: Collection[FileLines],
    here: Collection[str],
) -> dict[int, LinePlace]:
    """The places in files that did not have the line: of distinctive ones whose words are not `here` either, and of
    those between them."""
    old = Counter(names)
    telling = (line for line in missing if old[names[line]] == 1 and weight(before[line]) >= FAINT)
    sought = {names[line]: line for line in telling if names[line] not in here}
    hits: dict[int, list[LinePlace]] = defaultdict(list)
    after: dict[str, list[str]] = {}
    had = {normal(line) for other in others for line in other.before}
    for other in others:
        after[other.path] = [normal(line) for line in other.after]
        for number, name in enumerate(after[other.path]):
            if name in sought and name not in had:
                hits[sought[name]].append(LinePlace(other.path, number))
    single = {line: places[0] for line, places in hits.items() if len(places) == 1}
    anchors = {line: place for line, place in single.items() if _is_sure(before[line], line, single)}
    return anchors | _enclosed(names, missing, anchors, after)


def _is_sure(text: str, line: int, places: Mapping[int, LinePlace]) -> bool:
    """True if another line has gone to the same file with it: next to it for a faint line, near it for a clear one. A
    line alone may be somebody else's, however clear it is."""
    place, most = places[line], NEAR if weight(text) >= CLEAR else 1
    steps = (step for step in range(-most, most + 1) if step)
    return any(_is_beside(place, step, places.get(line + step), most) for step in steps)


def _is_beside(place: LinePlace, step: int, other: LinePlace | None, most: int) -> bool:
    """True if a line that was `step` lines below, or above, is near and on the same side now."""
    if other is None or other.path != place.path:
        return False
    distance = other.number - place.number
    return 0 < abs(distance) <= most and (distance > 0) == (step > 0)


def _enclosed(
    names: Sequence[str], missing: Sequence[int], anchors: Mapping[int, LinePlace], after: Mapping[str, Sequence[str]]
) -> dict[int, LinePlace]:
    """Lines of a block that was moved as it was: those above and below are found, at the same distance."""
    ordered = sorted(anchors)
    places: dict[int, LinePlace] = {}
    for line in missing:
        at = bisect_left(ordered, line)
        if line in anchors or not 0 < at < len(ordered):
            continue
        above, below = ordered[at - 1], ordered[at]
        (path, low), (other, high) = anchors[above], anchors[below]
        if path == other and high - low == below - above and list(names[above:below]) == list(after[path][low:high]):
            places[line] = LinePlace(path, low + line - above)
    return places
