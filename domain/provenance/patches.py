"""Reading a unified diff: of two states, or of a merge and all of its parents."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from itertools import takewhile
from typing import Final, NamedTuple

_HEAD: Final = re.compile(r"(@@+) ((?:-\d+(?:,\d+)? )+)\+(\d+)(?:,(\d+))? @@")
_NAMES: Final = re.compile(r'diff --git ("a/(?:[^"\\]|\\.)*"|a/.+) ("b/(?:[^"\\]|\\.)*"|b/.+)')
_NAME: Final = re.compile(r"(--- |\+\+\+ )|(?:rename|copy) (?:from|to) ")
_OLD: Final = ("--- ", "rename from ", "copy from ")
_MOST_ABOVE: Final = 8
"""Lines between the first one of a file's part and its hunks: modes, similarity, both names twice, blobs."""
_BINARY: Final = ("Binary files ", "GIT binary patch")
_ESCAPED: Final = re.compile(r'\\([abtnvfr"\\]|[0-7]{3})')
_ESCAPES: Final = dict(zip('abtnvfr"\\', '\a\b\t\n\v\f\r"\\', strict=True))
_NOWHERE: Final = "/dev/null"


class HunkLine(NamedTuple):
    """`sign` is `+` for a line that no parent has, `-` for a removed line, else a blank. A removed line has the number
    0; `old` is the number that a line had before, 0 for an added one, and for all lines of a merge."""

    sign: str
    text: str
    number: int
    old: int = 0


class PatchHunk(NamedTuple):
    path: str
    lines: tuple[HunkLine, ...]


def hunks(patch: Iterable[str]) -> Iterator[PatchHunk]:
    """The hunks of a diff, given line by line. Anything else is skipped."""
    lines = iter(patch)
    before = path = ""
    for line in lines:
        if line.startswith("--- "):
            before = _path(line[4:])
        elif line.startswith("+++ "):
            path = _path(line[4:]) or before
        elif head := head_of(line):
            yield PatchHunk(path, tuple(body_of(head, lines)))


def head_of(line: str) -> re.Match[str] | None:
    """The numbers in the line with which a hunk begins; None for any other line."""
    return _HEAD.match(line)


def names_of(line: str) -> tuple[str, str] | None:
    """The old and the new name in the line with which a file's part of a patch begins; None for any other line. Of a
    renamed file whose name contains ` b/` they are a guess that `named_by` the lines below corrects."""
    match = _NAMES.fullmatch(line)
    if match is None:
        return None
    both = line.removeprefix("diff --git ")
    old, new = both[: len(both) // 2], both[len(both) // 2 + 1 :]
    if not old.endswith('"') and old[2:] == new[2:]:  # a name may contain ` b/`
        return old[2:], new[2:]
    return _path(match[1]), _path(match[2])


def names_at(lines: Sequence[str], at: int) -> tuple[str, str] | None:
    """The names of the file whose part of a patch begins there; None where none does."""
    names = names_of(lines[at])
    if names is None:
        return None
    head = takewhile(lambda line: not line.startswith(("@@", "diff --")), lines[at + 1 : at + 1 + _MOST_ABOVE])
    return reduce(named_by, head, names)


def named_by(names: tuple[str, str], line: str) -> tuple[str, str]:
    """The names of a file with what one more line above its hunks says: unlike the first one, it has one name alone."""
    match = _NAME.match(line)
    if match is None:
        return names
    words = line[match.end() :]
    name = _path(words) if match[1] else name_in(words)
    if not name:
        return names
    return (name, names[1]) if match[0] in _OLD else (names[0], name)


def line_counts(patch: str) -> dict[str, tuple[int, int] | None]:
    """Lines added and removed, by the new name of each file; None for a binary file."""
    counts: dict[str, tuple[int, int] | None] = {}
    lines, name = patch.split("\n"), ""
    for at, line in enumerate(lines):
        if names := names_at(lines, at):
            name = names[1]
            counts[name] = (0, 0)
        elif name and line.startswith(_BINARY):
            counts[name] = None
    for hunk in hunks(lines):
        added, removed = counts.get(hunk.path) or (0, 0)
        signs = [line.sign for line in hunk.lines]
        counts[hunk.path] = (added + signs.count("+"), removed + signs.count("-"))
    return counts


def body_of(head: re.Match[str], lines: Iterator[str]) -> Iterator[HunkLine]:
    """As many lines as the header says: their content may look like headers."""
    parents = [int(part.partition(",")[2] or 1) for part in head[2].split()]
    number, left = int(head[3]), int(head[4] or 1)
    if len(parents) == 1:
        yield from _body_of_two(int(head[2][1:].partition(",")[0]), parents[0], number, left, lines)
        return
    while left > 0 or any(count > 0 for count in parents):
        line = next(lines, None)
        if line is None:
            return
        if line.startswith("\\"):
            continue
        signs = (line or " ")[: len(parents)]
        gone = "-" in signs
        for index, sign in enumerate(signs):
            parents[index] -= sign == "-" if gone else sign == " "
        sign = "-" if gone else "+" if set(signs) == {"+"} else " "
        yield HunkLine(sign, line[len(parents) :], 0 if gone else number)
        number, left = (number, left) if gone else (number + 1, left - 1)


def _body_of_two(old: int, old_left: int, number: int, left: int, lines: Iterator[str]) -> Iterator[HunkLine]:
    """The same for two states, which is what nearly every patch is; a file that was not there counts no old lines."""
    step = 1 if old else 0
    while left > 0 or old_left > 0:
        line = next(lines, None)
        if line is None:
            return
        sign = line[:1] or " "
        if sign == "+":
            yield HunkLine("+", line[1:], number)
            number, left = number + 1, left - 1
        elif sign == "-":
            yield HunkLine("-", line[1:], 0, old)
            old, old_left = old + step, old_left - 1
        elif sign != "\\":
            yield HunkLine(" ", line[1:], number, old)
            number, left = number + 1, left - 1
            old, old_left = old + step, old_left - (sign == " ")


def _path(words: str) -> str:
    """The name without its prefix; empty for no file."""
    name = name_in(words)
    return "" if name == _NOWHERE else name.partition("/")[2]


def name_in(words: str) -> str:
    """A name that git may have quoted, as it is."""
    name = words.removesuffix("\t")
    return _unquoted(name[1:-1]) if name.startswith('"') and name.endswith('"') else name


def _unquoted(name: str) -> str:
    """Decodes names as git quotes them: bytes outside printable ASCII as octal numbers."""

    def plain(match: re.Match[str]) -> bytes:
        word = match[1]
        return _ESCAPES[word].encode() if word in _ESCAPES else bytes([int(word, 8) & 0xFF])

    parts, end = list[bytes](), 0
    for match in _ESCAPED.finditer(name):
        parts += [name[end : match.start()].encode(errors="replace"), plain(match)]
        end = match.end()
    return b"".join([*parts, name[end:].encode(errors="replace")]).decode(errors="replace")
