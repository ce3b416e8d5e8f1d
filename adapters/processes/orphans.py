"""Survivors: what a worker had started when it was killed. They live on, and keep writing, until somebody ends them."""

import os
import sys
import time
from pathlib import Path

from adapters.processes.environment import OWNER, carries
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
    marked = {pid for pid in table if pid not in ours and _is_our_users(pid) and carries(pid, OWNER, owner)}
    sessions = {session for pid in marked if (session := table[pid].session) in marked or session not in table}
    roots = marked | {pid for pid, process in table.items() if process.session in sessions - {os.getsid(0), 0}} - ours
    return roots | below(roots, table)


def _is_our_users(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}").stat().st_uid == os.geteuid()
    except OSError:  # gone
        return False
