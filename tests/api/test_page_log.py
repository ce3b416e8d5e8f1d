"""The whole output of a validation line by line, and why a session is in its state."""

import re

from starlette.testclient import TestClient

from tests.api.scenes import SCENES, begun, reached, two_iterations
from tests.api.seen import BROWSER, page
from tests.api.server import delivery, events
from tests.api.test_damage import harmed
from tests.api.test_session_page import panel, words_of

FAILING = ["sh -c 'echo one; printf \"\\033[31mE   assert 301 == 200\\033[0m\\n\"; exit 3'"]


def output(client: TestClient) -> str:
    """The address of the output that stopped a delivery."""
    session_id = begun(client, delivery(maxIterations=1, validationCommands=FAILING))
    reached(client, session_id, "failed")
    [address] = re.findall(r'href="(/sessions/[^"]+/log\?[^"]+)"', panel(client, session_id, "failure"))
    return str(address).replace("&amp;", "&")


def test_output_has_numbered_lines_that_can_be_linked_and_searched(client: TestClient) -> None:
    address = output(client)
    html = page(client, address)
    assert '<li id="L2" class="">' in html and 'href="#L3"' in html
    assert 'id="L3" class="is-bad"' in html and "E   assert 301 == 200</code>" in html
    assert "errors in lines 3" in words_of(html)
    text = words_of(page(client, f"{address}&q=ASSERT"))
    assert "2 lines found: 1 3" in text
    assert "0 lines found:" in words_of(page(client, f"{address}&q=nothing+like+it"))


def test_output_that_is_not_there_is_refused(client: TestClient) -> None:
    session_id = two_iterations(client)
    for query, status in (("", 422), ("?at=1&field=nonsense", 404), ("?at=999", 404), (f"?at=1&q={'x' * 201}", 422)):
        assert client.get(f"/sessions/{session_id}/log{query}", headers=BROWSER).status_code == status


def test_why_page_names_the_cause_and_earlier_commands(client: TestClient) -> None:
    session_id = output(client).split("/")[2]
    text = words_of(page(client, f"/sessions/{session_id}/why"))
    assert "What stopped it" in text and "assert 301 == 200" in text
    assert "Started validation" in text and "Validation failed" in text
    assert "What stopped it" not in words_of(page(client, f"/sessions/{session_id}/why?at=5"))
    assert "멈춘 이유" in page(client, f"/sessions/{session_id}/why?lang=ko")


def test_every_kind_says_why(client: TestClient) -> None:
    for scene in SCENES.values():
        assert "The chain of causes" in page(client, f"/sessions/{scene(client)}/why")
    assert client.get("/sessions/delivery-0000000000/why", headers=BROWSER).status_code == 404


def test_why_page_lists_commands_and_reasons_against_them(client: TestClient) -> None:
    done = words_of(page(client, f"/sessions/{two_iterations(client)}/why"))
    assert "– Cancel A delivery in the state success cannot be cancelled." in done
    waits = words_of(page(client, f"/sessions/{SCENES['review'](client)}/why"))
    assert (
        "✓ Decide possible now" in waits and "– Retry A review in the state waiting_for_decision has no turn" in waits
    )
    korean = words_of(page(client, f"/sessions/{two_iterations(client)}/why?lang=ko"))
    assert "– 취소 구현 작업 세션은" in korean and "상태에서 취소할 수 없습니다." in korean


def test_the_record_of_a_session_can_be_checked_on_its_page(client: TestClient) -> None:
    session_id = two_iterations(client)
    assert "No event was changed" not in words_of(page(client, f"/sessions/{session_id}/why"))
    assert "No event was changed or removed." in words_of(page(client, f"/sessions/{session_id}/why?check=1"))
    [fourth] = [event["position"] for event in events(client, session_id) if event["version"] == 4]
    harmed(
        client,
        f"UPDATE events SET state = CAST(replace(plain(state), 'planner', 'nobody') AS BLOB) WHERE position = {fourth}",
    )
    assert "Changed or missing from event 4" in words_of(page(client, f"/sessions/{session_id}/why?check=1"))


def test_an_event_has_an_address_with_its_fields_its_cause_and_its_hash(client: TestClient) -> None:
    session_id = two_iterations(client)
    text = words_of(page(client, f"/sessions/{session_id}/event?at=3"))
    assert "turn.requested" in text and "deadline" in text and "Hash" in text
    answer = client.get(f"/sessions/{session_id}/event?at=3", headers={"Accept": "application/json"})
    assert answer.json()["html"].startswith('<dl class="payload">')
    for query, status in (("", 422), ("?at=999", 404)):
        assert client.get(f"/sessions/{session_id}/event{query}", headers=BROWSER).status_code == status
