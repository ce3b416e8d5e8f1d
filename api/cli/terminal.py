"""What people see: data on stdout, messages on stderr. Agents' control characters never reach a terminal."""

import json
import os
import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final, TextIO

from api.cli.labels import label, recorded, sentence

_LAYOUT: Final = (
    "\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"
)
_DANGEROUS: Final = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_LAYOUT}\ud800-\udfff]")
_DANGEROUS_IN_JSON: Final = re.compile(f"[\x7f-\x9f{_LAYOUT}\ud800-\udfff]")
_BREAKS: Final = {ord("\n"): "⟦U+000A⟧", ord("\t"): "⟦U+0009⟧"}
_STYLES: Final = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}
_LEAST: Final = 24
"""Cells that the last column needs; with less, a table becomes lines."""
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
    return _DANGEROUS.sub(lambda match: f"⟦U+{ord(match[0]):04X}⟧", text.replace("\r\n", "\n"))


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
    """Columns; the second is a status. On a terminal the last one is cut at the edge; one that is too narrow for
    columns shows a few lines a row. In a pipe nothing is cut."""
    from rich.cells import cell_len

    names = [label(heading) for heading in headings]
    shown = [[row[0], recorded("status", row[1]), *row[2:]] for row in rows]
    table = aligned((names, *shown))
    edge = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    room = edge - sum(cell_len(cell) + 2 for cell in table[0][:-1]) if edge else None
    if edge and room is not None and room < min(_LEAST, max(cell_len(row[-1]) for row in table)):
        return _put_narrow(names, shown, rows, edge)
    for number, (*padded, last) in enumerate(table):
        last = last if room is None else shortened(last, room)
        if number == 0:
            put(paint("  ".join([*padded, last]), "dim"))
            continue
        padded[1:2] = [paint(cell, status_style(rows[number - 1][1].rstrip())) for cell in padded[1:2]]
        put("  ".join([*padded, last]).rstrip())


_FIGURE: Final = re.compile(r"[-+]?[$]?[\d.,:]+%?")
_NO_FIGURE: Final = "-"


def _put_narrow(names: Sequence[str], shown: Sequence[Sequence[str]], rows: Sequence[Sequence[str]], edge: int) -> None:
    """A line for the first two cells of a row, and one for each other text. Figures have their names, some to a line;
    unknown ones are left out."""
    for cells, row in zip(shown, rows, strict=True):
        first, second, *others = (one_line(cell) for cell in cells)
        put(f"{paint(first, 'bold')}  {paint(second, status_style(row[1]))}")
        figures = []
        for name, cell in zip(names[2:], others, strict=True):
            if _FIGURE.fullmatch(cell):
                figures.append(f"{name.lower()} {cell}")
            elif cell and cell != _NO_FIGURE:
                put(f"  {shortened(cell, edge - 2)}")
        for line in packed(figures, edge - 2):
            put(f"  {shortened(line, edge - 2)}")


def packed(parts: Iterable[str], room: int, between: str = " · ") -> list[str]:
    """The parts in as few lines as they need."""
    from rich.cells import cell_len

    lines: list[str] = []
    for part in parts:
        longer = f"{lines[-1]}{between}{part}" if lines else part
        if lines and cell_len(longer) <= room:
            lines[-1] = longer
        else:
            lines.append(part)
    return lines


def wrapped(line: str, room: int) -> list[str]:
    """The line in pieces that fit, broken between words; a longer word stays whole, so that it can be copied."""
    from rich.cells import cell_len

    if cell_len(line) <= room:
        return [line]
    pieces: list[str] = []
    for word in line.split(" "):
        longer = f"{pieces[-1]} {word}" if pieces else word
        if pieces and cell_len(longer) <= room:
            pieces[-1] = longer
        else:
            pieces.append(word)
    return pieces


def put_pairs(pairs: Iterable[tuple[str, str]]) -> None:
    """`name  value` lines; further lines of a value are indented below it. On a terminal long lines are wrapped."""
    from rich.cells import cell_len, set_cell_size

    shown = [(label(name), visible(value)) for name, value in pairs if value]
    width = max((cell_len(name) for name, _ in shown), default=0)
    room = shutil.get_terminal_size().columns - width - 2 if sys.stdout.isatty() else 0
    for name, value in shown:
        lines = value.rstrip().split("\n")
        if room >= _LEAST:
            lines = [piece for line in lines for piece in wrapped(line, room)]
        below = "\n" + " " * (width + 2)
        put(f"{paint(set_cell_size(name, width), 'dim')}  {below.join(lines)}")


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
