"""Take the limits, then become the program: `launch.py REPORT LIMITS LOCALE PROGRAM [ARGUMENT …]`.

Run as a script of its own (`python -I -S`), so that it starts fast and imports nothing from the folder it stands in.
`REPORT` is a pipe that closes when the program begins, and says why when it does not: an error number, or words.
`LOCALE` is what the environment had of `LC_CTYPE=…`, which may by now be Python's own.
"""

import os
import resource
import signal
import sys

_UNTIL_KILLED = 5
"""Seconds of processor time between the signal that may be caught and the one that may not."""


def become(report: int, limits: str, argv: list[str], env: dict[str, str]) -> None:
    """Never returns: the program begins, or the reason is reported."""
    os.set_inheritable(report, False)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and what is ignored stays so
        signal.signal(number, signal.SIG_DFL)
    try:
        for name, value in (limit.split("=") for limit in limits.split(",") if limit):
            _hold(name, int(value))
        os.execvpe(argv[0], argv, env)  # noqa: S606 - an argument list is what is wanted, not a shell
    except OSError as error:
        os.write(report, str(error.errno).encode())
    except ValueError as error:
        os.write(report, str(error).encode(errors="replace"))
    os._exit(127)


def _hold(name: str, value: int) -> None:
    """Lower the limit, never raise it. Raises OSError or ValueError: the system does not let us."""
    kind = getattr(resource, name)
    soft, hard = resource.getrlimit(kind)
    last = value + _UNTIL_KILLED if name == "RLIMIT_CPU" else value
    resource.setrlimit(kind, (_least(value, soft), _least(last, hard)))


def _least(value: int, before: int) -> int:
    return value if before == resource.RLIM_INFINITY else min(value, before)


if __name__ == "__main__":
    given = {name: value for name, value in os.environ.items() if name != "LC_CTYPE"}
    given |= dict([sys.argv[3].split("=", 1)] if sys.argv[3] else [])
    become(int(sys.argv[1]), sys.argv[2], sys.argv[4:], given)
