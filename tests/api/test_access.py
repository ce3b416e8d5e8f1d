"""Access with a key, by a one-time sign-in link, or for everyone on this machine with HANSARD_AUTH=off."""

import contextlib
import re
import stat
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path

import httpx2 as httpx
import pytest
from starlette.testclient import TestClient

from adapters.store.location import open_store
from api.app import COMMANDS, FORMS, HOOKS, PAGES, VIEWS
from api.node.owner import account, forge_file, key_for, owner_file
from api.node.settings import Settings
from tests.api.seen import BROWSER
from tests.api.server import Server, delivery, events, inside, serving, start, system, until

OPEN = ("/healthz", "/readyz", "/login")


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    """Without a key."""
    with inside(tmp_path, work=False, auth="key") as result:
        yield result


@pytest.fixture
def owner(client: TestClient) -> dict[str, str]:
    key = owner_file(system(client).settings).read_text().strip()
    return {"Authorization": f"Bearer {key}"}


@pytest.mark.parametrize("path", [path for path, *_ in (*VIEWS, *PAGES)])
def test_without_a_key_nothing_is_shown(client: TestClient, path: str) -> None:
    filled = re.sub(r"\{\w+\}", "x", path)
    answer = client.get(filled, follow_redirects=False)
    open_to_all = filled in OPEN or filled.startswith("/assets/")
    assert (answer.status_code != 401) == open_to_all


@pytest.mark.parametrize("path", [path for path, *_ in (*COMMANDS, *FORMS) if path != "/login"])
def test_without_a_key_nothing_is_done(client: TestClient, path: str) -> None:
    answer = client.post(re.sub(r"\{\w+\}", "x", path), json={})
    assert answer.status_code == 401
    assert system(client).store.head() == 0


@pytest.mark.parametrize("path", [path for path, *_ in HOOKS])
def test_a_forge_needs_its_secret_and_no_key(client: TestClient, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    assert client.post(path, json={}).status_code == 404, "there is no secret"
    forge_file(system(client).settings).write_text('secret = "env:HOOK_SECRET"\n')
    monkeypatch.setenv("HOOK_SECRET", "tell-nobody")
    answers = [
        client.post(path, json={}, headers=headers)
        for headers in ({}, {"X-Gitlab-Token": "tell"}, {"X-Gitlab-Token": "tell-nobody"})
    ]
    assert [answer.status_code for answer in answers] == [401, 401, 202]
    assert {answer.content for answer in answers} == {b""}
    assert client.get(path).status_code == 405


def test_readiness_needs_no_key_and_shows_no_details(client: TestClient, owner: dict[str, str]) -> None:
    assert (client.get("/readyz").status_code, client.get("/readyz").content) == (200, b"")
    assert client.get("/readyz", headers=owner).json()["status"] == "ready"


def test_a_browser_is_shown_the_sign_in_page(client: TestClient) -> None:
    answer = client.get("/", headers=BROWSER)
    assert (answer.status_code, 'name="apiKey"' in answer.text) == (401, True)


def test_the_first_start_makes_a_key_for_the_owner_only(client: TestClient, owner: dict[str, str]) -> None:
    path = owner_file(system(client).settings)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    session_id = start(client, delivery(), **owner)
    client.headers.update(owner)
    assert {event["actor"] for event in events(client, session_id)} == {f"person:{account()}"}


def test_the_owners_key_stays_the_same_until_it_is_revoked(tmp_path: Path) -> None:
    keys = []
    for _ in range(2):
        with inside(tmp_path, work=False, auth="key") as client:
            keys.append(owner_file(system(client).settings).read_text().strip())
            ours = {"Authorization": f"Bearer {keys[-1]}"}
            assert client.get("/api/sessions", headers=ours).status_code == 200
            if len(keys) == 2:
                vault = system(client).store.vault
                assert vault is not None and vault.remove(account())
                until(partial(_refused, client, ours), what="a 401")
    assert keys[0] == keys[1]
    with inside(tmp_path, work=False, auth="key") as client:
        new = owner_file(system(client).settings).read_text().strip()
        assert new != keys[0]
        assert client.get("/api/sessions", headers={"Authorization": f"Bearer {new}"}).status_code == 200


def _refused(client: TestClient, headers: dict[str, str]) -> bool:
    return client.get("/api/sessions", headers=headers).status_code == 401


def test_a_lost_file_makes_a_new_owners_key(tmp_path: Path) -> None:
    """As when the log was restored on another machine."""
    with inside(tmp_path, work=False, auth="key") as client:
        path = owner_file(system(client).settings)
        lost = path.read_text().strip()
        path.unlink()
    with inside(tmp_path, work=False, auth="key") as client:
        for key, status in ((lost, 401), (path.read_text().strip(), 200)):
            assert client.get("/api/sessions", headers={"Authorization": f"Bearer {key}"}).status_code == status


def test_a_link_signs_in_once(client: TestClient) -> None:
    logins = system(client).logins
    assert logins is not None
    token = logins.link(account())
    for _ in range(2):
        preview = client.head("/login", params={"once": token}, headers=BROWSER, follow_redirects=False)
        assert (preview.status_code, "set-cookie" in preview.headers) == (200, False)
    first = client.get("/login", params={"once": token}, headers=BROWSER, follow_redirects=False)
    assert (first.status_code, first.headers["location"]) == (303, "/")
    assert client.get("/", headers=BROWSER).status_code == 200
    client.cookies.clear()
    again = client.get("/login", params={"once": token}, headers=BROWSER, follow_redirects=False)
    assert (again.status_code, "set-cookie" in again.headers) == (401, False)
    assert "This sign-in link has expired or was used before." in again.text


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Sec-Purpose": "prefetch;prerender"}, 503),
        ({"Purpose": "prefetch"}, 503),
        ({"Sec-Fetch-Mode": "no-cors"}, 200),
        ({"User-Agent": "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)"}, 200),
        ({"User-Agent": "facebookexternalhit/1.1"}, 200),
        ({"User-Agent": "WhatsApp/2.23.20.0"}, 200),
        ({"User-Agent": "Mozilla/5.0 (Windows NT 6.1) SkypeUriPreview Preview/0.5"}, 200),
    ],
)
def test_a_look_ahead_uses_up_no_link(client: TestClient, headers: dict[str, str], status: int) -> None:
    logins = system(client).logins
    assert logins is not None
    link = {"once": logins.link(account())}
    early = client.get("/login", params=link, headers=BROWSER | headers, follow_redirects=False)
    assert (early.status_code, "set-cookie" in early.headers) == (status, False)
    assert client.get("/login", params=link, headers=BROWSER, follow_redirects=False).status_code == 303


def test_the_server_prints_a_link_that_opens_the_page_signed_in(tmp_path: Path) -> None:
    with serving(tmp_path, auth="key") as server:
        assert server.client.get("/api/sessions").status_code == 401
        match = re.search(r"http://\S+/login\?once=\S+", server.log.read_text())
        assert match is not None
        assert server.client.get(match[0], headers=BROWSER, follow_redirects=True).status_code == 200
        assert server.client.get("/api/sessions").status_code == 200


def test_the_owners_key_is_shown_to_servers_of_this_machine_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HANSARD_API_KEY", raising=False)
    elsewhere = Settings(database=f"sqlite:///{tmp_path / 'other.db'}")
    with serving(tmp_path, auth="key") as server:
        key = key_for(server.url, elsewhere)
        assert server.client.get("/api/sessions", headers={"Authorization": f"Bearer {key}"}).status_code == 200
        assert key_for(f"http://example.com:{server.port}", elsewhere) == ""
        server.stop()
    assert key_for(server.url, elsewhere) == ""


def test_without_keys_all_actors_are_unauthenticated(tmp_path: Path) -> None:
    server = Server(tmp_path, auth="off")
    try:
        server.start()
        session_id = start(server.client, delivery())
        assert events(server.client, session_id)[0]["actor"] == "unauthenticated"
        assert "HANSARD_AUTH=off" in server.log.read_text()
    finally:
        server.leave()


@pytest.mark.alone
def test_a_revoked_key_ends_its_streams_within_a_second(tmp_path: Path) -> None:
    with serving(tmp_path, auth="key") as server:
        path = server.data / "keys" / "owner.key"
        ours = {"Authorization": f"Bearer {path.read_text().strip()}", "Accept": "text/event-stream"}
        began = 0.0
        with (
            contextlib.suppress(httpx.RemoteProtocolError),
            server.client.stream("GET", "/api/events", headers=ours) as stream,
        ):
            assert stream.status_code == 200
            for _ in stream.iter_bytes():
                if not began:
                    with closing(open_store(f"sqlite:///{server.database}")) as store:
                        assert store.vault is not None and store.vault.remove(account())
                    began = time.monotonic()
                assert time.monotonic() - began < 10, "the stream does not end"
        assert 0 < time.monotonic() - began < 2
        assert server.client.get("/api/events", headers=ours).status_code == 401


def test_a_claim_that_waits_ends_with_its_key(tmp_path: Path) -> None:
    with serving(tmp_path, auth="key") as server:
        ours = {"Authorization": f"Bearer {(server.data / 'keys' / 'owner.key').read_text().strip()}"}
        with ThreadPoolExecutor(1) as pool:
            began = time.monotonic()
            waiting = pool.submit(
                httpx.post, f"{server.url}/api/turns/claim", json={"waitSeconds": 25}, headers=ours, timeout=30
            )
            while "hansard_claims_waiting 1" not in server.client.get("/metrics", headers=ours).text:
                assert not waiting.done()
            with closing(open_store(f"sqlite:///{server.database}")) as store:
                assert store.vault is not None and store.vault.remove(account())
            assert waiting.result().status_code == 401
            assert time.monotonic() - began < 20


def test_port_note_of_a_killed_server_keeps_its_key_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HANSARD_API_KEY", raising=False)
    elsewhere = Settings(database=f"sqlite:///{tmp_path / 'other.db'}")
    with serving(tmp_path, auth="key") as server:
        server.kill()
        assert key_for(server.url, elsewhere) == ""
        server.start()
        result = {"Authorization": f"Bearer {key_for(server.url, elsewhere)}"}
        assert server.client.get("/api/sessions", headers=result).status_code == 200
