"""On a server with keys, a browser signs in with a key and gets a cookie."""

import hashlib
import re
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from starlette.testclient import TestClient

from adapters.store.keys import StoredKey
from api.node.access import GUESSES, Guesses, Keys, Logins, keys_in
from api.node.frames import Interest
from api.node.hub import Hub, Reader
from api.web.assets import SHEET
from tests.api.seen import BROWSER, Seen
from tests.api.server import delivery, events, inside, start, system, until

KEY = "hansard_alice-s-own"
FORM = BROWSER | {"Sec-Fetch-Site": "same-origin"}


def kept(path: Path, **keys: str) -> Path:
    path.write_text("".join(f"{name}:{hashlib.sha256(key.encode()).hexdigest()}\n" for name, key in keys.items()))
    return path


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    return kept(tmp_path / "keys", alice=KEY)


@pytest.fixture
def client(tmp_path: Path, keys: Path) -> Iterator[TestClient]:
    with inside(tmp_path, work=False, api_keys_file=keys) as result:
        yield result


def sign_in(client: TestClient, key: str = KEY, back: str = "/", **headers: str) -> httpx.Response:
    sent = {"apiKey": key, "back": back}
    return client.post("/login", data=sent, headers=FORM | headers, follow_redirects=False)


def test_a_page_asks_for_a_key_and_goes_back_to_where_it_was_wanted(client: TestClient) -> None:
    asked = client.get("/?q=a%20b&lang=ko", headers=BROWSER)
    assert asked.status_code == 401
    assert 'value="/?q=a%20b&amp;lang=ko"' in asked.text
    assert "API 키" in asked.text
    assert ("form", {"method": "post", "action": "/login?lang=ko"}) in Seen(asked.text).elements
    answer = sign_in(client, back="/?q=a%20b&lang=ko")
    assert (answer.status_code, answer.headers["location"]) == (303, "/?q=a%20b&lang=ko")
    assert client.get("/", headers=BROWSER).status_code == 200
    assert "alice" in client.get("/login", headers=BROWSER).text


def test_the_account_says_what_its_key_may_and_until_when(client: TestClient) -> None:
    sign_in(client)
    text = " ".join(Seen(client.get("/login", headers=BROWSER).text).text.split())
    assert "This key maydo everything (admin)" in text
    assert "The key expiresnever" in text and re.search(r"Signed in until\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", text)


def test_browser_actions_are_recorded_under_the_owner(client: TestClient) -> None:
    sign_in(client)
    session_id = start(client, delivery())
    assert {event["actor"] for event in events(client, session_id)} == {"person:alice"}


def test_the_cookie_is_for_the_browser_alone_and_for_its_own_site(client: TestClient) -> None:
    cookie = sign_in(client).headers["set-cookie"]
    assert re.fullmatch(r"hansard_[0-9a-f]{8}=[\w.-]+; HttpOnly; Max-Age=604800; Path=/; SameSite=strict", cookie), (
        cookie
    )
    assert KEY not in cookie
    with_tls = client.post("https://localhost/login", data={"apiKey": KEY}, headers=FORM, follow_redirects=False)
    assert with_tls.headers["set-cookie"].endswith("; Secure")


def test_a_key_that_is_not_known_is_refused_on_the_page(client: TestClient) -> None:
    for key in ("", "wrong", "alice", hashlib.sha256(KEY.encode()).hexdigest()):
        refused = sign_in(client, key)
        assert refused.status_code == 401
        assert "Unknown API key." in refused.text
        assert "set-cookie" not in refused.headers
    assert client.get("/", headers=BROWSER).status_code == 401


@pytest.mark.parametrize(
    "back",
    [
        "",
        "https://evil.example/",
        "//evil.example",
        "/\\evil.example",
        "javascript:alert(1)",
        "/a b",
        "/\n/x",
        "/" * 5_000,
    ],
)
def test_sign_in_never_redirects_to_another_site(client: TestClient, back: str) -> None:
    assert sign_in(client, back=back).headers["location"] == "/"


def test_other_origin_cannot_sign_in_or_use_the_cookie(client: TestClient) -> None:
    assert sign_in(client, **{"Sec-Fetch-Site": "cross-site"}).status_code == 403
    sign_in(client)
    refused = client.post("/api/sessions", json=delivery(), headers={"Sec-Fetch-Site": "cross-site"})
    assert refused.status_code == 403
    assert client.post("/api/sessions", json=delivery()).status_code == 202


def test_signing_out_takes_the_cookie_back(client: TestClient) -> None:
    sign_in(client)
    out = client.post(
        "/logout", headers=FORM | {"Content-Type": "application/x-www-form-urlencoded"}, follow_redirects=False
    )
    assert (out.status_code, out.headers["location"]) == (303, "/login")
    assert "Max-Age=0" in out.headers["set-cookie"]
    assert client.get("/", headers=BROWSER).status_code == 401


def test_a_cookie_ends_with_its_key(client: TestClient) -> None:
    sign_in(client)
    assert client.get("/api/sessions").status_code == 200
    vault = system(client).store.vault
    assert vault is not None and vault.remove("alice")
    until(lambda: client.get("/api/sessions").status_code == 401, what="a 401")
    assert vault.add(StoredKey("alice", "0" * 64, "admin", None)), "a new one of the same name"
    until(lambda: "alice" in [key.name for key in vault.all_keys()], what="the new key")
    assert client.get("/api/sessions").status_code == 401


def test_cookie_survives_a_restart(tmp_path: Path, keys: Path, client: TestClient) -> None:
    sign_in(client)
    assert stat.S_IMODE((tmp_path / "hansard.db").stat().st_mode) == 0o600
    with inside(tmp_path, work=False, api_keys_file=keys) as later:
        later.cookies = client.cookies
        assert later.get("/", headers=BROWSER).status_code == 200


def test_programs_get_a_problem_and_no_page(client: TestClient) -> None:
    for path, headers in (("/", {}), ("/api/sessions", BROWSER), ("/", {"Accept": "application/json"})):
        refused = client.get(path, headers=headers)
        assert refused.status_code == 401
        assert refused.headers["content-type"] == "application/problem+json"
        assert refused.headers["www-authenticate"] == "Bearer"


def test_early_refusals_are_in_the_readers_language(client: TestClient) -> None:
    korean = {"Accept-Language": "ko"}
    script = client.post("/", headers=korean | {"Accept": "application/json", "Sec-Fetch-Site": "same-origin"})
    assert script.json()["detail"] == "API 키가 필요합니다. Authorization: Bearer …를 보내거나 /login에서 로그인하세요."
    page = client.post("/login", headers=korean | FORM | {"Sec-Fetch-Site": "cross-site"})
    assert "다른 출처의 페이지에서 온 명령은 받지 않습니다." in page.text
    assert client.get("/?lang=de", headers=BROWSER).status_code == 401


def test_only_the_sign_in_form_is_public(client: TestClient) -> None:
    assert client.get(SHEET).status_code == 200
    for path in ("/docs", "/openapi.json", "/metrics", "/assets", "/logins", "/login/", "/sessions/delivery-1"):
        assert client.get(path).status_code == 401, path
    assert (
        client.post("/logout", headers=FORM | {"Content-Type": "application/x-www-form-urlencoded"}).status_code == 401
    )


def test_without_keys_no_sign_in_is_asked(tmp_path: Path) -> None:
    with inside(tmp_path, work=False) as client:
        assert "/login" not in client.get("/", headers=BROWSER).text
        for answer in (client.get("/login?lang=ko", follow_redirects=False), sign_in(client)):
            assert answer.status_code == 303
            assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    ("path", "words"), [("/", "Sign-in is off"), ("/chat?lang=ko", "로그인 없음"), ("/none", "is off")]
)
def test_every_page_says_that_no_key_is_required(tmp_path: Path, path: str, words: str) -> None:
    with inside(tmp_path, work=False) as client:
        html = client.get(path, headers=BROWSER).text
    assert f'{words}<span class="unseen">: HANSARD_AUTH=off:' in html


def test_the_form_says_how_a_key_is_made(client: TestClient) -> None:
    html = client.get("/login", headers=BROWSER).text
    assert "hansard key new NAME" in html and "Sign-in is off" not in html


# -- cookies -----------------------------------------------------------------------------------------------------------


class EmptyVault:
    """A vault without a secret."""

    def secret(self, _: str, fresh: bytes) -> bytes:
        return fresh


@pytest.fixture
def logins(tmp_path: Path, keys: Path) -> Callable[[float], Logins]:
    people = Keys(keys_in(kept(keys, alice=KEY, 김철수="k")))
    return lambda now: Logins(people, EmptyVault(), seconds=60, secret=b"s", now=lambda: now)


def test_a_cookie_is_good_until_its_time_is_over(logins: Callable[[float], Logins]) -> None:
    for name in ("alice", "김철수"):
        cookie = logins(1_000).issue(name)
        assert [logins(now).name_of(cookie) for now in (1_000, 1_059.9, 1_060, 2_000)] == [name, name, None, None]


def test_changed_cookie_is_invalid(logins: Callable[[float], Logins]) -> None:
    result = logins(1_000)
    name, until, signature = result.issue("alice").split(".")
    other = result.issue("김철수").partition(".")[0]
    changed: list[Any] = ["", ".", "..", name, f"{name}.{until}", f"{name}.{until}.", f"{other}.{until}.{signature}"]
    changed += [f"{name}.{int(until) + 1}.{signature}", f"{name}.{until}.{signature[:-1]}0x", f"{name}.x.{signature}"]
    changed += [f"é.{until}.{signature}", f"{name}.{until}.é", f"{name}.{'9' * 2_000}.{signature}", f"/w.{until}.a"]
    assert [result.name_of(value) for value in changed] == [None] * len(changed)


def test_cookie_of_another_server_is_invalid(tmp_path: Path, keys: Path) -> None:
    ours, theirs = (
        Logins(Keys(keys_in(keys)), EmptyVault(), seconds=60, secret=name, now=lambda: 0) for name in (b"a", b"b")
    )
    assert ours.cookie != theirs.cookie
    assert theirs.name_of(ours.issue("alice")) is None


def test_guessing_is_slowed_down_and_a_good_key_of_the_same_address_is_not(client: TestClient) -> None:
    answers = [sign_in(client, f"wrong-{number}") for number in range(GUESSES + 2)]
    assert [answer.status_code for answer in answers] == [401] * GUESSES + [429] * 2
    assert 0 < int(answers[-1].headers["retry-after"]) <= 6
    assert sign_in(client).status_code == 303
    assert sign_in(client, "wrong again").status_code == 429
    assert client.get("/api/sessions", headers={"Authorization": f"Bearer {KEY}"}).status_code == 200


def test_guesses_are_forgotten_with_time() -> None:
    now = [0.0]
    guesses = Guesses(lambda: now[0])
    for _ in range(GUESSES):
        guesses.wrong("10.0.0.1")
    assert (guesses.wait("10.0.0.1"), guesses.wait("10.0.0.2")) == (6, 0)
    now[0] = 6.0
    assert guesses.wait("10.0.0.1") == 0


def test_the_streams_of_one_key_are_limited_and_others_are_not(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A closed stream makes room for another one; the limit of a key is not that of the machine."""
    monkeypatch.setattr("api.http.streams.MOST_STREAMS", 2)
    headers = {"Accept": "text/event-stream"}
    hub = system(client).hub
    readers = [_reader(hub, f"person:{name}") for name in ("alice", "alice", "bob")]
    refused = client.get("/api/events", headers=headers | {"Authorization": f"Bearer {KEY}"})
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "30")
    assert refused.json()["detail"] == "This key has 2 open streams already. Close one first."
    assert [hub.streams_of(f"person:{name}") for name in ("alice", "bob", "carol")] == [2, 1, 0]
    for reader in readers:
        hub.part(reader)
    assert hub.streams_of("person:alice") == 0


def _reader(hub: Hub, owner: str) -> Reader:
    reader = Reader(Interest(), hub.position, None, lambda: None, Unconnected(), owner=owner)
    hub.join(reader)
    return reader


class Unconnected:
    """A connection to nobody."""

    def push(self, data: bytes) -> bool:
        return True

    def cut(self) -> None:
        """Nothing to drop."""
