"""The page: content, versions, updates, filters, and the rules for every answer."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from api.app import create_app
from api.http.headers import HEADERS
from api.node.settings import Settings
from api.web.assets import SCRIPT, SHEET
from api.web.session.history import ROWS
from tests.api.seen import BROWSER, Seen, finished, harmless, page, review
from tests.api.server import ended, events, inside, start, system


@pytest.fixture
def idle(tmp_path: Path) -> Iterator[TestClient]:
    """An application without a worker, so sessions stay at their start."""
    settings = Settings(database=f"sqlite:///{tmp_path / 'idle.db'}", read_after_seconds=0.05)
    with TestClient(create_app(settings, work=False), base_url="http://127.0.0.1") as result:
        yield result


# -- one version, one page -------------------------------------------------------------------------------------------


def test_replay_is_unmistakable_and_offers_no_command(client: TestClient) -> None:
    session_id = finished(client, replies={"reviewer": [review("No rate limit")]}, maxIterations=1)
    last = len(events(client, session_id))
    seen = Seen(page(client, f"/sessions/{session_id}?at=5"))
    assert f"as of event 5 of {last}" in " ".join(seen.text.split())
    assert "Read-only." in seen.text
    assert [form for form in seen.all("form") if "data-command" in form] == []
    assert {"data-version": "5", "data-replay": None}.items() <= seen.all("body")[0].items()
    hrefs = [(link.get("rel"), link.get("href")) for link in seen.all("a")]
    assert ("prev", f"/sessions/{session_id}?at=4") in hrefs
    assert ("next", f"/sessions/{session_id}?at=6") in hrefs
    assert (None, f"/sessions/{session_id}") in hrefs


def test_a_session_that_ran_out_of_budget_asks_for_more(client: TestClient) -> None:
    session_id = finished(client, replies={"reviewer": [review("No rate limit")]}, maxIterations=1)
    html = page(client, f"/sessions/{session_id}")
    seen = Seen(html)
    assert "The session needs more budget: no iterations left." in seen.text
    assert [form.get("data-command") for form in seen.all("form") if "data-command" in form] == [
        f"/api/sessions/{session_id}/budget",
        f"/api/sessions/{session_id}/revise",
    ]
    home = page(client, "/")
    assert "Needs you" in home and "The iterations are used up" in home


def test_a_running_session_can_be_followed_cancelled_and_extended(idle: TestClient) -> None:
    session_id = start(idle)
    assert idle.get("/readyz", headers={"Read-After": "1"}).status_code in (200, 503)
    system(idle).follower.catch_up()
    seen = Seen(page(idle, f"/sessions/{session_id}"))
    assert [form["data-command"] for form in seen.all("form") if "data-command" in form] == [
        f"/api/sessions/{session_id}/budget",
        f"/api/sessions/{session_id}/cancel",
    ]
    stream = {"data-follows": session_id, "data-head": "3", "data-version": "3"}
    assert stream.items() <= seen.all("body")[0].items()
    assert "At work: planner (planning)" in seen.text


def test_outdated_views_answer_503(idle: TestClient) -> None:
    session_id = start(idle)
    system(idle).follower.catch_up()
    system(idle).follower.stop()
    assert idle.post(f"/api/sessions/{session_id}/cancel", json={}).status_code == 200
    answer = idle.get(f"/sessions/{session_id}", headers=BROWSER)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert "The views are catching up with the log" in answer.text


# -- the list --------------------------------------------------------------------------------------------------------


def listed(html: str) -> list[str]:
    return re.findall(r'<a href="/sessions/([a-z0-9-]+)', html)


def test_the_list_goes_on_page_by_page(idle: TestClient) -> None:
    ids = [start(idle) for _ in range(27)]
    for session_id in ids:
        assert idle.post(f"/api/sessions/{session_id}/cancel", json={}).status_code == 200
    system(idle).follower.catch_up()
    first = page(idle, "/")
    [older] = re.findall(r'rel="next" href="([^"]+)"', first)
    second = page(idle, older.replace("&amp;", "&"))
    assert listed(first) == ids[:1:-1]
    assert listed(second) == ids[1::-1]
    assert 'rel="next"' not in second and "Newest" in second


def test_the_list_is_filtered_by_a_plain_form(client: TestClient) -> None:
    good = finished(client, task="Mend the basket")
    bad = finished(client, task="Paint the shed", replies={"reviewer": ["no JSON"]})
    assert listed(page(client, "/?kind=&status=&q=")) == [bad, good]
    assert listed(page(client, "/?status=success")) == [good]
    assert listed(page(client, "/?kind=delivery&q=SHED")) == [bad]
    html = page(client, "/?q=nowhere&status=failed")
    assert listed(html) == [] and "No matching sessions." in html
    assert 'value="nowhere"' in html and '<option value="failed" selected>' in html


def test_an_empty_list_says_how_to_begin(idle: TestClient) -> None:
    seen = Seen(page(idle, "/"))
    assert 'hansard init\nhansard run -t "Add a --version flag" --test "pytest -q"' in seen.text
    assert "The scripted example team answers" in seen.text
    assert seen.all("body")[0]["data-follows"] == "*"


def test_a_team_of_ones_own_needs_no_notice(tmp_path: Path) -> None:
    team = tmp_path / "team.toml"
    team.write_text('[[agents]]\nname = "dev"\nroles = ["dev"]\nadapter = "scripted"\n')
    with inside(tmp_path, team=team) as client:
        assert "The scripted example team answers" not in page(client, "/")


# -- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "status", "title"),
    [
        ("/sessions/delivery-none", 404, "Not found"),
        ("/nowhere", 404, "Not found"),
        ("/?kind=poem", 422, "Invalid address"),
        ("/?cursor=!!", 422, "Invalid address"),
        ("/?qq=misspelt", 422, "Invalid address"),
        ("/?lang=de", 422, "Invalid address"),
        ("/sessions/x?at=0", 422, "Invalid address"),
        ("/sessions/x?at=1.5", 422, "Invalid address"),
    ],
)
def test_browsers_get_errors_as_pages_and_programs_as_problems(
    client: TestClient, path: str, status: int, title: str
) -> None:
    answer = client.get(path, headers=BROWSER)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "text/html; charset=utf-8")
    assert harmless(answer.text).all("html") == [{"lang": "en"}]
    assert f'<h1 class="unseen">{title}</h1>' in answer.text
    problem = client.get(path)
    assert (problem.status_code, problem.headers["content-type"]) == (status, "application/problem+json")


def test_a_version_that_is_not_there_yet_is_not_found(client: TestClient) -> None:
    session_id = finished(client)
    last = len(events(client, session_id))
    answer = client.get(f"/sessions/{session_id}?at={last + 1}", headers=BROWSER)
    assert answer.status_code == 404
    assert f"has no version {last + 1}; it is at {last}." in answer.text


@pytest.mark.parametrize("path", ["/api/sessions/delivery-none", "/api/nowhere", "/api/sessions?kind=poem"])
def test_the_api_answers_problems_to_browsers_too(client: TestClient, path: str) -> None:
    answer = client.get(path, headers=BROWSER)
    assert answer.headers["content-type"] == "application/problem+json"


def test_errors_speak_korean(client: TestClient) -> None:
    answer = client.get("/sessions/none", headers=BROWSER | {"Accept-Language": "ko"})
    assert '<h1 class="unseen">찾을 수 없습니다</h1>' in answer.text


# -- rules for every page --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/", "/?lang=ko", "/nowhere", SCRIPT, SHEET])
def test_every_answer_carries_the_policy(client: TestClient, path: str) -> None:
    answer = client.get(path, headers=BROWSER)
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    assert "require-trusted-types-for 'script'; trusted-types hansard" in answer.headers["content-security-policy"]
    assert "unsafe" not in answer.headers["content-security-policy"]


def test_the_script_has_one_sink_and_loads_nothing_from_elsewhere(client: TestClient) -> None:
    script = client.get(SCRIPT).text
    assert script.count("parseFromString(") == 1
    assert script.count('createPolicy("hansard"') == 1
    sinks = (
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|setHTMLUnsafe|srcdoc"
        r"|\.style\b(?!\.setProperty)"
    )
    assert re.findall(sinks, script) == []
    sheet = client.get(SHEET).text
    assert re.findall(r"https?://|@import|url\(", script + sheet) == []


@pytest.mark.nightly
def test_a_page_does_not_grow_with_its_session(client: TestClient) -> None:
    long = "<b>&'\"" * 700
    replies = {"dev": [long], "reviewer": [review(*[long] * 5)]}
    session_id = finished(client, task=long, replies=replies, maxIterations=20, validationCommands=[["true", long]])
    more = {"addIterations": 10, "reason": long[:2_000]}
    assert client.post(f"/api/sessions/{session_id}/budget", json=more).status_code == 200
    ended(client, session_id)
    last = len(events(client, session_id))
    assert last > 500
    html = page(client, f"/sessions/{session_id}?highlights=0")
    assert html.count('<li class="row') == ROWS
    assert f'href="/sessions/{session_id}?at={last - ROWS}&amp;highlights=0"' in html
    assert len(html.encode()) < 400_000
    for tab in ("turns", "changes", "worklog"):
        assert len(page(client, f"/sessions/{session_id}?tab={tab}").encode()) < 600_000
    assert "Shortened. Open the full Markdown." in page(client, f"/sessions/{session_id}?tab=worklog")
