"""Finds the files of a checkout that its settings run, and tells their contents apart by digests."""

import hashlib
import shlex
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from adapters.files import beginning

_MOST: Final = 500
"""The words of the settings that are looked at."""


def digests_of(checkout: Path, texts: Iterable[str]) -> dict[str, str]:
    """The files of the checkout that these commands name, by path, with the SHA-256 of their contents. Blocks."""
    top = checkout.resolve()
    paths = dict.fromkeys(path for _, path in zip(range(_MOST), _paths(top, texts), strict=False))
    return {str(path.relative_to(top)): _digest(path) for path in sorted(paths)}


def texts_of_team(path: Path) -> tuple[str, ...]:
    """Every text in a team file: whatever one of them names may be run."""
    try:
        return tuple(_texts(tomllib.loads(beginning(path))))
    except (ValueError, RecursionError):
        return ()


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)


def _paths(top: Path, texts: Iterable[str]) -> Iterator[Path]:
    """The files that lie below the checkout, whether or not links lead out of it."""
    for word in (word for text in texts for word in _words(text)):
        path = Path(top, word)  # an absolute path stays one
        try:
            if path.is_file() and path.parent.resolve().is_relative_to(top):
                yield path.parent.resolve() / path.name
        except (OSError, ValueError):  # no path that a system could have
            continue


def _words(text: str) -> Iterator[str]:
    """The words of a command, and those of a command in it, as of a shell."""
    for word in _split(text):
        yield word
        if word != text:
            yield from (part for inner in _split(word) for part in (inner, inner.rpartition("=")[2]))


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
