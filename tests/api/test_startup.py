"""A start takes what it needs and no more: which modules a server and a command never import, or only later."""

import asyncio
import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

from api.app import COMMANDS, FORMS, PAGES, POLICIES, VIEWS
from api.doors import Door, loaded, open_all, placed
from api.routes import policies

ROOT = Path(__file__).parents[2]

PAGE = ("jinja2", "markdown_it", "nh3", "api.web", "api.routes.reference")
RULES = ("api.routes.policies", "api.openapi.building", "api.routes.reports")
CLIENT = ("httpx2", "cyclopts", "rich")
TOOLS = ("cryptography", "hypothesis", "prometheus_client", "adapters.proof")
SERVER = ("uvicorn", "adapters.turns.worker", "projections.record.mirror")


def imported(statement: str, folder: Path) -> set[str]:
    """The modules that a fresh Python has after the statement."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HANSARD_")}
    told = subprocess.run(
        [sys.executable, "-c", f"{statement}\nimport sys\nprint('\\nmodules', *sys.modules)"],
        cwd=ROOT,
        env=kept | {"XDG_DATA_HOME": str(folder), "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    return set(told.stdout.splitlines()[-1].split()[1:])


def command(*words: str) -> str:
    return f"from api.cli.main import carry_out\nassert carry_out({list(words)!r}) == 0"


@pytest.mark.parametrize(
    ("statement", "spared"),
    [
        ("import api.app", PAGE + RULES + CLIENT + TOOLS + SERVER + ("api.routes.commands", "api.routes.bodies")),
        ("import api.cli.serve", ("httpx2", "starlette", "domain.kinds", "statemachine")),
        (command("--help"), ("pydantic", "domain", "starlette", "asyncio", "httpx2", "adapters", "projections")),
        (command("list", "--help"), ("starlette", "httpx2", "adapters", "projections", "domain.kinds")),
        (command("list"), PAGE + RULES + TOOLS + SERVER + ("api.routes.commands",)),
    ],
    ids=["the application", "serve", "--help", "list --help", "list"],
)
def test_what_is_not_needed_is_not_imported(statement: str, spared: tuple[str, ...], tmp_path: Path) -> None:
    found = imported(statement, tmp_path)
    assert [name for name in spared if name in found] == []


def test_every_place_leads_to_a_handler() -> None:
    handlers = [handler for _, handler in loaded((*COMMANDS, *VIEWS, *PAGES, *FORMS))]
    assert [handler for handler in handlers if not inspect.iscoroutinefunction(handler)] == []


def test_every_policy_has_its_door() -> None:
    assert [policy.name for policy in policies.POLICIES] == list(POLICIES)
    named = {f"/api/policies/{name}": getattr(policies.DOORS, name) for name in POLICIES}
    assert named.items() <= dict(loaded(COMMANDS)).items()


COUNTED = """
import builtins
builtins.imports_of_a_probe = getattr(builtins, "imports_of_a_probe", 0) + 1

async def answer(request):
    return request, imports_of_a_probe
"""


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose modules can be imported."""
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_a_door_is_imported_at_the_first_knock_and_once_however_many_knock(places: Path) -> None:
    (places / "hansard_probe_of_doors.py").write_text(COUNTED)
    door = Door("hansard_probe_of_doors:answer")
    assert "hansard_probe_of_doors" not in sys.modules

    async def knock() -> list[object]:
        return await asyncio.gather(*(door(number) for number in range(16)))

    assert asyncio.run(knock()) == [(number, 1) for number in range(16)]


def test_a_door_that_leads_nowhere_is_logged_and_says_so_again(places: Path, caplog: pytest.LogCaptureFixture) -> None:
    (places / "hansard_probe_of_others.py").write_text(COUNTED.replace("a_probe", "another"))
    routes = placed(("/broken", "hansard_probe_of_nothing:answer"), ("/sound", "hansard_probe_of_others:answer"))
    asyncio.run(open_all(routes))
    assert "hansard_probe_of_others" in sys.modules
    assert [record.message for record in caplog.records] == ["what is behind /broken cannot be imported"]
    with pytest.raises(ModuleNotFoundError):
        routes[0][1].load()
