"""Real programs that ask for permission, answered by a click in a browser that is signed in.

Run with `-m agents`; the programs come from npm at first use (see `programs.py`).
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from tests.api.server import Server, ended, events, only, serving, start, until
from tests.api.server import delivery as body_of
from tests.browser.browsing import ARGUMENTS, CHROMIUM, button
from tests.providers.deliveries import FIX, delivery, runs, says
from tests.providers.programs import ACP, KEYS, acp_settings, installed, settings
from tests.providers.stub import Provider, Rule, Step

pytestmark = pytest.mark.agents

SECONDS = 600.0
CLICK_MS = 60_000
FAILING = "echo '1 failed'; false"
TEAMS = {
    **{f"{name}-acp": ("acp", name) for name in ACP},
    "codex": ("codex", "codex"),
    "claude": ("claude", "claude"),
}
"""What speaks ACP, and the two presets that ask in protocols of their own."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if not CHROMIUM.exists():
        pytest.skip(f"{CHROMIUM} is not there")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        yield chromium
        chromium.close()


@pytest.fixture(params=TEAMS)
def team(request: pytest.FixtureRequest, provider: Provider, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    how, name = TEAMS[request.param]
    program = ACP[name][0] if how == "acp" else name
    monkeypatch.setenv("PATH", f"{installed(program)}{os.pathsep}{os.environ['PATH']}")
    for key in KEYS:
        monkeypatch.setenv(key, "sk-stub-0123456789")
    own = acp_settings(name, provider.url) if how == "acp" else settings(name, provider.url)
    path = repository.parent / "team.toml"
    path.write_text(
        f'[[agents]]\nname = "Agent"\n{"adapter" if how == "acp" else "preset"} = "{how}"\n[agents.settings]\n'
        f'timeout_seconds = 300\nidle_seconds = 200\n{own}\n[permissions]\nask = ["execute:*"]\n'
    )
    return path


@pytest.fixture
def claude(provider: Provider, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Claude Code by its preset, allowed everything."""
    monkeypatch.setenv("PATH", f"{installed('claude')}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-stub-0123456789")
    path = repository.parent / "team.toml"
    path.write_text(
        f'[[agents]]\nname = "Claude"\npreset = "claude"\n[agents.settings]\n{settings("claude", provider.url)}\n'
    )
    return path


def test_the_page_shows_what_claude_does(browser: Browser, claude: Path, provider: Provider, repository: Path) -> None:
    read = {"file_path": "calc.py"}
    edit = {**read, "old_string": "a - b", "new_string": "a + b + 1"}
    steps = [Step(call=("Read", read)), Step(call=("Edit", edit)), runs(FAILING), Step(hang=SECONDS)]
    again = Rule("You are the developer", steps)
    provider.rules = [again if rule.words == again.words else rule for rule in delivery()]
    with serving(repository.parent, team=claude) as server:
        body = body_of(workspace=str(repository), filePaths=["calc.py"], validationCommands=["true"])
        del body["scenario"]
        session = start(server.client, body)
        page = browser.new_context(locale="en").new_page()
        page.goto(f"{server.url}/sessions/{session}")
        line = re.compile(r"^Edit calc\.py · Run .* → 1 failed · \d+:\d\d$")
        expect(page.locator("[data-activity]")).to_have_text(line, timeout=CLICK_MS * 10)
        expect(page.get_by_text("Claude", exact=True).first).to_be_visible()
        assert server.client.post(f"/api/sessions/{session}/cancel", json={}).status_code == 200


@pytest.mark.parametrize("team", ["claude", "codex", "opencode-acp"], indirect=True)
def test_the_page_of_a_finished_turn_shows_what_the_program_did(
    browser: Browser, team: Path, provider: Provider, repository: Path
) -> None:
    """Its commands with their output, and what it said, each once and without a script."""
    team.write_text(team.read_text().replace('ask = ["execute:*"]', 'allow = ["*"]'))
    again = Rule("You are the developer", [runs(FAILING), runs(FIX), says("Fixed the sign.")])
    provider.rules = [again if rule.words == again.words else rule for rule in delivery()]
    with serving(repository.parent, team=team) as server:
        body = body_of(workspace=str(repository), filePaths=["calc.py"], validationCommands=["python3 test_calc.py"])
        del body["scenario"]
        session_id = start(server.client, body | {"maxIterations": 1})
        assert ended(server.client, session_id, seconds=SECONDS)["status"] == "success"
        turns = server.client.get(f"/api/sessions/{session_id}/turns").json()["items"]
        [turn] = [one["turnId"] for one in turns if one["role"] == "dev"]
        page = browser.new_context(locale="en", java_script_enabled=False).new_page()
        page.goto(f"{server.url}/sessions/{session_id}/turns/{turn}")
        steps = page.locator(".story > li")
        texts = [words for words in steps.all_inner_texts() if not words.startswith("Notice")]
        assert len(texts) == 2, texts
        assert re.match(r"(?s)Run\s.*✕.*1 failed", texts[0]), texts
        assert re.match(r"(?s)Run\s.*sed -i", texts[1]), texts
        expect(page.get_by_text("Fixed the sign.")).to_have_count(1)
        expect(page.locator("#part-task[open]")).to_contain_text("login page")


def decisions(server: Server, session_id: str) -> list[dict[str, Any]]:
    return [event for event in events(server.client, session_id) if event["type"] == "turn.permission_decided"]


def begun(server: Server, repository: Path) -> str:
    body = body_of(workspace=str(repository), filePaths=["calc.py"], validationCommands=["python3 test_calc.py"])
    del body["scenario"]
    session_id = start(server.client, body | {"maxIterations": 1})

    def asks() -> bool:
        return bool(only(events(server.client, session_id), "turn.permission_requested"))

    until(asks, what="the question", seconds=SECONDS, pause=0.5)
    return session_id


def test_a_click_answers_a_real_program(browser: Browser, team: Path, provider: Provider, repository: Path) -> None:
    """Allowed and remembered on the page of the session, then denied in the inbox of another one."""
    again = Rule("You are the developer", [runs(FIX), runs(FIX), says("Fixed the sign.")])
    provider.rules = [again if rule.words == again.words else rule for rule in delivery()]
    with serving(repository.parent, team=team, auth="key") as server:
        [key] = (server.data / "keys").iterdir()
        server.client.headers["Authorization"] = f"Bearer {key.read_text().strip()}"
        [link] = re.findall(r"http://\S+/login\?once=\S+", server.log.read_text())
        page = browser.new_context(locale="en").new_page()
        page.set_default_timeout(CLICK_MS)
        page.goto(link)

        first = begun(server, repository)
        page.goto(f"{server.url}/sessions/{first}")
        expect(page.locator("#decision")).to_contain_text(FIX, timeout=CLICK_MS)
        page.get_by_label("Remember for this session").check()
        button(page, "Allow").click()
        assert ended(server.client, first, seconds=SECONDS)["status"] == "success"
        [event] = decisions(server, first)
        assert (event["data"]["decision"], event["data"]["remember"]) == ("allow", True)
        assert event["actor"].startswith("person:")
        tools = [one for did in only(events(server.client, first), "turn.activity_recorded") for one in did["tools"]]
        assert [(one["title"], one["denied"]) for one in tools] == [(FIX, False)] * 2

        provider.rules = delivery()
        second = begun(server, repository)
        page.goto(f"{server.url}/decisions")
        expect(page.get_by_text(FIX).first).to_be_visible(timeout=CLICK_MS)
        button(page, "Deny").click()
        assert ended(server.client, second, seconds=SECONDS)["status"] == "failed"
        [event] = decisions(server, second)
        assert (event["data"]["decision"], event["data"]["remember"]) == ("deny", False)
        assert event["actor"].startswith("person:")
        [dev] = [one for one in only(events(server.client, second), "turn.answered") if one["role"] == "dev"]
        assert dev["files"] == []
