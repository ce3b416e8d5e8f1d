"""The fake forge itself: git over HTTP, what people do there, and webhooks as a forge signs them."""

import os
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from adapters.forge.hooks import is_signed
from tests.kit.forge import FakeForge

ENV = {
    **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{role}_{what}": "Ann" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    "GIT_TERMINAL_PROMPT": "0",
}


def git(folder: Path, *words: str, code: int = 0) -> str:
    done = subprocess.run(["git", *words], cwd=folder, env=ENV, capture_output=True, text=True, check=False)
    assert (done.returncode == 0) == (code == 0), done.stderr
    return (done.stdout + done.stderr).strip()


@pytest.fixture
def checkout(fake: FakeForge, tmp_path: Path) -> Path:
    git(tmp_path, "clone", "--quiet", fake.remote, "checkout")
    return tmp_path / "checkout"


def commit(checkout: Path, name: str) -> str:
    (checkout / name).write_text(name * 50_000, encoding="utf-8")
    git(checkout, "add", "--all")
    git(checkout, "commit", "--quiet", "-m", f"Add {name}")
    return git(checkout, "rev-parse", "HEAD")


def test_a_push_over_http_is_seen_and_counted(fake: FakeForge, checkout: Path) -> None:
    git(checkout, "switch", "--quiet", "-c", "more")
    head = commit(checkout, "a.txt")
    git(checkout, "push", "--quiet", "origin", "more")
    assert fake.head("more") == head and fake.pushes == [("more", head)]
    git(checkout, "push", "--quiet", "origin", "more")
    assert len(fake.pushes) == 1


def test_who_is_late_is_refused_and_nothing_of_the_others_is_lost(fake: FakeForge, checkout: Path) -> None:
    git(checkout, "switch", "--quiet", "-c", "topic", "origin/topic")
    commit(checkout, "a.txt")
    theirs = fake.commit("topic", {"b.txt": "b\n"}, by="bea")
    assert "rejected" in git(checkout, "push", "--porcelain", "origin", "topic", code=1)
    assert fake.head("topic") == theirs and fake.pushes == []


def test_a_push_whose_answer_is_lost_has_happened(fake: FakeForge, checkout: Path) -> None:
    git(checkout, "switch", "--quiet", "-c", "more")
    head = commit(checkout, "a.txt")
    fake.fail(method="POST", path="git-receive-pack", status=502, after=True)
    git(checkout, "push", "--quiet", "origin", "more", code=1)
    assert fake.head("more") == head and fake.pushes == [("more", head)]


def test_a_push_that_the_forge_does_not_take_has_not_happened(fake: FakeForge, checkout: Path) -> None:
    git(checkout, "switch", "--quiet", "-c", "more")
    commit(checkout, "a.txt")
    fake.fail(path="git-receive-pack", status=503, times=5)
    git(checkout, "push", "--quiet", "origin", "more", code=1)
    assert fake.head("more") is None and fake.pushes == []


def test_a_branch_that_is_deleted_closes_its_pull_request_at_github(fake: FakeForge) -> None:
    pull = fake.open("topic", "main", "Totals", "")
    fake.delete_branch("topic")
    assert fake.head("topic") is None
    assert pull.state == ("closed" if fake.kind == "github" else "open")


def test_a_hook_is_signed_as_it_is_checked(fake: FakeForge) -> None:
    received: list[bool] = []

    class Receiver(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            received.append(is_signed(headers, body, "hook-secret"))
            self.send_response(204)
            self.end_headers()

    with HTTPServer(("127.0.0.1", 0), Receiver) as server:
        thread = threading.Thread(target=lambda: [server.handle_request() for _ in range(2)])
        thread.start()
        url = f"http://127.0.0.1:{server.server_address[1]}/api/forge/webhook"
        assert fake.send_hook(url, "hook-secret", body=b'{"action": "x"}') == 204
        assert fake.send_hook(url, "guessed", body=b'{"action": "x"}') == 204
        thread.join()
    assert received == [True, False]
