"""A reply that is lost is no command that is lost, or carried out twice: sent again with its key, it gets its answer.

A proxy takes a request to the other side, waits for the reply, and hangs up without it.
"""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import httpx2 as httpx
import pytest

from tests.api.server import Json, Server, delivery, events, only, serving, session, until
from tests.kit.postgres import Cluster, require

TIMES = pytest.mark.parametrize("times", [10, pytest.param(200, marks=pytest.mark.nightly)])
Connect = Callable[[], socket.socket]


class Swallower:
    """Passes connections on. Where one has sent `words`, the reply to what `ends` that is lost."""

    def __init__(self, connect: Connect, ends: bytes) -> None:
        self._connect, self._ends = connect, ends
        self._line = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._line.getsockname()[1]
        self.words = b""
        self.swallowed = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._line.accept()
                threading.Thread(target=self._pass, args=(client, self._connect()), daemon=True).start()

    def _pass(self, client: socket.socket, server: socket.socket) -> None:
        mute, meant = threading.Event(), False
        back = threading.Thread(target=self._answer, args=(server, client, mute), daemon=True)
        back.start()
        with suppress(OSError):
            while data := client.recv(65_536):
                meant = meant or bool(self.words and self.words in data)
                if meant and self._ends in data:
                    self.words = b""
                    mute.set()
                    server.sendall(data)
                    back.join(30)
                    self.swallowed += 1
                    break
                server.sendall(data)
        for line in (client, server):
            with suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)
            line.close()

    @staticmethod
    def _answer(server: socket.socket, client: socket.socket, mute: threading.Event) -> None:
        """Pass on what comes back; from `mute` on, take it and be silent."""
        with suppress(OSError):
            while (data := server.recv(65_536)) and not mute.is_set():
                client.sendall(data)
        if not mute.is_set():
            with suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._line.close()


def answer_at_last(client: httpx.Client, address: str, body: Json, key: str) -> Json:
    """Send it with its key until there is an answer. Only an answer that says so may mean: try again."""

    def sent() -> Json | None:
        with suppress(httpx.TransportError):
            answer = client.post(address, json=body, headers={"Idempotency-Key": key})
            assert answer.status_code in (200, 202, 503), answer.text
            return dict(answer.json()) if answer.status_code != 503 else None
        return None

    return until(sent, what=f"an answer to {key}", seconds=60)


def lost_and_sent_again(server: Server, client: httpx.Client, swallower: Swallower, times: int) -> None:
    """Half of the lost replies are to a start, half to a cancellation, which cannot be carried out twice."""
    for number in range(times // 2):
        task, before = f"lost-reply-{number}-", swallower.swallowed
        swallower.words = f"{task}start".encode()
        begun = answer_at_last(client, "/api/sessions", delivery(task=task, scenario=SLOW), f"{task}start")
        swallower.words = f"{task}cancel".encode()
        name = begun["sessionId"]
        ended = answer_at_last(client, f"/api/sessions/{name}/cancel", {"reason": task}, f"{task}cancel")
        assert swallower.swallowed == before + 2, "both replies were lost"
        assert ended["sessionId"] == name
        history = events(server.client, name)
        assert len(only(history, "delivery.session_started")) == 1
        assert session(server.client, name)["status"] == "cancelled"
    until(lambda: len(listed(server)) == times // 2, what="a list with each session once")


def listed(server: Server) -> list[str]:
    names: list[str] = []
    after: str | None = ""
    while after is not None:
        query = {"limit": "200"} | ({"after": after} if after else {})
        page = server.client.get("/api/sessions", params=query).json()
        names += [item["id"] for item in page["items"]]
        after = page["nextCursor"]
    return names


SLOW: Json = {"replies": {}, "delayMs": 60_000}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path) as result:
        yield result


@TIMES
def test_a_lost_answer_over_http_is_given_again(server: Server, times: int) -> None:
    def connect() -> socket.socket:
        return socket.create_connection((server.host, server.port))

    swallower = Swallower(connect, b"}")
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{swallower.port}", timeout=20) as client:
            lost_and_sent_again(server, client, swallower, times)
    finally:
        swallower.close()


@TIMES
def test_a_lost_reply_to_a_commit_is_no_lost_command(tmp_path: Path, times: int) -> None:
    cluster = Cluster(require())

    def connect() -> socket.socket:
        line = socket.socket(socket.AF_UNIX)
        line.connect(str(cluster.folder / ".s.PGSQL.5432"))
        return line

    swallower = Swallower(connect, b"COMMIT")
    url = f"postgresql://hansard@127.0.0.1:{swallower.port}/postgres"
    try:
        with serving(tmp_path, database=url) as server:
            lost_and_sent_again(server, server.client, swallower, times)
    finally:
        swallower.close()
        cluster.remove()
