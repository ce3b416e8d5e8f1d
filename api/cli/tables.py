"""Columns, pairs and lines that fit a terminal; a Korean letter takes two cells."""

import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import Final

from rich.cells import cell_len, set_cell_size

from api.cli.labels import label, recorded
from api.cli.terminal import one_line, paint, put, visible

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
    "held": "yellow",
    "checkpoint": "yellow",
    "partial": "yellow",
    "active": "blue",
    "reviewing": "blue",
    "debating": "blue",
    "synthesizing": "blue",
}


def status_style(status: str) -> str | None:
    """The colour of a status, whatever is said after it."""
    return _STATUS_STYLES.get(status.partition(",")[0].rstrip())


def aligned(rows: Iterable[Sequence[str]]) -> list[list[str]]:
    """The cells of each row on one line, harmless, all but the last as wide as their column."""
    table = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(cell_len(cell) for cell in column) for column in zip(*table, strict=True)][:-1]
    return [[*(set_cell_size(cell, width) for cell, width in zip(row, widths, strict=False)), row[-1]] for row in table]


def columns(rows: Iterable[Sequence[str]]) -> str:
    """The rows as lines, their cells under each other."""
    return "\n".join("  ".join(row).rstrip() for row in aligned(rows))


def shortened(text: str, cells: int) -> str:
    """The text on one line, cut where it takes more than so many cells of a terminal."""
    line = one_line(text)
    return line if cell_len(line) <= cells else set_cell_size(line, cells - 1).rstrip() + "…"


def put_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Columns; the second is a status. On a terminal the last one is cut at the edge; one that is too narrow for
    columns shows a few lines a row. In a pipe nothing is cut."""
    names = [label(heading) for heading in headings]
    shown = [[row[0], _in_words(row[1]), *row[2:]] for row in rows]
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
        padded[1:2] = [paint(cell, status_style(rows[number - 1][1])) for cell in padded[1:2]]
        put("  ".join([*padded, last]).rstrip())


def _in_words(status: str) -> str:
    """The status in the reader's language, with what is said after it, such as how a landing ended."""
    word, comma, more = status.partition(",")
    return f"{recorded('status', word)}{comma}{more}"


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
    shown = [(label(name), visible(value)) for name, value in pairs if value]
    width = max((cell_len(name) for name, _ in shown), default=0)
    room = shutil.get_terminal_size().columns - width - 2 if sys.stdout.isatty() else 0
    for name, value in shown:
        lines = value.rstrip().split("\n")
        if room >= _LEAST:
            lines = [piece for line in lines for piece in wrapped(line, room)]
        below = "\n" + " " * (width + 2)
        put(f"{paint(set_cell_size(name, width), 'dim')}  {below.join(lines)}")
