"""The worklog as a page: what was written in the middle, its contents and the facts beside it."""

import re
from collections.abc import Sequence
from html import unescape
from typing import Final, NamedTuple

from api.web.plain_text import newest_of, with_blocks
from api.web.session.context import PanelContext, rendered
from domain.values.words import Words
from projections.record import worklog as log
from projections.record.markdown import wording

ENTRIES: Final = 1_000
"""Of the worklog's log, at most: more than its newest characters can hold."""
_FACTS: Final = ("criteria", "phases", "agents")
"""Sections that are beside the text."""
_SECTION: Final = re.compile(r"^(?=## )", re.MULTILINE)
_RAISED: Final = re.compile(r"^#(?=##? )", re.MULTILINE)
_TIME: Final = re.compile(r": ((\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)\.\d{3}Z)(?=</li>)")
_PLACES: Final = re.compile(r"<(/?)(blockquote|h3|h4)>")
_TAG: Final = re.compile("<[^>]*>")


class Chapter(NamedTuple):
    """A line of the contents: the id of its heading, its words, and whether it is an entry of a section."""

    id: str
    words: str
    is_entry: bool


class WorklogShown(NamedTuple):
    html: str
    facts: str
    contents: Sequence[Chapter]
    cut: bool


def worklog(context: PanelContext) -> WorklogShown:
    language = context.language
    whole = log.render(context.record.worklog, context.session, newest=ENTRIES, language=language)
    text, shortened = newest_of(whole, language)
    facts, prose = parted(with_blocks(text), wording(language))
    html, contents = _with_places(_local_times(rendered(prose)))
    return WorklogShown(html, _local_times(rendered(facts)), contents, shortened)


def parted(worklog: str, say: Words) -> tuple[str, str]:
    """The facts of a worklog, and the rest; both without the title, which is the page's. Only lines of ours begin with
    `#`."""
    front, *sections = _SECTION.split(worklog)
    names = {f"## {say(f'worklog.{name}')}" for name in _FACTS}
    beside = [section for section in sections if section.partition("\n")[0] in names]
    prose = [section for section in sections if section not in beside]
    return _RAISED.sub("", front.partition("\n")[2] + "".join(beside)), _RAISED.sub("", "".join(prose))


def _with_places(html: str) -> tuple[str, list[Chapter]]:
    """The text with ids at its headings, and its contents. What is quoted has none."""
    contents = list[Chapter]()
    depth = 0

    def placed(match: re.Match[str]) -> str:
        nonlocal depth
        end, tag = match.groups()
        if tag == "blockquote":
            depth += -1 if end else 1
        if end or depth or tag == "blockquote":
            return match[0]
        words = unescape(_TAG.sub("", html[match.end() : html.index(f"</{tag}>", match.end())]))
        chapter = Chapter(f"entry-{len(contents) + 1}", words, tag == "h4")
        contents.append(chapter)
        return f'<{tag} id="{chapter.id}">'

    return _PLACES.sub(placed, html), contents


def _local_times(html: str) -> str:
    """The times at the ends of entries, which the script shows in the reader's time."""
    return _TIME.sub(r': <time datetime="\1" data-local>\2 \3 UTC</time>', html)
