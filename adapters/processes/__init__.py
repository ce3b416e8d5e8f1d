"""The only way to run a program: no shell, a clean environment, a separate session, limits, and no survivors.

What a program may access is up to the fence (`adapters/fence`); without one it may do whatever our account may. This
package guarantees that the program ends, that its output is bounded, and that everything it has started ends with it.
If we are killed ourselves, `end_orphans` of our next process finds it.

Of the limits that the system could set (promise S13), every run has one, CORE=0. The others are optional
(`SystemLimits`): AS kills programs that only reserve addresses (Node, Go, Java, sanitizers), NPROC counts every process
of our account instead of those of the run, and the wall clock is usually better than CPU. Instead, there is a hint for
runs that use up the memory: the kernel kills them before it kills us.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from adapters.fence import UNFENCED, Fence
from adapters.processes.child import Child, Ended, Finished
from adapters.processes.environment import clean_environment, own, resolve_secrets
from adapters.processes.limits import NO_LIMITS, Pauses, SystemLimits, keep_free
from adapters.processes.output import Input, OnLine
from adapters.processes.starting import start, why_not
from adapters.processes.sweep import end_orphans, settle

__all__ = [
    "NO_LIMITS",
    "Ended",
    "Finished",
    "Input",
    "Pauses",
    "SystemLimits",
    "clean_environment",
    "end_orphans",
    "keep_free",
    "own",
    "resolve_secrets",
    "run",
]


async def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    stdin: bytes | Input | None = None,
    wall_seconds: float,
    idle_seconds: float | None = None,
    output_bytes: int = 1_048_576,
    keep_ends: bool = False,
    limits: SystemLimits = NO_LIMITS,
    fence: Fence = UNFENCED,
    grace_seconds: float = 2.0,
    on_output: Callable[[str], None] | None = None,
    on_line: OnLine | None = None,
    pauses: Pauses | None = None,
) -> Finished:
    """Run `argv` in `cwd` with exactly `env` and our mark; failures are values. `output_bytes` counts both streams.
    More output ends the run or, with `keep_ends`, is cut from the middle of each stream while the run continues.

    To end a run early, its group gets TERM, then `grace_seconds`, then KILL. On return, and before a cancellation
    propagates, nothing that it started is alive. `on_output` gets both streams in pieces, `on_line` whole lines, each
    with the stream (1 stdout, 2 stderr); if either raises, the run is stopped and the exception is raised. With an
    `Input`, its standard input can be written to while it runs. During one of the `pauses`, no time limit counts.
    """
    settle()
    try:
        started = start(argv, cwd=cwd, env=env, stdin=stdin, limits=limits, fence=fence)
    except (OSError, ValueError) as error:
        return _not_started(argv, cwd, error)
    child = Child(started, output_bytes, on_output, on_line, keep_ends=keep_ends)
    try:
        if isinstance(stdin, Input) and started.popen.stdin is not None:
            stdin.attach(started.popen.stdin)
        try:
            ended = await child.watch(wall_seconds, idle_seconds, cwd, pauses)
        finally:
            await child.end(grace_seconds)
        await child.output.drain()
        if (refused := child.refusal()) is not None:
            return _not_started(argv, cwd, refused)
        finished = child.finished(ended, wall_seconds, idle_seconds, output_bytes)
        if (reason := fence.refusal(finished.exit_code, finished.stderr)) is not None:
            return _not_started(argv, cwd, ValueError(reason))
        return finished
    finally:
        child.close()
        if isinstance(stdin, Input):
            stdin.detach()


def _not_started(argv: Sequence[str], cwd: Path, error: OSError | ValueError) -> Finished:
    detail = why_not(argv, cwd, error)
    return Finished(None, "", "", truncated=False, seconds=0.0, ended="not_started", detail=detail)
