"""The output for people: data on stdout, messages on stderr. Agents' control characters never reach a terminal."""

import json
import os
import re
import sys
from datetime import datetime
from typing import Any, Final, TextIO

from api.cli.labels import sentence

_LAYOUT: Final = (
    "\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"
)
_DANGEROUS: Final = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_LAYOUT}\ud800-\udfff]")
_DANGEROUS_IN_JSON: Final = re.compile(f"[\x7f-\x9f{_LAYOUT}\ud800-\udfff]")
_BREAKS: Final = {ord("\n"): "⟦U+000A⟧", ord("\t"): "⟦U+0009⟧"}
_STYLES: Final = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}


def visible(text: str) -> str:
    """Control, C1, bidi and invisible characters spelt out (`⟦U+001B⟧`); line breaks and tabs stay."""
    return _DANGEROUS.sub(lambda match: f"⟦U+{ord(match[0]):04X}⟧", text.replace("\r\n", "\n"))


_COLOURS: Final = re.compile(r"\x1b\[[0-9;:?]*+[ -/]*+[@-~]")


def uncoloured(text: str) -> str:
    """The output of a program without the colours and movements that it wrote for a terminal of its own."""
    return _COLOURS.sub("", text)


_LIKE_MORE: Final = re.compile(r"""\s[(\[]|[,;]\s|"|^\s|\s$|\s{2}""")


def visible_name(name: str) -> str:
    """A file's name as it is, on one line: an agent may choose one with line breaks in it. A name that could be taken
    for more than a name, such as `a.py (added) [validation]` or `a.py, b.py`, is in quotes."""
    shown = visible(name).translate(_BREAKS)
    return f'"{shown.replace(chr(34), chr(92) + chr(34))}"' if _LIKE_MORE.search(name) else shown


def one_line(text: str) -> str:
    """The text on a line of its own, safe to print."""
    return visible(" ".join(text.split()))


def put(text: str) -> None:
    """A line of data."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def put_document(text: str) -> None:
    """A whole text as it is; made harmless where a terminal would carry it out."""
    safe = visible(text) if sys.stdout.isatty() else text
    sys.stdout.write(safe if safe.endswith("\n") else safe + "\n")
    sys.stdout.flush()


def put_json(value: Any) -> None:
    """JSON as data: readable Korean, lines of two spaces' indent, dangerous characters as escapes."""
    put(_json(value, indent=2))


def put_json_line(value: Any) -> None:
    """One JSON value a line."""
    put(_json(value, indent=None))


def say(text: str, *, label: str = "") -> None:
    """Talk: progress, hints, errors (with a red `label`). A closed stderr does not stop the work."""
    prefix = f"{paint(label, 'red', sys.stderr)} " if label else ""
    try:
        sys.stderr.write(f"{prefix}{visible(text)}\n")
        sys.stderr.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def paint(text: str, style: str | None, stream: TextIO | None = None) -> str:
    """The text in colour, where the stream (default stdout) is a terminal that wants colours."""
    if style is None or not _colours(stream or sys.stdout):
        return text
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m"


def local_time(timestamp: object) -> str:
    """An ISO instant as this machine's date and time; what is no instant stays as it is."""
    try:
        return datetime.fromisoformat(str(timestamp)).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    except ValueError:
        return str(timestamp)


def minutes(milliseconds: int) -> str:
    """`4:07`: minutes and seconds."""
    seconds = max(0, milliseconds) // 1000
    return f"{seconds // 60}:{seconds % 60:02d}"


def clock(milliseconds: int) -> str:
    """`5:58`, `1:02:03`: with hours where there are any."""
    seconds = max(0, milliseconds) // 1000
    if seconds < 3600:
        return minutes(milliseconds)
    return f"{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def counted(number: int, thing: str) -> str:
    """`1 agent`, `2 agents`."""
    return sentence(f"{{n}} {thing}{'' if number == 1 else 's'}", n=number)


def _json(value: Any, *, indent: int | None) -> str:
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return _DANGEROUS_IN_JSON.sub(lambda match: json.dumps(match[0])[1:-1], text)


def _colours(stream: TextIO) -> bool:
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
