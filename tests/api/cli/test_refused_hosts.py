"""The hosts that set-up, validation and an agent were refused, as a person sees them: turn, `show`, `doctor`."""

import json
import os
import sys
from pathlib import Path

import pytest

from adapters.fence.bubblewrap import bubblewrap_works
from tests.api.cli.conftest import Hansard
from tests.api.cli.test_hostile_repository import git

pytestmark = pytest.mark.skipif(
    not bubblewrap_works() and os.environ.get("CI") != "true", reason="bubblewrap does not work here"
)
SETTINGS = """
[workspace]
setup = ["sh -c 'curl -s -m 5 http://setup.example/ || true'"]
network = ["pypi"]
[validation]
network = ["pypi"]
commands = ["sh -c 'curl -s -m 5 http://validation.example/; test -f made.txt'"]
"""
AGENT = """
import os, subprocess, sys
sys.stdin.read()
subprocess.run(["curl", "-s", "-m", "5", "http://agent.example:8080/"], stdout=subprocess.DEVNULL)
if os.environ["ROLE"] == "dev":
    open("made.txt", "w").write("x")
print('{"summary": "done", "score": 95, "blockingIssues": [], "suggestions": []}')
"""
ROLES = ["planner", "architect", "designer", "dev", "reviewer"]


def test_refused_hosts_are_in_the_turn_in_show_and_in_doctor(
    hansard: Hansard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = tmp_path / "shop"
    shop.mkdir()
    (shop / "hansard.toml").write_text(SETTINGS)
    git(shop, "init", "--quiet", "--initial-branch=main")
    git(shop, "add", "--all")
    git(shop, "-c", "user.name=Ann", "-c", "user.email=ann@example.org", "commit", "--quiet", "-m", "Begin")
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "team.toml").write_text(
        f'[[agents]]\nname = "Zoe"\nroles = {json.dumps(ROLES)}\nadapter = "command"\nnetwork = ["provider"]\n'
        f"[agents.settings]\nargv = {json.dumps([sys.executable, str(tmp_path / 'agent.py')])}\n"
        'env = { ROLE = "{role}", BASE_URL = "http://127.0.0.1:4321/v1" }\n'
    )
    monkeypatch.setenv("HANSARD_TEAM", str(tmp_path / "team.toml"))
    monkeypatch.chdir(shop)
    assert hansard("trust", "--yes").code == 0
    done = hansard("run", "--quick", "-t", "Make made.txt")
    assert done.code == 0, done
    session = hansard("show", "latest", "--json").json["session"]
    assert {(each["host"], each["port"], each["reason"]) for each in session["refusedHosts"]} == {
        ("setup.example", 80, "not_listed"),
        ("validation.example", 80, "not_listed"),
        ("agent.example", 8080, "not_listed"),
    }
    events = [json.loads(line) for line in hansard("events", "latest", "--json").out.splitlines()]
    hosts = {
        event["data"]["role"]: [each["host"] for each in event["data"]["refusedHosts"]]
        for event in events
        if "refusedHosts" in event["data"]
    }
    assert hosts == {
        "setup": ["setup.example", "validation.example"],
        "dev": ["agent.example"],
        "test": ["validation.example", "setup.example"],
        "reviewer": ["agent.example"],
    }
    assert hansard("land", "latest").code == 0
    after = [json.loads(line) for line in hansard("events", "latest", "--json").out.splitlines()][len(events) :]
    [landed] = (event["data"]["refusedHosts"] for event in after if "refusedHosts" in event["data"])
    assert {each["host"] for each in landed} == {"validation.example", "setup.example"}
    shown = hansard("show", "latest").out
    assert "agent.example:8080: not in the list" in shown
    assert "To allow a host, add it to `network`" in shown
    found = hansard("doctor").out
    assert "Zoe may reach 127.0.0.1:4321" in found
    assert "validation.example:80: not in the list" in found


def test_a_set_up_that_fails_for_a_refused_host_says_which(
    hansard: Hansard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No fence of an answered turn is recorded then; what was refused is shown all the same."""
    shop = tmp_path / "shop"
    shop.mkdir()
    (shop / "hansard.toml").write_text(SETTINGS.replace(" || true", "").replace("curl -s ", "curl -sf "))
    git(shop, "init", "--quiet", "--initial-branch=main")
    git(shop, "add", "--all")
    git(shop, "-c", "user.name=Ann", "-c", "user.email=ann@example.org", "commit", "--quiet", "-m", "Begin")
    monkeypatch.chdir(shop)
    assert hansard("trust", "--yes").code == 0
    done = hansard("run", "--example", "--quick", "-t", "Make made.txt")
    assert done.code != 0
    for words in (done.out, hansard("show", "latest").out):
        assert "setup.example:80: not in the list" in words
        assert "To allow a host, add it to `network`" in words
