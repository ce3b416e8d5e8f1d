"""The whole output of a validation line by line, and why a session is in its state."""

import re

from starlette.testclient import TestClient

from tests.api.scenes import SCENES, begun, reached, two_iterations
from tests.api.seen import BROWSER, page
from tests.api.server import delivery
from tests.api.test_session_page import client, panel, words_of

__all__ = ["client"]

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
    found = words_of(page(client, f"{address}&q=ASSERT"))
    assert "2 lines found: 1 3" in found
    assert "0 lines found:" in words_of(page(client, f"{address}&q=nothing+like+it"))


def test_output_that_is_not_there_is_refused(client: TestClient) -> None:
    session_id = two_iterations(client)
    for query, status in (("", 422), ("?at=1&field=nonsense", 404), ("?at=999", 404), (f"?at=1&q={'x' * 201}", 422)):
        assert client.get(f"/sessions/{session_id}/log{query}", headers=BROWSER).status_code == status


def test_why_names_what_stopped_it_and_the_commands_before(client: TestClient) -> None:
    session_id = output(client).split("/")[2]
    text = words_of(page(client, f"/sessions/{session_id}/why"))
    assert "What stopped it" in text and "assert 301 == 200" in text
    assert "Started validation" in text and "Validation failed" in text
    assert "What stopped it" not in words_of(page(client, f"/sessions/{session_id}/why?at=5"))
    assert "멈춘 원인" in page(client, f"/sessions/{session_id}/why?lang=ko")


def test_every_kind_says_why(client: TestClient) -> None:
    for scene in SCENES.values():
        assert "The chain of causes" in page(client, f"/sessions/{scene(client)}/why")
    assert client.get("/sessions/delivery-0000000000/why", headers=BROWSER).status_code == 404
