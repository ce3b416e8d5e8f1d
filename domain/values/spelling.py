"""One spelling for texts that look alike, in linear time, however they were typed."""

import unicodedata

SPACE = "\t\n\v\f\r \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(map(chr, range(0x2000, 0x200B)))
"""White space as the rules' authors knew it (ECMAScript `\\s`): neither Python's idea of it nor ASCII's."""

LONGEST_RUN = 30
"""Marks on one letter: Unicode's own limit for text that may be normalised piece by piece (UAX #15)."""


def composed(text: str) -> str:
    """The text in NFC, so that 리셋 typed as letters equals 리셋 typed as syllables.

    A text with more than `LONGEST_RUN` marks in a row is left as it is: no language writes it, and normalising
    takes time quadratic in such a run.
    """
    if text.isascii() or _longest_run_of_marks(text) > LONGEST_RUN:
        return text
    return unicodedata.normalize("NFC", text)


def trimmed(text: str) -> str:
    """The text without white space at its ends."""
    return text.strip(SPACE)


def folded(text: str) -> str:
    """The text as it is compared where case does not count."""
    return composed(composed(text).casefold())


def _longest_run_of_marks(text: str) -> int:
    longest = run = 0
    for character in text:
        # by category: a few marks are of combining class 0 and yet decompose into others (U+0F73)
        run = run + 1 if unicodedata.category(character)[0] == "M" else 0
        longest = max(longest, run)
    return longest


def thread_name(agent: str, role: str) -> str:
    """The name of an agent's conversation in a role: a reviewer does not continue the developer's."""
    return f"{agent} ({role})"
