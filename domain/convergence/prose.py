"""The prose of a round, without thinking, code and verdicts (K-26, K-30)."""

import re

from domain.values.words import composed

_THOUGHT = re.compile(r"<(/?)(think(?:ing)?)>|\[(/?)(TOOL_CALL)\]", re.IGNORECASE)
_FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})([^\n]*)")
_HEADING = re.compile(r"[ \t]*#+\s")
_BRACE = re.compile(r"[{}]")
_BRACE_OR_STRING = re.compile(r'[{}]|"(?:[^"\\\n]|\\.)*+"?')
_COLON = re.compile(r"\s*:")


def talk(text: str) -> str:
    """The text in NFC without thinking blocks, fenced code, headings and objects that have a `verdict` key.

    A fence that is never closed extends to the end, as in Markdown. A thinking block or an object that is never closed
    is kept.
    """
    unthought = _without_thoughts(composed(text).replace("\r\n", "\n").replace("\r", "\n"))
    return _without_verdicts("\n".join(_talking_lines(unthought)))


def _without_thoughts(text: str) -> str:
    spans: list[tuple[int, int]] = []
    opened: tuple[str, int] | None = None
    for tag in _THOUGHT.finditer(text):
        name, closes = (tag[2] or tag[4]).lower(), bool(tag[1] or tag[3])
        if opened is None and not closes:
            opened = name, tag.start()
        elif opened is not None and closes and opened[0] == name:
            spans.append((opened[1], tag.end()))
            opened = None
    return _without(text, spans)


def _talking_lines(text: str) -> list[str]:
    """The lines outside of fences, without headings; omitted and blank lines become one empty line."""
    lines = [""]
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        talking = False
        if fence:
            if mark and mark[1].startswith(fence) and not mark[2].strip():
                fence = ""
        elif mark and not (mark[1][0] == "`" and "`" in mark[2]):
            fence = mark[1]
        else:
            talking = bool(line.strip()) and not _HEADING.match(line)
        if talking or lines[-1]:
            lines.append(line if talking else "")
    return lines


def _without_verdicts(text: str) -> str:
    """Without every balanced object that has a `verdict` key of its own.

    Braces within an object's strings do not count; outside of objects a quotation mark is prose and opens no string.
    """
    spans: list[tuple[int, int]] = []
    opened: list[int] = []
    with_verdict: list[bool] = []
    position = 0
    while token := (_BRACE_OR_STRING if opened else _BRACE).search(text, position):
        position = token.end()
        if token[0] == "{":
            opened.append(token.start())
            with_verdict.append(False)
        elif token[0] == "}" and opened:
            start = opened.pop()
            if with_verdict.pop():
                spans.append((start, position))
        elif token[0] == '"verdict"' and _COLON.match(text, position):
            with_verdict[-1] = True
    return _without(text, _outermost(spans))


def _outermost(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    outer: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if not outer or start >= outer[-1][1]:
            outer.append((start, end))
    return outer


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    pieces: list[str] = []
    position = 0
    for start, end in spans:
        pieces += (text[position:start], "\n")
        position = end
    return "".join([*pieces, text[position:]])
