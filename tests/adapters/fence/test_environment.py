"""Variables that are meant for the inside exist only there: no program of ours, which begins outside, obeys them."""

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from adapters.fence.port import Grant
from adapters.processes.environment import clean_environment
from adapters.processes.limits import NO_LIMITS, SystemLimits
from adapters.processes.program import Finished, run
from tests.adapters.fence.test_fence import LEVELS, level, workspace

__all__ = ["level", "workspace"]

LIMITED = SystemLimits(file_bytes=1 << 30)


def ran(level: str, workspace: Path, env: Mapping[str, str], *argv: str, limits: SystemLimits = NO_LIMITS) -> Finished:
    fence = LEVELS[level](Grant(writable=(workspace,), network="all"))
    whole = clean_environment(env, home=workspace)
    return asyncio.run(run(argv, cwd=workspace, env=whole, wall_seconds=20, limits=limits, fence=fence))


@pytest.mark.parametrize("limits", [NO_LIMITS, LIMITED], ids=["plain", "limited"])
def test_the_loader_of_a_program_outside_does_not_obey_them(level: str, workspace: Path, limits: SystemLimits) -> None:
    outside = workspace.parent / "outside"
    outside.mkdir()
    env = {"LD_DEBUG": "libs", "LD_DEBUG_OUTPUT": str(outside / "loaded")}  # each loader that sees it writes a file
    done = ran(level, workspace, env, "/bin/sh", "-c", "echo $LD_DEBUG_OUTPUT", limits=limits)
    assert done.stdout.endswith(f"{outside}/loaded\n"), "inside it is set"
    assert not list(outside.iterdir())


@pytest.mark.parametrize("limits", [NO_LIMITS, LIMITED], ids=["plain", "limited"])
@pytest.mark.parametrize("name", ["LD_PRELOAD", "LD_AUDIT"])
def test_a_library_of_the_workspace_is_loaded_only_inside(
    level: str, workspace: Path, name: str, limits: SystemLimits
) -> None:
    (workspace / "evil.so").write_text("no library")
    done = ran(level, workspace, {name: str(workspace / "evil.so")}, sys.executable, "-c", "pass", limits=limits)
    assert done.exit_code == 0
    assert done.stderr.count("evil.so") >= 1, "the program itself gets it"
    assert "bwrap" not in done.stderr


@pytest.mark.parametrize("limits", [NO_LIMITS, LIMITED], ids=["plain", "limited"])
def test_everything_else_reaches_the_program_as_it_was_given(level: str, workspace: Path, limits: SystemLimits) -> None:
    env = {
        "LD_LIBRARY_PATH": str(workspace),
        "PYTHONPATH": str(workspace),
        "GIT_CONFIG_COUNT": "0",
        "BASH_ENV": "x",
        "LC_CTYPE": "ko_KR.UTF-8",
        "EMPTY": "",
        "LINES": "one\ntwo=three",
        "한글": "값",
        "LONG": "x" * 100_000,
    }
    done = ran(level, workspace, env, "/usr/bin/env", "-0", limits=limits)
    given = dict(entry.split("=", 1) for entry in done.stdout.split("\0") if entry)
    assert {name: given.get(name) for name in env} == env
    assert given["HANSARD_PROCESS"]


def test_no_command_line_shows_a_secret(level: str, workspace: Path) -> None:
    show = (
        "import pathlib, sys\n"
        "for place in pathlib.Path('/proc').glob('[0-9]*/cmdline'):\n"
        "    try: sys.stdout.buffer.write(place.read_bytes())\n"
        "    except OSError: pass  # it has ended\n"
    )
    for limits in (NO_LIMITS, LIMITED):
        done = ran(level, workspace, {"API_KEY": "sk-very-secret"}, sys.executable, "-c", show, limits=limits)
        assert done.exit_code == 0
        assert "sk-very-secret" not in done.stdout


@pytest.mark.parametrize("name", ["", "A=B", "A\0B"])
def test_an_impossible_variable_is_an_error_and_starts_nothing(level: str, workspace: Path, name: str) -> None:
    done = ran(level, workspace, {name: "x"}, "/bin/sh", "-c", "touch started")
    assert done.ended == "not_started"
    assert "environment variable" in done.detail
    assert not (workspace / "started").exists()


def test_open_files_of_ours_do_not_reach_the_program(level: str, workspace: Path) -> None:
    for limits in (NO_LIMITS, LIMITED):
        done = ran(
            level,
            workspace,
            {},
            sys.executable,
            "-c",
            "import os; print(len(os.listdir('/proc/self/fd')))",
            limits=limits,
        )
        assert int(done.stdout) == 4, "the standard streams, and the folder being read"
