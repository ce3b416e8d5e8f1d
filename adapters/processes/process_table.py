"""The processes of this machine, as /proc lists them, and who started whom."""

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

_LONGEST: Final = 4096
"""More than an entry of /proc can have."""


# The process table of this machine (Linux).
class Process(NamedTuple):
    """An entry of the process table. `started` is in clock ticks since boot."""

    pid: int
    state: str
    parent: int
    session: int
    started: int

    @property
    def alive(self) -> bool:
        return self.state not in "ZX"


Table = Mapping[int, Process]
"""By process id."""


def process_table() -> dict[int, Process]:
    with os.scandir("/proc") as entries:
        pids = [int(entry.name) for entry in entries if entry.name.isdigit()]
    return {pid: process for pid in pids if (process := look_up(pid)) is not None}


def look_up(pid: int) -> Process | None:
    """None when there is no such process."""
    try:  # hundreds of these are read at the end of every program: `Path` takes longer than the system
        file = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
    except OSError:
        return None
    try:
        fields = os.read(file, _LONGEST).rpartition(b")")[2].split()
    except OSError:
        return None
    finally:
        os.close(file)
    return Process(pid, fields[0].decode(), int(fields[1]), int(fields[3]), int(fields[19]))


def below(roots: Iterable[int], table: Table) -> set[int]:
    """All their descendants."""
    children: defaultdict[int, list[int]] = defaultdict(list)
    for process in table.values():
        children[process.parent].append(process.pid)
    pids, todo = set[int](), list(roots)
    while todo:
        new = [pid for pid in children.get(todo.pop(), ()) if pid not in pids]
        pids.update(new)
        todo.extend(new)
    return pids


def above(pid: int, table: Table) -> set[int]:
    """All its ancestors."""
    pids = set[int]()
    while (process := table.get(pid)) is not None and process.parent not in pids:
        pids.add(pid := process.parent)
    return pids
