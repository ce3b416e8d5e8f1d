"""The inbox filtered by owner and repository, with the keys of two people."""

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.api.orchestrating import message
from tests.api.scenes import begun, reached
from tests.api.seen import BROWSER, Seen
from tests.api.server import delivery, inside, until

PEOPLE = ("ada", "ben")
ASKS = {"permission": {"title": "rm -rf build"}, "ifDenied": "Without it.", "text": "With it."}


def of(name: str) -> dict[str, str]:
    return {"Authorization": f"Bearer key of {name}"}


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    lines = [f"{name}:{hashlib.sha256(f'key of {name}'.encode()).hexdigest()}:admin" for name in PEOPLE]
    (tmp_path / "keys").write_text("\n".join(lines))
    with inside(tmp_path, api_keys_file=tmp_path / "keys") as result:
        result.headers.update(of("ada"))
        yield result


def spent(client: TestClient, who: str, folder: Path) -> str:
    """A delivery of theirs in that folder, without budget."""
    folder.mkdir(exist_ok=True)
    client.headers.update(of(who))
    body = delivery(maxIterations=1, validationCommands=["false"], workspace=str(folder))
    session_id = reached(client, begun(client, body), "failed")
    client.headers.update(of("ada"))
    return session_id


def listed(client: TestClient, **query: str) -> list[str]:
    return [item["sessionId"] for item in client.get("/api/decisions", params=query).json()["items"]]


def test_a_session_names_its_owner_and_repository_as_lists_do(client: TestClient, tmp_path: Path) -> None:
    theirs = spent(client, "ben", tmp_path / "tariff")
    body = {"kind": "orchestration", "prompt": "Plan it", "triage": "orchestrate", "planReview": {"enabled": True}}
    plan = json.dumps({"subtasks": [{"agent": "Backend", "role": "custom", "task": "Do it"}]})
    team = {"employees": [{"name": "Backend", "role": "custom"}], "scenario": {"replies": {"planner": [plan]}}}
    client.headers.update(of("ben"))
    parent = begun(client, body | team)
    client.headers.update(of("ada"))
    until(lambda: listed(client, needs="decision"), what="the debate about the plan")
    fork = client.post(f"/api/sessions/{theirs}/fork", json={"atVersion": 3, "mode": "stop"}).json()
    forked = fork["sessionId"]
    rows = client.get("/api/sessions", headers={"Read-After": str(fork["position"])}).json()["items"]
    items = {item["id"]: item for item in rows}
    child = items[parent]["children"][0]
    where = str(tmp_path / "tariff")
    owners = {theirs: ("person:ben", where), parent: ("person:ben", None), child: ("person:ben", None)}
    for session_id, expected in (owners | {forked: ("person:ada", where)}).items():
        session = client.get(f"/api/sessions/{session_id}").json()["session"]
        assert (session["owner"], session["repository"]) == expected
        assert (items[session_id]["owner"], items[session_id]["repository"]) == expected


def test_inbox_filters_by_owner_and_repository(client: TestClient, tmp_path: Path) -> None:
    tariff, shop = tmp_path / "tariff", tmp_path / "shop"
    first, second, third = spent(client, "ada", tariff), spent(client, "ben", tariff), spent(client, "ben", shop)
    client.headers.update(of("ben"))
    asking = begun(client, delivery({"planner": [ASKS]}, workspace=str(shop)))
    client.headers.update(of("ada"))
    until(lambda: asking in listed(client), what="the question of an agent")
    assert set(listed(client)) == {first, second, third, asking}
    assert set(listed(client, owner="ada")) == {first} == set(listed(client, owner="person:ada"))
    assert set(listed(client, owner="ben")) == {second, third, asking}
    assert set(listed(client, owner="ben", repository=str(shop))) == {third, asking}
    assert set(listed(client, owner="ben", repository=str(shop), needs="permission")) == {asking}
    assert listed(client, owner="eve") == []


def test_inbox_page_filters_counts_and_links_names_to_filters(client: TestClient, tmp_path: Path) -> None:
    first, second = spent(client, "ada", tmp_path / "tariff"), spent(client, "ben", tmp_path / "shop")
    html = client.get("/decisions", headers=BROWSER).text
    assert first in html and second in html and "All 2" not in Seen(html).text
    assert 'href="/decisions?owner=ben"' in html
    assert re.search(r'href="/decisions\?repository=[^"]+shop" title="[^"]+/shop">shop<', html)
    theirs = client.get("/decisions?owner=ben", headers=BROWSER).text
    text = " ".join(Seen(theirs).text.split())
    assert second in theirs and first not in theirs and "All 1 Budget 1 ben ✕" in text
    assert 'href="/decisions?owner=ben&amp;needs=budget"' in theirs
    assert 'href="/decisions?owner=ada"' in client.get("/", headers=BROWSER).text


def test_conversation_names_its_authors(client: TestClient) -> None:
    client.headers.update(of("ben"))
    answer = client.post("/api/message", json=message("What is this?", {"assistant": ["A shop."]}, origin="shop"))
    reached(client, answer.json()["sessionId"], "done")
    text = " ".join(Seen(client.get("/chat/shop", headers=BROWSER).text).text.split())
    assert re.search(r"ben \S+ \S+ UTC What is this\? Team \S+ \S+ UTC A shop\.", text), text
