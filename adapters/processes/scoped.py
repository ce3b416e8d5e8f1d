"""A thread from which programs are started without access to abstract sockets of the machine or signals to it.

Landlock restricts a thread, and every program that is started from that thread inherits the restriction. The launcher
would apply it to each program separately, which takes about 20 ms. The thread lives as long as the process, because
programs in bubblewrap end with the thread that started them.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures.thread import BrokenThreadPool
from functools import cache
from typing import TypeVar

from adapters.fence import SCOPED
from adapters.processes.launch import restrict

Started = TypeVar("Started")


def can_scope() -> bool:
    """Whether Landlock works for a thread on this machine."""
    return _thread() is not None


def scoped(start: Callable[[], Started]) -> Started:
    """Call `start` in the restricted thread. Returns its result or raises what it raises."""
    thread = _thread()
    assert thread is not None, "`can_scope` says whether there is one"
    return thread.submit(start).result()


@cache
def _thread() -> ThreadPoolExecutor | None:
    thread = ThreadPoolExecutor(1, thread_name_prefix="scoped", initializer=restrict, initargs=(SCOPED,))
    try:
        thread.submit(bool).result()
    except BrokenThreadPool:
        return None
    return thread
