"""The list of findings over HTTP, at the terminal and on the page."""

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from tests.api.scenes import SCENES, two_iterations, waiting_debate, waiting_review
from tests.api.seen import page
from tests.api.server import Json, inside, session
from tests.api.test_session_page import words_of


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with inside(tmp_path_factory.mktemp("findings")) as result:
        yield result


def findings(client: TestClient, session_id: str, **query: int) -> Json:
    answer = client.get(f"/api/sessions/{session_id}/findings", params=query)
    assert answer.status_code == 200, answer.text
    result: Json = answer.json()
    return result


def test_a_delivery_has_its_blocking_issues_with_their_life(client: TestClient) -> None:
    session_id = two_iterations(client, "No rate limit in `login`")
    answer = findings(client, session_id)
    [item] = answer["items"]
    assert (item["finding"], item["kind"], item["title"]) == ("F1", "blocking", "No rate limit in `login`")
    assert [event["act"] for event in item["life"]] == ["raised", "claimed", "not_repeated"]
    assert (item["state"], item["open"], item["origin"]) == ("claimed", True, "unplaced")
    assert [look["blocking"] for look in answer["rounds"]] == [1, 0]
    assert answer["policy"] == "findings@1" and answer["recommendation"] == "confirm"
    assert all(reason["version"] for reason in item["because"])


def test_it_is_a_function_of_the_version(client: TestClient) -> None:
    session_id = two_iterations(client)
    last = session(client, session_id)["version"]
    assert findings(client, session_id, version=last) == findings(client, session_id)
    assert findings(client, session_id, version=1)["items"] == []


def test_comments_are_in_the_list(client: TestClient) -> None:
    session_id = two_iterations(client)
    made = client.post(
        f"/api/sessions/{session_id}/comments", json={"text": "Rename this.", "path": "src/login.py", "line": 1}
    )
    assert made.status_code == 201, made.text
    item = findings(client, session_id)["items"][-1]
    assert (item["finding"], item["kind"], item["state"], item["path"], item["line"]) == (
        *("c1", "comment", "open"),
        *("src/login.py", 1),
    )
    client.post(f"/api/sessions/{session_id}/comments/c1", json={"status": "resolved"})
    item = findings(client, session_id)["items"][-1]
    assert (item["status"], item["state"], item["open"]) == ("resolved", "fixed", False)
    assert [event["act"] for event in item["life"]] == ["raised", "settled"]


def test_reviews_and_debates_have_their_points(client: TestClient) -> None:
    for waiting in (waiting_review, waiting_debate):
        answer = findings(client, waiting(client))
        assert answer["items"] and answer["rounds"]
        assert {item["source"] for item in answer["items"]} == {"discussion"}


@pytest.mark.parametrize("scene", sorted(SCENES))
def test_every_kind_has_the_tab_and_the_old_address_leads_there(client: TestClient, scene: str) -> None:
    session_id = SCENES[scene](client)
    html = page(client, f"/sessions/{session_id}?tab=findings")
    assert 'data-part="findings"' in html
    assert page(client, f"/sessions/{session_id}?tab=discussion").count('data-tab="findings"') == 1


def test_the_tab_shows_row_life_and_advice(client: TestClient) -> None:
    html = page(client, f"/sessions/{two_iterations(client, 'No <b>limit')}?tab=findings")
    assert "<b>limit" not in html
    text = words_of(html)
    assert "No <b>limit" in text or "No &lt;b&gt;limit" in text
    assert "A look by another reviewer would confirm it" in text
    korean = page(client, f"/sessions/{two_iterations(client)}?tab=findings&lang=ko")
    assert "다른 리뷰어가 보면 확실해집니다" in korean
