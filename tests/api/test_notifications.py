"""Sessions that start to wait are sent once to a command or webhook, and kept while it is down."""

import asyncio
import base64
import hmac
import json
import sqlite3
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast

import pytest

from adapters.agents.tables import BadTeam
from adapters.agents.team import load
from adapters.clock import Clock
from adapters.notify.outbox import Notification, Outbox, open_outbox
from api.node.notifier import Notifier
from projections.views.inbox import WaitingItem
from tests.api.server import Json, Server, delivery, ended, free_port, inside, serving, start, until
from tests.kit.memory_store import MemoryStore
from tests.kit.postgres import cluster, require

KEY = b"0123456789abcdef01234567"
SECRET = "whsec_" + base64.b64encode(KEY).decode()
AGENTS = (
    '[[agents]]\nname = "Solo"\nadapter = "scripted"\nroles = ["planner", "architect", "designer", "dev", "reviewer"]\n'
)
EXHAUSTED: Json = {
    "reviewer": ['{"blockingIssues":[{"id":"b","title":"t","detail":"d"}],"nonBlockingIssues":[],"score":1}']
}


@dataclass
class Receiver:
    """Records requests and answers with these statuses, repeating the last one."""

    statuses: list[int] = field(default_factory=lambda: [204])
    got: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    url: str = ""
    port: int = 0
    hanging: threading.Event | None = None
    """Answers are held back until it is set."""
    begun: int = 0

    @contextmanager
    def listening(self) -> Iterator["Receiver"]:
        server = ThreadingHTTPServer(("127.0.0.1", self.port), self._handler())
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        self.url = f"http://127.0.0.1:{server.server_port}/hook"
        try:
            yield self
        finally:
            server.shutdown()
            server.server_close()
            thread.join()

    def _handler(receiver) -> type[BaseHTTPRequestHandler]:
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                receiver.begun += 1
                if receiver.hanging is not None:
                    receiver.hanging.wait()
                receiver.got.append(({name.lower(): value for name, value in self.headers.items()}, body))
                status = receiver.statuses[min(len(receiver.got), len(receiver.statuses)) - 1]
                self.send_response(status)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        return Handler


def team(folder: Path, notify: str) -> Path:
    path = folder / "team.toml"
    path.write_text(f"{AGENTS}[notify]\n{notify}\n")
    return path


def hook(folder: Path, url: str) -> Path:
    return team(folder, f'webhook = "{url}"\nsecret = "env:TEST_HOOK_SECRET"')


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_HOOK_SECRET", SECRET)


def exhausted(server: Server) -> str:
    """A delivery that waits for more budget."""
    session_id = start(server.client, delivery(EXHAUSTED, maxIterations=1))
    assert ended(server.client, session_id)["status"] == "failed"
    return session_id


def check_signature(headers: dict[str, str], body: bytes) -> None:
    """Check the signature as a Standard Webhooks receiver does."""
    text = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    expected = base64.b64encode(hmac.new(KEY, text, sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{expected}"


def test_webhook_is_retried_until_it_accepts_each_notification(tmp_path: Path) -> None:
    receiver = Receiver(statuses=[500, 503, 204])
    with receiver.listening():
        settings = {"team": hook(tmp_path, receiver.url)}
        with serving(tmp_path, **settings) as server:
            first = exhausted(server)
            until(lambda: len(receiver.got) == 3, what="three tries")
            second = exhausted(server)
            until(lambda: len(receiver.got) == 4, what="the second thing")
            server.stop()
            server.start()
            third = exhausted(server)
            until(lambda: len(receiver.got) == 5, what="the third thing, and nothing else")
    ids = [headers["webhook-id"] for headers, _ in receiver.got]
    assert len(set(ids[:3])) == 1 and len(set(ids)) == 3
    assert len({body for _, body in receiver.got[:3]}) == 1
    for headers, body in receiver.got:
        check_signature(headers, body)
    messages = [json.loads(body) for _, body in receiver.got[2:]]
    assert [one["data"]["sessionId"] for one in messages] == [first, second, third]
    assert {one["type"] for one in messages} == {"session.waits"}
    item = messages[0]["data"]
    assert (item["waitsFor"], item["cause"], item["kind"]) == ("budget", "iterations", "delivery")
    assert messages[0]["timestamp"] == item["since"]


def tried(folder: Path) -> bool:
    """Whether a notification failed and is not being sent now."""
    soon = int(time.time() * 1_000) + 60_000
    with closing(sqlite3.connect(next(folder.rglob("notify.db")))) as outbox:
        return bool(outbox.execute("SELECT 1 FROM notifications WHERE tries > 0 AND due < ?", [soon]).fetchall())


def test_unsent_notifications_are_sent_after_a_restart(tmp_path: Path) -> None:
    receiver = Receiver()
    with receiver.listening():
        settings = {"team": hook(tmp_path, receiver.url)}
        away = hook(tmp_path, "http://127.0.0.1:9/nobody")
        with serving(tmp_path, team=away) as server:
            waits = exhausted(server)
            until(lambda: tried(tmp_path), what="a try that failed")
            server.kill()
            assert settings["team"] == hook(tmp_path, receiver.url)
            server.start()
            until(lambda: receiver.got, what="the notification")
            exhausted(server)
            until(lambda: len(receiver.got) == 2, what="the next one, and the first not again")
    assert json.loads(receiver.got[0][1])["data"]["sessionId"] == waits


@pytest.mark.parametrize(("outages", "restarts"), [(5, (1, 3)), pytest.param(22, (7, 14), marks=pytest.mark.nightly)])
def test_outages_and_restarts_lose_and_repeat_nothing(tmp_path: Path, outages: int, restarts: tuple[int, ...]) -> None:
    """Command and webhook fail together, repeatedly; the webhook's port is closed while it is down."""
    text, away, program = tmp_path / "told.jsonl", tmp_path / "away", tmp_path / "tell.py"
    program.write_text(
        f"import pathlib, sys\nif pathlib.Path({str(away)!r}).exists(): sys.exit(3)\n"
        f"open({str(text)!r}, 'a').write(sys.stdin.read() + '\\n')\n"
    )
    receiver, waits = Receiver(port=free_port()), list[str]()
    file = hook(tmp_path, f"http://127.0.0.1:{receiver.port}/hook")
    file.write_text(f'{file.read_text()}command = ["{sys.executable}", "{program}"]\n')
    with serving(tmp_path, team=file, retry_seconds=0.002) as server:
        for outage in range(outages):
            away.touch()
            waits.append(exhausted(server))
            if outage in restarts:
                server.stop()
                server.start()
            away.unlink()
            with receiver.listening():
                until(lambda: len(receiver.got) == len(waits), what=f"the webhook after outage {outage + 1}")
                until(lambda: text.exists() and len(text.read_text().splitlines()) == len(waits), what="the command")
    for headers, body in receiver.got:
        check_signature(headers, body)
    assert len({headers["webhook-id"] for headers, _ in receiver.got}) == len(waits)
    assert [json.loads(body)["data"]["sessionId"] for _, body in receiver.got] == waits
    assert [json.loads(line)["data"]["sessionId"] for line in text.read_text().splitlines()] == waits


@pytest.fixture
def database(tmp_path: Path) -> Iterator[str]:
    require()
    yield cluster().database(tmp_path)
    cluster().free(tmp_path)


def test_servers_that_leave_the_work_to_others_notify_each_thing_once(database: str, tmp_path: Path) -> None:
    """Both share a team file; one dies while the receiver is down, and the other sends its notifications."""
    receiver = Receiver(port=free_port())
    file = hook(tmp_path, f"http://127.0.0.1:{receiver.port}/hook")
    plain = tmp_path / "plain.toml"
    plain.write_text(AGENTS)
    places = [tmp_path / name for name in ("one", "two", "worker")]
    for place in places:
        place.mkdir()
    settings = {"database": database, "team": file, "retry_seconds": 0.01, "poll_seconds": 0.05}
    servers = [Server(place, words=["--no-work"], **settings) for place in places[:2]]
    with ExitStack() as left, inside(places[2], database=database, team=plain, poll_seconds=0.05):
        for server in servers:
            left.callback(server.leave)
            server.start()
        with receiver.listening():
            waits = [exhausted(server) for server in servers]
            until(lambda: len(receiver.got) == 2 and not unsent(database), what="both things")
        waits.append(exhausted(servers[0]))
        until(lambda: failed(database), what="a try that failed")
        servers[0].kill()
        with receiver.listening():
            waits.append(exhausted(servers[1]))
            until(lambda: len(receiver.got) == 4 and not unsent(database), what="the third and the fourth")
    assert sorted(json.loads(body)["data"]["sessionId"] for _, body in receiver.got) == sorted(waits)


def unsent(database: str) -> int:
    name = database.partition("?")[0].rpartition("/")[2]
    [(count,)] = cluster().sql("SELECT count(*) FROM hansard.notifications", database=name)
    return int(count)


def failed(database: str) -> bool:
    """Whether a notification failed and is not being sent now."""
    name, soon = database.partition("?")[0].rpartition("/")[2], int(time.time() * 1_000) + 60_000
    tries = f"SELECT 1 FROM hansard.notifications WHERE tries > 0 AND due < {soon}"
    return bool(cluster().sql(tries, database=name))


def test_a_webhook_that_hangs_delays_no_command(tmp_path: Path) -> None:
    text, program = tmp_path / "told.jsonl", tmp_path / "tell.py"
    program.write_text(f"import sys\nopen({str(text)!r}, 'a').write(sys.stdin.read() + '\\n')\n")
    receiver = Receiver(hanging=threading.Event())
    with receiver.listening():
        file = hook(tmp_path, receiver.url)
        file.write_text(f'{file.read_text()}command = ["{sys.executable}", "{program}"]\n')
        with serving(tmp_path, team=file) as server:
            waits = [exhausted(server), exhausted(server)]
            until(lambda: text.exists() and len(text.read_text().splitlines()) == 2, what="both for the command")
            receiver.hanging.set()
            until(lambda: len(receiver.got) == 2, what="both for the webhook")
    assert [json.loads(line)["data"]["sessionId"] for line in text.read_text().splitlines()] == waits


def test_notification_in_flight_at_shutdown_is_not_repeated(tmp_path: Path) -> None:
    receiver = Receiver(hanging=threading.Event())
    with receiver.listening(), serving(tmp_path, team=hook(tmp_path, receiver.url)) as server:
        exhausted(server)
        until(lambda: receiver.begun, what="the request")
        threading.Timer(0.5, receiver.hanging.set).start()
        server.stop()
        server.start()
        second = exhausted(server)
        until(lambda: len(receiver.got) == 2, what="the second thing")
    assert json.loads(receiver.got[1][1])["data"]["sessionId"] == second


def test_command_gets_the_notification_on_stdin(tmp_path: Path) -> None:
    inbox, program = tmp_path / "inbox.jsonl", tmp_path / "tell.py"
    program.write_text(f"import sys\nopen({str(inbox)!r}, 'a').write(sys.stdin.read() + '\\n')\n")
    file = team(tmp_path, f'command = ["{sys.executable}", "{program}"]')
    with serving(tmp_path, team=file) as server:
        waits = exhausted(server)
        until(inbox.exists, what="the command")
        until(lambda: inbox.read_text().endswith("\n"), what="the whole line")
    [line] = inbox.read_text().splitlines()
    assert json.loads(line)["data"]["sessionId"] == waits


def test_a_decision_that_still_waits_is_notified_again_once(tmp_path: Path) -> None:
    receiver = Receiver()
    with receiver.listening():
        file = hook(tmp_path, receiver.url)
        file.write_text(f"{file.read_text()}\n[decisions]\nremind_hours = [0.0002, 0.0004]\n")
        with serving(tmp_path, team=file) as server:
            body = {"kind": "review", "subject": "it reads lines", "scenario": {"replies": {}}}
            waits, soon = start(server.client, body), start(server.client, body)
            until(lambda: len(receiver.got) == 2, what="both reviews")
            decided = server.client.post(f"/api/sessions/{soon}/decision", json={"decision": "skip"})
            assert decided.status_code == 200
            until(lambda: len(_reminders(receiver, waits)) == 2, what="two reminders")
    first, second = _reminders(receiver, waits)
    assert first["webhook-id"] != second["webhook-id"]
    assert len(_reminders(receiver, soon)) <= 1, "it may have been due before it was decided"


def _reminders(receiver: Receiver, session_id: str) -> list[dict[str, str]]:
    messages = [(headers, json.loads(body)) for headers, body in receiver.got]
    return [
        headers
        for headers, one in messages
        if one["type"] == "session.reminder" and one["data"]["sessionId"] == session_id
    ]


def test_sessions_older_than_the_webhook_are_not_sent(tmp_path: Path) -> None:
    receiver = Receiver()
    with receiver.listening():
        with serving(tmp_path) as server:
            exhausted(server)
        with serving(tmp_path, team=hook(tmp_path, receiver.url)) as server:
            new = exhausted(server)
            until(lambda: receiver.got, what="the notification")
    assert [json.loads(body)["data"]["sessionId"] for _, body in receiver.got] == [new]


@pytest.mark.parametrize(
    ("notify", "words"),
    [
        ('secret = "env:X"', "needs command or webhook"),
        ('webhook = "https://example.org/hook"', "webhook and secret belong together"),
        ('webhook = "http://example.org/hook"\nsecret = "env:X"', "must begin with https://"),
        ('webhook = "https://example.org/a hook"\nsecret = "env:X"', "must not contain spaces"),
        ('webhook = "https://example.org/hook"\nsecret = "plain"', "use env:NAME or file:/path"),
        ("command = []", "must name a program"),
        ('command = ["./tell"]', "a bare name or an absolute path"),
        ('command = ["tell"]\nmail = "ann"', "there is no such key"),
    ],
)
def test_settings_that_do_not_fit_are_refused(tmp_path: Path, notify: str, words: str) -> None:
    with pytest.raises(BadTeam, match="notify") as refused:
        load(team(tmp_path, notify))
    assert words in str(refused.value)


def test_a_secret_that_is_not_there_keeps_the_server_from_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TEST_HOOK_SECRET")
    file = hook(tmp_path, "https://example.org/hook")
    with pytest.raises(AssertionError, match="TEST_HOOK_SECRET"), serving(tmp_path, team=file):
        pass


# -- a log that goes back ------------------------------------------------------------------------------------------


class Log:
    """What waits, and how far the views have got."""

    def __init__(self, *positions: int) -> None:
        self.positions, self.epoch, self.complete = list(positions), 0, asyncio.Event()
        self.complete.set()

    async def has_begun(self) -> None:
        await self.complete.wait()

    @contextmanager
    def reading(self) -> Iterator[Any]:
        yield self

    def begun_after(self, _: Any, after: int, limit: int) -> list[tuple[int, Any]]:
        if not self.complete.is_set():
            return []
        return [(each, ITEM.model_copy(update={"version": each})) for each in self.positions if each > after][:limit]


ITEM = WaitingItem.model_construct(session_id="review-1", since="2026-01-01T00:00:00.000Z", approval=None)


class Told:
    """The receivers: the names of what they were told."""

    names = ("webhook",)

    def __init__(self) -> None:
        self.got: list[str] = []

    async def send(self, one: Notification, _: int) -> None:
        self.got.append(one.id)


def rewinding(path: Path, with_log: bool, log: Log, story: Callable[[Notifier, Told], Awaitable[None]]) -> list[str]:
    """Returns what was told meanwhile."""
    told = Told()
    outbox = Outbox(open_outbox(MemoryStore(), path)._alone, with_log=with_log)

    async def run() -> None:
        receivers: Any = told
        notifier = Notifier(receivers, outbox, log, log, Clock(), head=0, scale=0.0)  # type: ignore[arg-type]
        await story(notifier, told)
        log.complete.set()
        await notifier.stop()

    asyncio.run(run())
    return told.got


async def happens(told: Told, count: int) -> None:
    async with asyncio.timeout(5):
        while len(told.got) < count:  # noqa: ASYNC110 - it is the receiver's list
            await asyncio.sleep(0.005)


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Log:
    log = Log(10, 20)
    monkeypatch.setattr("api.node.notifier.inbox.begun_after", log.begun_after)
    return log


@pytest.mark.parametrize("with_log", [True, False])
def test_after_the_log_has_gone_back_the_notifier_waits_for_its_views(tmp_path: Path, log: Log, with_log: bool) -> None:
    """Nothing wakes it again for what they get only later."""

    async def story(notifier: Notifier, told: Told) -> None:
        await happens(told, 2)
        log.complete.clear()
        log.epoch, log.positions = 1, [10, 20, 30]
        notifier.rewound(20)
        notifier.seen([cast(Any, None)])
        await asyncio.sleep(0.05)
        log.complete.set()
        await happens(told, 3)

    assert rewinding(tmp_path / "notify.db", with_log, log, story) == ["review-1.10", "review-1.20", "review-1.30-1"]


def test_what_begins_to_wait_at_the_place_of_what_is_gone_is_told(tmp_path: Path, log: Log) -> None:
    async def story(notifier: Notifier, told: Told) -> None:
        await happens(told, 2)
        log.epoch, log.positions = 1, [10, 20]
        notifier.rewound(15)
        await happens(told, 3)

    assert rewinding(tmp_path / "notify.db", False, log, story) == ["review-1.10", "review-1.20", "review-1.20-1"]


def test_an_outbox_that_goes_back_with_its_log_tells_nothing_twice(tmp_path: Path, log: Log) -> None:
    """However much of the log is known to be the same."""

    async def story(notifier: Notifier, told: Told) -> None:
        await happens(told, 2)
        log.epoch, log.positions = 1, [10, 20, 30]
        notifier.rewound(5)
        await happens(told, 3)

    assert rewinding(tmp_path / "notify.db", True, log, story) == ["review-1.10", "review-1.20", "review-1.30-1"]
