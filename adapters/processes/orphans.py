"""Survivors: what a worker had started when it was killed. They live on, and keep writing, until somebody ends them."""

import os
import sys
import time
from pathlib import Path

from adapters.processes.environment import mark_of
from adapters.processes.sweep import PAUSE, SECONDS, kill, reap
from adapters.processes.table import Table, above, below, process_table


def end_orphans(owner: str) -> int:
    """Kill whatever on this machine was started for that worker, and all that it has started; how many processes.

    Only for a worker that is dead. Blocks until they are gone. Nothing on other systems than Linux, and nothing of
    other users; a process that has hidden its environment is found by its session or its parent."""
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
    """Who carries the owner's mark, who is in a session of theirs, and all their descendants. Never ourselves or our
    ancestors, should an orphan have started us."""
    ours = {os.getpid()} | above(os.getpid(), table)
    marked = {pid for pid in table if pid not in ours and _is_owned(pid, owner)}
    sessions = {table[pid].session for pid in marked} - {os.getsid(0)}
    theirs = {session for session in sessions if session in marked or not _is_led(session, table)}
    roots = marked | {pid for pid, process in table.items() if process.session in theirs and pid not in ours}
    return roots | below(roots, table)


def _is_led(session: int, table: Table) -> bool:
    """Whether the process that began the session lives. Without a mark it may not be of ours."""
    return session in table and table[session].alive


def _is_owned(pid: int, owner: str) -> bool:
    try:
        if Path(f"/proc/{pid}").stat().st_uid != os.geteuid():
            return False
    except OSError:  # gone
        return False
    mark = mark_of(pid)
    return mark is not None and mark.owner == owner
