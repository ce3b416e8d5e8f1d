"""Ends what is left of a run, and reaps orphans that became our children (Linux)."""

import contextlib
import ctypes
import functools
import math
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from adapters.processes.environment import mark_of
from adapters.processes.process_table import Process, Table, above, below, look_up, process_table

SECONDS: Final = 2.0
"""How long we wait for killed processes; what the kernel still holds dies when it is released."""
PAUSE: Final = 0.02
_PR_SET_DUMPABLE: Final = 4
_PR_SET_CHILD_SUBREAPER: Final = 36
spawning = threading.Lock()
"""Held while a program is started, so that every leader in the process table is also among the leaders."""
leaders: set[int] = set()
"""The programs that we have started and not yet reaped."""


@functools.cache
def settle() -> None:
    """Once per process: no core dumps, orphans become our children, and children cannot read our environment (F9,
    F10)."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        prctl = ctypes.CDLL(None).prctl
        prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def sweep(leader: int, tag: str) -> None:
    """Kill what is left of a run, inside or outside of its session, and reap it."""
    if sys.platform != "linux":
        return
    deadline = time.monotonic() + SECONDS
    began, killed, doubtful = 0, set[int](), set[int]()
    while time.monotonic() < deadline:
        with spawning:
            table = process_table()
        began = began or (table[leader].started if leader in table else 0)
        alive = kill(_family(table, leader, tag) | _strays(table, leader, began), table)
        killed |= alive
        doubtful = reap(table, certain=killed | doubtful, began=began)
        if not alive and not doubtful:
            return
        time.sleep(PAUSE)


def kill(pids: Iterable[int], table: Table) -> set[int]:
    """Kill those that are alive. Returns which ones. An id that was reused since the table was read is left alone."""
    alive = {pid for pid in pids if table[pid].alive}
    for pid in alive:
        now = look_up(pid)
        if now is not None and now.started == table[pid].started:
            with contextlib.suppress(ProcessLookupError, PermissionError):  # already gone, or no longer ours
                os.kill(pid, signal.SIGKILL)
    return alive


def reap(table: Table, *, certain: set[int], began: int = 0) -> set[int]:
    """Reap what was certainly adopted. What might be a child of another library, in a separate session, is returned,
    and reaped if it is still there the next time: no caller waits for it."""
    doubtful = set[int]()
    for orphan in filter(_is_dead_orphan, table.values()):
        if orphan.pid in certain or orphan.pid != orphan.session:
            with contextlib.suppress(ChildProcessError):  # another sweep was faster
                os.waitpid(orphan.pid, os.WNOHANG)
        elif began and orphan.started >= began:
            doubtful.add(orphan.pid)
    return doubtful


def _is_orphan(process: Process) -> bool:
    """A child of ours from a foreign session. Our other children (those of asyncio and git) stay in our session."""
    mine = process.parent == os.getpid() and process.session != os.getsid(0)
    return mine and process.pid not in leaders


def _is_dead_orphan(process: Process) -> bool:
    return _is_orphan(process) and process.state == "Z"


def _family(table: Table, leader: int, tag: str) -> set[int]:
    """The processes of the run: its session, processes with its tag, and their descendants. Since orphans become our
    children, only our descendants can be among them."""
    ours = below({os.getpid()}, table)
    roots = {pid for pid in ours if table[pid].session == leader or _is_tagged(pid, tag)}
    return roots | below(roots, table)


def _strays(table: Table, leader: int, began: int) -> set[int]:
    """Orphans that became our children during the run and belong to no running leader, with their descendants: a daemon
    in its own session that has cleared its environment carries no mark. One that is younger than another running leader
    may belong to that run, and ends with it."""
    others = [table[pid].started for pid in leaders - {leader} if pid in table and table[pid].alive]
    roots = {
        process.pid
        for process in table.values()
        if _is_orphan(process) and 0 < began <= process.started and process.started < min(others, default=math.inf)
    }
    return roots | below(roots, table)


def _is_tagged(pid: int, tag: str) -> bool:
    mark = mark_of(pid)
    return mark is not None and mark.tag == tag


def end_orphans(owner: str) -> int:
    """Kill everything on this machine that was started for that worker, directly or not. Returns how many processes.

    Only for a worker that is dead. Blocks until they are gone. Does nothing on systems other than Linux, or to other
    accounts' processes; a process that has hidden its environment is found by its session or its parent.
    """
    if sys.platform != "linux" or not owner:
        return 0
    deadline, killed = time.monotonic() + SECONDS, set[int]()
    while time.monotonic() < deadline:
        table = process_table()
        alive = kill(_left_by(owner, table), table)
        killed |= alive
        reap(table, certain=killed)
        if not alive:
            break
        time.sleep(PAUSE)
    return len(killed)


def _left_by(owner: str, table: Table) -> set[int]:
    """Processes with the owner's mark, those in their sessions, and all their descendants. Never ourselves or our
    ancestors, in case an orphan has started us."""
    ours = {os.getpid()} | above(os.getpid(), table)
    marked = {pid for pid in table if pid not in ours and _is_owned(pid, owner)}
    sessions = {table[pid].session for pid in marked} - {os.getsid(0)}
    theirs = {session for session in sessions if session in marked or not _is_led(session, table)}
    roots = marked | {pid for pid, process in table.items() if process.session in theirs and pid not in ours}
    return roots | below(roots, table)


def _is_led(session: int, table: Table) -> bool:
    """True if the process that began the session is alive. Without a mark, it may not be ours."""
    return session in table and table[session].alive


def _is_owned(pid: int, owner: str) -> bool:
    try:
        if Path(f"/proc/{pid}").stat().st_uid != os.geteuid():
            return False
    except OSError:  # gone
        return False
    mark = mark_of(pid)
    return mark is not None and mark.owner == owner
