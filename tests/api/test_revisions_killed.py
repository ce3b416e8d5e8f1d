"""kill -9 at any time while people comment on results and have them changed, in repositories of real git: the same end,
and nothing that they said or committed is lost or doubled (contract-3 §18)."""

import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, Final

import httpx2 as httpx
import pytest

from tests.api.mortal import Mortal
from tests.api.server import Json, Server, delivery, ended, events, session, start, until
from tests.api.test_baseline import repository
from tests.api.test_people_commits import commits, contains
from tests.api.test_revisions import git
from tests.kit.replies import review

SECONDS: Final = 0.3
"""Between an event and the next kill, at most."""


@contextmanager
def living(folder: Path) -> Iterator[Mortal]:
    folder.mkdir()
    mortal = Mortal(Server(folder, trust="all", sandbox="off", poll_seconds=0.05))
    try:
        mortal.server.start()
        yield mortal
    finally:
        mortal.server.leave()


class Story:
    """What a person says and commits, the same each time."""

    def __init__(self, client: httpx.Client, folder: Path, seed: int) -> None:
        self.client, self.folder, self.said = client, folder, list[str]()
        self.chance = random.Random(seed)  # noqa: S311 - no secret
        self.commits: list[str] = []
        self.shop = repository(folder / "shop", **{"a.txt": "first\n", "c.txt": "see\n"})
        written = [{"text": "Done.", "files": {"a.txt": f"version {number}\n"}} for number in range(20)]
        replies = {"dev": written, "reviewer": [review()] * 20}
        phases = ["implementation", "validation", "packaging"]
        body = delivery(replies, workspace=str(self.shop), validationCommands=["true"], phases=phases)
        self.id = str(ended(client, start(client, body))["id"])
        self.branch = f"hansard/{self.id}"

    def post(self, place: str, body: Json) -> Json:
        answer = self.client.post(f"/api/sessions/{self.id}/{place}", json=body)
        assert answer.status_code < 300, answer.text
        result: Json = answer.json()
        return result

    def words(self, what: str) -> str:
        self.said.append(f"{what} number {len(self.said)}, once and for all.")
        return self.said[-1]

    def told(self) -> None:
        for number in range(self.chance.randint(1, 3)):
            for _ in range(self.chance.randint(0, 2)):
                line = {"path": "a.txt", "line": 1} if self.chance.random() < 0.5 else {}
                self.post("comments", {"text": self.words("Remark")} | line)
            if self.chance.random() < 0.4:
                path = f"notes_{number}_txt"
                self.commits.append(commits(self.shop, self.branch, self.folder, **{path: "Mine.\n"}))
            self.post("revise", {"text": self.words("Request")})
            if self.chance.random() < 0.5:
                self.post("revise", {"text": self.words("Another")})
            until(self.rests, what="the end of all requests")
            names = [each["commentId"] for each in self.comments() if each["status"] != "resolved"]
            if names and self.chance.random() < 0.5:
                self.post(f"comments/{self.chance.choice(names)}", {"status": "resolved"})

    def rests(self) -> bool:
        view = session(self.client, self.id)
        return view["status"] == "success" and all(each["status"] == "done" for each in view["revisions"])

    def comments(self) -> list[Json]:
        items: list[Json] = self.client.get(f"/api/sessions/{self.id}/comments", params={"limit": 200}).json()["items"]
        return items

    def end(self) -> Json:
        """Without ids and times."""
        made = [(each["text"], each["by"], each["status"], each["line"], each["quote"]) for each in self.comments()]
        log = self.client.get(f"/api/sessions/{self.id}/worklog").text
        return {
            "comments": made,
            "revisions": [each["status"] for each in session(self.client, self.id)["revisions"]],
            "files": git(self.shop, "show", f"{self.branch}:a.txt"),
            "asked": [
                each["data"]["text"]["head"]
                for each in events(self.client, self.id)
                if "requested" in each["type"] and "revision" in each["type"]
            ],
            "said once": [words for words in self.said if log.count(words) != 1],
            "kept": [contains(self.shop, self.branch, commit) for commit in self.commits],
        }


def nothing_twice(story: Story) -> None:
    """Each of the person's words is one event, and each turn has one end."""
    history = events(story.client, story.id)
    said = Counter(
        each["data"]["text"] if isinstance(each["data"]["text"], str) else each["data"]["text"]["head"]
        for each in history
        if each["type"] in ("session.commented", "session.revision_requested")
    )
    assert said == Counter(story.said)
    ends = Counter(each["data"]["turnId"] for each in history if each["type"] == "turn.answered")
    assert set(ends.values()) == {1}


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(12))
def test_kills_at_any_time_lead_to_the_same_end(seed: int, tmp_path: Path) -> None:
    ends: list[Any] = []
    for killed in (False, True):
        with living(tmp_path / str(killed)) as mortal, mortal.client() as client:
            story = Story(client, mortal.server.folder, seed)
            with mortal.dies_at_random(seed, SECONDS) if killed else nullcontext():
                story.told()
            mortal.reborn()
            nothing_twice(story)
            ends.append(story.end())
    assert ends[1] == ends[0]
    assert ends[0]["said once"] == [] and all(ends[0]["kept"])
    assert mortal.deaths >= 1
    print(f"{seed}: {mortal.deaths} kills, {len(story.said)} said")  # noqa: T201 - figures
