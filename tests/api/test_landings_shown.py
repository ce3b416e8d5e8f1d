"""How a landing ended is said wherever a person looks: in the result, the lists, the inbox, page and explanation."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from starlette.testclient import TestClient

from tests.api.orchestrating import orchestration
from tests.api.orchestrating import run as orchestrate
from tests.api.server import Json, events, inside, reached, session
from tests.api.test_baseline import repository, run
from tests.kit.replies import plan, subtask, verdicts


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    with inside(tmp_path / "data", trust="all", sandbox="off") as result:
        yield result


def delivered(client: httpx.Client, tmp_path: Path, command: str = "true") -> tuple[Path, Json]:
    """A repository, and a finished delivery that changes `a.txt`."""
    folder = repository(tmp_path / "shop", **{"a.txt": "first\n", "setup.ok": ""})
    return folder, run(client, folder, command, {"a.txt": "changed\n"})


def commit(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)
    identity = ("-c", "user.name=Ann", "-c", "user.email=ann@localhost")
    for words in (("add", "-A"), (*identity, "commit", "-qm", "Change")):
        subprocess.run(("git", *words), cwd=folder, check=True, capture_output=True)


def land(client: httpx.Client, made: Json, topic: str) -> Json:
    onto = made["result"]["base"]["branch"]
    answer = client.post(f"/api/sessions/{made['id']}/land", json={"onto": onto})
    assert answer.status_code == 202, answer.text
    reached(client, made["id"], topic)
    return session(client, made["id"])


def fresh(client: httpx.Client, made: Json) -> dict[str, str]:
    """What makes a list wait for the newest event of the session."""
    return {"Read-After": str(events(client, made["id"])[-1]["position"])}


def waiting(client: httpx.Client, made: Json) -> list[Json]:
    items = client.get("/api/decisions", headers=fresh(client, made)).json()["items"]
    return [item for item in items if item["sessionId"] == made["id"]]


def listed(client: httpx.Client, made: Json) -> Json:
    [item] = [
        item
        for item in client.get("/api/sessions", headers=fresh(client, made)).json()["items"]
        if item["id"] == made["id"]
    ]
    return dict(item)


def page(client: httpx.Client, made: Json) -> str:
    return client.get(f"/sessions/{made['id']}", headers={"Accept": "text/html"}).text


def explanation(client: httpx.Client, made: Json) -> str:
    return str(client.get(f"/api/sessions/{made['id']}/explain").json()["text"])


def test_a_landing_that_conflicts_waits_for_a_person_until_it_lands(client: httpx.Client, tmp_path: Path) -> None:
    folder, made = delivered(client, tmp_path)
    commit(folder, "a.txt", "theirs\n")
    onto = made["result"]["base"]["branch"]
    seen = land(client, made, "session.sent_back")
    landing = seen["result"]["landing"]
    assert (landing["onto"], landing["status"], landing["reason"]) == (onto, "sent_back", "conflict")
    assert (landing["paths"], landing["commit"]) == (["a.txt"], None)
    assert listed(client, made)["landing"]["status"] == "sent_back"
    assert listed(client, made)["waiting"] == "landing"
    [item] = waiting(client, made)
    assert (item["waitsFor"], item["cause"], item["choices"]) == ("landing", "landing_sent_back", ["land"])
    assert item["summary"] == "a.txt"
    words = f"Sent back: conflicts with {onto} in a.txt"
    assert words in page(client, made)
    assert words in explanation(client, made)
    inbox = client.get("/decisions", headers={"Accept": "text/html"}).text
    assert "The result does not fit the branch as it is now" in inbox

    subprocess.run(("git", "reset", "-q", "--hard", "HEAD^"), cwd=folder, check=True)
    seen = land(client, made, "session.landed")
    assert seen["result"]["landing"]["status"] == "landed"
    assert waiting(client, made) == []
    assert listed(client, made)["landing"]["commit"] == seen["result"]["landing"]["commit"]
    assert f"Landed on {onto}" in page(client, made)
    assert f"Landed on {onto}" in explanation(client, made)


def test_a_landing_that_the_commands_refuse_names_the_lines(client: httpx.Client, tmp_path: Path) -> None:
    folder, made = delivered(client, tmp_path, "test ! -e broken.txt")
    commit(folder, "broken.txt", "")
    landing = land(client, made, "session.sent_back")["result"]["landing"]
    assert (landing["status"], landing["reason"]) == ("sent_back", "validation")
    [item] = waiting(client, made)
    assert "test ! -e broken.txt" in item["summary"]


def test_what_was_not_tried_waits_and_says_what_is_in_the_way(client: httpx.Client, tmp_path: Path) -> None:
    folder, made = delivered(client, tmp_path)
    (folder / "a.txt").write_text("not committed\n")
    landing = land(client, made, "session.landing_not_tried")["result"]["landing"]
    assert (landing["status"], landing["paths"]) == ("not_tried", ["a.txt"])
    [item] = waiting(client, made)
    assert (item["waitsFor"], item["cause"]) == ("landing", "landing_not_tried")
    assert item["summary"] == landing["detail"]
    assert listed(client, made)["landing"]["status"] == "not_tried"
    assert (folder / "a.txt").read_text() == "not committed\n"


def test_a_result_that_waits_says_what_its_checks_leave_open(client: httpx.Client, tmp_path: Path) -> None:
    """A delivery has been validated; what landed it not says nothing else."""
    folder, made = delivered(client, tmp_path)
    commit(folder, "a.txt", "theirs\n")
    land(client, made, "session.sent_back")
    [item] = waiting(client, made)
    assert "notes" not in item


def test_a_landing_whose_set_up_fails_without_the_work_too_waits(client: httpx.Client, tmp_path: Path) -> None:
    """Like a provider that is overloaded: nothing goes back to the author."""
    settings = '[workspace]\nsetup = ["sh setup.sh"]\n'
    away = tmp_path / "away"
    files = {"hansard.toml": settings, "setup.sh": f"test ! -e {away}\n", "a.txt": "first\n"}
    folder = repository(tmp_path / "shop", **files)
    made = run(client, folder, "true", {"b.txt": "new\n"})
    assert made["status"] == "success", made["finalSummary"]
    commit(folder, "other.txt", "moved on\n")
    away.touch()
    land(client, made, "turn.attempt_failed")
    seen = session(client, made["id"])
    [turn] = seen["outstandingTurns"]
    assert (turn["work"], turn["waitingFor"]) == ("land", "setup")
    assert "landing" not in seen["result"]
    away.unlink()
    client.post(f"/api/sessions/{made['id']}/retry", json={"reason": "It is back."})
    reached(client, made["id"], "session.landed")


# -- what the checks of a run leave open -----------------------------------------------------------------------------

TESTS = {"test_a.py": "def test_a():\n    assert True is True\n    assert 1 == 1\n", "run.sh": "cat test_a.py\n"}


def rested_run(client: httpx.Client, folder: Path, files: dict[str, str], **fields: Any) -> Json:
    """A run of one agent who writes these files, which rests because its only round is used up."""
    replies = {
        "planner": [plan(subtask("Backend", verification={"affected_files": [*files]}))],
        "Backend": [{"text": "Done.", "files": files}],
        "judge": [verdicts(Backend=False)],
    }
    body = orchestration(
        replies, employees=[{"name": "Backend", "role": "backend"}], workspace=str(folder), maxRounds=1, **fields
    )
    return orchestrate(client, body)


def test_a_run_that_nobody_validated_says_so_where_it_waits(client: httpx.Client, tmp_path: Path) -> None:
    made = rested_run(client, repository(tmp_path / "shop", **TESTS), {"a.txt": "new\n"})
    assert made["result"]["validated"] is None
    [item] = waiting(client, made)
    assert [note["code"] for note in item["notes"]] == ["result_not_validated"]
    assert "Not validated." in client.get("/decisions", headers={"Accept": "text/html"}).text


@pytest.mark.parametrize("command", ["false", "sh -c 'echo broken; exit 3'"])
def test_a_run_whose_validation_failed_before_the_changes_too_says_so(
    client: httpx.Client, tmp_path: Path, command: str
) -> None:
    made = rested_run(client, repository(tmp_path / "shop", **TESTS), {"a.txt": "new\n"}, validationCommands=[command])
    assert made["result"]["validated"]["passed"] is False and made["reason"] != "validation_failed"
    [item] = waiting(client, made)
    assert "result_red" in [note["code"] for note in item["notes"]]
    page = client.get(f"/sessions/{made['id']}", headers={"Accept": "text/html"}).text
    assert "The validation fails, as before the changes" in page


def test_a_run_says_what_makes_its_validation_weaker(client: httpx.Client, tmp_path: Path) -> None:
    folder = repository(tmp_path / "shop", **TESTS)
    files = {"test_a.py": "def test_a():\n    assert True is True\n"}
    made = rested_run(client, folder, files, validationCommands=["sh run.sh"])
    assert [each["what"] for each in made["report"]["weakened"]] == ["assertions"]
    [item] = waiting(client, made)
    assert [note["code"] for note in item["notes"]] == ["result_weakened"]
    assert "The validation may prove less than before: 1" in page(client, made)


def test_a_run_whose_commands_ran_no_test_is_not_validated(client: httpx.Client, tmp_path: Path) -> None:
    folder = repository(tmp_path / "shop", **{"a.txt": "", "run.sh": "echo 'no tests ran in 0.01s'\n"})
    made = rested_run(client, folder, {"a.txt": "new\n"}, validationCommands=["sh run.sh"])
    assert (made["result"]["validated"], made["result"]["why"]) == (None, "no_tests")
    [item] = waiting(client, made)
    assert [note["code"] for note in item["notes"]] == ["result_without_tests"]
