"""The head and the failure card: the result of a session and the cause of its failure."""

import re
from pathlib import Path

from starlette.testclient import TestClient

from api.web.plain_text import short_command
from tests.api.scenes import begun, exhausted, reached, two_iterations, waiting_review
from tests.api.seen import page
from tests.api.server import delivery
from tests.api.test_baseline import repository
from tests.api.test_session_page import panel, words_of


def test_the_head_of_a_success_says_the_result(client: TestClient) -> None:
    text = words_of(panel(client, two_iterations(client), "head"))
    assert text.startswith("Success on iteration 2: true passed, the review approved. ")
    assert "1 file +2 −0" in text and "✓ approved" in text


def test_commands_are_shown_without_the_folders_of_their_program() -> None:
    assert short_command("/opt/venv/bin/python3 -m unittest -s a/b") == "python3 -m unittest -s a/b"
    assert short_command("./check") == "check"
    assert short_command("make") == "make"


def test_head_names_the_cause_and_the_list_opens_there(client: TestClient) -> None:
    session_id = exhausted(client)
    head = panel(client, session_id, "head")
    assert "Ended: budget exhausted (1 of 1 iterations): " in words_of(head)
    [version] = re.findall(r'class="because" href="[^"]*at=(\d+)"', head)
    assert f'data-bring="{version}"' in page(client, f"/sessions/{session_id}")
    cause = client.get(f"/api/sessions/{session_id}/explain").json()["cause"]
    assert (cause["version"], cause["type"]) == (int(version), "delivery.validation_failed")


def test_a_crash_has_a_card_with_its_words(client: TestClient) -> None:
    session_id = reached(client, begun(client, delivery({"planner": [{"error": "crash"}]})), "failed")
    text = words_of(panel(client, session_id, "failure"))
    assert "Why: exited with an error" in text and "planner exited with an error (scripted)." in text


def test_head_gives_the_cause_once_and_without_a_code(client: TestClient) -> None:
    crashed = reached(client, begun(client, delivery({"planner": [{"error": "crash"}]})), "failed")
    assert words_of(panel(client, crashed, "head")).startswith("planner exited with an error (scripted). delivery")
    missing = delivery(baseline=True, validationCommands=["pytset -q"])
    unready = words_of(panel(client, reached(client, begun(client, missing), "failed"), "head"))
    assert unready.startswith("The validation command `pytset -q` cannot be started.")


def test_head_gives_the_cause_once_in_korean(client: TestClient) -> None:
    missing = delivery(baseline=True, validationCommands=["pytset -q"])
    session_id = reached(client, begun(client, missing), "failed")
    [sentence] = re.findall(r'<p class="why">(.*?)</p>', page(client, f"/sessions/{session_id}?lang=ko"), re.DOTALL)
    assert sentence.count("검증 명령 `pytset -q`를 시작할 수 없습니다.") == 1 and "cannot" not in sentence


def test_a_failing_set_up_is_named_in_the_head_with_the_end_of_its_output(client: TestClient, tmp_path: Path) -> None:
    settings = """[workspace]\nsetup = ["sh -c 'echo resolving; echo no lock file >&2; exit 3'"]\n"""
    text = _stopped_head(client, repository(tmp_path, **{"hansard.toml": settings}))
    assert text.startswith("The set-up failed: no lock file ")


def test_head_names_the_folder_that_validation_would_test(client: TestClient, tmp_path: Path) -> None:
    folder = repository(
        tmp_path, **{"hansard.toml": '[workspace]\nlink = ["node_modules"]\n', "packages/shop/a.js": "1"}
    )
    (folder / "node_modules").mkdir()
    (folder / "node_modules" / "shop").symlink_to(folder / "packages/shop")
    text = _stopped_head(client, folder)
    assert text.startswith(
        f"The validation would test another folder: npm package shop comes from {folder}/packages/shop "
    )


def _stopped_head(client: TestClient, folder: Path) -> str:
    assert client.post("/api/trust", json={"workspace": str(folder)}).status_code == 200
    body = delivery(baseline=True, workspace=str(folder), validationCommands=["true"])
    return words_of(panel(client, reached(client, begun(client, body), "failed"), "head"))


def test_successful_session_has_no_failure_card(client: TestClient) -> None:
    for session_id in (two_iterations(client), waiting_review(client)):
        assert panel(client, session_id, "failure") == ""
        assert client.get(f"/api/sessions/{session_id}/explain").json()["cause"] is None
