"""`[scope]` of hansard.toml: changes outside it are recorded, refused, or wait for a person."""

import json
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest

from tests.api.orchestrating import orchestration, run
from tests.api.server import Json, Server, delivery, ended, events, only, reached, serving, session, start
from tests.api.test_real_git import CHECK, FIXED, git, repository
from tests.api.test_session_page import panel
from tests.kit.replies import plan, subtask, verdicts

__all__ = ["repository"]
DRIFT: Json = {"text": "Fixed the sum.", "files": {"shop.py": FIXED, "deploy/prod.yaml": "replicas: 0\n"}}
GONE = {"path": "deploy/prod.yaml", "patch": "--- a/prod.yaml\n+++ /dev/null\n@@ -1 +0,0 @@\n-replicas: 0\n"}
UNDONE = json.dumps({"changes": [GONE]})


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("scopes")) as result:
        yield result


def begun(server: Server, repository: Path, outside: str, *answers: Json | str, **fields: object) -> str:
    settings = f'[scope]\nallow = ["*.py"]\ndeny = ["deploy/**"]\noutside = "{outside}"\n'
    (repository / "hansard.toml").write_text(settings, encoding="utf-8")
    body = delivery(
        {"dev": list(answers)}, workspace=str(repository), validationCommands=[CHECK], filePaths=["shop.py"]
    )
    return start(server.client, body | fields)


def asked(server: Server, session_id: str) -> Json:
    """The open request as shown in the inbox."""
    reached(server.client, session_id, "delivery.scope_requested")
    items = server.client.get("/api/decisions", params={"needs": "scope"}).json()["items"]
    return next(item for item in items if item["sessionId"] == session_id)


def answered(server: Server, session_id: str, request_id: str, decision: str) -> int:
    body = {"requestId": request_id, "decision": decision}
    return server.client.post(f"/api/sessions/{session_id}/scope", json=body).status_code


def test_changes_outside_the_scope_are_recorded(server: Server, repository: Path) -> None:
    session = ended(server.client, begun(server, repository, "record", DRIFT))
    assert (session["status"], session["result"]["outside"]) == ("success", ["deploy/prod.yaml"])
    assert {file["path"]: file["named"] for file in session["result"]["files"]} == {
        "deploy/prod.yaml": False,
        "shop.py": True,
    }


def test_iteration_outside_the_scope_fails_with_feedback(server: Server, repository: Path) -> None:
    session = ended(server.client, begun(server, repository, "fail", DRIFT, UNDONE))
    assert (session["status"], session["iteration"], session["result"]["outside"]) == ("success", 2, [])
    [exceeded] = only(events(server.client, session["id"]), "delivery.scope_exceeded")
    assert exceeded["paths"] == ["deploy/prod.yaml"]
    prompts = [event["prompt"]["head"] for event in only(events(server.client, session["id"]), "turn.answered")]
    assert any("You may not change these paths:\n- deploy/prod.yaml" in prompt for prompt in prompts)


def test_the_scope_is_the_persons_not_the_agents(server: Server, repository: Path) -> None:
    widened: Json = {"text": "Wider.", "files": {**DRIFT["files"], "hansard.toml": '[scope]\noutside = "record"\n'}}
    session = ended(server.client, begun(server, repository, "fail", widened, widened, maxIterations=2))
    assert session["finalSummary"] == "failed_budget_exhausted"
    assert "hansard.toml" in session["result"]["outside"]


def test_a_person_allows_it(server: Server, repository: Path) -> None:
    session_id = begun(server, repository, "ask", DRIFT)
    item = asked(server, session_id)
    assert (item["waitsFor"], item["choices"], item["summary"]) == ("scope", ["allow", "deny"], "deploy/prod.yaml")
    view = session(server.client, session_id)
    assert (view["status"], view["scopeRequest"]["paths"]) == ("running", ["deploy/prod.yaml"])
    assert answered(server, session_id, "another", "allow") == 409
    assert answered(server, session_id, item["requestId"], "allow") == 200
    view = ended(server.client, session_id)
    assert (view["status"], view["result"]["outside"]) == ("success", ["deploy/prod.yaml"])
    [decided] = only(events(server.client, session_id), "delivery.scope_decided")
    assert (decided["decision"], decided["paths"]) == ("allow", ["deploy/prod.yaml"])
    assert decided["by"]
    assert answered(server, session_id, item["requestId"], "allow") == 409
    assert panel(server.client, session_id, "gantt").count('class="gantt-mark"') == 1


def test_a_person_denies_it(server: Server, repository: Path) -> None:
    session_id = begun(server, repository, "ask", DRIFT, UNDONE)
    assert answered(server, session_id, asked(server, session_id)["requestId"], "deny") == 200
    session = ended(server.client, session_id)
    assert (session["status"], session["iteration"], session["result"]["outside"]) == ("success", 2, [])


def test_the_page_asks_without_a_script(server: Server, repository: Path) -> None:
    session_id = begun(server, repository, "ask", DRIFT)
    request_id = asked(server, session_id)["requestId"]
    for path in (f"/sessions/{session_id}", "/decisions"):
        page = server.client.get(path, headers={"Accept": "text/html"}).text
        assert request_id in page and "deploy/prod.yaml" in page, path
    answered(server, session_id, request_id, "allow")
    ended(server.client, session_id)


def test_a_workspace_below_the_top_names_its_files(server: Server, repository: Path) -> None:
    below = repository / "pkg"
    below.mkdir()
    (below / "a.py").write_text("a = 1\n", encoding="utf-8")
    git(repository, "add", "pkg")
    git(repository, "commit", "-qm", "pkg")
    dev: Json = {"text": "Changed a.", "files": {"a.py": "a = 2\n"}}
    body = delivery({"dev": [dev]}, workspace=str(below), validationCommands=["true"], filePaths=["a.py"])
    session = ended(server.client, start(server.client, body))
    assert [(file["path"], file["named"]) for file in session["result"]["files"]] == [("pkg/a.py", True)]


CONTINUING = "Files outside the scope were changed; continuing permits these changes."
ROW = (CONTINUING.removesuffix("."), "1 file outside the scope", "deploy/prod.yaml")
CARD = (
    "1 changed file is outside the scope of the repository:",
    "<li><code>deploy/prod.yaml</code></li>",
    "Continue to permit these changes, or reset to end the run.",
)


def test_an_orchestration_asks_at_its_end(server: Server, repository: Path) -> None:
    (repository / "hansard.toml").write_text('[scope]\nallow = ["*.py"]\noutside = "ask"\n', encoding="utf-8")
    replies = {
        "planner": [plan(subtask("Backend"))],
        "Backend": [DRIFT],
        "judge": [verdicts(all_done=True, Backend=True)],
    }
    view = run(server.client, orchestration(replies, workspace=str(repository)))
    assert (view["status"], view["result"]["outside"]) == ("checkpoint", ["deploy/prod.yaml"])
    items = server.client.get("/api/decisions").json()["items"]
    [item] = [item for item in items if item["sessionId"] == view["id"]]
    assert "- deploy/prod.yaml" in item["summary"]
    assert (item["waitsFor"], item["cause"], item["why"]) == ("checkpoint", "scope_checkpoint", CONTINUING)
    [paused] = only(events(server.client, view["id"]), "orchestration.checkpoint_reached")
    assert paused["outside"] == ["deploy/prod.yaml"]
    for page, words in (("/decisions", ROW), ("/", ROW), (f"/sessions/{view['id']}", CARD)):
        text = unescape(server.client.get(page, headers={"Accept": "text/html", "Accept-Language": "en"}).text)
        assert all(each in text for each in words), (page, words)
    assert server.client.post(f"/api/sessions/{view['id']}/continue", json={}).status_code == 200
    assert session(server.client, view["id"])["status"] == "done"


def test_orchestration_undoes_denied_changes(server: Server, repository: Path) -> None:
    (repository / "hansard.toml").write_text('[scope]\nallow = ["*.py"]\noutside = "fail"\n', encoding="utf-8")
    (repository / "prod.yaml").write_text("replicas: 2\n", encoding="utf-8")
    git(repository, "add", "prod.yaml")
    git(repository, "commit", "-qm", "prod")
    drift: Json = {"text": "Fixed the sum.", "files": {"shop.py": FIXED, "prod.yaml": "replicas: 0\n"}}
    undone: Json = {"text": "Restored it.", "files": {"prod.yaml": "replicas: 2\n"}}
    passed = verdicts(all_done=True, Backend=True)
    replies = {"planner": [plan(subtask("Backend"))], "Backend": [drift, undone], "judge": [passed, passed]}
    session = run(server.client, orchestration(replies, workspace=str(repository)))
    assert (session["status"], session["result"]["outside"]) == ("done", [])
    assert [file["path"] for file in session["result"]["files"]] == ["shop.py"]
    assert "- prod.yaml" in session["agents"][0]["history"][0]["feedback"]
