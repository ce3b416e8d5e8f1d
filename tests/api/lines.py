"""A repository in which people and agents write, and the answers of `GET /api/blame` for its lines."""

import os
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import httpx2 as httpx

from tests.api.server import Json, delivery, ended, start

_PERSON = {
    **{f"GIT_{who}_NAME": "Somebody" for who in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{who}_EMAIL": "somebody@example.org" for who in ("AUTHOR", "COMMITTER")},
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_EDITOR": "true",
}


@dataclass(frozen=True)
class Place:
    """A repository on the branch `main`, and a server whose agents work on it."""

    folder: Path
    client: httpx.Client

    def git(self, *words: str) -> str:
        done = self.tried(*words)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout.rstrip("\n")

    def tried(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run git, which may fail."""
        env = {**os.environ, **_PERSON}
        return subprocess.run(["git", *words], cwd=self.folder, env=env, check=False, capture_output=True, text=True)

    def write(self, files: Mapping[str, Sequence[str]]) -> None:
        for path, lines in files.items():
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / path).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    def lines(self, path: str) -> list[str]:
        return (self.folder / path).read_text("utf-8").split("\n")[:-1]

    def commit(self, files: Mapping[str, Sequence[str]], *options: str, message: str = "Mine") -> str:
        """A person's commit."""
        self.write(files)
        self.git("add", "--all")
        words = () if "--no-edit" in options else ("-m", message)
        self.git("commit", "--quiet", "--allow-empty", *words, *options)
        return self.git("rev-parse", "HEAD")

    def deliver(self, *turns: Mapping[str, Sequence[str]], reviews: Sequence[str] = (), **fields: object) -> Json:
        """Run a delivery in which the developer writes these files, turn by turn."""
        writing = [{"text": "Wrote the files.", "files": _texts(files)} for files in turns]
        replies = {"dev": writing, **({"reviewer": list(reviews)} if reviews else {})}
        body = delivery(replies, workspace=str(self.folder), filePaths=sorted(turns[0]), **fields)
        session = ended(self.client, start(self.client, body))
        assert session["status"] == "success", session
        return session

    def merged(self, *turns: Mapping[str, Sequence[str]], **fields: object) -> Json:
        """Run such a delivery and merge it into the current branch."""
        session = self.deliver(*turns, **fields)
        self.git("merge", "--quiet", "--no-edit", session["result"]["branch"])
        return session

    def blame(self, path: str, revision: str = "HEAD") -> list[Json]:
        query = {"repository": str(self.folder), "path": path, "revision": revision}
        answer = self.client.get("/api/blame", params=query)
        assert answer.status_code == 200, answer.text
        body: list[Json] = answer.json()
        return body

    def claimed(self, path: str, revision: str = "HEAD") -> list[str]:
        """The agents' lines, and each person's line as a dot."""
        return [line["text"] if line["session"] else "." for line in self.blame(path, revision)]


@dataclass(frozen=True)
class Removals:
    """The lines each commit removes, not counting those it only moves or indents."""

    place: Place
    _read: dict[str, frozenset[str]] = field(default_factory=dict)

    def until(self, revision: str) -> set[str]:
        """Removed by all commits up to this one."""
        history = self.place.git("rev-list", "--no-merges", revision).split("\n")
        new = [commit for commit in history if commit not in self._read]
        shown = self.place.git("show", "--format=%x01%H", "--unified=0", *new) if new else ""
        for text in shown.split("\x01")[1:]:
            commit, *lines = text.split("\n")
            self._read[commit] = frozenset(_taken_out(lines))
        return {line for commit in history for line in self._read[commit]}


def _taken_out(patch: Sequence[str]) -> list[str]:
    counts = Counter[str]()
    for line in patch:
        if line[:1] in ("+", "-") and line[:3] not in ("+++", "---"):
            counts[line[1:].strip()] += 1 if line[0] == "+" else -1
    return [line for line, count in counts.items() if count < 0]


def _texts(files: Mapping[str, Sequence[str]]) -> dict[str, str]:
    return {path: "".join(f"{line}\n" for line in lines) for path, lines in files.items()}


def new_repository(folder: Path, files: Mapping[str, Sequence[str]], client: httpx.Client) -> Place:
    folder.mkdir()
    place = Place(folder, client)
    place.git("init", "--quiet", "--initial-branch=main")
    place.commit(files, message="Begin")
    return place
