"""The list of findings over HTTP, at the terminal and on the page."""

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from tests.api.scenes import SCENES, two_iterations, waiting_debate, waiting_review
from tests.api.seen import page
from tests.api.server import Json, inside, session
from tests.api.test_comments_page import form_of
from tests.api.test_matter import FORGED, reviewed
from tests.api.test_page_forms import send
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
    assert 'data-at="' not in html.partition('data-part="findings"')[2].partition('data-part="reviews"')[0]
    assert "No <b>limit" in text or "No &lt;b&gt;limit" in text
    assert "A look by another reviewer would confirm it" in text
    korean = page(client, f"/sessions/{two_iterations(client)}?tab=findings&lang=ko")
    assert "다른 리뷰어가 보면 확실해집니다" in korean


def listed(client: TestClient, session_id: str, **query: str) -> str:
    """The panel of findings."""
    more = "".join(f"&{name}={value}" for name, value in query.items())
    html = page(client, f"/sessions/{session_id}?tab=findings{more}")
    return html.partition('data-part="findings"')[2].partition('data-part="reviews"')[0]


@pytest.fixture
def remarked(client: TestClient) -> str:
    """A delivery with a finding of its reviewer and a person's comment on a line."""
    session_id = two_iterations(client, "No rate limit")
    body = {"text": "Rename this.", "path": "src/login.py", "line": 1}
    assert client.post(f"/api/sessions/{session_id}/comments", json=body).status_code == 201
    return session_id


def test_the_list_is_ordered_by_file_and_by_round(client: TestClient, remarked: str) -> None:
    by_file = words_of(listed(client, remarked, by="file"))
    places = [by_file.index(each) for each in ("src/login.py 1", "Rename this.", "No single file 1", "No rate limit")]
    assert places == sorted(places)
    by_round = words_of(listed(client, remarked, by="round"))
    places = [by_round.index(each) for each in ("Iteration 1 1", "No rate limit", "Iteration 2 1", "Rename this.")]
    assert places == sorted(places)
    assert client.get(f"/sessions/{remarked}?tab=findings&by=size").status_code == 422


def test_a_comment_is_settled_and_insisted_on_in_the_list(client: TestClient, remarked: str) -> None:
    html = page(client, f"/sessions/{remarked}?tab=findings&by=round")
    answer = send(client, form_of(html, "comment", 'name="part" value="c1"'), status="resolved", reason="Fine.")
    assert answer.status_code == 303 and answer.headers["Location"].endswith("?tab=findings&by=round")
    html = page(client, f"/sessions/{remarked}?tab=findings")
    refused = send(client, form_of(html, "comment", 'name="part" value="c1"'), status="open", reason="")
    assert refused.status_code == 422
    assert 'id="reason-c1-again"' in refused.text and 'aria-describedby="reason-c1-again-error"' in refused.text
    send(client, form_of(html, "comment", 'name="part" value="c1"'), status="open", reason="The old name is there.")
    assert client.get(f"/api/sessions/{remarked}/comments").json()["items"][0]["status"] == "open"


def test_a_finding_leads_to_its_change_and_to_the_prompt_of_who_found_it(client: TestClient) -> None:
    session_id = two_iterations(client, "No rate limit")
    turns = client.get(f"/api/sessions/{session_id}/turns").json()["items"]
    found, mended = ([each for each in turns if each["agent"] == who] for who in ("reviewer", "dev"))
    html = listed(client, session_id)
    assert f'href="/sessions/{session_id}/turns/{found[0]["turnId"]}"' in html
    assert f'href="/sessions/{session_id}?tab=changes&amp;turnId={mended[1]["turnId"]}"' in html


def test_a_verdict_is_its_list_of_findings_in_turns_with_its_json_folded(client: TestClient) -> None:
    session_id = two_iterations(client, "No rate limit")
    turns = client.get(f"/api/sessions/{session_id}/turns").json()["items"]
    first, second = (each["turnId"] for each in turns if each["agent"] == "reviewer")
    html = page(client, f"/sessions/{session_id}/turns/{first}")
    words, folded = html.partition("<h3>Reply</h3>")[2].partition('id="verdict-written"')[::2]
    assert '<li class="finding' in words and "blockingIssues" not in words and "blockingIssues" in folded
    assert "It objected to nothing." in page(client, f"/sessions/{session_id}/turns/{second}")


def test_the_card_of_a_decision_has_the_same_list(client: TestClient) -> None:
    parent, child = reviewed(client)
    for name in (parent, child):
        card = page(client, f"/sessions/{name}").partition('class="matter')[2].partition('class="deciding"')[0]
        assert '<li class="finding' in card and FORGED in words_of(card) and "raised R1 reviewer" in words_of(card)
        assert f'href="/sessions/{child}/event?at=' in card
    assert page(client, f"/sessions/{parent}").count('<ul class="points"><li><b class="severity') == 0
