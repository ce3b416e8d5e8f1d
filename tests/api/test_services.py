"""The services of a repository run beside its set-up, its commands and the agents that want them (contract-3 §21)."""

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx2 as httpx
import pytest
from starlette.testclient import TestClient

from adapters.fence.bubblewrap import bubblewrap_works
from tests.api.server import Json, delivery, ended, events, inside, start
from tests.api.test_baseline import asked, repository, run
from tests.api.test_clean_room import data, report

ECHO = """
import os, socket, sys
print("service begins in", os.environ["TMPDIR"], flush=True)
open(os.environ["TMPDIR"] + "/log", "a").write(os.environ.get("GREETING", "") + "\\n")
with socket.create_server(("127.0.0.1", int(os.environ["PORT"])), reuse_port=False) as server:
    while True:
        line, _ = server.accept()
        with line:
            words = line.recv(100).decode()
            log = os.environ["TMPDIR"] + "/log"
            if words.startswith("add "):
                open(log, "a").write(words[4:] + "\\n")
            line.sendall(open(log).read().encode())
"""
ASK = """
import os, socket, sys
port = int(os.environ["PORT"])
with socket.create_connection(("127.0.0.1", port), timeout=5) as there:
    there.sendall(" ".join(sys.argv[1:]).encode() or b"?")
    print(there.recv(1000).decode())
"""
TABLE = """
[[service]]
name = "echo"
command = "python3 echo.py"
ready = "python3 ask.py"
env = { GREETING = "hello" }
seconds = 20
"""
PORTS = '[workspace]\nports = ["PORT"]\n'
FILES = {"hansard.toml": PORTS + TABLE, "echo.py": ECHO, "ask.py": ASK, "a.txt": "a"}
fenced = pytest.mark.skipif(
    not bubblewrap_works() and os.environ.get("CI") != "true", reason="bubblewrap does not work here"
)


@pytest.fixture(params=["auto", "off"])
def client(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[TestClient]:
    with inside(tmp_path / "data", trust="all", sandbox=request.param) as result:
        yield result


@pytest.fixture
def fenced_client(tmp_path: Path) -> Iterator[TestClient]:
    with inside(tmp_path / "data", trust="all", sandbox="required") as result:
        yield result


def test_a_service_runs_beside_the_commands_and_is_in_the_report(
    client: httpx.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    folder = repository(tmp_path / "shop", **FILES)
    session = run(client, folder, "sh -c 'python3 ask.py | grep -qx hello'", {"a.txt": "b"})
    assert session["status"] == "success", session["finalSummary"]
    [ran] = report(client, session)["services"]
    assert (ran["name"], ran["command"], ran["ready"]) == ("echo", "python3 echo.py", True)
    assert "service begins in" in ran["output"]
    assert not list((tmp_path / "tmp").glob("hansard-service-*")), "its folder is gone"


def test_a_service_that_never_gets_ready_fails_the_set_up(client: httpx.Client, tmp_path: Path) -> None:
    table = (PORTS + TABLE).replace('"python3 ask.py"', '"false"').replace("seconds = 20", "seconds = 1.5")
    table = table.replace("python3 echo.py", "sh -c 'echo service begins; exec sleep 60'")
    session = run(client, repository(tmp_path / "shop", **{**FILES, "hansard.toml": table}), "true", {"a.txt": "b"})
    assert (session["reason"], asked(client, session)) == ("setup_failed", ["prepare"])
    assert (
        "The service echo (`sh -c 'echo service begins; exec sleep 60'`) was not ready after" in session["finalSummary"]
    )
    assert "service begins" in session["finalSummary"]


@pytest.mark.parametrize(
    ("command", "says"),
    [("sh -c 'echo no such database; exit 3'", "(exit code 3)"), ("no-such-program", "was not started: No such file")],
)
def test_a_service_that_ends_before_it_is_ready_says_why(
    client: httpx.Client, tmp_path: Path, command: str, says: str
) -> None:
    table = (PORTS + TABLE).replace("python3 echo.py", command)
    session = run(client, repository(tmp_path / "shop", **{**FILES, "hansard.toml": table}), "true", {"a.txt": "b"})
    assert (session["reason"], asked(client, session)) == ("setup_failed", ["prepare"])
    assert "ended before it was ready" in session["finalSummary"]
    assert says in session["finalSummary"]


def test_work_that_breaks_a_service_fails(client: httpx.Client, tmp_path: Path) -> None:
    folder = repository(tmp_path / "shop", **FILES)
    session = run(client, folder, "python3 ask.py", {"echo.py": "raise SystemExit('broken by the work')"})
    assert session["status"] == "failed"
    [failed] = data(client, session, "delivery.validation_failed")
    assert failed["cause"] == "setup_failed"
    assert any("broken by the work" in reason for reason in failed["reasons"]), failed["reasons"]


def test_what_the_set_up_puts_into_a_service_is_there_each_time_and_nothing_else(
    client: httpx.Client, tmp_path: Path
) -> None:
    """Each run of the commands begins with the data as the set-up has left them, in fresh checkouts too."""
    table = PORTS + 'setup = ["python3 ask.py add made"]\n' + TABLE
    check = "python3 ask.py > seen; tr '\\n' ' ' < seen | grep -qx 'hello made hello  ' || { cat seen; exit 1; }\n"
    check += "python3 ask.py add dirt\n"
    folder = repository(tmp_path / "shop", **{**FILES, "hansard.toml": table, "check.sh": check, ".gitignore": "seen"})
    session = run(client, folder, "sh check.sh", {"a.txt": "b"})
    assert session["status"] == "success", session["finalSummary"]
    assert session["report"]["cleanRoom"]["needed"] is True
    assert session["report"]["flaky"] == []
    assert [service["ready"] for service in report(client, session)["services"]] == [True] * 3


@fenced
def test_service_set_up_and_commands_share_a_loopback_that_is_not_the_machines(
    fenced_client: httpx.Client, tmp_path: Path
) -> None:
    """Whatever may be reached: the ports are the same everywhere, and no other session is there."""
    table = (
        '[workspace]\nports = ["PORT"]\nsetup = ["python3 ask.py add set-up"]\nnetwork = "all"\n'
        '[validation]\nnetwork = ["pypi"]\n' + TABLE
    )
    check = (
        'test "$PORT" = 20101 && python3 ask.py | grep -qx set-up && ! curl -sf -m 3 http://not.listed.example/'
        " && cat /proc/net/dev > devices && ! grep -q eth devices\n"
    )
    folder = repository(
        tmp_path / "shop", **{**FILES, "hansard.toml": table, "check.sh": check, ".gitignore": "devices"}
    )
    session = run(fenced_client, folder, "sh check.sh", {"a.txt": "b"})
    assert session["status"] == "success", session["finalSummary"]
    [passed] = (each for each in data(fenced_client, session, "turn.answered") if each["role"] == "test")
    assert (passed["fence"], passed["fenceGaps"]) == ("bwrap", [])
    assert [each["host"] for each in passed["refusedHosts"]] == ["not.listed.example"]


def test_without_a_fence_ports_are_free_ones_of_the_machine(tmp_path: Path) -> None:
    table = '[workspace]\nports = ["PORT", "OTHER"]\n' + TABLE.replace(
        "python3 echo.py", "sh -c 'exec python3 echo.py $PORT'"
    )
    with inside(tmp_path / "data", trust="all", sandbox="off") as client:
        folder = repository(tmp_path / "shop", **{**FILES, "hansard.toml": table})
        check = 'test "$PORT" != "$OTHER" && test "$PORT" != 4711 && python3 ask.py && echo $PORT > "$MADE"'
        session = run(client, folder, ["sh", "-c", check.replace("$MADE", str(tmp_path / "port"))], {"a.txt": "b"})
        assert session["status"] == "success", session["finalSummary"]
        assert 20_000 < int((tmp_path / "port").read_text()) < 32_768


AGENT = """
import os, subprocess, sys
sys.stdin.read()
asked = subprocess.run(["python3", "ask.py"], capture_output=True, text=True)
print("service says", asked.stdout.split() or "nothing")
if sys.argv[1] == "dev":
    open("made.txt", "w").write("x")
print('{"summary": "done", "score": 95, "blockingIssues": [], "suggestions": []}')
"""


def team(folder: Path, *, services: bool) -> Path:
    """A developer with or without the services of the repository, and a reviewer without."""
    (folder / "agent.py").write_text(AGENT)
    agents = [
        f'[[agents]]\nname = "{name}"\nroles = ["{role}"]\nadapter = "command"\nnetwork = "none"\n'
        f"services = {json.dumps(services and role == 'dev')}\n"
        f"[agents.settings]\nargv = {json.dumps(['python3', str(folder / 'agent.py'), role])}\n"
        for name, role in (("Ann", "dev"), ("Bob", "reviewer"))
    ]
    (folder / "team.toml").write_text("\n".join(agents))
    return folder / "team.toml"


def quick(client: httpx.Client, folder: Path, **more: object) -> Json:
    """A delivery by the agents of the team."""
    fields = delivery(workspace=str(folder), validationCommands=["test -f made.txt"], baseline=False, maxIterations=1)
    phases = ["implementation", "validation", "review", "packaging"]
    return ended(client, start(client, fields | {"scenario": None, "phases": phases, **more}))


@pytest.mark.parametrize("sandbox", ["auto", "off"])
@pytest.mark.parametrize("services", [True, False])
def test_an_agent_has_the_services_if_its_settings_say_so(tmp_path: Path, sandbox: str, services: bool) -> None:
    folder = repository(tmp_path / "shop", **FILES)
    agents = team(tmp_path, services=services)
    with inside(tmp_path / "data", trust="all", sandbox=sandbox, team=agents) as client:
        session = quick(client, folder)
        assert session["status"] == "success", session["finalSummary"]
        turns = {each["role"]: each for each in data(client, session, "turn.answered")}
    assert ("service says ['hello']" in turns["dev"]["reply"]["head"]) == services
    assert "service says nothing" in turns["reviewer"]["reply"]["head"]
    if sandbox == "auto" and bubblewrap_works():
        assert [(turns[role]["fence"], turns[role]["fenceGaps"]) for role in ("dev", "reviewer")] == [("bwrap", [])] * 2


def test_an_agent_whose_service_never_gets_ready_is_not_asked(tmp_path: Path) -> None:
    table = (PORTS + TABLE).replace('"python3 ask.py"', '"false"').replace("seconds = 20", "seconds = 1.5")
    table = table.replace("python3 echo.py", "sh -c 'echo service begins; exec sleep 60'")
    folder = repository(tmp_path / "shop", **{**FILES, "hansard.toml": table})
    with inside(tmp_path / "data", trust="all", team=team(tmp_path, services=True)) as client:
        session = quick(client, folder, retry={"attempts": 1})
        failed = [each for each in events(client, session["id"]) if each["data"].get("errorType")]
    assert session["status"] == "failed"
    assert [each["data"]["errorType"] for each in failed] == ["setup_failed"]
    assert "was not ready after" in session["finalSummary"]
    assert "service begins" in session["finalSummary"].splitlines(), "with the end of its output"
    assert not (folder / "made.txt").exists()
