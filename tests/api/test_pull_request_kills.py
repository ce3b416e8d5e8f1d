"""kill -9 at each event, and between each request to the forge and its record: the same end, and nothing twice."""

import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, Final, Literal

import pytest

from tests.api.mortal import Mortal
from tests.api.server import Json, Server, delivery, events, session
from tests.api.test_pull_request_lives import SECRET, lives, script
from tests.api.test_pull_requests import Life
from tests.kit.forge import TOKEN, FakeForge, Kind
from tests.kit.replies import review

FAST: dict[str, Any] = {"poll_seconds": 0.1, "quiet_seconds": 0}
HEX: Final = re.compile(r"\b[0-9a-f]{10}\b")
Moment = Literal["before", "after"]


class MortalAtForge(Mortal):
    """A server that is killed at chosen requests to the forge, and started again."""

    def __init__(self, folder: Path, forge: FakeForge) -> None:
        self.forge, self.folder = forge, folder
        settings = folder / "forge.toml"
        settings.write_text(forge.settings(**FAST, secret="env:HOOK_SECRET"), encoding="utf-8")
        super().__init__(Server(folder, trust="all", sandbox="off", forge=settings, poll_seconds=0.05))
        self._wanted: set[int] = set()
        self._always = False
        self.moments = 0
        forge.watch = self._seen

    def dies_at(self, *numbers: int) -> None:
        """Be killed at these moments: each change that is sent has one before and one after it is carried out."""
        self._wanted = {*numbers}

    def _seen(self, method: str, path: str, _: Moment) -> None:
        if method == "GET" or path.endswith("git-upload-pack"):
            return
        self.moments += 1
        if self.moments in self._wanted or (self._always and self.moments % 2):
            self.dies()

    @contextmanager
    def dies_at_each_event(self) -> Iterator[None]:
        """Also before each change that is sent, and after it, when it is sent again."""
        self._always = True
        with super().dies_at_each_event():
            yield
        self._always = False


@contextmanager
def living(tmp_path: Path, kind: Kind, monkeypatch: pytest.MonkeyPatch) -> Iterator[MortalAtForge]:
    monkeypatch.setenv("FORGE_TOKEN", TOKEN)
    monkeypatch.setenv("HOOK_SECRET", SECRET)
    with FakeForge(tmp_path, kind) as forge:
        mortal = MortalAtForge(tmp_path, forge)
        try:
            mortal.server.start()
            yield mortal
        finally:
            forge.watch = None
            mortal.server.leave()


def wrote(text: str) -> Json:
    return {"text": "Done.", "files": {"shop.py": text}}


def life(mortal: MortalAtForge) -> str:
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


def nothing_twice(mortal: MortalAtForge, session: str) -> None:
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


# -- ten lives -----------------------------------------------------------------------------------------------------

TEN: Final = [(seed, ("github", "gitlab")[seed % 2]) for seed in range(1_763, 1_773)]
"""All endings, and nearly all steps."""


def told(seed: int, mortal: MortalAtForge, *, killed: bool) -> Json:
    """How a life ends, without ids and times."""
    with mortal.client() as client:
        life = Life(client, mortal.forge, mortal.folder / "shop")
        with mortal.dies_at_each_event() if killed else nullcontext():
            lives(life, *script(seed))
        mortal.reborn()
        pull, forge = life.view, mortal.forge
        head, spoken = forge.head(life.branch), client.get(f"/api/sessions/{life.id}/comments").json()["items"]
        posts = [HEX.sub("", note.body).replace(life.id, "ID") for note in forge.posts()]
        return {
            "status": session(client, life.id)["status"],
            "pull": {name: pull[name] for name in ("state", "rest", "revisions", "number")},
            "said": sorted((each["by"], each["text"], each["counts"]) for each in pull["comments"]),
            "comments": sorted((each["by"], each["text"], each["status"]) for each in spoken),
            "files": forge.git("ls-tree", "-r", head) if head else "",
            "pushes": len(forge.pushes),
            "posts": sorted(posts),
            "asked": [each["data"]["by"] for each in events(client, life.id) if "revision_requested" in each["type"]],
        }


@pytest.mark.nightly
@pytest.mark.parametrize(("seed", "kind"), TEN)
def test_a_kill_at_each_event_leads_to_the_same_end(
    seed: int, kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = []
    for killed in (False, True):
        (folder := tmp_path / str(killed)).mkdir()
        with living(folder, kind, monkeypatch) as mortal:
            ends.append(told(seed, mortal, killed=killed))
    assert ends[1] == ends[0]
    assert mortal.deaths > 10
    print(f"{kind} {seed}: {mortal.deaths} kills")  # noqa: T201 - figures
