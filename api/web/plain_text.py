"""Other people's words on the page: control characters gone, what steers or hides made visible, Markdown made tame.

HTML is escaped by the templates; here is what escaping leaves (page design §6).
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from urllib.parse import urlsplit

import nh3
from markdown_it import MarkdownIt
from markdown_it.token import Token
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

_TAGS = {
    "p", "br", "hr", "blockquote", "pre", "code", "em", "strong", "s", "ul", "ol", "li", "a",
    "table", "thead", "tbody", "tr", "th", "td", "h3", "h4", "h5", "h6",
}  # fmt: skip
_SCHEMES = ("http", "https", "mailto")
_WIDE = '<div class="wide-table" tabindex="0"><table>'
"""What may be wider than there is room can be scrolled by keyboard, too."""
_DEEPEST = 6
_BELOW = 2
"""The page has headings of two levels above those of a document shown on it."""


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
"""What Markdown writes around words: headings, bullets, quotes, bold, code."""


def short_command(command: str) -> str:
    """The command without the folders of its program."""
    program, space, rest = command.partition(" ")
    return f"{program.rpartition('/')[2]}{space}{rest}"


def in_line(markdown: str) -> str:
    """The words of a Markdown text in one line, without its marks; what a template escaped stays escaped."""
    words = " ".join(_MARKS.sub("", markdown).split())
    return Markup(words) if isinstance(markdown, Markup) else words  # noqa: S704 - taking marks away adds no markup


@lru_cache(maxsize=64)
def rendered(markdown: str) -> str:
    """HTML that is safe to put on the page: no raw HTML, images, ids, classes or styles; http, https, mailto links."""
    unsafe = str(_MARKDOWN.render(shown(markdown[:LONGEST_MARKDOWN])))
    html = nh3.clean(
        unsafe,
        tags=_TAGS,
        attributes={"*": set(), "a": {"href"}, "ol": {"start"}},
        attribute_filter=_complete,
        url_schemes=set(_SCHEMES),
        link_rel="noopener noreferrer nofollow",
    )
    return html.replace("<pre>", '<pre tabindex="0">').replace("<table>", _WIDE).replace("</table>", "</table></div>")


def _complete(_tag: str, name: str, value: str) -> str | None:
    """An address of somebody else's says in full where it leads; `//host` and paths of ours it does not name."""
    return value if name != "href" or value.lower().startswith(tuple(f"{scheme}:" for scheme in _SCHEMES)) else None


def _lowered(tokens: Sequence[Token]) -> None:
    """Headings below the page's own, none more than a level below the one before: their order is read aloud."""
    level = _BELOW
    for token in tokens:
        if token.type == "heading_open":
            level = min(_DEEPEST, int(token.tag[1:]) + _BELOW, level + 1)
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{level}"


def _with_hosts(tokens: Sequence[Token]) -> None:
    """Each link whose words do not name its host says where it leads."""
    for token in tokens:
        if token.children is None or not any(child.type == "link_open" for child in token.children):
            continue
        children, words, host = list[Token](), "", ""
        for child in token.children:
            children.append(child)
            if child.type == "link_open":
                words, host = "", _host_of(str(child.attrGet("href")))
            elif child.type == "link_close" and host and host not in words.lower():
                children.append(Token("text", "", 0, content=f" ({host})"))
            else:
                words += child.content
        token.children = children


def _host_of(address: str) -> str:
    """Empty for what is not shown as a link."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return ""
    return parts.hostname or "" if parts.scheme in ("http", "https") else ""


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 24})
    parser.enable(["table", "strikethrough"]).disable("image")
    parser.core.ruler.push("lowered", lambda state: _lowered(state.tokens))
    parser.core.ruler.push("hosts", lambda state: _with_hosts(state.tokens))
    return parser


_MARKDOWN = _parser()

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
