"""Long texts as people hand them over: as an argument, from a file, through a pipe."""

import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

from api.cli import exits
from api.cli.exits import Failed

LONGEST = 500_000
"""Characters of a text that can be discussed."""

_LONGEST_PATH: Final = 1_024
_OPTION: Final = re.compile(r"--?[A-Za-z][\w-]*(=.*)?")
"""What is more likely a slip than a text. Texts may begin with a hyphen: a list does."""


def given(text: str | None, file: Path | None, *, what: str, option: str = "--file") -> str:
    """The text itself, the file's, or with `-` what comes through stdin. Raises Failed: none of them, or several."""
    if text is not None and file is not None:
        raise Failed(f"Give the {what} or {option}, not both.", code=exits.USAGE)
    if file is not None:
        return _read(file, option)
    if text is None:
        raise Failed(f"Give the {what}: as text, with {option} FILE, or - for stdin.", code=exits.USAGE)
    if _OPTION.fullmatch(text):
        raise Failed(f"Unknown option: {text}. To send it as text, use {option} or stdin.", code=exits.USAGE)
    return _checked(_decoded(sys.stdin.buffer.read(), "stdin"), what) if text == "-" else _checked(text, what)


def text_or_file(words: str | None, file: Path | None, *, what: str) -> str:
    """As `given`, but a text that names an existing file means what is in the file."""
    named = Path(words).expanduser() if words and len(words) <= _LONGEST_PATH and "\n" not in words else None
    with suppress(OSError, ValueError):  # a text that no file can be called
        if named is not None and file is None and named.is_file():
            return _read(named, "FILE")
    return given(words, file, what=what)


def _read(file: Path, option: str) -> str:
    try:
        raw = file.expanduser().read_bytes()
    except OSError as error:
        raise Failed(f"{option} {file}: {error.strerror}.", code=exits.USAGE) from None
    return _checked(_decoded(raw, str(file)), f"text in {file}")


def _decoded(raw: bytes, name: str) -> str:
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Failed(f"{name} is not UTF-8 text.", code=exits.USAGE) from None
    if "\0" in text:
        raise Failed(f"{name} is not text: it has a NUL character in it.", code=exits.USAGE)
    return text


def _checked(text: str, what: str) -> str:
    if not text.strip():
        raise Failed(f"The {what} is empty.", code=exits.USAGE)
    if len(text) > LONGEST:
        raise Failed(f"The {what} has {len(text):,} characters; {LONGEST:,} can be discussed.", code=exits.USAGE)
    return text
