"""The session that all peers hold, and how each is measured: run by the interpreter of a venv of its own.

A review in eight durable steps: its start, five contributions, a synthesis that waits for a person, the decision.
Agents answer at once, so that only the bookkeeping is measured.
"""

import json
import sqlite3
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

SUBJECT = "The parser reads lines. " * 5
REPLY = "The second loop reads one line too many, and an empty file is not tested. " * 3
ROUNDS = 5
STEPS = ROUNDS + 3


def prompt_of(contributions: list[str]) -> str:
    """What each participant is asked: the subject, and everything said so far."""
    return "\n\n".join([SUBJECT, *contributions])


def measure(make: Callable[[Path], Callable[[str], None]]) -> None:
    """`make` opens a store in a folder and returns what holds one session there. Arguments of the program: the folder,
    sessions, callers. Prints a JSON object."""
    folder, count, callers = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    hold = make(folder)
    hold("warm")
    cpu, began = time.process_time(), time.perf_counter()
    if callers == 1:
        for number in range(count):
            hold(f"review-{number}")
    else:
        with ThreadPoolExecutor(callers) as pool:
            list(pool.map(hold, (f"review-{number}" for number in range(count))))
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    report(folder, {"rate": count / seconds, "cpu": cpu / count}, count + 1)


def report(folder: Path, figures: dict[str, float], sessions: int) -> None:
    """Print the figures, and the bytes of a session in the log."""
    log = folder / "log.db"
    with closing(sqlite3.connect(log, timeout=60)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    print(json.dumps(figures | {"bytes": log.stat().st_size / sessions}))  # noqa: T201 - the answer
