"""What agents and validation commands try against the server that runs them. Under bubblewrap nothing succeeds; with
less around them, only what the record names as a gap."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from adapters.fence.bubblewrap import bubblewrap_works
from adapters.fence.landlock import landlock_version
from tests.adapters.fence.attacks import SECRET
from tests.adapters.fence.scene import Scene, scene
from tests.adapters.workspace.given import git, write
from tests.api.server import Json, Server, delivery, ended, events, only, serving, session, start

needs_bubblewrap = pytest.mark.skipif(
    not bubblewrap_works() and os.environ.get("CI") != "true", reason="bubblewrap does not work here"
)
NAMED_BY = {"files": {"files", "hidden_files"}, "metadata": {"files", "metadata"}, "udp": {"udp", "network"}}
"""The gaps that admit a success, where they are called otherwise than its family."""
ACTORS = ("agent", "validation")


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with a secret in the environment, a person's home, and a program of that home on PATH."""
    folder = tmp_path / "m"
    folder.mkdir()
    monkeypatch.setenv("CANARY", SECRET.decode())
    monkeypatch.setenv("HOME", str(folder / "account"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder / "runtime"))
    monkeypatch.setenv("SSH_AUTH_SOCK", str(folder / "account" / "agent.sock"))
    monkeypatch.setenv("PATH", f"{folder}/account/.tool/bin:{os.environ['PATH']}")
    return folder


def successes(done: dict[str, bool]) -> list[str]:
    return [name for name, succeeded in done.items() if succeeded]


def fences(found: list[Json]) -> dict[str, tuple[str, list[str]]]:
    """Level and gaps of the developer's turn and of the validation."""
    answers = [each for each in only(found, "turn.answered") if each["fence"]]
    by_role = {each["role"]: (each["fence"], each["fenceGaps"]) for each in answers}
    return {"agent": by_role["dev"], "validation": by_role["test"]}


def check(there: Scene, level: str) -> dict[str, dict[str, bool]]:
    """Attack, and expect no success that the record does not admit."""
    ran, done = there.attack()
    recorded = fences(events(there.server.client, ran["id"]))
    for actor in ACTORS:
        fence, gaps = recorded[actor]
        assert fence == level
        families = {name: name.partition("/")[0] for name in successes(done[actor])}
        unnamed = [name for name, family in families.items() if not NAMED_BY.get(family, {family}) & set(gaps)]
        assert unnamed == [], (actor, gaps)
        if "survivors" not in gaps:
            assert there.survivors(actor) == {}
    assert not there.planted.exists()
    return done


@needs_bubblewrap
def test_under_bubblewrap_nothing_succeeds(environment: Path) -> None:
    with scene(environment) as there:
        done = check(there, "bwrap")
    assert [successes(done[actor]) for actor in ACTORS] == [[], []]
    assert sum(len(done[actor]) for actor in ACTORS) >= 200


@pytest.mark.nightly
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can look into every process")
def test_every_try_succeeds_where_nothing_prevents_it(environment: Path) -> None:
    """The positive control: what fails here would prove nothing."""
    with scene(environment) as there:
        for actor in ACTORS:
            done = there.control(actor)
            left = there.survivors(actor)
            there.end_survivors(actor)
            never = [name for name, succeeded in done.items() if not succeeded and not name.startswith("survivors/")]
            assert never == [], never
            assert len(left) >= sum(name.startswith("survivors/") for name in done)


@pytest.mark.nightly
@pytest.mark.skipif(landlock_version() < 4, reason="this kernel has no Landlock, or an old one")
def test_under_landlock_only_what_the_record_names_succeeds(environment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", without_bubblewrap(environment))
    with scene(environment) as there:
        done = check(there, "landlock")
        assert there.survivors("agent") == there.survivors("validation") == {}
    families = {name.partition("/")[0] for actor in ACTORS for name in successes(done[actor])}
    assert families <= {"udp", "sockets", "shared_memory", "processes", "metadata"}


@pytest.mark.nightly
def test_without_a_fence_only_what_the_record_names_succeeds(environment: Path) -> None:
    with scene(environment, sandbox="off") as there:
        done = check(there, "none")
        assert there.survivors("agent") == there.survivors("validation") == {}
    assert "files/read_open/log" in successes(done["validation"])


def without_bubblewrap(folder: Path) -> str:
    """A PATH of the same programs, in the same order, but one."""
    mine = folder / "programs"
    mine.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        for program in Path(place).glob("*"):
            if program.name != "bwrap" and not (mine / program.name).is_symlink():
                (mine / program.name).symlink_to(program)
    assert shutil.which("bwrap", path=str(mine)) is None
    return str(mine)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Starts a server."""
    started: list[Any] = []

    def begin(**settings: object) -> Server:
        running = serving(tmp_path, **settings)
        started.append(running)
        return running.__enter__()

    yield begin
    for running in started:
        running.__exit__(None, None, None)


def prepared(folder: Path) -> Path:
    """A checkout."""
    checkout = folder / "checkout"
    write(checkout, {"README": "x"})
    for args in (["init", "-q"], ["add", "README"], ["commit", "-qm", "Start"]):
        git(checkout, *args)
    return checkout


@needs_bubblewrap
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


def test_without_a_fence_the_record_names_the_gaps(server: Callable[..., Server]) -> None:
    running = server(sandbox="off")
    session_id = start(running.client, delivery())
    ended(running.client, session_id)
    [validation] = [each for each in only(events(running.client, session_id), "turn.answered") if each["fence"]]
    assert validation["fence"] == "none"
    assert {"files", "network", "processes", "survivors"} <= set(validation["fenceGaps"])
    assert "fence none: agents and validation commands may do whatever this account may do" in running.log.read_text()
    seen = session(running.client, session_id)
    assert (seen["fence"], seen["fenceGaps"]) == ("none", sorted(validation["fenceGaps"]))
    turns = running.client.get(f"/api/sessions/{session_id}/turns").json()["items"]
    assert [each["fenceGaps"] for each in turns if each["fence"]] == [validation["fenceGaps"]]
    page = running.client.get(f"/sessions/{session_id}?tab=overview").text
    assert "any file of the account can be read and written" in page
