"""Texts from arguments, files or standard input."""

import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

from api.cli import exits
from api.cli.exits import Failed
from api.cli.labels import recorded, sentence

LONGEST = 500_000
"""Characters of a text that can be discussed."""

_LONGEST_PATH: Final = 1_024

_OPTION: Final = re.compile(r"--?[A-Za-z][\w-]*(=.*)?")
"""What is more likely a slip than a text. Texts may begin with a hyphen: a list does."""

_FILE: Final = re.compile(r"(?!\w+://)(?:\S*/\S+|\S+\.[A-Za-z]\w{0,7})")
"""A word that looks like the name of a file."""


def text_from(text: str | None, file: Path | None, *, what: str, option: str = "--file") -> str:
    """The text itself, the file's, or with `-` what comes through stdin. Raises Failed: none of them, or several."""
    if text is not None and file is not None:
        raise Failed(
            sentence("Give the {what} or {option}, not both.", what=recorded("thing", what), option=option),
            code=exits.USAGE,
        )
    if file is not None:
        return _read(file, option)
    if text is None:
        raise Failed(
            sentence(
                "Give the {what}: as text, with {option} FILE, or - for stdin.",
                what=recorded("thing", what),
                option=option,
            ),
            code=exits.USAGE,
        )
    if _OPTION.fullmatch(text):
        raise Failed(
            sentence("Unknown option: {word}. To send it as text, use {option} or stdin.", word=text, option=option),
            code=exits.USAGE,
        )
    return _checked(_decoded(sys.stdin.buffer.read(), "stdin"), what) if text == "-" else _checked(text, what)


def words_from(message: str | None, *, what: str, option: str = "--message") -> str:
    """Returns what an option says, whatever it begins with; with `-`, what comes through stdin. Raises Failed for no
    words."""
    if message is None:
        raise Failed(
            sentence(
                "Give the {what} with {option} TEXT, or {option} - for stdin.",
                what=recorded("thing", what),
                option=option,
            ),
            code=exits.USAGE,
        )
    return _checked(_decoded(sys.stdin.buffer.read(), "stdin") if message == "-" else message, what)


def text_or_file(words: str | None, file: Path | None, *, what: str) -> str:
    """As `text_from`, but a text that names an existing file means what is in the file. Raises Failed for a single word
    that looks like a file where there is none."""
    named = Path(words).expanduser() if words and len(words) <= _LONGEST_PATH and "\n" not in words else None
    with suppress(OSError, ValueError):  # a text that no file can be called
        if named is not None and file is None and named.is_file():
            return _read(named, "FILE")
    if words and file is None and _FILE.fullmatch(words):
        raise Failed(
            sentence("There is no file {word}.", word=words),
            sentence("To have the word itself discussed, pass it through stdin, with - in its place."),
            code=exits.USAGE,
        )
    return text_from(words, file, what=recorded("thing", what))


def _read(file: Path, option: str) -> str:
    try:
        raw = file.expanduser().read_bytes()
    except OSError as error:
        raise Failed(
            sentence("{option} {file}: {strerror}.", option=option, file=file, strerror=exits.reason_of(error)),
            code=exits.USAGE,
        ) from None
    return _checked(_decoded(raw, str(file)), sentence("text in {file}", file=file))


def _decoded(raw: bytes, name: str) -> str:
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Failed(sentence("{name} is not UTF-8 text.", name=name), code=exits.USAGE) from None
    if "\0" in text:
        raise Failed(sentence("{name} is not text: it contains a NUL character.", name=name), code=exits.USAGE)
    return text


def _checked(text: str, what: str) -> str:
    if not text.strip():
        raise Failed(sentence("The {what} is empty.", what=recorded("thing", what)), code=exits.USAGE)
    if len(text) > LONGEST:
        raise Failed(
            sentence(
                "The {what} has {n:,} characters; the limit is {longest:,}.",
                what=recorded("thing", what),
                n=len(text),
                longest=LONGEST,
            ),
            code=exits.USAGE,
        )
    return text
