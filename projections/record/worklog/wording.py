"""Texts of ours in the rows of a worklog: kept as marks, and worded for the reader when the worklog is rendered.

A mark cannot come from anybody else: `markdown.plain`, through which all other texts pass, removes its characters.
"""

import json
import re
from functools import cache
from typing import Final

from domain.values.phases import PHASES
from domain.values.sentences import Sentence, in_language, of_data, packed
from domain.values.words import Language, Words, words
from projections.record.markdown import neutral
from projections.record.outcome import ROOM
from projections.views.session import GATES

_MARK: Final = re.compile("\x02([^\x02\x03]*)\x03")
_BETWEEN: Final = "\x1f"
_NAMED, _SENTENCE = "=", "!"
_RECORDED: Final = {
    "worklog.waiting": "(대기 중)",
    "worklog.unfinished": "(미완료)",
    **{f"gate.{status}": gate for status, gate in GATES.items()},
    **{f"worklog.row.phase_{number}": phase.ko for number, phase in PHASES.items()},
}
"""Texts that the seeds' worklogs have in Korean, whatever the language (behaviour §1.12)."""


@cache
def wording(language: Language | None) -> Words:
    """The headings and marks of a worklog for a reader; without a language, those of the seeds."""
    say = words(language or "en", ROOM)
    return say if language else Words("en", {**say.messages, **_RECORDED})


class Unworded(str):
    """A text of ours that is not worded yet."""

    __slots__ = ()


def mark(key: str, *values: object) -> Unworded:
    """The message `worklog.row.<key>`; the values fill its `{0}`, `{1}` …"""
    return Unworded(f"\x02{_BETWEEN.join((key, *map(str, values)))}\x03")


def name(group: str, value: str, english: str | None = None) -> Unworded:
    """A recorded name: in English as it is, or as given here."""
    return mark(f"{_NAMED}{group}", value, value if english is None else english)


def sentence(text: str, data: Sentence | None) -> str | None:
    """A text that Hansard wrote, on one line; None if it is somebody else's, or has several lines."""
    return None if data is None or "\n" in text.strip() else mark(_SENTENCE, packed(data))


def recorded(say: Words, group: str, value: str) -> str:
    """A recorded name for the reader; English shows it as it is."""
    return value if say.language == "en" else say.of(group, value)


def worded(text: str, say: Words) -> str:
    """The text without marks; a mark may be inside the values of another one."""
    while "\x02" in text:
        text, number = _MARK.subn(lambda match: _of(match[1], say), text)
        if not number:
            break
    return text


def _of(content: str, say: Words) -> str:
    key, *values = content.split(_BETWEEN)
    if key == _SENTENCE:
        ours = of_data(json.loads(values[0]))
        return neutral(ours if say.language == "en" else in_language(ours, say.language))
    if key.startswith(_NAMED):
        value, english = values
        return english if say.language == "en" else say.of(key.removeprefix(_NAMED), value)
    return say(f"worklog.row.{key}").format(*values)
