"""Measures what a line shows about its author: its text without blanks, and how distinctive it is."""

import re
from functools import lru_cache
from typing import Final

FAINT: Final = 4
"""Below this weight, a line says nothing about its author: `}`, `return None`, an import."""


CLEAR: Final = 12
"""From this weight on, a single line is enough."""


TOGETHER: Final = 24
"""If the lines of one session in a commit have this weight together, each of them counts."""


LEAST_TOGETHER: Final = 2
"""This many distinctive lines, one after the other, are a block that nobody else writes by chance."""

_WORD: Final = re.compile(r"[^\W_]+")


_FOREIGN: Final = 12
"""The weight of a character outside ASCII: in some scripts one character is a word."""


_IMPORT: Final = re.compile(r"\s*(?:from|import|using|use|require|package|#\s*include|@import)\b")


_COMMON: Final = frozenset(
    """
    abstract and any as assert async await begin bool boolean break case catch char class const continue def default
    delete dict do double elif else end enum equal error except exception expect export extends extern false final
    finally float fn for from func function get global go goto if impl implements import in init int interface is it
    lambda let list long loop main match mod mut name namespace new nil none not null number object of ok or override
    package pass print println private protected pub public raise readonly ref require rescue ret return self set
    short static str string struct super switch test then this throw throws trait true try type typeof undefined
    unless unsigned until use using val var virtual void when where while with yield
    """.split()  # noqa: SIM905
)


def normal(text: str) -> str:
    """A line without its blanks: indentation does not matter."""
    return "".join(text.split())


@lru_cache(maxsize=65_536)
def weight(text: str) -> int:
    """Returns how distinctive a line is, in letters: common words and imports count nothing. It needs the blanks
    between words."""
    if _IMPORT.match(text):
        return 0
    words = (word for word in _WORD.findall(text) if word.casefold() not in _COMMON)
    return sum(1 if letter.isascii() else _FOREIGN for word in words for letter in word)


def forget_lines(_: str | None) -> None:
    """Drop the weights of recent lines. Which sessions had them is not kept."""
    weight.cache_clear()
