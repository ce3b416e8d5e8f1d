"""Other people's words on the page: control characters gone, what steers or hides made visible, Markdown made tame.

HTML is escaped by the templates; here is what escaping leaves (page design §6).
"""

import re

from markupsafe import Markup

from domain.values.sentences import Sentence
from domain.values.words import Language
from projections.record.markdown import plain, wording

_STEERING = re.compile(
    "[\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b\u200c\u200e\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164"
    "\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
"""Marks of direction, zero-width and other characters without ink; the zero-width joiner of emoji stays."""

LONGEST_MARKDOWN = 40_000
"""Characters that are rendered; the worst hostile text of that length takes a fraction of a second."""


def shown(words: str) -> str:
    """The words as a reader may see them: nothing invisible, nothing that turns the direction of writing."""
    return plain(_STEERING.sub(lambda match: f"⟦U+{ord(match[0]):04X}⟧", words))


def cut(words: str, limit: int) -> str:
    """At most `limit` characters and a mark where there was more."""
    return words if len(words) <= limit else f"{words[:limit].rstrip()}…"


def cut_plain(words: str, limit: int) -> str:
    """The same for a plain text; a sentence is cut where it is worded."""
    return words if isinstance(words, Sentence) else cut(words, limit)


_MARKS = re.compile(r"^\s*(?:#{1,6}|[-*+]|>|\d+[.)])\s+|[*_]{2}(?=\S)|(?<=\S)[*_]{2}|`+", re.MULTILINE)
"""The marks that Markdown writes around words: headings, bullets, quotes, bold, code."""


def short_command(command: str) -> str:
    """The command without the folders of its program."""
    program, space, rest = command.partition(" ")
    return f"{program.rpartition('/')[2]}{space}{rest}"


def in_line(markdown: str) -> str:
    """The words of a Markdown text in one line, without its marks; what a template escaped stays escaped."""
    words = " ".join(_MARKS.sub("", markdown).split())
    return Markup(words) if isinstance(markdown, Markup) else words  # noqa: S704 - taking marks away adds no markup


_ESCAPED = re.compile(
    r"^([ \t]*>(?:[ \t]*(?:>|[-+*](?=[ \t])|\d{1,9}[.)](?=[ \t])))*[ \t]*)\\(?=\#|`{3}|~{3}|\||[-=*_:])", re.MULTILINE
)

_TAGGED = re.compile(r"\\<(?=[A-Za-z/!?])")


def with_blocks(worklog: str) -> str:
    """A worklog whose quotes have their headings, fences and tables again: on the page, none reaches beyond its
    quote."""
    lines = _ESCAPED.sub(r"\1", worklog).split("\n")
    return "\n".join(_TAGGED.sub("<", line) if line.lstrip().startswith(">") else line for line in lines)


_ENTRY = re.compile(r"\n(?=### )")
NEWEST = 16_000
"""Characters of a worklog's newest entries."""


def newest_of(worklog: str, language: Language) -> tuple[str, bool]:
    """A worklog with only the newest entries of its log, and whether any is missing. Its sections are ours alone:
    no line of an agent's begins with `#`."""
    say = wording(language)
    front, log, rest = worklog.partition(f"\n## {say('worklog.log')}\n")
    entries, summary, end = rest.rpartition(f"\n## {say('worklog.summary')}\n")
    if not log or not summary:
        return worklog[:LONGEST_MARKDOWN], len(worklog) > LONGEST_MARKDOWN
    newest: list[str] = []
    size = 0
    parts = _ENTRY.split(entries)
    for entry in reversed(parts):
        size += len(entry)
        if newest and size > NEWEST:
            break
        newest.append(cut(entry, NEWEST))
    missing = len(newest) < len(parts)
    text = cut(front, NEWEST) + log + "\n" + "\n".join(reversed(newest)) + summary + cut(end, 4_000)
    return text, missing or len(text) < len(worklog)
