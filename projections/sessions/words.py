"""Words as they are compared."""

import unicodedata


def normal(words: str) -> str:
    """NFC, lower case, without NUL."""
    return unicodedata.normalize("NFC", words.replace("\0", "")).lower()
