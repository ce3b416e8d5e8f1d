"""The finding of a review that a change addresses."""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from domain.provenance.patches import PatchHunk

NEAR: Final = 3
"""Maximum number of lines between the place that a finding names and the change that addresses it."""


_QUOTED: Final = re.compile(r"`([^`\n]{3,})`|'([^'\n]{3,})'|\"([^\"\n]{3,})\"")


_CODE: Final = re.compile(r"\b(?:\w+[._]\w+(?:[._]\w+)*|\w+(?=\()|[a-z]+[A-Z]\w*)")


_SHORTEST_NAME: Final = 4


class NamedFinding(NamedTuple):
    """A finding of a review that asks for a change; `version` is the event that contains it."""

    version: int
    title: str
    detail: str


def demanded(findings: Sequence[NamedFinding], hunk: PatchHunk | None) -> NamedFinding | None:
    """The finding that a change addresses: the one that names its place or its words best; None if two match equally
    well."""
    if len(findings) == 1 or hunk is None:
        return findings[0] if len(findings) == 1 else None
    scores = sorted(((_score(finding, hunk), place) for place, finding in enumerate(findings)), reverse=True)
    if not scores or scores[0][0] == 0 or (len(scores) > 1 and scores[0][0] == scores[1][0]):
        return None
    return findings[scores[0][1]]


def _score(finding: NamedFinding, hunk: PatchHunk) -> int:
    words = f"{finding.title}\n{finding.detail}"
    changed = "\n".join(line.text for line in hunk.lines if line.sign != " ")
    parts = {part for match in _QUOTED.findall(words) for part in match if part} | set(_CODE.findall(words))
    mentions = sum(1 for part in parts if part in changed and part != hunk.path)
    return _place(words, hunk) + mentions


def _place(words: str, hunk: PatchHunk) -> int:
    """A match of the line counts more than one of the file, and the whole path more than the file name."""
    name = hunk.path.rpartition("/")[2]
    for path, worth in ((hunk.path, 4), (name, 2)):
        match = (
            re.search(rf"(?<![\w/.-]){re.escape(path)}(?::(\d+)|\b)", words) if len(path) >= _SHORTEST_NAME else None
        )
        if match:
            return worth + (4 if match[1] and _is_near(int(match[1]), hunk) else 0)
    return 0


def _is_near(number: int, hunk: PatchHunk) -> bool:
    numbers = [line.number for line in hunk.lines if line.number]
    return bool(numbers) and numbers[0] - NEAR <= number <= numbers[-1] + NEAR
