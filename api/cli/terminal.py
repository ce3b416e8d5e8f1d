"""What people see: data on stdout, talk on stderr, and nothing that an agent wrote can command the terminal."""

import json
import os
import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final, TextIO

_LAYOUT: Final = (
    "\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"
)
_DANGEROUS: Final = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_LAYOUT}\ud800-\udfff]")
_DANGEROUS_IN_JSON: Final = re.compile(f"[\x7f-\x9f{_LAYOUT}\ud800-\udfff]")
_STYLES: Final = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}
_STATUS_STYLES: Final = {
    "success": "green",
    "done": "green",
    "decided": "green",
    "failed": "red",
    "cancelled": "dim",
    "running": "blue",
    "waiting_for_decision": "yellow",
    "checkpoint": "yellow",
    "partial": "yellow",
    "active": "blue",
    "reviewing": "blue",
    "debating": "blue",
    "synthesizing": "blue",
}


def visible(text: str) -> str:
    """Control, C1, bidi and invisible characters spelt out (`⟦U+001B⟧`); line breaks and tabs stay."""
    return _DANGEROUS.sub(lambda found: f"⟦U+{ord(found[0]):04X}⟧", text.replace("\r\n", "\n"))


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


def status_style(status: str) -> str | None:
    return _STATUS_STYLES.get(status)


def aligned(rows: Iterable[Sequence[str]]) -> list[list[str]]:
    """The cells of each row on one line, harmless, all but the last as wide as their column."""
    from rich.cells import cell_len, set_cell_size

    table = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(cell_len(cell) for cell in column) for column in zip(*table, strict=True)][:-1]
    return [[*(set_cell_size(cell, width) for cell, width in zip(row, widths, strict=False)), row[-1]] for row in table]


def columns(rows: Iterable[Sequence[str]]) -> str:
    """The rows as lines, their cells under each other."""
    return "\n".join("  ".join(row).rstrip() for row in aligned(rows))


def shortened(text: str, cells: int) -> str:
    """The text on one line, cut where it takes more than so many cells of a terminal."""
    from rich.cells import cell_len, set_cell_size

    line = one_line(text)
    return line if cell_len(line) <= cells else set_cell_size(line, cells - 1).rstrip() + "…"


def put_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Columns; the second is a status. On a terminal the last one is cut at the edge, in a pipe nothing is."""
    from rich.cells import cell_len

    for number, (*padded, last) in enumerate(aligned((headings, *rows))):
        if sys.stdout.isatty():
            room = shutil.get_terminal_size().columns - sum(cell_len(cell) + 2 for cell in padded)
            last = shortened(last, max(10, room))
        if number == 0:
            put(paint("  ".join([*padded, last]), "dim"))
            continue
        padded[1:2] = [paint(cell, status_style(cell.rstrip())) for cell in padded[1:2]]
        put("  ".join([*padded, last]).rstrip())


def put_pairs(pairs: Iterable[tuple[str, str]]) -> None:
    """`name  value` lines; further lines of a value are indented below it."""
    shown = [(name, visible(value)) for name, value in pairs if value]
    width = max((len(name) for name, _ in shown), default=0)
    for name, value in shown:
        below = "\n" + " " * (width + 2)
        put(f"{paint(name.ljust(width), 'dim')}  {value.rstrip().replace(chr(10), below)}")


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


def money(micros: int) -> str:
    """`$2.50`, `$0.0045`: millionths of a dollar, with more digits where cents are not enough."""
    digits = 2 if micros % 10_000 == 0 else 4 if micros >= 100 else 6
    return f"${micros / 1_000_000:,.{digits}f}"


def counted(number: int, thing: str) -> str:
    """`1 agent`, `2 agents`."""
    return f"{number} {thing}{'' if number == 1 else 's'}"


def _json(value: Any, *, indent: int | None) -> str:
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return _DANGEROUS_IN_JSON.sub(lambda found: json.dumps(found[0])[1:-1], text)


def _colours(stream: TextIO) -> bool:
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
