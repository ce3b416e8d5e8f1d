"""A process that has imported the product once and forks at each order: what it becomes is `python -m api WORDS`, with
its own process id, environment, folder and streams, but without the second that Python needs for the imports.

    python -m tests.kit.warm DESCRIPTOR     takes orders from this socket until it closes

What is about the start itself, about another language or about the settings of Python starts a new Python: see
`tests/kit/programs.py`.
"""

import atexit
import contextlib
import gc
import json
import os
import pkgutil
import runpy
import selectors
import socket
import sys
import threading
import time
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from pydantic import BaseModel

from domain.values.words import catalogue

MODULES = ("api.system", "api.app", "api.worker", "adapters.turns.lease.worker", "uvloop", "httptools")
ALONE = frozenset({"api.cli.mcp", "api.cli.mcp_lines"})
"""Commands that bring a library of their own."""
ROOMS = ("domain.values", "projections.record", "api.cli", "api.web")
"""Packages whose messages a process reads when it shows the first of them."""
Json = dict[str, Any]


def forked(control: socket.socket) -> Json | None:
    """Fork at each order, and tell its sender the id and later the exit code. Returns the order in the new process,
    and None in this one at its end."""
    with selectors.DefaultSelector() as waiting:
        waiting.register(control, selectors.EVENT_READ)
        while True:
            for key, _ in waiting.select():
                if key.fileobj is control:
                    data, descriptors, _, _ = socket.recv_fds(control, 1 << 20, 4)
                    if not data:
                        return None
                    pid = os.fork()
                    if pid == 0:
                        _take(descriptors)
                        return json.loads(data)  # type: ignore[no-any-return]  # JSON
                    told = socket.socket(fileno=descriptors[0])
                    for descriptor in descriptors[1:]:
                        os.close(descriptor)
                    told.sendall(str(pid).encode())
                    waiting.register(os.pidfd_open(pid), selectors.EVENT_READ, (pid, told))
                else:
                    pid, told = key.data
                    waiting.unregister(key.fd)
                    os.close(key.fd)
                    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                    with contextlib.suppress(BrokenPipeError), told:  # nobody waits for it any more
                        told.sendall(str(status).encode())


def _take(descriptors: list[int]) -> None:
    """Make them this process's standard streams, and close everything else."""
    for number, descriptor in enumerate(descriptors[1:]):
        os.dup2(descriptor, number)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))


def become(order: Json) -> None:
    """Run the program as the order says."""
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["environment"])
    time.tzset()
    os.setsid()
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        before = getattr(sys, name)
        lines = 1 if name == "stderr" else -1
        stream = open(number, mode, lines, before.encoding, before.errors, closefd=False)  # noqa: SIM115
        setattr(sys, name, stream)
    sys.argv = ["api", *order["words"]]
    try:
        runpy.run_module("api", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if not isinstance(end.code, int):
            raise
        _leave(end.code)


def _leave(code: int) -> None:
    """End as Python does, but leave the memory to the system: to take it apart copies all that is shared with the
    process that forked."""
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):  # nobody reads any more, or it is closed: Python says so in its own way
        sys.exit(code)
    os._exit(code)


def prepare() -> None:
    """Do what every process would do for itself: import, build its models, read its messages."""
    commands = (module.name for module in pkgutil.iter_modules(import_module("api.cli").__path__, "api.cli."))
    for name in (*MODULES, *(name for name in commands if name not in ALONE)):
        import_module(name)
    for model in _below(BaseModel):
        model.model_rebuild()
    for room in ROOMS:
        catalogue(room)


def _below(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for each in model.__subclasses__():
        yield each
        yield from _below(each)


def main() -> None:
    prepare()
    assert threading.active_count() == 1, "a fork has one thread"
    gc.collect()
    gc.freeze()
    order = forked(socket.socket(fileno=int(sys.argv[1])))
    if order is not None:
        become(order)


if __name__ == "__main__":
    main()
