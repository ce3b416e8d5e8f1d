"""`/compare`: two sessions side by side, and forks with a changed answer or setting."""

import re

from starlette.testclient import TestClient

from tests.api.scenes import asking, begun, held_fork, reached, two_iterations, waiting_review
from tests.api.seen import BROWSER, Seen, page
from tests.api.server import delivery
from tests.api.test_session_page import words_of


def test_sessions_are_compared_from_their_first_difference_on(client: TestClient) -> None:
    a, b = two_iterations(client, "one"), two_iterations(client, "two")
    html = page(client, f"/compare?a={a}&b={b}")
    text = words_of(html)
    assert re.search(r"[1-9]\d* events are the same First difference", text) or "First difference" in text
    assert "iterations or rounds 2 2 0" in text and "turns" in text
    assert 'class="is-different"' in html
    assert f"<title>Compare: {a} · {b} · Hansard</title>" in html


def test_events_with_the_same_words_name_what_differs(client: TestClient) -> None:
    one, other = (
        reached(client, begun(client, delivery(maxIterations=most, validationCommands=["true"])), "success")
        for most in (2, 3)
    )
    html = page(client, f"/compare?a={one}&b={other}")
    rows = [words_of(row) for row in re.findall(r'<tr class="is-different">.*?</tr>', html, re.DOTALL)]
    [started] = [row for row in rows if "Started planning" in row]
    assert started.endswith("Started planning · differs in: iterations left")
    assert "다른 항목: 남은 반복" in words_of(page(client, f"/compare?a={one}&b={other}&lang=ko"))


def test_a_session_is_the_same_as_itself(client: TestClient) -> None:
    a = two_iterations(client)
    text = words_of(page(client, f"/compare?a={a}&b={a}"))
    assert "There is no difference." in text
    assert "First difference" in words_of(page(client, f"/compare?a={a}&b={a}&atB=5"))


def test_unknown_sessions_are_not_found(client: TestClient) -> None:
    a = two_iterations(client)
    for query in (f"a={a}&b=delivery-0000000000", "a=nonsense&b=nonsense", f"a=x&b={a}"):
        assert client.get(f"/compare?{query}", headers=BROWSER).status_code == 404
    assert client.get(f"/compare?a={a}&b={a}&atA=9999", headers=BROWSER).status_code == 404
    assert client.get("/compare", headers=BROWSER).status_code == 200


def test_forks_are_listed_with_their_source(client: TestClient) -> None:
    a = two_iterations(client)
    fork = held_fork(client, a)
    for one in (a, fork):
        text = words_of(page(client, f"/compare?a={one}"))
        assert f"{a} " in text and fork in text


def test_a_review_that_asks_for_fixes_offers_the_delivery_that_applies_it(client: TestClient) -> None:
    review = waiting_review(client, "rounds the wrong way")
    assert client.get(f"/?start=delivery&fixes={review}", headers=BROWSER).status_code == 422
    assert "fixes=" not in page(client, f"/sessions/{review}")
    body = {"decision": "apply_fix"}
    assert client.post(f"/api/sessions/{review}/decision", json=body).status_code == 200
    address = f"/?start=delivery&amp;fixes={review}#start"
    assert f'href="{address}"' in page(client, f"/sessions/{review}")
    [task] = [
        item
        for item in Seen(page(client, f"/?start=delivery&fixes={review}")).all("textarea")
        if item["id"] == "delivery-task"
    ]
    assert "Fix what the review found." in page(client, f"/?start=delivery&fixes={review}") and task


def test_comparison_shows_common_hash_and_fork_events(client: TestClient) -> None:
    a = two_iterations(client)
    fork = held_fork(client, a)
    text = words_of(page(client, f"/compare?a={a}&b={fork}"))
    assert re.search(r"[1-9]\d* events? are the same · Hash [0-9a-f]{4}…[0-9a-f]{4}", text), text
    named = re.search(rf"{fork} at event \d+", text)
    assert named is not None and named[0] in words_of(page(client, f"/sessions/{a}"))


def test_permission_request_waits_for_a_person(client: TestClient) -> None:
    asks = asking(client)
    html = page(client, f"/sessions/{asks}")
    assert "<title>? Add a login page" in html and "? Asks permission" in words_of(html)
