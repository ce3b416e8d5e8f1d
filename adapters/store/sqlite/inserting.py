"""Many rows in few statements.

A thread gives the interpreter away at every step of a statement and has to get it back: row by row, a busy server
spends more time on that than on the rows.
"""

import re
import sqlite3
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, Final

_SIZES: Final = (32, 16, 8, 4, 2, 1)
"""Rows of a statement: few different statements, that stay prepared, and few of them for any number of rows."""
_ROW: Final = re.compile(r"(?<=VALUES )\(\?(?:, \?)*\)")


def insert(connection: sqlite3.Connection, sql: str, rows: Sequence[Sequence[Any]]) -> None:
    """Carry out `INSERT INTO … VALUES (?, …) …` for all rows, in their order. Raises sqlite3.Error."""
    begin = 0
    for size in _SIZES:
        while len(rows) - begin >= size:
            connection.execute(_of_rows(sql, size), tuple(chain.from_iterable(rows[begin : begin + size])))
            begin += size


@lru_cache
def _of_rows(sql: str, count: int) -> str:
    repeated, found = _ROW.subn(lambda row: ", ".join([row[0]] * count), sql)
    if found != 1:
        raise ValueError(f"No statement that inserts a row of values: {sql}")
    return repeated
