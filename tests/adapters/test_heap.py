"""The memory of a process that stays: its threads share one heap."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAPS = """
import ctypes, sys, threading
from adapters.processes.heap import share_one_heap

if sys.argv[1] == "shared":
    share_one_heap()
held, all_there = [], threading.Barrier(9)

def take() -> None:
    held.append([bytes(2_000) for _ in range(100)])
    all_there.wait()

threads = [threading.Thread(target=take) for _ in range(8)]
for thread in threads:
    thread.start()
all_there.wait()
libc = ctypes.CDLL(None)
libc.fdopen.restype = ctypes.c_void_p
output = ctypes.c_void_p(libc.fdopen(1, b"w"))
libc.malloc_info(0, output)
libc.fflush(output)
"""


def heaps(how: str) -> int:
    """How many heaps a process has whose eight threads hold something."""
    result = subprocess.run([sys.executable, "-c", HEAPS, how], cwd=ROOT, capture_output=True, text=True, check=False)
    if "malloc_info" in result.stderr:
        pytest.skip("NOT TESTED: another C library")
    return len(re.findall(r"<heap nr=", result.stdout))


def test_threads_share_one_heap() -> None:
    assert heaps("own") > 1
    assert heaps("shared") == 1
