"""Servers whose PostgreSQL log goes back under them: lists, streams and commands go back with it, without a restart."""

import json
from collections.abc import Iterator
from pathlib import Path

import httpx2 as httpx
import pytest

from tests.api.server import Json, Server, serving, until
from tests.api.test_streams import Message, Stream
from tests.kit.postgres import Cluster, require

NIGHTS = 20


@pytest.fixture
def server() -> Iterator[Cluster]:
    result = Cluster(require())
    yield result
    result.remove()


def post(client: httpx.Client, subject: str) -> str:
    """Start a review, as soon as the database answers again; its id."""

    def accepted() -> str | None:
        answer = client.post("/api/sessions", json={"kind": "review", "subject": subject})
        assert answer.status_code in (202, 503), answer.text
        return answer.json()["sessionId"] if answer.status_code == 202 else None

    return until(accepted, what=f"an answer for {subject}", seconds=30)


def listed(client: httpx.Client) -> set[str]:
    answer = client.get("/api/sessions", params={"limit": "200"})
    return {item["id"] for item in answer.json()["items"]} if answer.status_code == 200 else set()


def recorded(client: httpx.Client) -> list[Json]:
    """The whole log."""
    results: list[Json] = []
    after = "0"
    while after:
        page = client.get("/api/events", params={"after": after, "limit": "500"}).json()
        results += page["items"]
        after = page["nextCursor"]
    return results


def right(each: Server) -> bool:
    """Whether a server is ready, and lists exactly the sessions of the log."""
    ready = each.client.get("/readyz")
    there = {event["sessionId"] for event in recorded(each.client) if not event["sessionId"].startswith("channel")}
    return ready.status_code == 200 and listed(each.client) == there


def quiet(server: Server) -> int:
    """The head of the log, once no session runs."""

    def still() -> bool:
        items = server.client.get("/api/sessions", params={"limit": "200"}).json()["items"]
        return all(item["status"] not in ("pending", "running") for item in items)

    until(still, what="sessions that rest", seconds=60)
    head: int = server.client.get("/readyz").json()["head"]
    return head


def rewound(messages: Iterator[Message]) -> Message:
    return next(message for message in messages if message.event == "rewound")


def restored_under_two_servers(cluster: Cluster, folder: Path) -> None:
    url = cluster.url("postgres")
    settings = {"database": url, "poll_seconds": 0.2}
    for name in ("1", "2"):
        (folder / name).mkdir()
    with serving(folder / "1", **settings) as one, serving(folder / "2", **settings) as two:
        kept = post(one.client, "kept")
        until(lambda: right(one) and right(two), what="both lists")
        cluster.keep()
        gone = [post(one.client, "gone 1"), post(two.client, "gone 2")]
        until(lambda: set(gone) <= listed(one.client) & listed(two.client), what="what will be gone")
        head = one.client.get("/readyz").json()["head"]
        with Stream(one, "/api/events", last=head, seconds=60) as stream:
            cluster.restore()
            new = [post(one.client, "new 1"), post(two.client, "new 2"), post(two.client, "new 3")]
            until(lambda: right(one) and right(two), what="the lists again", seconds=30)
            told = rewound(stream.messages())
        for each in (one, two):
            assert set(new) | {kept} <= listed(each.client) and not set(gone) & listed(each.client)
            assert [each.client.get(f"/sessions/{name}").status_code for name in (*gone, kept)] == [404, 404, 200]
            assert each.log.read_text().count("the log has gone back") == 1
        back = json.loads(told.data)["head"]
        assert back < head
        _goes_on(one, back)
        _goes_on(two, back)


def _goes_on(server: Server, back: int) -> None:
    """Streams continue in the new epoch; cursors of the one before are told so, and then get what follows the head."""
    now = quiet(server)
    with Stream(server, "/api/events", last=f"{back}-1") as stream:
        ids = []
        for message in stream.messages():
            assert message.event != "rewound"
            ids += [message.name] if message.name else []
            if message.name == f"{now}-1":
                break
        assert ids == [f"{position}-1" for position in range(back + 1, now + 1)]
    for last in (str(back), "1", f"{now + 1_000}-1", "5-7"):
        with Stream(server, "/api/events", last=last) as stream:
            messages = stream.messages()
            told = next(message for message in messages if message.event or message.name)
            assert told.event == "rewound"
            head = json.loads(told.data)["head"]
            post(server.client, f"after {last}")
            first = next(message for message in messages if message.name)
            assert head >= now and first.name == f"{head + 1}-1"
    answer = server.client.get("/api/events", params={"after": str(now + 1_000)})
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/after")


def test_a_restore_under_two_servers_is_followed_without_a_restart(server: Cluster, tmp_path: Path) -> None:
    restored_under_two_servers(server, tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("night", range(NIGHTS))
def test_every_restore_under_two_servers_is_followed(server: Cluster, tmp_path: Path, night: int) -> None:
    restored_under_two_servers(server, tmp_path)
