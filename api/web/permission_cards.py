"""Shows what a person is asked to allow: a command, or files outside the scope. Buttons are offered only where all of
it is shown, and no gap, however long, moves the end of it out of sight. Elsewhere a link leads to the session, which
has all."""

import re
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from api.web.model import REASON
from api.web.plain_text import cut, shown
from domain.delivery.state import Delivery
from domain.orchestration.state import Orchestration
from domain.session.state import Session
from projections.views.inbox import WaitingItem

ROW: Final = 72
"""Characters of what is asked that a row has room for."""
CARD: Final = 600
"""Characters that a card of the inbox has room for."""
FILES: Final = 10
"""Paths that are listed without folding the rest."""

_UNUSUAL: Final = re.compile(r"\s{2,}|[^\S ]")
_GAP: Final = re.compile(r"[^\S\n]*(?:\n[^\S\n]*){3,}|[^\S\n]{9,}")
"""Spaces that could push the rest of a text out of sight where lines are kept."""


TOOLS: Final = frozenset({"read", "edit", "execute", "search", "fetch"})


def named_tool(tool: str | None) -> str:
    """The tool as the page names it: `other` for one that it has no word for."""
    return tool if tool in TOOLS else "other"


class Ask(NamedTuple):
    """The question in one line, and whether that is all of it; `tool` is what is to be used, `paths` are those of a
    scope question."""

    words: str
    is_whole: bool
    paths: tuple[str, ...] = ()
    tool: str = ""


def ask_of(item: WaitingItem, find: Callable[[str], Session | None]) -> Ask | None:
    """None where nothing is to be allowed. A scope question that was answered meanwhile is not whole."""
    if item.waits_for == "permission":
        words = in_one_line(with_paths(item.question or "", item.paths or ()))
        return Ask(cut(words, REASON), len(words) <= ROW, tool=named_tool(item.tool))
    if item.waits_for == "scope" or item.cause == "scope_checkpoint":
        paths = outside(find(item.session_id))
        words = in_one_line(", ".join(paths))
        return Ask(cut(words, REASON), bool(paths) and len(words) <= ROW, paths)
    return None


class AskCard(NamedTuple):
    """The question of an inbox card: as lines, with the first paths of `number`; `is_whole`: there is no more of it."""

    question: str
    paths: Sequence[str]
    number: int
    is_whole: bool


def card_of(item: WaitingItem, find: Callable[[str], Session | None]) -> AskCard:
    """The question of an item."""
    question, paths = in_lines(item.question or ""), tuple(item.paths or ())
    if item.waits_for == "scope" or item.cause == "scope_checkpoint":
        paths = outside(find(item.session_id))
    is_whole = len(question) <= CARD and len(paths) <= FILES and bool(question or paths)
    return AskCard(cut(question, CARD), [in_one_line(path) for path in paths[:FILES]], len(paths), is_whole)


def outside(session: Session | None) -> tuple[str, ...]:
    """The paths outside the scope that a person is asked about."""
    match session:
        case Delivery(scope_request=request) if request is not None:
            return tuple(request.paths)
        case Orchestration(state="checkpoint"):
            return session.outside
        case _:
            return ()


def with_paths(title: str, paths: Sequence[str]) -> str:
    """The title of a tool, and the paths it does not name itself."""
    unnamed = [path for path in paths if path not in title.split()]
    return f"{title} ({', '.join(unnamed)})" if unnamed else title


def in_one_line(text: str) -> str:
    """Each line break and each run of white space is a mark, with its length: `a ⏎ b`, `a ␣×300 b`."""
    return shown(_UNUSUAL.sub(_mark, text))


def in_lines(text: str) -> str:
    """The lines of a text, with a mark in place of many empty ones and of long runs of white space."""
    return shown(_GAP.sub(_mark, text))


def _mark(gap: re.Match[str]) -> str:
    breaks = gap[0].count("\n")
    sign, length = ("⏎", breaks) if breaks else ("␣", len(gap[0]))
    return f" {sign}×{length} " if length > 1 else f" {sign} "
