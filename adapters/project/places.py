"""Finds the place of a setting in the text of the file, so that a fault can be shown there."""

import re


def place_of(text: str, loc: tuple[int | str, ...], name_of_file: str) -> str:
    """The place as people read it: `hansard.toml:7 [workspace] setup`."""
    table, second = str(loc[0]) if loc else "", loc[1] if len(loc) > 1 else ""
    number, inner = (second, loc[2:]) if isinstance(second, int) else (None, loc[1:])
    line = _line(text, table, str(inner[0]) if inner else "", number)
    name = ".".join(part for part in loc[1:] if isinstance(part, str))
    shown = "" if not table else f"[{table}]" if number is None else f"[[{table}]]"
    return " ".join(part for part in (f"{name_of_file}:{line}" if line else name_of_file, shown, name) if part)


def _line(text: str, table: str, key: str, which: int | None = None) -> int | None:
    """The line of the key, nearest by searching: the parser keeps no positions. Of tables with the same name, `which`
    counts from 0."""
    current, seen, nearest = "", -1, None
    for number, line in enumerate(text.splitlines(), start=1):
        if header := re.match(r"\s*\[\[?([\w.\"-]+)\]\]?", line):
            current = header[1]
            seen += current == table
            if current == table and which in (None, seen):
                nearest = number
                if not key:
                    return number
        elif which not in (None, seen):
            continue
        elif any(_assigns(line, name) for name in _spellings(current, table, key)):
            return number
    return nearest if which is not None else None


def _spellings(current: str, table: str, key: str) -> tuple[str, ...]:
    """The spellings of the key in a line of the current table."""
    if current:
        return (key,) if key and current == table else ()
    return (table, f"{table}.{key}") if key else (table,)


def _assigns(line: str, key: str) -> bool:
    return re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*[=.]", line) is not None
