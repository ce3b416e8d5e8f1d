"""Sentences of older logs about an answer that does not fit, in today's words (`wording`).

They were recorded in those of the library that checks it, and the log keeps them. This is for whoever is told of them
now, and for replay: the words alone are no other decision.
"""

import re

_MANY = r"(?:tuple|list|set|dictionary) should have at (least|most)"
_PLAIN: tuple[tuple[str, str], ...] = (
    (_MANY + r" 1 item after validation, not \d+", r"should have at \1 1 entry"),
    (_MANY + r" (\d+) items? after validation, not \d+", r"should have at \1 \2 entries"),
    (r"string should have at (least|most) (\d+) (characters?)", r"should have at \1 \2 \3"),
    (r"input should be a valid string", "should be a text"),
    (r"input should be a valid boolean", "should be true or false"),
    (r"input should be a valid (?:integer|number).*?(?=\.?$)", "should be a number"),
    (r"input should be a valid (?:tuple|list|set|array)", "should be a list"),
    (r"input should be (?:a valid dictionary|an object|an instance)[^.]*", "should be an object"),
    (r"input should be ", "should be "),
    (r"field required", "is missing"),
)


def plain(sentence: str) -> str:
    """`…: tuple should have at least 1 item after validation, not 0.` → `…: should have at least 1 entry.`"""
    for pattern, words in _PLAIN:
        sentence = re.sub(pattern, words, sentence)
    return sentence
