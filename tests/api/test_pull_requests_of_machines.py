"""Two machines on one log: one of them follows each pull request, the other one when that is gone; nothing is sent
twice."""

from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from adapters.pull_requests.claims import PullRequestClaims
from adapters.store.location import open_store
from tests.api.server import ended, inside, start, until
from tests.api.test_issues import body, status_of
from tests.api.test_pull_requests import FAST, Life, wrote
from tests.kit.forge import TOKEN, FakeForge
from tests.kit.postgres import cluster, require
from tests.kit.replies import review

ENDED = """SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1
    AND (classid::bigint << 32 | objid::bigint) = hashtextextended('{}', 32)"""
"""Ends the connection that holds a name."""
HOOK = {"X-Gitlab-Token": "tell-nobody"}


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    require()
    yield cluster().database(tmp_path)
    cluster().free(tmp_path)


@pytest.fixture
def forge(tmp_path: Path) -> Iterator[FakeForge]:
    with FakeForge(tmp_path, "github") as fake:
        yield fake


class Machines:
    """Servers with data folders of their own."""

    def __init__(self, folder: Path, url: str, forge: FakeForge) -> None:
        self._folder, self._url, self._forge = folder, url, forge
        self._file = folder / "forge.toml"
        self._file.write_text(forge.settings(**FAST, secret="env:HOOK_SECRET"), encoding="utf-8")

    def begins(self, name: str) -> AbstractContextManager[TestClient]:
        own = {"database": self._url, "data_dir": self._folder / name, "forge": self._file, "poll_seconds": 0.05}
        return inside(self._folder, trust="all", sandbox="off", **own)


@pytest.fixture
def machines(tmp_path: Path, url: str, forge: FakeForge, monkeypatch: pytest.MonkeyPatch) -> Machines:
    monkeypatch.setenv("FORGE_TOKEN", TOKEN)
    monkeypatch.setenv("HOOK_SECRET", HOOK["X-Gitlab-Token"])
    return Machines(tmp_path, url, forge)


def nothing_twice(life: Life, pushes: int, posts: int) -> None:
    assert len(life.forge.pulls) == life.topics.count("forge.pull_request_opened") == 1
    assert [*Counter(commit for _, commit in life.forge.pushes).values()] == [1] * pushes
    assert [*Counter(note.body.splitlines()[-1] for note in life.forge.posts()).values()] == [1] * posts


def test_one_machine_follows_and_then_the_other(machines: Machines, forge: FakeForge, tmp_path: Path) -> None:
    """The second one goes on where the first one ended: the comment, its reply, the status at the issue."""
    issue = forge.issue("bea", "Totals are wrong", "See below.")
    answer = {"id": "c1", "answer": "fixed", "words": "It is a set now.", "changed": ["shop.py"]}
    with ExitStack() as first, machines.begins("two") as two:
        one = first.enter_context(machines.begins("one"))
        life = Life(one, forge, tmp_path / "shop")
        replies: Any = {"dev": [wrote("a\n"), wrote("b\n"), wrote("c\n", answer)], "reviewer": [review()] * 3}
        life.id = start(one, body(life, f"#{issue.number}", scenario={"replies": replies}))
        assert ended(one, life.id)["status"] == "success"
        assert life.waits_for("forge")["cause"] == "from_issue"
        life.pulls()
        before, number = forge.head(life.branch), life.view["number"]
        forge.check(before, "tests", "failure", log="1 failed")
        life.reaches("forge.pushed", 2)
        nothing_twice(life, pushes=2, posts=1)
        first.close()
        life.client = two
        forge.comment(number, "bea", "Why not a set?", path="shop.py", line=1)

        def replied() -> bool:
            two.post("/api/forge/webhook", json={}, headers=HOOK)
            return "forge.review_commented" in life.topics and bool(forge.posts("It is a set now."))

        until(replied, what="the reply of the second machine", seconds=60)
        forge.merge(number)
        life.reaches("forge.merged")
        until(lambda: "merged" in "".join(status_of(life, issue.number)), what="the last status", seconds=30)
        nothing_twice(life, pushes=3, posts=2)


def test_a_claim_is_of_one_machine_until_its_connection_ends(url: str, tmp_path: Path) -> None:
    """Other sessions stay free, and who has lost the connection learns that another machine follows now."""
    with closing(open_store(url)) as first, closing(open_store(url)) as second:
        ours, theirs = (
            PullRequestClaims(tmp_path / name, store.claims) for name, store in (("1", first), ("2", second))
        )
        with ours.of("a") as one, theirs.of("a") as two, theirs.of("b") as other:
            assert (one.holds(), one.holds(), two.holds(), other.holds()) == (True, True, False, True)
            database = url.partition("?")[0].rpartition("/")[2]
            cluster().sql(ENDED.format("pull-request a"), database=database)
            until(two.holds, what="the claim of the second machine", seconds=10)
            assert (one.holds(), other.holds()) == (False, True)
        with ours.of("a") as one:
            until(one.holds, what="the claim, when the pause after the lost connection is over", seconds=10)
