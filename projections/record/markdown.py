"""Other people's texts inside our Markdown: shown as they are, but unable to make headings, tables, fences or HTML.

Agents' texts are hostile input (behaviour §1.12: a `## ` or a `|` in them corrupted sections and rows).
"""

import re

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
"""Where a line would begin a heading, fence, table, definition, or a rule (which turns the line above into a
heading)."""

_INSIDE = re.compile(r"(?<!\\)((?:\\\\)*+)(<(?=[A-Za-z/!?])|(?<=!)\[)")
"""Where HTML or an image would begin; if an odd number of backslashes precedes it, it is already escaped."""


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
    lines = neutral(words).strip("\n").split("\n")
    return "\n".join(f"{indent}> {line}".rstrip() for line in lines)


def item(label: str, words: str, *, limit: int) -> str:
    """A list item: a short text after the label, or several lines as a quote below it."""
    cut = shortened(plain(words).strip(), limit)
    if "\n" not in cut:
        return f"- {label}: {neutral(cut)}"
    return f"- {label}:\n\n{quote(cut, indent='  ')}\n"
