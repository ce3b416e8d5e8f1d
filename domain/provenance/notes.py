"""A commit's note in `refs/notes/ai`: which lines an agent wrote, in the Git AI Standard 3.0.0.

It has two parts, separated by a line `---`: the lines of each file, then JSON about the sessions that they name.
"""

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from domain.provenance.work import WRITTEN, TurnWork

REF: Final = "refs/notes/ai"
VERSION: Final = "authorship/3.0.0"
TOOL: Final = "hansard"
_LONG: Final = 14
_RANGES: Final = re.compile(r"\d+(-\d+)?(,\d+(-\d+)?)*")
_PARTS: Final = ("prompts", "sessions", "humans")


class NotedTurn(NamedTuple):
    """An agent's turn, as a commit's trailers name it."""

    session: str
    turn: str
    agent: str
    model: str
    iteration: str

    @property
    def key(self) -> str:
        return f"s_{_short(f'{TOOL}:{self._conversation}')}"

    @property
    def attested(self) -> str:
        return f"{self.key}::t_{_short(self.turn)}"

    @property
    def _conversation(self) -> str:
        return f"{self.session}/{self.agent}"

    def described(self) -> dict[str, Any]:
        attributes = {"hansard_session": self.session, "hansard_agent": self.agent}
        return {
            "agent_id": {"tool": TOOL, "id": self._conversation, "model": self.model or "unknown"},
            "custom_attributes": attributes,
        }


@dataclass
class Note:
    """The lines of each file by who attests them, and what is known about these authors."""

    lines: dict[str, dict[str, set[int]]] = field(default_factory=dict)
    about: dict[str, Any] = field(default_factory=dict)

    def text(self) -> str:
        lines = []
        for path, keys in sorted(self.lines.items()):
            entries = [f"  {key} {_ranges(numbers)}" for key, numbers in sorted(keys.items()) if numbers]
            lines += [_quoted(path), *entries] if entries else []
        return "\n".join([*lines, "---", json.dumps(self.about, ensure_ascii=False, indent=2), ""])


def note_of(commit: str, parts: Sequence[tuple[NotedTurn, Mapping[str, Iterable[int]]]]) -> Note:
    """Returns what these turns wrote in a commit: line numbers by path."""
    note = Note(about={"schema_version": VERSION, "base_commit_sha": commit, "prompts": {}, "sessions": {}})
    for writer, lines in parts:
        note.about["sessions"][writer.key] = writer.described()
        for path, numbers in lines.items():
            note.lines.setdefault(path, {}).setdefault(writer.attested, set()).update(numbers)
    return note


def written_lines(work: TurnWork) -> dict[str, list[int]]:
    """The numbers of the lines that a turn wrote in its own commit, by path, without those that it only moved."""
    lines = defaultdict[str, list[int]](list)
    for hunk, after in zip(work.hunks, work.after, strict=True):
        after_lines = (line for line in hunk.lines if line.sign != "-")
        numbers = [line.number for line, (sign, _) in zip(after_lines, after, strict=True) if sign == WRITTEN]
        if numbers:
            lines[hunk.path] += numbers
    return dict(lines)


def merged(theirs: str, ours: Note) -> str | None:
    """An existing note with ours added: every line that it attests stays as it is. None if it is unreadable: then it
    must not be replaced."""
    note = _read(theirs)
    if note is None:
        return None
    for path, keys in ours.lines.items():
        there = note.lines.setdefault(path, {})
        taken = {number for key, numbers in there.items() if key not in keys for number in numbers}
        for key, numbers in keys.items():
            there[key] = there.get(key, set()) | (numbers - taken)
    for part in _PARTS:
        entries = {**ours.about.get(part, {}), **note.about.get(part, {})}
        if entries or part in note.about:
            note.about[part] = entries
    return note.text()


def _read(text: str) -> Note | None:
    """A note in the format of the standard; None for anything else."""
    head, divider, tail = f"\n{text}".partition("\n---\n")
    try:
        about = json.loads(tail)
    except ValueError:
        return None
    if (
        not divider
        or not isinstance(about, dict)
        or not str(about.get("schema_version", "")).startswith("authorship/3.")
    ):
        return None
    if any(not isinstance(about.get(part, {}), dict) for part in _PARTS):
        return None
    lines = _attested(head.split("\n"))
    return None if lines is None else Note(lines, about)


def _attested(lines: Iterable[str]) -> dict[str, dict[str, set[int]]] | None:
    attested: dict[str, dict[str, set[int]]] = {}
    path = None
    for line in filter(str.strip, lines):
        key, _, ranges = line[2:].partition(" ")
        if not line.startswith(" "):
            path = line[1:-1] if line.startswith('"') and line.endswith('"') and len(line) > 1 else line
        elif path is None or not line.startswith("  ") or not key or not _RANGES.fullmatch(ranges):
            return None
        else:
            attested.setdefault(path, {}).setdefault(key, set()).update(_numbers(ranges))
    return attested


def _numbers(ranges: str) -> Iterable[int]:
    for part in ranges.split(","):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def _ranges(numbers: Iterable[int]) -> str:
    """`1-4,9`: ascending, without blanks."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(f"{first}-{last}" if last > first else str(first) for first, last in runs)


def _quoted(path: str) -> str:
    return f'"{path}"' if any(letter.isspace() for letter in path) else path


def _short(words: str) -> str:
    return hashlib.sha256(words.encode()).hexdigest()[:_LONG]
