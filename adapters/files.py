"""Small files that people write, read whole; private files and folders."""

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NoReturn

from domain.values.base import HansardError
from domain.values.sentences import Sentence

LARGEST: Final = 8_388_608
"""Maximum size of such a file."""


class Unfit(HansardError):
    """The file cannot be read as expected."""


def content(path: Path) -> str:
    """The whole of the file, without a byte order mark. Raises Unfit."""
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise Unfit(Sentence("settings_file_too_large", path=path, number=LARGEST))
        return data.decode("utf-8-sig")
    except OSError as error:
        raise Unfit(Sentence("settings_file_unreadable", path=path, reason=error.strerror)) from None
    except UnicodeDecodeError:
        raise Unfit(Sentence("settings_file_not_utf8", path=path)) from None


def beginning(path: Path) -> str:
    """The first megabyte of a file; empty if it cannot be read."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(1_048_576)
    except OSError:
        return ""


def json_of(text: str) -> Any:
    """With a duplicate key, the first value would be lost. Raises ValueError, or RecursionError."""
    return json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        twice = next(key for i, (key, _) in enumerate(pairs) if key in dict(pairs[:i]))
        raise ValueError(Sentence("key_occurs_twice", key=twice))
    return fields


def _no_number(constant: str) -> NoReturn:
    raise ValueError(Sentence("not_a_json_number", given=constant))


# Private files: a log contains prompts, replies and source code (promise S24).

_OTHERS: Final = 0o077


def private_folder(path: Path) -> None:
    """Create the folder, private to its owner, and missing parents. Raises OSError."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)


def sync(path: Path) -> None:
    """Make a file, or the names in a folder, survive a power cut."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def private_file(path: Path) -> None:
    """Create the file, empty and private to its owner, if it is missing. SQLite's additional files get the same mode.
    Raises OSError."""
    if str(path).startswith(":"):
        return  # `:memory:` is not a file for SQLite
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def open_to_others(path: Path) -> bool:
    """True if other users of the machine have any right to the file itself. Raises OSError."""
    return bool(path.stat().st_mode & _OTHERS)


def is_empty(folder: Path) -> bool:
    """True if this is a folder with nothing in it."""
    return folder.is_dir() and next(folder.iterdir(), None) is None
