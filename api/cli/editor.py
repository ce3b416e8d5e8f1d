"""Words that a person writes in their editor, below the lines of a diff that are quoted there.

Each quoted line begins with `> `, its number and its sign, so that any of them may be deleted. Words below a line are
about that line, words below the name of a file about the file, and words above everything about the whole.
"""

import os
import re
import shlex
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from api.cli import exits
from api.cli.exits import Failed
from api.cli.labels import sentence
from domain.provenance.patches import hunks
from domain.session.comments import CommentSide

_EDITORS: Final = ("GIT_EDITOR", "VISUAL", "EDITOR")
"""The variables that name the editor, in git's order."""
_QUOTE: Final = "> "
_FILE: Final = re.compile(r"> === (.+)")
_LINE: Final = re.compile(r"> *(\d+) ([ +-])\|(.*)")


class RemarkPlace(NamedTuple):
    """The place that words are about: a line of a file, a file, or with neither the whole."""

    path: str | None = None
    line: int | None = None
    side: CommentSide = "new"


class EditedWords(NamedTuple):
    """Words, and what they are about."""

    place: RemarkPlace
    text: str


def quoted(patch: str, *, only: str | None = None) -> str:
    """The lines of a diff for the editor, of all files or of one."""
    return "\n".join(_quoted(patch, only))


def _quoted(patch: str, only: str | None) -> Iterator[str]:
    path = None
    for hunk in hunks(patch.split("\n")):
        if only not in (None, hunk.path):
            continue
        if hunk.path != path:
            yield from (("",) if path else ())
            path = hunk.path
            yield f"{_QUOTE}=== {path}"
        else:
            yield f"{_QUOTE}..."
        for line in hunk.lines:
            yield f"{_QUOTE}{line.old if line.sign == '-' else line.number:>5} {line.sign}|{line.text}"


def edited(text: str) -> str:
    """Returns what the person's editor leaves of the text. Raises Failed where it cannot be started, or ends with an
    error."""
    named = (os.environ.get(name, "").strip() for name in _EDITORS)
    command = next(filter(None, named), "vi")
    with tempfile.TemporaryDirectory(prefix="hansard-comment-") as folder:
        file = Path(folder) / "COMMENT.diff"
        file.write_text(text, "utf-8", "surrogateescape")
        try:
            done = subprocess.run([*shlex.split(command), str(file)], check=False)
        except (OSError, ValueError) as error:
            raise Failed(
                sentence("The editor {command} cannot be started: {why}.", command=command, why=error), code=exits.USAGE
            ) from None
        if done.returncode:
            raise Failed(sentence("The editor {command} ended with an error; nothing was recorded.", command=command))
        with suppress(FileNotFoundError):
            return file.read_text("utf-8", "replace")
        return ""


def unquoted(text: str) -> str:
    """Returns what is not quoted."""
    return "\n".join(line for line in text.splitlines() if not _is_quoted(line)).strip()


def remarks_in(text: str, shown: str) -> list[EditedWords]:
    """The words in an edited text, each with what it is about. Raises Failed where a quoted line above the words is
    not one of those that were shown: then nobody knows what they are about."""
    quotes, remarks = set(_lines(shown)), list[EditedWords]()
    place, block = RemarkPlace(), list[str]()
    path: str | None = None
    for line in (*text.splitlines(), _QUOTE):
        if not _is_quoted(line):
            block.append(line)
            continue
        if words := "\n".join(block).strip("\n").rstrip():
            remarks.append(EditedWords(place, words))
        block = []
        if file := _FILE.fullmatch(line):
            path = file[1]
            place = RemarkPlace(path)
        elif match := _LINE.fullmatch(line):
            if (path, line) not in quotes:
                raise Failed(
                    sentence("This quoted line was changed, or the name of its file is gone: {line}", line=line),
                    code=exits.USAGE,
                )
            place = RemarkPlace(path, int(match[1]), "old" if match[2] == "-" else "new")
    return [each for each in remarks if each.text.strip()]


def _lines(shown: str) -> Iterable[tuple[str | None, str]]:
    path: str | None = None
    for line in shown.splitlines():
        file = _FILE.fullmatch(line)
        path = file[1] if file else path
        yield path, line


def _is_quoted(line: str) -> bool:
    return line.startswith(_QUOTE) or line == _QUOTE.rstrip()


def save_words(remarks: Sequence[EditedWords]) -> Path:
    """A file with words that could not be recorded."""
    handle, name = tempfile.mkstemp(prefix="hansard-comment-", suffix=".txt", text=True)
    with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
        for place, text in remarks:
            file.write(f"{_QUOTE}{place.path or ''}:{place.line or ''}\n{text}\n\n")
    return Path(name)
