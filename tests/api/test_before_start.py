"""What the start form says before a session starts."""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from starlette.testclient import TestClient

from tests.api.seen import BROWSER, Seen, harmless, page
from tests.api.server import delivery, ended, inside, start
from tests.api.test_scopes import line, of

TEAM = """[[agents]]
name = "Grace"
adapter = "command"
roles = ["planner", "architect", "designer", "dev"]
[agents.settings]
argv = ["git"]
[[agents]]
name = "Linus"
adapter = "command"
roles = ["reviewer"]
[agents.settings]
argv = ["no-such-agent"]
"""


def repository(folder: Path, **files: str) -> Path:
    folder.mkdir(parents=True)
    for name, text in {"README.md": "Read me\n", **files}.items():
        (folder / name).write_text(text)
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@localhost", "-c", "commit.gpgsign=false")
    for args in (("init", "-q", "-b", "main"), ("add", "."), (*identity, "commit", "-q", "-m", "Begin")):
        subprocess.run(("git", *args), cwd=folder, check=True, capture_output=True)
    return folder


def known(client: TestClient, **fields: str) -> str:
    """What the script gets to show, as text."""
    answer = client.get("/start", params={"start": "delivery", **fields})
    assert answer.status_code == 200, answer.text
    return " ".join(Seen(answer.json()["before"]).text.split())


@pytest.fixture
def team(tmp_path: Path) -> Iterator[TestClient]:
    (tmp_path / "team.toml").write_text(TEAM)
    with inside(tmp_path / "log", work=False, team=tmp_path / "team.toml", trust="all") as result:
        yield result


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    settings = '[validation]\ncommands = ["git --version", "no-such-test -q"]\n[delivery]\nmax_iterations = 9\n'
    return repository(tmp_path / "shop", **{"hansard.toml": settings})


def test_branch_commit_and_what_stays_out_are_said_before_the_start(team: TestClient, shop: Path) -> None:
    commit = subprocess.run(("git", "rev-parse", "HEAD"), cwd=shop, check=True, capture_output=True, text=True).stdout
    assert "Nothing is uncommitted." in known(team, workspace=str(shop))
    for number in range(6):
        (shop / f"new{number}.py").write_text("")
    text = known(team, workspace=str(shop))
    assert f"shop, main@{commit[:7]} 6 uncommitted files stay out" in text
    assert "The agents will not see: new0.py, new1.py, new2.py, new3.py and 2 more" in text
    assert "커밋하지 않은 파일 6개는 제외" in known(team, workspace=str(shop), lang="ko")


def test_programs_of_commands_and_agents_are_looked_for(team: TestClient, shop: Path) -> None:
    text = known(team, workspace=str(shop))
    assert "git --version ✓ can be started" in text
    assert "no-such-test -q ✕ no-such-test: no such program here" in text and "from hansard.toml" in text
    assert "Grace plans, architecture, design, develops ✓ git is there" in text
    assert "Linus reviews ✕ no-such-agent: no such program here" in text
    own = known(team, workspace=str(shop), validationCommands="git diff\n./run.sh")
    assert "git diff ✓" in own and "./run.sh ○ ./run.sh is not committed" in own and "no-such-test" not in own
    assert "shell" in known(team, validationCommands="a | b")


def test_a_program_of_the_checkouts_own_environment_is_no_program_of_a_run(
    team: TestClient, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = shop / ".venv" / "bin" / "only-here"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    text = known(team, workspace=str(shop), validationCommands="only-here")
    assert "only-here belongs to an environment of your checkout" in text


@pytest.mark.parametrize(
    ("named", "words"),
    [
        (None, "A new, empty folder."),
        ("plain", "No git repository: the agents change the files in this folder itself."),
        ("begun", "No commit yet: the agents would start with an empty folder."),
        ("missing", "✕"),
        ("relative/path", "✕"),
    ],
)
def test_every_kind_of_folder_is_explained(team: TestClient, tmp_path: Path, named: str | None, words: str) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "begun").mkdir()
    subprocess.run(("git", "init", "-q"), cwd=tmp_path / "begun", check=True, capture_output=True)
    place = {} if named is None else {"workspace": named if "/" in named else str(tmp_path / named)}
    assert words in known(team, **place)


def test_untrusted_settings_are_said_with_the_command_that_trusts_them(tmp_path: Path) -> None:
    folder = repository(tmp_path / "shop", **{"hansard.toml": '[workspace]\nsetup = ["make deps"]\n'})
    with inside(tmp_path / "log", work=False) as client:
        text = known(client, workspace=str(folder))
    assert f"settings that you have to trust first: setup. Read them, then run hansard trust {folder}" in text


def test_similar_runs_give_the_middle_of_their_times_and_costs(tmp_path: Path) -> None:
    folder = repository(tmp_path / "shop")
    with inside(tmp_path / "log") as client:
        assert "Similar runs" not in known(client, workspace=str(folder))
        for cost in (40_000, 100_000, 900_000):
            usage = {"inputTokens": 1, "outputTokens": 1, "costMicros": cost}
            session_id = start(client, delivery({"planner": [{"text": "x", "usage": usage}]}, workspace=str(folder)))
            assert ended(client, session_id)["status"] == "success"
        text = known(client, workspace=str(folder))
        assert re.search(r"Similar runs about \d+ (s|min), about \$0\.1\d \(middle of 3 finished sessions\)", text)
        assert "Similar runs" not in known(client, workspace=str(folder), start="review")
        assert "Similar runs" not in known(client)


def test_without_a_script_the_page_says_the_same(team: TestClient, shop: Path) -> None:
    (shop / "new.py").write_text("")
    html = page(team, f"/?{urlencode({'start': 'delivery', 'workspace': str(shop), 'task': 'Fix it'})}")
    text = " ".join(harmless(html).text.split())
    assert "1 uncommitted file stays out" in text and "git --version ✓ can be started" in text
    assert f"hansard run --task 'Fix it' --workspace {shop}" in text
    assert 'value="6"' not in re.findall(r'<input[^>]*id="delivery-maxIterations"[^>]*>', html)[0]
    assert "<dl" not in page(team, "/").partition('id="start"')[2].partition("</details>")[0], (
        "closed: nothing is asked"
    )


def test_settings_of_the_repository_fill_what_nobody_has_touched(team: TestClient, shop: Path) -> None:
    answer = team.get("/start", params={"start": "delivery", "workspace": str(shop), "maxIterations": "6"}).json()
    assert answer["settings"]["maxIterations"] == "9"
    assert answer["settings"]["validationCommands"] == "git --version\nno-such-test -q"
    only = team.get("/start", params={"start": "review", "subject": "x", "part": "command"}).json()
    assert only == {"command": "hansard review x"}


def test_folders_outside_of_the_roots_are_neither_shown_nor_looked_at(tmp_path: Path) -> None:
    outer = repository(tmp_path / "outer")
    (outer / "inner").mkdir()
    for name in ("secret.py", "inner/own.py"):
        (outer / name).write_text("")
    subprocess.run(("git", "add", "."), cwd=outer, check=True, capture_output=True)
    elsewhere = repository(tmp_path / "elsewhere")
    with inside(tmp_path / "log", work=False, roots=str(outer / "inner")) as client:
        client.post("/api/sessions", json=delivery(workspace=str(outer / "inner")))
        refused = known(client, workspace=str(elsewhere))
        assert "✕" in refused and "main@" not in refused
        text = known(client, workspace=str(outer / "inner"))
        assert "own.py" in text and "secret.py" not in text
        offered = re.findall(r'data-folder="([^"]+)"', client.get("/", headers=BROWSER).text)
        assert set(offered) == {str(outer / "inner")}


def test_only_those_who_may_start_sessions_learn_about_folders(tmp_path: Path, shop: Path) -> None:
    (tmp_path / "keys").write_text("\n".join(line(scope, scope) for scope in ("read", "operate", "admin")) + "\n")
    with inside(tmp_path / "log", work=False, api_keys_file=tmp_path / "keys") as client:
        asked: dict[str, Any] = {"params": {"start": "delivery", "workspace": str(shop)}}
        texts = {
            scope: client.get("/start", headers=of(scope), **asked).json()["before"]
            for scope in ("read", "operate", "admin")
        }
    assert "main@" in texts["admin"]
    assert texts["read"].strip() == "" and "main@" not in texts["operate"] and "HANSARD_ROOTS" in texts["operate"]


def test_an_unknown_kind_is_refused(client: TestClient) -> None:
    assert client.get("/start?start=poem").status_code == 422
    assert client.get("/start").status_code == 422
