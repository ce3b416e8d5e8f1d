"""HTML from other people's Markdown that is safe to put on a page. Imported with the first page that shows some."""

from collections.abc import Sequence
from urllib.parse import urlsplit

import nh3
from markdown_it import MarkdownIt
from markdown_it.token import Token

_TAGS = {
    "p", "br", "hr", "blockquote", "pre", "code", "em", "strong", "s", "ul", "ol", "li", "a",
    "table", "thead", "tbody", "tr", "th", "td", "h3", "h4", "h5", "h6",
}  # fmt: skip
_SCHEMES = ("http", "https", "mailto")
_WIDE = '<div class="wide-table" tabindex="0"><table>'
"""The wrapper of a table: what is wider than there is room can be scrolled by keyboard, too."""
_DEEPEST = 6
_BELOW = 2
"""The page has headings of two levels above those of a document shown on it."""


def html_of(markdown: str) -> str:
    """No raw HTML, images, ids, classes or styles; http, https, mailto links."""
    unsafe = str(_MARKDOWN.render(markdown))
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
