"""What could go on for ever at a forge starts nothing, or comes to an end: a review bot that answers every push, a
check that never ends, and several Hansards on one repository."""

import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.api.server import inside, session, until
from tests.api.test_pull_requests import FAST, Life, wrote
from tests.kit.forge import TOKEN, FakeForge, Kind
from tests.kit.sweeps import sampled

LOOKS = 3
"""So many looks at the forge, and nothing has begun."""


@pytest.fixture(params=sampled(["github", "gitlab"], 0))
def forge(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeForge]:
    kind: Kind = request.param
    monkeypatch.setenv("FORGE_TOKEN", TOKEN)
    monkeypatch.setenv("OTHER_TOKEN", "other-token-77b1")
    with FakeForge(tmp_path, kind) as fake:
        fake.others = {"other-token-77b1": "bea"}
        yield fake


def hansard(forge: FakeForge, folder: Path, **settings: Any) -> AbstractContextManager[TestClient]:
    """A server with a log and a data folder of its own."""
    folder.mkdir(exist_ok=True)
    file = folder / "forge.toml"
    file.write_text(forge.settings(**{**FAST, "quiet_seconds": 0, **settings}), encoding="utf-8")
    return inside(folder / "data", trust="all", sandbox="off", forge=file)


def looks(life: Life, times: int = LOOKS) -> None:
    """The forge is looked at so many times more."""
    read = r"/pulls/1$|/merge_requests/1$"
    before = len(life.forge.made("GET", read))
    until(lambda: len(life.forge.made("GET", read)) >= before + times, what="looks at the forge")


def answered_by_a_bot(forge: FakeForge) -> None:
    """A review bot has something to say about every push."""

    def watch(method: str, path: str, moment: str) -> None:
        if method == "POST" and path.endswith("git-receive-pack") and moment == "after" and forge.pulls:
            forge.comment(1, forge.robot, "Have you thought of a set?")

    forge.watch = watch


def test_a_bot_that_answers_every_push_is_listed_and_begins_nothing(forge: FakeForge, tmp_path: Path) -> None:
    with hansard(forge, tmp_path / "one") as client:
        life = Life(client, forge, tmp_path / "shop")
        life.delivers(*(wrote(f"{number}\n") for number in range(5))).pulls()
        answered_by_a_bot(forge)
        forge.comment(1, "bea", "Why not a list?")
        life.reaches("forge.pushed", 2)
        life.reaches("forge.review_commented", 2)
        looks(life)
        assert [each["counts"] for each in life.view["comments"]] == [True, False]
        assert (len(forge.pushes), life.topics.count("session.revision_requested")) == (2, 1)


def test_a_bot_that_is_allowed_ends_with_the_revisions_that_the_owner_wants(forge: FakeForge, tmp_path: Path) -> None:
    with hansard(forge, tmp_path / "one", allow=[forge.robot], max_revisions=2) as client:
        life = Life(client, forge, tmp_path / "shop")
        life.delivers(*(wrote(f"{number}\n") for number in range(5))).pulls()
        answered_by_a_bot(forge)
        forge.comment(1, forge.robot, "Have you thought of a set?")
        assert life.waits_for("forge")["cause"] == "max_revisions"
        looks(life)
        assert (len(forge.pushes), life.topics.count("session.revision_requested")) == (3, 2)


def test_a_check_that_never_ends_begins_nothing(forge: FakeForge, tmp_path: Path) -> None:
    with hansard(forge, tmp_path / "one") as client:
        life = Life(client, forge, tmp_path / "shop")
        life.delivers(wrote("a\n"), wrote("b\n")).pulls()
        head = forge.head(life.branch)
        forge.check(head, "slow", None)
        forge.check(head, "tests", "failure", log="1 failed")
        looks(life)
        assert len(forge.pushes) == 1 and "forge.checks_ended" not in life.topics


def test_two_hansards_keep_to_their_own_pull_requests(forge: FakeForge, tmp_path: Path) -> None:
    """One is merged; the other one's conflict with it is merged in one revision, and neither answers the other."""
    with ExitStack() as both:
        lives = []
        for name, token in (("one", "env:FORGE_TOKEN"), ("two", "env:OTHER_TOKEN")):
            client = both.enter_context(hansard(forge, tmp_path / name, token=token))
            life = Life(client, forge, tmp_path / f"shop-{name}")
            lives.append(life.delivers(wrote(f"{name}\n"), wrote("one\ntwo\n")).pulls())
        first, second = lives
        assert [pull.by.name for pull in forge.pulls.values()] == ["ann", "bea"]
        forge.merge(1)
        first.reaches("forge.merged")
        second.reaches("forge.conflicted")
        second.reaches("forge.pushed", 2)
        before = len(forge.calls)
        until(lambda: len(forge.calls) > before + 20, what="looks at the forge")
        assert [life.topics.count("session.revision_requested") for life in lives] == [0, 1]
        assert (len(forge.pushes), forge.overwritten) == (3, [])
        forge.merge(2)
        second.reaches("forge.merged")


def quiet(lives: list[Life]) -> bool:
    """Nobody is at work, and nothing new is recorded over many looks."""
    before = [life.topics for life in lives]
    looks(lives[0], 6 * LOOKS)
    at_work = [session(life.client, life.id)["outstandingTurns"] for life in lives]
    return not any(at_work) and [life.topics for life in lives] == before


@pytest.mark.nightly
def test_a_copy_that_follows_the_same_pull_request_comes_to_an_end(forge: FakeForge, tmp_path: Path) -> None:
    """A restored backup beside the original, with the token of somebody else: each takes the other's account for a
    person's."""
    limits: Any = {"max_revisions": 2, "allow": ["tess"]}
    with hansard(forge, tmp_path / "one", **limits) as client:
        life = Life(client, forge, tmp_path / "shop")
        life.delivers(*(wrote(f"{number}\n") for number in range(9))).pulls()
    shutil.copytree(tmp_path / "one", tmp_path / "two", symlinks=True)
    with ExitStack() as both:
        lives = []
        for name, token in (("one", "env:FORGE_TOKEN"), ("two", "env:OTHER_TOKEN")):
            other = Life.__new__(Life)
            client = both.enter_context(hansard(forge, tmp_path / name, token=token, **limits))
            other.client, other.forge, other.folder, other.id = client, forge, life.folder, life.id
            lives.append(other)
        forge.comment(1, "tess", "Why not a set?")
        for life in lives:
            life.reaches("forge.review_commented")
        until(lambda: quiet(lives), what="the end")
        assert all(each.view["revisions"] <= 2 for each in lives)
        assert forge.overwritten == [] and len(forge.pushes) <= 1 + 2 * 2 * 2
