"""`/lab`: recorded discussions under other thresholds, as a page that works without a script."""

import re

from starlette.testclient import TestClient

from tests.api.scenes import two_iterations, waiting_debate, waiting_review
from tests.api.seen import BROWSER, page
from tests.api.server import events
from tests.api.test_session_page import words_of


def test_other_thresholds_end_a_discussion_elsewhere_and_write_nothing(client: TestClient) -> None:
    review = waiting_review(client)
    before = len(events(client, review))
    text = words_of(page(client, f"/lab?session={review}"))
    assert "as recorded round limit reached, Round 3" in text and "with these rules round limit reached" in text
    lax = page(client, f"/lab?session={review}&agreement=0&stability=0")
    assert "with these rules converged, Round 3" in words_of(lax) and "would end here" in lax
    assert "0 would end differently" in words_of(lax)
    assert len(events(client, review)) == before


def test_the_lab_opens_with_the_newest_discussion_and_leads_to_the_others(client: TestClient) -> None:
    assert "No discussion has been recorded yet." in page(client, "/lab")
    first, second = waiting_review(client, "first"), waiting_debate(client, "second")
    html = page(client, "/lab")
    assert f'<option value="{second}" selected>' in html and f'<option value="{first}">' in html
    assert re.search(rf'href="/lab\?session={first}', page(client, f"/lab?session={first}"))


def test_lab_refuses_sessions_and_thresholds_it_cannot_judge(client: TestClient) -> None:
    delivery = two_iterations(client)
    assert client.get(f"/lab?session={delivery}", headers=BROWSER).status_code == 404
    assert client.get("/lab?session=review-0000000000", headers=BROWSER).status_code == 404
    review = waiting_review(client)
    for wrong in ("101", "-1", "x", "1.5", "99999999999999999999"):
        assert client.get(f"/lab?session={review}&agreement={wrong}", headers=BROWSER).status_code == 422
