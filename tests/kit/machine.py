"""A machine that fails around a program: its disk refuses writes or loses power, its clock is wrong.

The program runs with a small library (machine.c) before the system's own. Tests are skipped where it cannot be built.
"""

import errno
import mmap
import random
import shutil
import struct
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple, Self

import pytest

SOURCE: Final = Path(__file__).with_suffix(".c")
SECTOR: Final = 512
"""What a disk writes whole or not at all."""
NAMES: Final = ("hansard.db", "hansard.db-wal")
_ORDERS: Final = struct.Struct("=qqq")
_RECORD: Final = struct.Struct("=qqqq")
_TRUNCATE: Final = 1
_SYNC: Final = 2


class Op(NamedTuple):
    """What was done to a file of the log; `end`: where the journal ends with it."""

    kind: int
    file: int
    offset: int
    data: bytes
    end: int


@cache
def _library(folder: Path) -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("NOT TESTED: no C compiler")
    target = folder / "machine.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O2", "-o", target, SOURCE, "-ldl", "-lpthread"], check=True)
    return target


class FailingMachine:
    """Its orders, and the journal of its disk."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._journal, orders = folder / "journal", folder / "orders"
        self._journal.touch()
        orders.write_bytes(bytes(_ORDERS.size))
        with orders.open("r+b") as file:
            self._orders = mmap.mmap(file.fileno(), _ORDERS.size)
        self.command: Sequence[str] = ("env", f"LD_PRELOAD={_library(folder)}", f"MACHINE={folder}")
        """What a program is started with."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._orders.close()

    def clock(self, seconds: float) -> None:
        """So far is its clock from the right time."""
        self._orders[0:8] = struct.pack("=q", round(seconds * 1e9))

    def refuse(self, number: int = errno.EIO) -> None:
        """Every write and sync of the log fails, until `accept`."""
        self._orders[8:16] = struct.pack("=q", number)

    def accept(self) -> None:
        self._orders[8:16] = bytes(8)

    @property
    def refused(self) -> int:
        return int(_ORDERS.unpack(self._orders[:])[2])

    # -- a power cut -----------------------------------------------------------------------------------------------

    def written(self) -> int:
        """How many writes the disk has received so far."""
        return self._journal.stat().st_size

    def journal(self) -> list[Op]:
        data, at, result = self._journal.read_bytes(), 0, list[Op]()
        while at < len(data):
            kind, file, offset, size = _RECORD.unpack_from(data, at)
            begin, at = at + _RECORD.size, at + _RECORD.size + size
            result.append(Op(kind, file, offset, data[begin:at], at))
        return result


def after_power_cut(done: Sequence[Op], folder: Path, chance: random.Random) -> Path:
    """The log as the disk has it when the power fails after that: what was synced, and any part of the rest."""
    folder.mkdir()
    for file, name in enumerate(NAMES):
        ours = [op for op in done if op.file == file]
        synced = max((number for number, op in enumerate(ours) if op.kind == _SYNC), default=-1)
        content = bytearray()
        for number, op in enumerate(ours):
            if number <= synced or chance.random() < 0.5:
                _apply(content, op, None if number <= synced else chance)
        (folder / name).write_bytes(content)
    return folder / NAMES[0]


def _apply(content: bytearray, op: Op, torn_by: random.Random | None) -> None:
    if op.kind == _SYNC:
        return
    if op.kind == _TRUNCATE:
        del content[op.offset :]
        content.extend(bytes(op.offset - len(content)))
        return
    content.extend(bytes(max(0, op.offset + len(op.data) - len(content))))
    for at in range(0, len(op.data), SECTOR):
        if torn_by is None or torn_by.random() < 0.8:
            part = op.data[at : at + SECTOR]
            content[op.offset + at : op.offset + at + len(part)] = part
