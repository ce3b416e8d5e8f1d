"""Texts inside our Markdown. Other people's are shown as they are, but cannot make headings, tables, fences or HTML.

Agents' texts are hostile input (behaviour §1.12: a `## ` or a `|` in them corrupted sections and rows).

Texts of ours in the rows of a worklog are kept as marks, and worded for the reader when the worklog is rendered. A mark
cannot come from anybody else: `plain`, through which all other texts pass, removes its characters.
"""

import json
import re
from functools import cache
from typing import Final

from domain.values.phases import PHASES
from domain.values.sentences import Sentence, in_language, of_data, packed, recognized
from domain.values.words import Language, Words, words
from projections.record.status import ROOM
from projections.views.session import GATES

_ANSI = re.compile(r"(?:\x1b\[|\x9b)[0-?]*+[ -/]*+[@-~]|\x1b(?:\][^\x07\x1b]*+(?:\x07|\x1b\\)?|[@-Z\\^_])")
_BREAKS = re.compile(r"\r\n?|[\v\f\x85\u2028\u2029]")
_UNSEEN = re.compile(
    r"[\x00-\x08\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\U000e0000-\U000e007f]"
)
"""Control characters except tab and line feed; marks that change the direction of writing; invisible tags."""

_LEADING = re.compile(
    r"""^((?:[ \t]*+(?:> | [-+*](?=[ \t]) | \d{1,9}[.)](?=[ \t])))*+ [ \t]*+)  # inside whatever lists and quotes
        (?=\# | `{3} | ~{3} | \| | \[[^]\n]*]: | [-=*_:|](?:[ \t]*+[-=*_:|])*+ [ \t]*+$)""",
    re.MULTILINE | re.VERBOSE,
)
"""The beginnings of a heading, fence, table, definition, or a rule (which turns the line above into a heading)."""

_INSIDE = re.compile(r"(?<!\\)((?:\\\\)*+)(<(?=[A-Za-z/!?])|(?<=!)\[)")
"""The beginnings of HTML or an image; if an odd number of backslashes precedes one, it is already escaped."""


def plain(words: str) -> str:
    """The text without terminal controls, invisible or direction-changing characters; lines end with a line feed."""
    if words.isascii() and words.isprintable():
        return words
    return _UNSEEN.sub("", _BREAKS.sub("\n", _ANSI.sub("", words)))


def one_line(words: str, limit: int) -> str:
    """At most `limit` characters on a single line, cut off without a mark."""
    return re.sub(r"[\n\t]", " ", plain(words).strip())[:limit].rstrip()


def shortened(words: str, limit: int) -> str:
    """At most `limit` characters, with a mark if there was more."""
    return words if len(words) <= limit else f"{words[:limit]}…"


def neutral(words: str) -> str:
    """A text of any number of lines that starts no blocks except paragraphs, lists, quotes and indented code."""
    return _INSIDE.sub(r"\1\\\2", _LEADING.sub(r"\1\\", plain(words)))


def inline(words: str, limit: int) -> str:
    """At most `limit` characters, for use inside one of our lines."""
    return _INSIDE.sub(r"\1\\\2", one_line(words, limit))


def cell(words: str) -> str:
    """The contents of a table cell."""
    return inline(words, 200).replace("|", "\\|")


def code(words: str) -> str:
    """A code span on one line, whatever backticks it contains."""
    line = one_line(words, 500)
    longest = max((len(run) for run in re.findall(r"`+", line)), default=0)
    ticks = "`" * (longest + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def quote(words: str, *, indent: str = "") -> str:
    """A block quote; each line starts with `indent`."""
    return _quoted(with_ours(words), indent)


def _quoted(words: str, indent: str) -> str:
    lines = words.strip("\n").split("\n")
    return "\n".join(f"{indent}> {line}".rstrip() for line in lines)


def item(label: str, words: str, *, limit: int, before: str = "") -> str:
    """A list item: a short text after the label, or several lines as a quote below it. `before` precedes the text."""
    cut = shortened(plain(f"{before}{words}").strip(), limit)
    shown = with_ours(cut, before=before)
    if "\n" not in cut:
        return f"- {label}: {shown}"
    return f"- {label}:\n\n{_quoted(shown, '  ')}\n"


def with_ours(words: str, *, before: str = "") -> str:
    """The text, neutral, with marks for the lines that Hansard has written after `before`."""
    rest = words.removeprefix(before)
    lines = [(line, recognized(line)) for line in rest.split("\n")]
    if not any(isinstance(ours, Sentence) for _, ours in lines):
        return neutral(words)
    shown = (mark(_SENTENCE, packed(ours)) if isinstance(ours, Sentence) else neutral(line) for line, ours in lines)
    return neutral(words.removesuffix(rest)) + "\n".join(shown)


# -- texts of ours: marks ----------------------------------------------------------------------------------------------


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
    """A recorded name; `english` is its name in English, if it differs from the recorded one."""
    return mark(f"{_NAMED}{group}", value, value if english is None else english)


def sentence(text: str, data: Sentence | None) -> str | None:
    """A text that Hansard wrote, on one line; None if it is someone else's, or has several lines."""
    return None if data is None or "\n" in text.strip() else mark(_SENTENCE, packed(data))


def with_sentence(label: str, text: str, data: Sentence | None, *, limit: int) -> str | None:
    """A list item of a sentence of ours and, on the next lines, the output of a program; None for any other text."""
    first = data.params.get("sentence") if data is not None else None
    head, _, output = text.strip().partition("\n")
    if not isinstance(first, Sentence) or first != head:
        return None
    below = quote(shortened(plain(output), limit), indent="  ")
    return f"- {label}:\n\n  > {mark(_SENTENCE, packed(first))}\n{below}\n"


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
        as_given = say is wording(None) or (say.language == "en" and english != value)
        return english if as_given else say.of(key.removeprefix(_NAMED), value)
    return say(f"worklog.row.{key}").format(*values)
