"""What agents and validation commands try against the server that runs them. Under bubblewrap nothing succeeds."""

import json
import os
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from adapters.fence.bubblewrap import bubblewrap_works
from tests.adapters.workspace.given import git, write
from tests.api.server import Server, delivery, ended, events, only, serving, start

pytestmark = pytest.mark.skipif(
    not bubblewrap_works() and os.environ.get("CI") != "true", reason="bubblewrap does not work here"
)

ATTACK = """
import glob, json, os, pathlib, socket, subprocess, sys
place = json.loads(sys.argv[-1])
def tried(name, attempt):
    try:
        done[name] = bool(attempt())
    except Exception:
        done[name] = False
def overwritten(path):
    with open(path, "r+b") as file:
        return file.write(b"x")
def environments():
    found = b"".join(pathlib.Path(each).read_bytes() for each in glob.glob("/proc/[0-9]*/environ"))
    return b"HANSARD_DATABASE" in found
def survives(*command):
    return subprocess.run(command).returncode == 0
done = {}
for name in ("log", "secret", "checkout", "other"):
    tried("read " + name, lambda: pathlib.Path(place[name]).read_bytes())
    tried("change " + name, lambda: overwritten(place[name]))
tried("list node", lambda: os.listdir(place["node"] + "/views"))
tried("environment of the server", environments)
tried("write /etc", lambda: pathlib.Path("/etc/hansard-attack").write_text("x"))
try:
    pathlib.Path(place["account"], ".hansard-attack").write_text("x")
except OSError:
    pass
if place["network"] == "none":
    tried("connect", lambda: socket.create_connection(("127.0.0.1", place["port"]), timeout=2))
survives("env", "-i", "/usr/bin/setsid", "-f", "/usr/bin/sleep", place["sleep"])
survives("sh", "-c", "nohup sleep " + place["sleep"] + " >/dev/null 2>&1 &")
pathlib.Path("attack.json").write_text(json.dumps(done))
print("tried")
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Starts a server whose developer is a program that attacks."""
    started: list[Any] = []

    def begin(**settings: object) -> Server:
        running = serving(tmp_path, **settings)
        started.append(running)
        return running.__enter__()

    yield begin
    for running in started:
        running.__exit__(None, None, None)


def place(folder: Path, server_port: int, **more: str) -> str:
    """What is attacked, for the program."""
    node, sleep = folder / "node", f"4000.{os.getpid()}"
    known = {"log": folder / "hansard.db", "secret": node / "secret", "node": node, "account": Path.home()}
    theirs = {"checkout": folder / "checkout" / "private", "other": node / "workspaces" / "other" / "file"}
    named = {name: str(path) for name, path in (known | theirs).items()}
    return json.dumps({"port": server_port, "sleep": sleep, "network": "none"} | named | more)


def prepared(folder: Path) -> Path:
    """A checkout with a file that is not part of the work, keys of the server, and another session's files."""
    checkout = folder / "checkout"
    write(checkout, {"README": "x"})
    for args in (["init", "-q"], ["add", "README"], ["commit", "-qm", "Start"]):
        git(checkout, *args)
    for path in (checkout / "private", folder / "node" / "secret", folder / "node" / "workspaces" / "other" / "file"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    return checkout


def successes(folder: Path, session_id: str) -> list[str]:
    """The attempts that succeeded."""
    [report] = (folder / "node" / "workspaces" / session_id).glob("tree-*/attack.json")
    found: dict[str, bool] = json.loads(report.read_text())
    assert len(found) > 9
    assert not (Path.home() / ".hansard-attack").exists()
    return [name for name, done in found.items() if done]


def survivors() -> int:
    """How many of the programs that were left behind are alive."""
    needle = f"4000.{os.getpid()}".encode()
    lines = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    return sum(line.startswith((b"sleep", b"/usr/bin/sleep")) and needle in line for line in lines)


def test_a_validation_command_reaches_nothing_outside_of_its_workspace(
    server: Callable[..., Server], tmp_path: Path
) -> None:
    checkout = prepared(tmp_path)
    running = server()
    command = [sys.executable, "-I", "-c", textwrap.dedent(ATTACK), place(tmp_path, running.port)]
    body = delivery(workspace=str(checkout), validationCommands=[command], maxIterations=1)
    session_id = start(running.client, body)
    assert ended(running.client, session_id)["status"] == "success"
    assert successes(tmp_path, session_id) == []
    assert survivors() == 0
    [validation] = [each for each in only(events(running.client, session_id), "turn.answered") if each["fence"]]
    assert (validation["fence"], validation["fenceGaps"]) == ("bwrap", [])


def test_an_agent_reaches_nothing_outside_of_its_workspace(server: Callable[..., Server], tmp_path: Path) -> None:
    checkout = prepared(tmp_path)
    (tmp_path / "attack.py").write_text(ATTACK)
    argv = [sys.executable, "-I", str(tmp_path / "attack.py"), place(tmp_path, 0, network="all")]
    (tmp_path / "team.toml").write_text(
        '[[agents]]\nname = "Team"\nroles = ["planner", "architect", "designer", "reviewer"]\nadapter = "scripted"\n'
        '[[agents]]\nname = "Dev"\nroles = ["dev"]\nadapter = "command"\n[agents.settings]\n'
        f"argv = {json.dumps(argv)}\n"
    )
    running = server(team=tmp_path / "team.toml")
    body = delivery(workspace=str(checkout), maxIterations=1)
    del body["scenario"]
    session_id = start(running.client, body)
    assert ended(running.client, session_id)["status"] == "success"
    assert successes(tmp_path, session_id) == []
    assert survivors() == 0
    [answer] = [each for each in only(events(running.client, session_id), "turn.answered") if each["role"] == "dev"]
    assert answer["fence"] == "bwrap"


def test_a_program_that_only_the_checkout_has_is_named_with_what_to_do(
    server: Callable[..., Server], tmp_path: Path
) -> None:
    checkout = prepared(tmp_path)
    tool = checkout / ".venv" / "bin" / "tool"
    tool.parent.mkdir(parents=True)
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    running = server()
    body = delivery(workspace=str(checkout), validationCommands=[[str(tool)]], maxIterations=1)
    session_id = start(running.client, body)
    ended(running.client, session_id)
    [failed] = only(events(running.client, session_id), "delivery.phase_failed")
    assert "hidden by the fence" in json.dumps(failed)


def test_without_a_fence_the_record_names_what_is_not_held(server: Callable[..., Server]) -> None:
    running = server(sandbox="off")
    session_id = start(running.client, delivery())
    ended(running.client, session_id)
    [validation] = [each for each in only(events(running.client, session_id), "turn.answered") if each["fence"]]
    assert validation["fence"] == "none"
    assert {"files", "network", "processes", "survivors"} <= set(validation["fenceGaps"])
    assert "fence none: agents and validation commands may do whatever this account may do" in running.log.read_text()
