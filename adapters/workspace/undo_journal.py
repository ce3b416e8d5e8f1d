"""Notes what a later process has to know to undo a move of a checkout that was killed, beside the copies of its
files."""

import fcntl
import json
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

PREFIX: Final = "hansard-undo-"
"""Folders in the checkout's git folder begin with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoJournal:
    """`before` is the commit that was checked out, `after` the tree that the checkout moves to. `state` are git's own
    files and `copies` the person's, each with the name of its copy (None: there was no such file); `signs` show whether
    a file that is going to change has changed, and `clean` are those of them that git has."""

    before: str | None
    after: str
    touched: Sequence[str]
    clean: Sequence[str]
    state: dict[str, str | None]
    copies: dict[str, str]
    signs: dict[str, list[int]]

    def write(self, place: Path) -> None:
        """Write it, completely or not at all."""
        draft = place / "journal.new"
        draft.write_text(json.dumps(asdict(self)), encoding="ascii")  # which escapes what is no character in a name
        draft.replace(journal_of(place))


def read_journal(place: Path) -> UndoJournal | None:
    """The journal; None where the move had not begun, or was over."""
    try:
        return UndoJournal(**json.loads(journal_of(place).read_text(encoding="ascii")))
    except FileNotFoundError:
        return None


def journal_of(place: Path) -> Path:
    return place / "journal.json"


def mark_owner(place: Path) -> int:
    """Show that this process is at work there, until the returned file is closed or the process ends."""
    owner = os.open(place / "owner", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return owner


def has_owner(place: Path) -> bool:
    """True if a process is at work there."""
    with suppress(FileNotFoundError):
        owner = os.open(place / "owner", os.O_RDWR | os.O_CLOEXEC)
        try:
            fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(owner)
    return False
