"""What a line says about who wrote it: its words without blanks, and how much they tell."""

import re
from functools import lru_cache
from typing import Final

FAINT: Final = 4
"""A line of less weight says nothing of who wrote it: `}`, `return None`, an import."""
CLEAR: Final = 12
"""A line of this weight says it alone."""
TOGETHER: Final = 24
"""So much weight of one session's lines in a commit says it for each of them."""

_WORD: Final = re.compile(r"[^\W_]+")
_FOREIGN: Final = 12
"""The weight of a letter outside ASCII: where one letter can be a word, every letter counts as one."""
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
    """A line without its blanks: it is the same line however it is indented."""
    return "".join(text.split())


@lru_cache(maxsize=65_536)
def weight(text: str) -> int:
    """How much a line tells, in letters: common words and imports tell nothing. It needs the blanks between words."""
    if _IMPORT.match(text):
        return 0
    words = (word for word in _WORD.findall(text) if word.casefold() not in _COMMON)
    return sum(1 if letter.isascii() else _FOREIGN for word in words for letter in word)
