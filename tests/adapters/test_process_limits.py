"""What a program may use and may print: the system's limits, and the two ends of an output that is too long."""

import asyncio
import resource
import sys
from collections import namedtuple
from pathlib import Path
from typing import Any

import pytest

from adapters.processes.disk import keep_free
from adapters.processes.ends import Ends
from adapters.processes.environment import clean_environment
from adapters.processes.limits import SystemLimits
from adapters.processes.program import Finished, run

SOME = SystemLimits(file_bytes=1_000_000_000)


def ran(script: str, cwd: Path, **options: Any) -> Finished:
    """A script as a stand-in for a validation command; sixty seconds mean: not by the clock."""
    fields: dict[str, Any] = {"wall_seconds": 60.0, "env": clean_environment(), "keep_ends": True}
    return asyncio.run(run(["sh", "-c", script], cwd=cwd, **(fields | options)))


# -- output --------------------------------------------------------------------------------------------------------


def test_a_command_with_too_much_output_continues_and_both_ends_are_kept(tmp_path: Path) -> None:
    finished = ran("echo begin; head -c 2000000 /dev/zero; echo; echo the end; exit 3", tmp_path, output_bytes=8_000)
    assert (finished.ended, finished.exit_code, finished.truncated, finished.detail) == ("exit", 3, True, "")
    assert finished.stdout.startswith("begin\n\0")
    assert finished.stdout.endswith("\0\nthe end\n")
    assert finished.left_out == len("begin\n\nthe end\n") + 2_000_000 - 8_000
    assert f"\n[… {finished.left_out} bytes left out here]\n" in finished.stdout


@pytest.mark.parametrize(("size", "left_out"), [(999, 0), (1000, 0), (1001, 1)])
def test_output_that_fits_is_whole(tmp_path: Path, size: int, left_out: int) -> None:
    finished = ran(f"head -c {size} /dev/zero", tmp_path, output_bytes=1000)
    assert (finished.ended, finished.exit_code, finished.left_out) == ("exit", 0, left_out)
    assert (finished.truncated, finished.stdout.count("\0")) == (left_out > 0, min(size, 1000))


def test_much_output_on_one_stream_leaves_room_for_the_other(tmp_path: Path) -> None:
    finished = ran(
        "echo why it failed >&2; head -c 1000000 /dev/zero; echo and where >&2", tmp_path, output_bytes=4_000
    )
    assert finished.stderr == "why it failed\nand where\n"
    assert finished.stdout.count("\0") == 4_000 - len(finished.stderr)


def test_endless_output_is_stopped_only_by_the_time_limit(tmp_path: Path) -> None:
    finished = ran("exec yes", tmp_path, wall_seconds=0.5)
    assert (finished.ended, finished.exit_code, finished.detail) == ("timeout", None, "Stopped after 0.5 s.")
    assert finished.left_out > 0


def test_a_hundred_megabytes_do_not_become_our_memory(tmp_path: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    finished = ran("head -c 100000000 /dev/zero", tmp_path)
    assert (finished.exit_code, finished.left_out) == (0, 100_000_000 - 1_048_576)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50 * 1024


@pytest.mark.parametrize("cap", range(24, 33))
def test_no_character_is_cut_in_half(cap: int) -> None:
    """Three bytes each, so that some cap cuts every place of one, at both sides of the gap."""
    ends = Ends(cap, 1)
    ends.add(0, ("한" * 20).encode())
    head, gap, tail = ends.text(0).split("\n")
    assert (set(head), set(tail)) <= ({"한"}, {"한"})
    assert gap == f"[… {60 - cap} bytes left out here]"


def test_the_longest_end_gives_way_first() -> None:
    ends = Ends(80, 2)
    for stream, data in ((0, b"a" * 30), (1, b"b" * 70), (0, b"A"), (1, b"B")):
        ends.add(stream, data)
    assert ends.left_out == 22
    assert ends.text(0) == "a" * 30 + "A"
    assert ends.text(1) == f"{'b' * 10}\n[… 22 bytes left out here]\n{'b' * 38}B"


# -- the system's limits -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limits", "script", "told"),
    [
        (SystemLimits(cpu_seconds=60), "ulimit -St; ulimit -Ht", "60\n65\n"),
        (SystemLimits(file_bytes=512_000), "ulimit -Sf; ulimit -Hf", "1000\n1000\n"),
        (SystemLimits(memory_bytes=1_073_741_824), "ulimit -Sv; ulimit -Hv", "1048576\n1048576\n"),
        (SystemLimits(), "ulimit -t; ulimit -f; ulimit -v", "unlimited\nunlimited\nunlimited\n"),
    ],
    ids=["CPU", "file", "memory", "none"],
)
def test_a_limit_applies_to_each_command(tmp_path: Path, limits: SystemLimits, script: str, told: str) -> None:
    assert ran(script, tmp_path, limits=limits).stdout == told


def test_the_number_of_processes_is_limited_too(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", "import resource; print(resource.getrlimit(resource.RLIMIT_NPROC))"]
    limits = SystemLimits(processes=777)
    finished = asyncio.run(run(argv, cwd=tmp_path, env=clean_environment(), wall_seconds=60, limits=limits))
    assert finished.stdout == "(777, 777)\n"


def test_we_are_not_limited_ourselves(tmp_path: Path) -> None:
    kinds = (resource.RLIMIT_CPU, resource.RLIMIT_FSIZE, resource.RLIMIT_AS, resource.RLIMIT_NPROC)
    before = [resource.getrlimit(kind) for kind in kinds]
    ran(":", tmp_path, limits=SystemLimits(10**9, 10, 10_000, 10**6))
    assert [resource.getrlimit(kind) for kind in kinds] == before


@pytest.mark.parametrize(
    ("limits", "script", "codes"),
    [
        (SystemLimits(cpu_seconds=1), "while :; do :; done", {-24}),
        (SystemLimits(cpu_seconds=1), "(while :; do :; done); exit $?", {152}),
        (SystemLimits(file_bytes=1_000), "exec head -c 5000 /dev/zero > big", {-25}),
        (SystemLimits(memory_bytes=300_000_000), f"exec '{sys.executable}' -c 'bytearray(900_000_000)'", {1}),
    ],
    ids=["CPU", "CPU of a child", "file", "memory"],
)
def test_a_program_that_exceeds_a_limit_ends(
    tmp_path: Path, limits: SystemLimits, script: str, codes: set[int]
) -> None:
    finished = ran(script, tmp_path, limits=limits)
    assert (finished.ended, {finished.exit_code}) == ("exit", codes)


@pytest.mark.parametrize("environment", [{}, {"LC_CTYPE": "C"}, {"LC_ALL": "C", "PYTHONPATH": "/nowhere"}])
def test_limits_leave_all_else_as_it_is(tmp_path: Path, environment: dict[str, str]) -> None:
    """Environment, arguments, signals that are ignored, open files: none reveals that there was a launcher."""
    script = 'env | grep -v HANSARD_PROCESS | sort; grep SigIgn /proc/self/status; echo "$0 $1"; ls /dev/fd | wc -l'
    argv = ["/bin/sh", "-c", script, "a b", "한\n글"]
    env = {"PATH": "/usr/bin:/bin", **environment}
    plain, limited = (
        asyncio.run(run(argv, cwd=tmp_path, env=env, wall_seconds=60, limits=limits))
        for limits in (SystemLimits(), SOME)
    )
    assert plain.exit_code == 0
    assert (limited.stdout, limited.stderr, limited.exit_code) == (plain.stdout, plain.stderr, 0)


def test_a_module_in_the_folder_is_not_taken_for_ours(tmp_path: Path) -> None:
    for name in ("resource", "signal", "os"):
        (tmp_path / f"{name}.py").write_text("print('taken')\n")
    assert ran("echo it", tmp_path, limits=SOME, env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(tmp_path)}).stdout == (
        "it\n"
    )


def test_a_program_that_fills_the_disk_is_stopped_before_it_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Usage = namedtuple("Usage", "free")
    sizes = iter([3_000, 1_500])

    async def scene() -> Finished:
        keep_free(1_000)
        return await run(["sleep", "60"], cwd=tmp_path, env=clean_environment(), wall_seconds=60)

    monkeypatch.setattr("adapters.processes.disk.shutil.disk_usage", lambda folder: Usage(next(sizes, 900)))
    monkeypatch.setattr("adapters.processes.program.DISK_SECONDS", 0.01)
    done = asyncio.run(scene())
    assert (done.ended, done.exit_code) == ("disk", None)
    assert done.detail == "Stopped with less than 1000 bytes left on the disk."
