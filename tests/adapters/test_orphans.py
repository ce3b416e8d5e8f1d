"""Survivors of kill -9: what a worker had started ends before its turns are given to anybody else."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from adapters.processes.sweep import end_orphans
from adapters.turns.lease import presence
from adapters.turns.lease.presence import Presence
from tests.api.server import ROOT, Server, delivery, ended, running, serving, start, until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the process table is only read on Linux")

WORKER = """
import asyncio, pathlib, sys
from adapters.processes.environment import clean_environment
from adapters.processes.environment import own
from adapters.processes.program import run

async def work(owner, script, folder):
    own(owner)
    env = clean_environment()
    await run(["sh", "-c", script], cwd=folder, env=env, wall_seconds=600)

asyncio.run(work(sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])))
"""
"""A worker that runs one script, until it is killed."""

LEFT = {
    "a program and its child": "echo $$ > a.pid; sleep 600 & echo $! > b.pid; wait",
    "one that ignores being asked": "trap '' TERM HUP INT; echo $$ > a.pid; while :; do sleep 600; done",
    "a daemon in a session of its own": "(setsid sh -c 'echo $$ > a.pid; exec sleep 600' &); exec sleep 600",
    "a child without its environment": "env -i sh -c 'echo $$ > a.pid; exec sleep 600' & wait",
    "one in a session of its own, without its environment, whose parent lives": (
        "env -i setsid sh -c 'echo $$ > a.pid; exec sleep 600' & wait"
    ),
    "an orphan without its environment, in a session that nobody leads": (
        # Stopped, the worker does not notice that its script is over.
        "kill -STOP $PPID; (env -i sh -c 'echo $$ > a.pid; exec sleep 600' & sleep 600 & echo $! > b.pid)"
    ),
    "one that starts others all the time": (
        "echo $$ > a.pid; while :; do setsid sh -c 'sleep 0.05; echo $$ >> more; exec sleep 600' & sleep 0.01; done"
    ),
}


@contextmanager
def killed_worker(folder: Path, owner: str, script: str) -> Iterator[list[int]]:
    """The processes that stand in `*.pid` once the worker that ran the script has been killed."""
    command = [sys.executable, "-c", WORKER, owner, script, str(folder)]
    worker = subprocess.Popen(command, cwd=ROOT, start_new_session=True)
    wanted = script.count(".pid")
    try:
        result = until(lambda: pids(folder) if len(pids(folder)) == wanted else None, what="the script's processes")
        worker.kill()
        worker.wait()
        yield result
    finally:
        worker.kill()
        worker.wait()
        end_orphans(owner)


def pids(folder: Path) -> list[int]:
    return [int(text) for path in sorted(folder.glob("*.pid")) if (text := path.read_text().strip())]


@pytest.mark.alone
@pytest.mark.parametrize("script", LEFT.values(), ids=LEFT.keys())
def test_what_a_killed_worker_has_left_is_ended(tmp_path: Path, script: str) -> None:
    with killed_worker(tmp_path, f"here.{tmp_path.name}", script) as left:
        assert [pid for pid in left if not running(pid)] == []
        began = time.monotonic()
        assert end_orphans(f"here.{tmp_path.name}") >= len(left)
        assert time.monotonic() - began < 1
        assert [pid for pid in left if running(pid)] == []
        more = tmp_path / "more"
        assert [pid for pid in (more.read_text().split() if more.exists() else ()) if running(int(pid))] == []
        assert end_orphans(f"here.{tmp_path.name}") == 0


def test_the_processes_of_other_workers_are_left_alone(tmp_path: Path) -> None:
    """A name that begins like another's is another name."""
    with killed_worker(tmp_path, "here.77.aa", "echo $$ > a.pid; exec sleep 600") as left:
        for other in ("", "here", "here.77.a", "here.77.aaa", "here.77.bb"):
            assert end_orphans(other) == 0
        assert [pid for pid in left if running(pid)] == left
        assert end_orphans("here.77.aa") == 1


def test_an_orphan_that_becomes_a_worker_does_not_kill_itself_or_its_parents(tmp_path: Path) -> None:
    """An agent may start the very program that cleans up after it."""
    cleaning = (
        "from adapters.processes.sweep import end_orphans; from pathlib import Path; import sys; "
        "Path(sys.argv[1], 'said').write_text(str(end_orphans('here.78.cc')))"
    )
    (tmp_path / "clean").write_text(f"#!/bin/sh\ncd '{ROOT}'\nexec '{sys.executable}' -c \"{cleaning}\" '{tmp_path}'\n")
    waiting = "echo $$ > a.pid; sleep 600 & echo $! > b.pid; until [ -e go ]; do sleep 0.01; done; sh ./clean; wait"
    with killed_worker(tmp_path, "here.78.cc", waiting) as (parent, sibling):
        (tmp_path / "go").touch()
        assert until(lambda: said(tmp_path), what="its word") == "1"
        assert until(lambda: not running(parent), what="the end of the script, whose children are over")
        assert not running(sibling)


def said(folder: Path) -> str:
    path = folder / "said"
    return path.read_text() if path.exists() else ""


# -- the whole story: the server is killed while its agent writes ----------------------------------------------------

BEATING = """
import os, pathlib, sys, time
here = pathlib.Path(sys.argv[1])
commands = {p.stem: pathlib.Path("/proc", p.stem, "cmdline") for p in here.glob("*.beat")}
alive = [pid for pid, command in commands.items() if command.exists() and command.read_bytes()]
(here / f"{os.getpid()}.found").write_text(" ".join(alive))
with (here / f"{os.getpid()}.beat").open("ab", buffering=0) as beat:
    while not (here / "enough").exists():
        beat.write(b".")
        time.sleep(0.005)
print("done")
"""
"""Writes on and on; says first which of its predecessors live."""


def beating(tmp_path: Path, folder: Path) -> list[str]:
    script = tmp_path / "beating.py"
    script.write_text(BEATING)
    return [sys.executable, str(script), str(folder)]


def beats(folder: Path) -> dict[int, int]:
    """How often each process has written, by its id."""
    return {int(path.stem): path.stat().st_size for path in folder.glob("*.beat")}


def as_an_agent(server: Server, program: list[str], workspace: Path) -> str:
    body = delivery(workspace=str(workspace), maxMinutes=180)
    del body["scenario"]
    return start(server.client, body)


def as_a_validation(server: Server, program: list[str], workspace: Path) -> str:
    return start(server.client, delivery(workspace=str(workspace), maxMinutes=180, validationCommands=[program]))


@pytest.mark.alone
@pytest.mark.parametrize("begin", [as_an_agent, as_a_validation])
def test_an_agent_whose_server_was_killed_dies_within_a_second_of_the_next_start_and_writes_no_more(
    tmp_path: Path, begin: Callable[[Server, list[str], Path], str]
) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    program = beating(tmp_path, folder)
    (tmp_path / "team.toml").write_text(
        'sandbox = "off"\n'
        '[[agents]]\nname = "Team"\nroles = ["planner", "architect", "designer", "reviewer"]\nadapter = "scripted"\n'
        '[[agents]]\nname = "Dev"\nroles = ["dev"]\nadapter = "command"\n'
        f"[agents.settings]\nargv = {program!r}\n"
    )
    with serving(tmp_path, team=tmp_path / "team.toml") as server:
        session_id = begin(server, program, folder)
        [old] = until(lambda: [pid for pid, count in beats(folder).items() if count > 2], what="an agent that writes")
        server.kill()
        seen = beats(folder)[old]
        until(lambda: beats(folder)[old] > seen + 2, what="the survivor")
        server.start()
        began = time.monotonic()
        until(lambda: not running(old), what="the survivor's end", seconds=1, pause=0.001)
        assert time.monotonic() - began < 1
        last = beats(folder)[old]
        [new] = until(lambda: [p for p, count in beats(folder).items() if p != old and count > 20], what="the next one")
        assert (folder / f"{new}.found").read_text() == ""
        assert beats(folder)[old] == last
        (folder / "enough").touch()
        assert ended(server.client, session_id)["status"] == "success"
        assert not running(new)


def test_a_live_worker_keeps_its_agents_when_another_starts(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    program = beating(tmp_path, folder)
    with serving(tmp_path, sandbox="off") as first:
        session_id = as_a_validation(first, program, folder)
        [agent] = until(lambda: list(beats(folder)), what="an agent that writes")
        with serving(tmp_path):
            seen = beats(folder)[agent]
            until(lambda: beats(folder)[agent] > seen + 20, what="the agent to go on")
        (folder / "enough").touch()
        assert ended(first.client, session_id)["status"] == "success"
        assert list(beats(folder)) == [agent]


# -- who is alive ----------------------------------------------------------------------------------------------------


@pytest.fixture
def mine(tmp_path: Path) -> Iterator[Presence]:
    presence = Presence(tmp_path)
    yield presence
    presence.leave()


def test_a_worker_is_seen_as_long_as_it_has_not_left(tmp_path: Path, mine: Presence) -> None:
    other = Presence(tmp_path)
    assert (mine.others(), other.others()) == ((other.name,), (mine.name,))
    assert not mine.gone(other.name)
    other.leave()
    assert mine.others() == ()


def test_a_killed_worker_stays_listed_until_its_leftovers_are_handled(tmp_path: Path, mine: Presence) -> None:
    script = "import sys, time; from pathlib import Path; from adapters.turns.lease.presence import Presence\n"
    script += "held = Presence(Path(sys.argv[1])); print(held.name, flush=True); time.sleep(600)"
    command = [sys.executable, "-c", script, str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        name = process.stdout.readline().strip()
        assert not mine.gone(name)
        process.kill()
    for _ in range(2):
        assert mine.gone(name)
        assert mine.others() == (name,)
    mine.forget(name)
    assert mine.others() == ()


def test_a_live_worker_with_another_data_folder_is_not_called_dead(tmp_path: Path, mine: Presence) -> None:
    """Two data folders on one machine: without a file nothing is known of it."""
    other = Presence(tmp_path / "other")
    assert not mine.gone(other.name) and not other.gone(mine.name)
    other.leave()


def test_nothing_is_assumed_about_a_worker_on_another_machine(tmp_path: Path, mine: Presence) -> None:
    """Also when it has the same host name, and since the machine was started again."""
    other = Presence(tmp_path, machine="another")
    other._file.close()
    for name in (other.name, f"../{mine.name}"):
        assert not mine.gone(name)


def test_a_container_that_starts_again_with_another_address_is_the_same_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Containers have no machine id, and their network card gets an address at each start."""
    monkeypatch.setattr(presence, "_MACHINE_IDS", ())
    names = set()
    for address in (1, 2):
        monkeypatch.setattr("uuid.getnode", partial(int, address))
        names.add(presence.this_machine.__wrapped__())
    assert len(names) == 1
    monkeypatch.setattr(presence, "_BOOT_ID", Path("/nowhere"))
    assert presence.this_machine.__wrapped__() not in names


def test_files_from_before_the_last_boot_are_removed(tmp_path: Path) -> None:
    before, living = Presence(tmp_path, machine="before"), Presence(tmp_path, machine="elsewhere")
    before._file.close()
    now = Presence(tmp_path)
    assert now.others() == (living.name,)
    living.leave()
    now.leave()
