"""The same command, sent by many at once under one key while the server is killed, has one effect and one answer
(promise P7)."""

import contextlib
import random
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final

import httpx2 as httpx
import pytest

from adapters.store.location import reading
from tests.api.manners.parts import START, pointers
from tests.api.server import PATIENCE, Server

WAYS: Final = 20
"""Callers that send the same command at once."""


class Kills(threading.Thread):
    """Kills the server and starts it again, so often, as the keys are used up evenly."""

    def __init__(self, server: Server, count: int, keys: int) -> None:
        super().__init__(daemon=True)
        self._server, self._every, self._left = server, keys // count, count
        self._used = threading.Semaphore(0)
        self.error: BaseException | None = None

    def used(self) -> None:
        """Another key comes into use now."""
        self._used.release()

    def run(self) -> None:
        chance = random.Random(self._every)  # noqa: S311 - a seed makes the test the same every time
        try:
            for _ in range(self._left):
                for _ in range(self._every):
                    self._used.acquire()
                time.sleep(chance.uniform(0, 0.05))  # somewhere in the midst of the commands with this key
                self._server.kill()
                self._server.start()
        except BaseException as error:
            self.error = error


@contextlib.contextmanager
def killed(server: Server, count: int, keys: int) -> Iterator[Kills]:
    kills = Kills(server, count, keys)
    kills.start()
    yield kills
    kills.join(PATIENCE)
    assert kills.error is None and not kills.is_alive()


def answered(_: int, client: httpx.Client, barrier: threading.Barrier, key: str) -> httpx.Response:
    """The answer at last, over however many lives of the server."""
    barrier.wait()
    while True:
        with contextlib.suppress(httpx.TransportError):
            answer = client.post("/api/sessions", json=START, headers={"Idempotency-Key": key})
            if answer.status_code != 503:
                return answer
        time.sleep(0.02)


@pytest.mark.parametrize(("keys", "kills"), [(20, 2), pytest.param(500, 20, marks=pytest.mark.nightly)])
def test_duplicates_have_one_effect_and_one_answer_over_kills(tmp_path: Path, keys: int, kills: int) -> None:
    server = Server(tmp_path)
    first: dict[str, bytes] = {}
    try:
        server.start()
        with ThreadPoolExecutor(WAYS) as pool, killed(server, kills, keys) as killing:
            for _ in range(keys):
                key, barrier = str(uuid.uuid4()), threading.Barrier(WAYS)
                killing.used()
                send = partial(answered, client=server.client, barrier=barrier, key=key)
                answers = list(pool.map(send, range(WAYS)))
                assert {answer.status_code for answer in answers} == {202}
                assert len({answer.content for answer in answers}) == 1
                originals = sum("idempotency-replayed" not in answer.headers for answer in answers)
                assert originals <= 1, "the first answer may be lost with the server"
                first[key] = answers[0].content
        for key, content in first.items():
            again = server.client.post("/api/sessions", json=START, headers={"Idempotency-Key": key})
            assert (again.content, again.headers["idempotency-replayed"]) == (content, "true")
            other = {**START, "title": "Another"}
            assert pointers(server.client.post("/api/sessions", json=other, headers={"Idempotency-Key": key})) == [""]
        server.stop()
    finally:
        server.leave()
    with reading(f"sqlite:///{server.database}") as store:
        sessions = store.rows.streams()
        begun = Counter(store.history(name, upto=1)[0].causation.command_id for name in sessions)
    assert begun == dict.fromkeys(first, 1)
