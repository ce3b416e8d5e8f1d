"""kill -9 between each request to the forge and its record: the same end, and nothing twice."""

import os
import signal
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import httpx2 as httpx
import pytest

from tests.api.server import Json, Server, delivery, until
from tests.kit.forge import TOKEN, FakeForge, Kind
from tests.kit.replies import review

FAST: dict[str, Any] = {"poll_seconds": 0.1, "quiet_seconds": 0}
Moment = Literal["before", "after"]


class Mortal:
    """A server that is killed at chosen requests to the forge, and started again."""

    def __init__(self, folder: Path, forge: FakeForge) -> None:
        self.forge, self.folder = forge, folder
        settings = folder / "forge.toml"
        settings.write_text(forge.settings(**FAST), encoding="utf-8")
        self.server = Server(folder, trust="all", sandbox="off", forge=settings, poll_seconds=0.05)
        self.deaths = 0
        self._wanted: set[int] = set()
        self._number = 0
        self._dead = threading.Event()
        forge.watch = self._seen

    def dies_at(self, *numbers: int) -> None:
        """Be killed at these moments: each change that is sent has one before and one after it is carried out."""
        self._wanted = {*numbers}

    def _seen(self, method: str, path: str, moment: Moment) -> None:
        if method == "GET" or path.endswith("git-upload-pack"):
            return
        self._number += 1
        if self._number in self._wanted:
            self.deaths += 1
            os.kill(self.server.pid, signal.SIGKILL)
            self._dead.set()

    @property
    def moments(self) -> int:
        return self._number

    def reborn(self) -> None:
        if self._dead.is_set():
            self._dead.clear()
            self.server.kill()
            self.server.start()

    def until(self, holds: Any, what: str) -> Any:
        """Wait for it, over as many lives as it takes."""

        def seen() -> Any:
            self.reborn()
            try:
                return holds()
            except (httpx.TransportError, KeyError, TypeError):
                return None

        return until(seen, what=what, seconds=90)


@contextmanager
def living(tmp_path: Path, kind: Kind, monkeypatch: pytest.MonkeyPatch) -> Iterator[Mortal]:
    monkeypatch.setenv("FORGE_TOKEN", TOKEN)
    with FakeForge(tmp_path, kind) as forge:
        mortal = Mortal(tmp_path, forge)
        try:
            mortal.server.start()
            yield mortal
        finally:
            forge.watch = None
            mortal.server.leave()


def wrote(text: str) -> Json:
    return {"text": "Done.", "files": {"shop.py": text}}


def life(mortal: Mortal) -> str:
    """A pull request whose check fails once, that gets a comment, and is merged. Returns the session."""
    forge, client = mortal.forge, mortal.server.client
    checkout = mortal.folder / "shop"
    subprocess.run(["git", "clone", "--quiet", forge.remote, str(checkout)], check=True)
    replies = {"dev": [wrote(f"{number}\n") for number in range(9)], "reviewer": [review() for _ in range(9)]}
    body = delivery(replies, workspace=str(checkout), validationCommands=["true"], maxIterations=1)
    session = client.post("/api/sessions", json=body).json()["sessionId"]
    path = f"/api/sessions/{session}"

    def view() -> Any:
        return client.get(path).json()["session"]

    mortal.until(lambda: view()["status"] in ("success", "failed"), "the delivery")
    assert view()["status"] == "success", view()
    mortal.until(
        lambda: client.post(f"{path}/pull-request", json={"follow": True}, headers={"Idempotency-Key": "k"}).is_success,
        "the request",
    )
    pull = lambda: view()["result"]["pullRequest"]  # noqa: E731
    mortal.until(lambda: pull()["state"] == "open", "the pull request")
    branch = f"hansard/{session}"
    first = forge.head(branch)
    forge.check(first, "tests", "failure", log="1 failed")
    mortal.until(lambda: forge.head(branch) != first and pull()["head"] == forge.head(branch), "the second push")
    forge.check(forge.head(branch), "tests", "success")
    second = forge.head(branch)
    forge.comment(1, "bea", "Why not a set?")
    mortal.until(lambda: forge.head(branch) != second and pull()["head"] == forge.head(branch), "the third push")
    mortal.until(lambda: any("hansard" in note.body for note in forge.posts()), "the reply")
    forge.merge(1)
    mortal.until(lambda: pull()["state"] == "merged", "the end")
    return str(session)


def nothing_twice(mortal: Mortal, session: str) -> None:
    forge, events = mortal.forge, mortal.server.client.get(f"/api/sessions/{session}/events?limit=500").json()["items"]
    assert len(forge.pulls) == 1
    assert max(Counter(commit for _, commit in forge.pushes).values()) == 1
    assert max(Counter(note.body.splitlines()[-1] for note in forge.posts()).values()) == 1
    topics = Counter(event["type"] for event in events)
    assert (topics["forge.pull_request_opened"], topics["forge.merged"], topics["forge.push_requested"]) == (1, 1, 3)


@pytest.mark.parametrize("kind", ["github", "gitlab"])
def test_without_a_kill_the_life_ends_as_scripted(kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with living(tmp_path, kind, monkeypatch) as mortal:
        nothing_twice(mortal, life(mortal))


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["github", "gitlab"])
@pytest.mark.parametrize("moment", range(1, 13))
def test_a_kill_at_any_change_leads_to_the_same_end(
    kind: Kind, moment: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with living(tmp_path, kind, monkeypatch) as mortal:
        mortal.dies_at(moment)
        nothing_twice(mortal, life(mortal))
        assert mortal.deaths == (1 if moment <= mortal.moments else 0)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["github", "gitlab"])
def test_a_kill_at_every_change_leads_to_the_same_end(
    kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with living(tmp_path, kind, monkeypatch) as mortal:
        mortal.dies_at(*range(1, 100, 2))
        nothing_twice(mortal, life(mortal))
        assert mortal.deaths >= 3
