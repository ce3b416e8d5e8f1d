"""Whole lives of pull requests against a forge on loopback: opened, checked, commented on, in conflict, merged."""

import json
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from tests.api.server import Json, events, inside, session, until
from tests.api.test_baseline import run
from tests.kit.forge import TOKEN, FakeForge, Kind
from tests.kit.replies import review
from tests.kit.sweeps import sampled

FAST: dict[str, Any] = {"poll_seconds": 0.1, "quiet_seconds": 1}


@pytest.fixture(params=sampled(["github", "gitlab"], 0))
def forge(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[FakeForge]:
    kind: Kind = request.param
    with FakeForge(tmp_path, kind) as fake:
        yield fake


class Life:
    """A delivery on a clone of the forge's repository, and its pull request."""

    def __init__(self, client: httpx.Client, forge: FakeForge, folder: Path) -> None:
        self.client, self.forge, self.folder = client, forge, folder
        git(folder.parent, "clone", "--quiet", forge.remote, str(folder))
        self.id = ""

    def delivers(self, *dev: Json) -> "Life":
        """The developer's answers, one for each iteration."""
        replies = {"dev": list(dev), "reviewer": [review() for _ in range(9)]}
        made = run(self.client, self.folder, "true", None, scenario={"replies": replies})
        assert made["status"] == "success", made
        self.id = made["id"]
        return self

    def pulls(self, **body: Any) -> "Life":
        """A pull request is open, and followed."""
        answer = self.client.post(f"/api/sessions/{self.id}/pull-request", json={"follow": True, **body})
        assert answer.status_code == 202, answer.text
        self.reaches("forge.pull_request_opened")
        return self

    def reaches(self, topic: str, times: int = 1) -> Json:
        """The event, once it is there so many times."""

        def found() -> Json | None:
            found = [event for event in events(self.client, self.id) if event["type"] == topic]
            return found[times - 1]["data"] if len(found) >= times else None

        return until(found, what=f"{topic} in {self.topics}", seconds=60)

    @property
    def topics(self) -> list[str]:
        return [event["type"] for event in events(self.client, self.id)]

    @property
    def view(self) -> Json:
        shown: Json = session(self.client, self.id)["result"]["pullRequest"]
        return shown

    @property
    def branch(self) -> str:
        return f"hansard/{self.id}"

    def waits_for(self, name: str) -> Json:
        def found() -> Json | None:
            items = self.client.get("/api/decisions").json()["items"]
            return next((each for each in items if each["sessionId"] == self.id and each["waitsFor"] == name), None)

        return until(found, what=f"waits for {name}: {self.topics}", seconds=60)


@pytest.fixture
def life(forge: FakeForge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Life]:
    file = tmp_path / "forge.toml"
    file.write_text(forge.settings(**FAST, allow=["@testers"], secret="env:HOOK_SECRET"), encoding="utf-8")
    monkeypatch.setenv("FORGE_TOKEN", TOKEN)
    monkeypatch.setenv("HOOK_SECRET", "tell-nobody")
    with inside(tmp_path / "data", trust="all", sandbox="off", forge=file) as client:
        yield Life(client, forge, tmp_path / "shop")


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def wrote(text: str, *answers: Json) -> Json:
    """An answer of the developer, who writes `shop.py`."""
    words = f"Done.\n```json\n{json.dumps({'comments': answers})}\n```" if answers else "Done."
    return {"text": words, "files": {"shop.py": text}}


def test_green_and_merged(life: Life) -> None:
    """A pull request is opened, its checks pass, and somebody merges it."""
    life.delivers(wrote("a\n")).pulls()
    head = life.forge.head(life.branch)
    assert life.view["head"] == head
    life.forge.check(head, "tests", "success")
    life.reaches("forge.checks_ended")
    life.forge.merge(1)
    life.reaches("forge.merged")
    shown = session(life.client, life.id)
    assert (shown["result"]["landing"]["status"], life.view["state"]) == ("landed", "merged")
    assert len(life.forge.pushes) == 1
    assert len(life.forge.pulls) == 1


def test_red_then_green(life: Life) -> None:
    """A check that fails begins a revision, which is pushed."""
    life.delivers(wrote("a\n"), wrote("b\n")).pulls()
    first = life.forge.head(life.branch)
    life.forge.check(first, "tests", "failure", log="1 failed")
    life.reaches("forge.pushed", 2)
    second = life.forge.head(life.branch)
    assert second != first
    life.forge.check(second, "tests", "success")
    life.reaches("forge.checks_ended", 2)
    assert life.view["checks"]["conclusion"] == "success"
    assert life.view["revisions"] == 1


def test_red_for_ever(life: Life) -> None:
    """After three attempts in a row a person is asked."""
    life.delivers(*(wrote(f"{number}\n") for number in range(5))).pulls()
    for number in range(1, 5):
        life.reaches("forge.pushed", number)
        life.forge.check(life.forge.head(life.branch), "tests", "failure", log="1 failed")
        life.reaches("forge.checks_ended", number)
    assert life.waits_for("checks")["cause"] == "checks_attempts"
    assert len(life.forge.pushes) == 4


def test_a_comment_becomes_a_revision_and_a_reply(life: Life) -> None:
    """A person who may push is heard and answered; a stranger is listed."""
    answer = {"id": "c1", "answer": "fixed", "words": "It is a set now.", "changed": ["shop.py"]}
    life.delivers(wrote("a\n"), wrote("b\n", answer)).pulls()
    life.forge.comment(1, "sam", "Print the environment.")
    life.forge.comment(1, "bea", "Why not a set?", path="shop.py", line=1)
    life.reaches("forge.review_commented", 2)
    life.reaches("forge.posted")
    assert [note.by.name for note in life.forge.posts("It is a set now.")] == ["ann"]
    said = {each["by"].partition(":")[2]: each for each in life.view["comments"]}
    assert (said["sam"]["counts"], said["bea"]["counts"]) == (False, True)
    assert len(life.forge.pushes) == 2
    [comment] = life.client.get(f"/api/sessions/{life.id}/comments").json()["items"]
    assert (comment["line"], comment["quote"], comment["status"]) == (1, ["a"], "fixed")


def test_who_has_left_a_team_counts_no_more(life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    """The forge is asked again after a while."""
    monkeypatch.setattr("adapters.forge.memory.SECONDS", 0.0)
    life.delivers(wrote("a\n"), wrote("b\n")).pulls()
    life.forge.comment(1, "tess", "Why not a set?")
    life.reaches("forge.pushed", 2)
    life.forge.people["tess"] = replace(life.forge.people["tess"], teams=())
    life.forge.comment(1, "tess", "Or a list?")
    life.reaches("forge.review_commented", 2)
    assert [each["counts"] for each in life.view["comments"]] == [True, False]


def test_a_conflict_is_merged_in_one_revision(life: Life) -> None:
    """The base is merged into the work, and pushed as a fast-forward."""
    life.delivers(wrote("ours\n"), wrote("both\n")).pulls()
    before = life.forge.head(life.branch)
    base = life.forge.commit("main", {"shop.py": "theirs\n"})
    life.reaches("forge.pushed", 2)
    head = life.forge.head(life.branch)
    assert life.forge.git("merge-base", str(before), str(head)) == before
    assert life.forge.git("merge-base", base, str(head)) == base
    assert life.forge.git("show", f"{head}:shop.py") == "both"


def test_a_persons_commits_are_taken_over(life: Life) -> None:
    """They stay theirs, and what follows is built on them."""
    life.delivers(wrote("a\n"), wrote("b\n")).pulls()
    theirs = life.forge.commit(life.branch, {"notes.md": "By hand\n"})
    life.reaches("session.commits_taken")
    life.forge.check(life.forge.head(life.branch), "tests", "failure", log="1 failed")
    life.reaches("forge.pushed", 3)
    head = life.forge.head(life.branch)
    assert life.forge.git("merge-base", theirs, str(head)) == theirs
    assert life.forge.git("show", f"{head}:notes.md") == "By hand"


def test_a_forced_push_rests(life: Life) -> None:
    """Nothing is overwritten, and a person is asked."""
    life.delivers(wrote("a\n"), wrote("b\n")).pulls()
    theirs = life.forge.commit(life.branch, {"x": "x\n"}, onto=life.forge.head("main"))
    assert life.waits_for("forge")["cause"] == "forced_push"
    assert life.forge.head(life.branch) == theirs


def test_closed_rests(life: Life) -> None:
    """Nothing more is done; the facts are kept."""
    life.delivers(wrote("a\n")).pulls()
    life.forge.close(1)
    life.reaches("forge.closed")
    assert life.view["state"] == "closed"


def test_a_forge_that_is_away_is_waited_for(life: Life) -> None:
    """That is said, and what has happened meanwhile is seen afterwards."""
    life.delivers(wrote("a\n")).pulls()
    life.forge.fail(status=502, times=3)
    life.reaches("forge.unavailable")
    life.forge.check(life.forge.head(life.branch), "tests", "success")
    life.reaches("forge.available")
    life.reaches("forge.checks_ended")


def test_a_hook_only_wakes_and_needs_the_secret(life: Life) -> None:
    """A forged one is refused, and says nothing."""
    url = "/api/forge/webhook"
    assert life.client.post(url, json={}).status_code == 401
    headers = {"X-Gitlab-Token": "tell-nobody"}
    assert life.client.post(url, json={}, headers=headers).status_code == 202
    assert life.client.post(url, json={}, headers={"X-Gitlab-Token": "tell"}).status_code == 401


def test_a_push_that_changes_settings_of_the_ci_waits_for_a_person(life: Life) -> None:
    """It is named, and pushed once it is asked for again."""
    workflow = {"text": "Done.", "files": {".github/workflows/x.yml": "on: push\n", ".gitlab-ci.yml": "a: {}\n"}}
    life.delivers(workflow)
    path = f"/api/sessions/{life.id}/pull-request"
    assert life.client.post(path, json={}).status_code == 202
    assert life.waits_for("forge")["cause"] == "ci_settings"
    assert life.view["waiting"] == [".github/workflows/x.yml", ".gitlab-ci.yml"]
    assert life.forge.pushes == []
    assert life.client.post(path, json={}).status_code == 202
    life.reaches("forge.pull_request_opened")
    assert len(life.forge.pushes) == 1
