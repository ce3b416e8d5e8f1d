"""Servers whose PostgreSQL log goes back under them: lists, streams and commands go back with it, without a restart."""

import json
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx2 as httpx
import pytest

from tests.api.server import Json, Server, delivery, serving, start, until
from tests.api.test_notifications import SECRET, Receiver, exhausted, hook
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
    if each.client.get("/readyz").status_code != 200 or each.client.get("/api/events").status_code != 200:
        return False
    there = {event["sessionId"] for event in recorded(each.client) if not event["sessionId"].startswith("channel")}
    return each.client.get("/readyz").status_code == 200 and listed(each.client) == there


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


def test_turns_and_notifications_go_back_with_the_log(
    server: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A turn that no longer exists leaves its slot; what was told is not told again, and what is new is."""
    monkeypatch.setenv("TEST_HOOK_SECRET", SECRET)
    receiver = Receiver()
    settings: Json = {"database": server.url("postgres"), "poll_seconds": 0.2, "worker_slots": 1, "lease_seconds": 600}
    with receiver.listening(), serving(tmp_path, team=hook(tmp_path, receiver.url), **settings) as one:
        waits = [exhausted(one)]
        until(lambda: len(receiver.got) == 1, what="the first thing")
        server.keep()
        until(lambda: right(one), what="the database again")
        waits.append(exhausted(one))
        until(lambda: len(receiver.got) == 2, what="what will be gone")
        gone = start(one.client, delivery({"planner": [{"text": "Much later.", "delayMs": 3_600_000}]}))
        runs = 'hansard_turns{state="running"} 1.0'
        until(lambda: runs in one.client.get("/metrics").text, what="a turn that will be gone")
        server.restore()
        until(lambda: gone not in listed(one.client) and right(one), what="the list again", seconds=30)
        waits += [exhausted(one), exhausted(one)]  # in the only slot, which is free again
        until(lambda: len(receiver.got) == 4, what="what is new")
    assert [json.loads(body)["data"]["sessionId"] for _, body in receiver.got] == waits
    names = [headers["webhook-id"] for headers, _ in receiver.got]
    assert [name.endswith("-1") for name in names] == [False, False, True, True]
    assert f"turn {gone}" not in one.log.read_text()


class Proxy:
    """Passes connections on to whichever server is the primary, as a load balancer does: those that are there stay."""

    def __init__(self, target: Path) -> None:
        self.target, self._line = target, socket.create_server(("127.0.0.1", 0))
        self.port: int = self._line.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._line.accept()
                server = socket.socket(socket.AF_UNIX)
                try:
                    server.connect(str(self.target))
                except OSError:
                    client.close()
                    server.close()
                    continue
                for one, other in ((client, server), (server, client)):
                    threading.Thread(target=self._pass, args=(one, other), daemon=True).start()

    @staticmethod
    def _pass(one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while data := one.recv(65_536):
                other.sendall(data)
        for line in (one, other):
            with suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)
        one.close()

    def close(self) -> None:
        self._line.close()


def place(cluster: Cluster) -> Path:
    return cluster.folder / ".s.PGSQL.5432"


def promote(cluster: Cluster) -> None:
    cluster.sql("SELECT pg_promote()")


@contextmanager
def behind_a_proxy(folder: Path) -> Iterator[tuple[Server, Proxy, Cluster, Cluster]]:
    """A server of Hansard behind a proxy to a primary that has a standby."""
    settings = {"wal_level": "replica", "max_wal_senders": "4", "hot_standby": "on"}
    primary = Cluster(require(), **settings)
    standby = Cluster.standby(primary)
    proxy = Proxy(place(primary))
    url = f"postgresql://hansard@127.0.0.1:{proxy.port}/postgres"
    try:
        with serving(folder, database=url, poll_seconds=0.2) as server:
            yield server, proxy, primary, standby
    finally:
        proxy.close()
        standby.remove()
        primary.remove()


def failed_over_to_a_lagging_standby(folder: Path) -> None:
    """The tail that the standby lacks is lost, and nothing else."""
    with behind_a_proxy(folder) as (server, proxy, primary, standby):
        kept = post(server.client, "kept")
        until(lambda: right(server), what="the list")
        quiet(server)
        until(lambda: standby.replayed(primary), what="the standby")
        standby.hold_back()
        gone = post(server.client, "tail-lost")
        until(lambda: gone in listed(server.client), what="what will be gone")
        head = quiet(server)
        with Stream(server, "/api/events", last=head, seconds=60) as stream:
            primary.stop(signal.SIGQUIT)
            promote(standby)
            proxy.target = place(standby)
            new = [post(server.client, "after 1"), post(server.client, "after 2")]
            until(lambda: right(server), what="the list again", seconds=30)
            told = rewound(stream.messages())
        assert json.loads(told.data)["head"] < head
        assert listed(server.client) == {kept, *new}
        assert server.client.get(f"/sessions/{gone}").status_code == 404
        assert server.log.read_text().count("the log has gone back") == 1


def switched_over(folder: Path) -> None:
    """The old primary stays up, read-only: connections to it are given up without a restart."""
    with behind_a_proxy(folder) as (server, proxy, primary, standby):
        kept = post(server.client, "kept")
        quiet(server)
        until(lambda: standby.replayed(primary), what="the standby")
        primary.sql("ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()")
        until(lambda: standby.replayed(primary), what="the standby")
        promote(standby)
        proxy.target = place(standby)
        new = post(server.client, "new")
        until(lambda: right(server), what="the list")
        assert listed(server.client) == {kept, new}
        of_ours = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'hansard'"
        until(lambda: primary.sql(of_ours) == [(0,)], what="no connection to the old primary")


def durability_switched(folder: Path) -> None:
    """`fsync` off and on again: no command is accepted meanwhile, and `/readyz` says why."""
    cluster = Cluster(require())
    try:
        with serving(folder, database=cluster.url("postgres"), poll_seconds=0.2) as server:
            post(server.client, "before")
            cluster.sql("ALTER SYSTEM SET fsync = off", "SELECT pg_reload_conf()")
            until(lambda: server.client.get("/readyz").status_code == 503, what="/readyz", seconds=75)
            assert any("fsync=off" in problem for problem in server.client.get("/readyz").json()["problems"])
            refused = server.client.post("/api/sessions", json={"kind": "review", "subject": "x"})
            assert refused.status_code == 503 and "fsync=off" in refused.json()["detail"]
            cluster.sql("ALTER SYSTEM RESET fsync", "SELECT pg_reload_conf()")
            until(lambda: server.client.get("/readyz").status_code == 200, what="/readyz again")
            post(server.client, "after")
    finally:
        cluster.remove()


@pytest.mark.nightly
@pytest.mark.parametrize("night", range(NIGHTS))
@pytest.mark.parametrize("scene", [failed_over_to_a_lagging_standby, switched_over, durability_switched])
def test_every_change_of_the_database_heals_by_itself(
    scene: Callable[[Path], None], tmp_path: Path, night: int
) -> None:
    scene(tmp_path)
