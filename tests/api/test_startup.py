"""Startup imports: modules that a server or command never imports, or imports later."""

import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from adapters.store.sqlite.views import SqliteViews
from api.app import create_app
from api.node.settings import Settings
from api.system import Patience, System
from tests.api.server import inside, session, start
from tests.projections.stage import Stage

ROOT = Path(__file__).parents[2]

PAGE = ("jinja2", "markdown_it", "nh3", "api.web", "api.openapi.reference")
RULES = ("api.routes.policies.endpoints", "api.openapi.description", "api.routes.reports")
CLIENT = ("httpx2", "cyclopts", "rich")
TOOLS = ("cryptography", "hypothesis", "prometheus_client", "adapters.proof")
FORGE = ("adapters.forge.github", "adapters.forge.gitlab", "adapters.forge.http")
SERVER = ("uvicorn", "adapters.turns.lease.worker", "projections.record.mirror")


def imported(statement: str, folder: Path) -> set[str]:
    """The modules loaded by a new Python process after the statement."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HANSARD_")}
    result = subprocess.run(
        [sys.executable, "-c", f"{statement}\nimport sys\nprint('\\nmodules', *sys.modules)"],
        cwd=folder,
        env=kept | {"XDG_DATA_HOME": str(folder), "HOME": str(folder), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    return set(result.stdout.splitlines()[-1].split()[1:])


def command(*words: str) -> str:
    return f"from api.cli.main import carry_out\nassert carry_out({list(words)!r}) == 0"


@pytest.mark.parametrize(
    ("statement", "spared"),
    [
        ("import api.app", CLIENT + TOOLS + SERVER + FORGE),
        ("import api.cli.server, api.node.pull_request_follower", FORGE),
        ("import api.reader", PAGE + RULES + CLIENT + TOOLS + SERVER + ("api.actions.catalogue", "api.actions.bodies")),
        ("import api.cli.serve", ("httpx2", "starlette", "api.system")),
        ("import api.cli.verbs.serve", ("uvicorn", "pydantic", "adapters", "domain", "projections")),
        (command("--help"), (*CLIENT, "pydantic", "domain", "starlette", "asyncio", "adapters", "projections")),
        (command("list", "--help"), ("starlette", "httpx2", "adapters", "projections", "domain.kinds")),
        (command("list", "--json"), PAGE + RULES + TOOLS + SERVER + ("api.actions.catalogue",)),
    ],
    ids=[
        "the application",
        "the server",
        "the reader",
        "serve",
        "serve --help",
        "--help",
        "list --help",
        "list --json",
    ],
)
def test_unneeded_modules_are_not_imported(statement: str, spared: tuple[str, ...], tmp_path: Path) -> None:
    result = imported(statement, tmp_path)
    assert [name for name in spared if name in result] == []


@pytest.mark.parametrize("reading", [("list",), ("inbox",), ("show", "delivery-1"), ("show", "latest")])
def test_views_that_are_up_to_date_are_read_without_a_server_inside(reading: tuple[str, ...], tmp_path: Path) -> None:
    """Two processes: the first folds the views and stores the answer."""
    stage = Stage(tmp_path)
    stage.delivers()
    stage.store.close()
    path = stage.store.path
    imported(command("show", "delivery-1", "--json", "--database", str(path)), tmp_path)
    result = imported(command(*reading, "--database", str(path)), tmp_path)
    spared = (
        "pydantic",
        "pydantic_core",
        "domain.kinds",
        "adapters",
        "asyncio",
        "uvicorn",
        "api.openapi",
        "httpx2",
        "starlette",
    )
    assert [name for name in spared if name in result] == []


@pytest.mark.parametrize("reading", [("explain", "delivery-1"), ("report", "budgets", "--json")])
def test_commands_about_the_past_need_no_application(reading: tuple[str, ...], tmp_path: Path) -> None:
    """They use the read-only application, without pages, commands and OpenAPI document."""
    stage = Stage(tmp_path)
    stage.delivers()
    stage.store.close()
    result = imported(command(*reading, "--database", str(stage.store.path)), tmp_path)
    assert [
        name for name in ("api.app", "api.actions.catalogue", "api.openapi.description", *SERVER) if name in result
    ] == []


def test_a_server_answers_while_its_views_are_folded_again(tmp_path: Path) -> None:
    """After an upgrade, commands and single sessions work at once; lists ask to retry and are never partial."""
    with inside(tmp_path, work=False) as client:
        ids = [start(client) for _ in range(3)]
    settings = Settings(auth="off", database=f"sqlite:///{tmp_path / 'hansard.db'}", data_dir=tmp_path / "node")
    with closing(SqliteViews(settings.views_path)) as views, views.transaction() as db:
        db.execute("UPDATE progress SET shape = 'of another release'")
    app = create_app(settings, work=False, patience=Patience(views=0))
    upgraded: System = app.state.system
    upgraded.follower._page = 1
    upgraded.follower.start = lambda: None  # type: ignore[method-assign]
    with TestClient(app, base_url="http://127.0.0.1") as client:
        assert client.get("/healthz").status_code == 200
        assert session(client, ids[2])["version"] == 3
        more = {"addMinutes": 1, "reason": "more"}
        assert client.post(f"/api/sessions/{ids[2]}/budget", json=more).status_code == 200
        answer = client.get("/api/sessions")
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        assert answer.json()["detail"].startswith("The views are being rebuilt: 1 of 10 events so far.")
        upgraded.follower.catch_up()
        assert [item["id"] for item in client.get("/api/sessions").json()["items"]] == ids[::-1]
