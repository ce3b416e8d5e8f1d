"""A server that is killed while it pushes or opens a pull request: the next one finds out what was done, and does
nothing twice."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.api.server import Server, events, serving, until
from tests.api.test_baseline import run
from tests.api.test_pull_requests import FAST, git, wrote
from tests.kit.forge import TOKEN, FakeForge
from tests.kit.replies import review


@pytest.fixture
def forge(tmp_path: Path) -> Iterator[FakeForge]:
    with FakeForge(tmp_path, "github") as fake:
        yield fake


@pytest.fixture
def server(forge: FakeForge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    file = tmp_path / "forge.toml"
    file.write_text(forge.settings(**FAST), encoding="utf-8")
    monkeypatch.setenv("FORGE_TOKEN", TOKEN)
    (tmp_path / "life").mkdir()
    with serving(tmp_path / "life", trust="all", sandbox="off", forge=file) as running:
        yield running


def delivered(server: Server, forge: FakeForge, folder: Path) -> str:
    git(folder.parent, "clone", "--quiet", forge.remote, str(folder))
    replies: dict[str, Any] = {"dev": [wrote("a\n"), wrote("b\n")], "reviewer": [review(), review()]}
    return str(run(server.client, folder, "true", None, scenario={"replies": replies})["id"])


def reaches(server: Server, name: str, topic: str) -> None:
    until(lambda: topic in [each["type"] for each in events(server.client, name)], what=topic, seconds=60)


@pytest.mark.parametrize("lost", ["push", "open"])
def test_nothing_is_done_twice(server: Server, forge: FakeForge, tmp_path: Path, lost: str) -> None:
    """The answer of the forge to a push, or to the request that opens, is never heard."""
    name = delivered(server, forge, tmp_path / "shop")
    if lost == "push":
        forge.fail(method="GET", path="/pulls", hold=5.0, times=1)
    else:
        forge.fail(method="POST", path="/pulls$", after=True, hold=5.0, times=1)
    assert server.client.post(f"/api/sessions/{name}/pull-request", json={"follow": True}).status_code == 202
    if lost == "push":
        until(lambda: forge.pushes, what="the push", pause=0.001)
    else:
        until(lambda: forge.pulls, what="the pull request", pause=0.001)
    server.kill()
    server.start()
    reaches(server, name, "forge.pull_request_opened")
    topics = [each["type"] for each in events(server.client, name)]
    assert (len(forge.pushes), len(forge.pulls)) == (1, 1)
    assert (topics.count("forge.pushed"), topics.count("forge.pull_request_opened")) == (1, 1)
