"""What the validation has run, from its coverage report in the clean room, as a fact of the reviewer's map."""

import json
from collections.abc import Iterator
from pathlib import Path

import httpx2 as httpx
import pytest
from starlette.testclient import TestClient

from adapters.project import BadProject, parse
from tests.api.seen import page
from tests.api.server import Json, events, inside
from tests.api.test_baseline import repository, run

WRITE = """\
import json, pathlib
lines = pathlib.Path("cart.py").read_text().splitlines()
missed = [number for number, line in enumerate(lines, start=1) if "never" in line]
run = [number for number in range(1, len(lines) + 1) if number not in missed]
pathlib.Path("out").mkdir(exist_ok=True)
entry = {"executed_lines": run, "missing_lines": missed}
pathlib.Path("out/coverage.json").write_text(json.dumps({"files": {"cart.py": entry}}))
"""
SETTINGS = '[validation]\ncoverage = "out/coverage.json"\n'
FILES = {"measure.py": WRITE, "cart.py": "one = 1\n", "z.txt": "z\n", ".gitignore": "out/\n"}


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    with inside(tmp_path / "data", trust="all", sandbox="off") as result:
        yield result


def delivered(client: httpx.Client, folder: Path, command: str = "python3 measure.py") -> Json:
    work = {"a.txt": "first\n", "cart.py": "one = 1\ntwo = 2\nnever = 3\n"}
    session = run(client, folder, command, work)
    assert session["status"] == "success", session["finalSummary"]
    return session


def map_of(client: httpx.Client, session: Json) -> Json:
    result: Json = client.get(f"/api/sessions/{session['id']}/map").json()
    return result


def facts(items: list[Json]) -> list[str]:
    return [each["fact"] for item in items for each in item["because"]]


@pytest.mark.parametrize("setup", ["", '[workspace]\nsetup = ["true"]\n'])
def test_lines_that_no_validation_has_run_come_first_with_the_event(
    client: TestClient, tmp_path: Path, setup: str
) -> None:
    session = delivered(client, repository(tmp_path / "shop", **FILES, **{"hansard.toml": setup + SETTINGS}))
    assert session["report"]["cleanRoom"]["needed"] is bool(setup)
    assert session["report"]["coverage"] == {
        "path": "out/coverage.json",
        "notRun": [{"path": "cart.py", "lines": [{"first": 3, "last": 3}]}],
    }
    first, second = map_of(client, session)["items"]
    assert (first["path"], second["path"]) == ("cart.py", "a.txt"), "before the file that is first by name"
    [why] = [each for each in first["because"] if each["fact"] == "not_run"]
    assert "not_run" not in facts([second])
    assert events(client, session["id"])[why["version"] - 1]["type"] == "delivery.tests_passed"
    assert "run by no validation" in page(client, f"/sessions/{session['id']}?tab=changes")


def test_without_the_setting_nothing_is_read_or_said(client: TestClient, tmp_path: Path) -> None:
    session = delivered(client, repository(tmp_path / "shop", **FILES))
    assert "coverage" not in session["report"]
    assert "not_run" not in facts(map_of(client, session)["items"])


def test_a_report_that_cannot_be_used_says_why_and_changes_no_verdict(client: TestClient, tmp_path: Path) -> None:
    report = json.dumps({"files": {"cart.py": {"executed_lines": [], "missing_lines": [1, 2, 3]}}})
    files = {"cart.py": "one = 1\n", "out/coverage.json": report, "hansard.toml": SETTINGS}
    session = delivered(client, repository(tmp_path / "shop", **files), "true")
    problem = session["report"]["coverage"]["problem"]
    assert "before the commands ran" in problem["text"], "a stale report proves nothing"
    answer = map_of(client, session)
    assert answer["unread"]["text"] == problem["text"] and "not_run" not in facts(answer["items"])
    assert "What ran is not known" in page(client, f"/sessions/{session['id']}?tab=changes")


@pytest.mark.parametrize("value", ['"/etc/x"', '"../x"', '".git/x"', '"a/*.json"', '""', "true", "[]"])
def test_the_setting_is_a_plain_path_in_the_repository(value: str) -> None:
    with pytest.raises(BadProject, match=r"hansard.toml:2 \[validation\] coverage"):
        parse(f"[validation]\ncoverage = {value}\n")
