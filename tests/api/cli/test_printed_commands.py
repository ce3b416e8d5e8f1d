"""Every command that an output names is accepted when it is run as it is printed (contract-3 §23)."""

import json
import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.api.cli.conftest import Hansard, Result, critique, judged, plan, review, subtask
from tests.api.cli.kept import FILES, git
from tests.api.cli.test_results import here

__all__ = ["here"]

PRINTED = re.compile(
    r"`(hansard [^`\n]+)`|(?:^|     |: |, or |^  )(hansard [a-z][^\n]*?)(?=$|     |\. |, or )", re.MULTILINE
)
STAYS = ("serve", "watch", "worker", "mcp", "revise")
"""Commands that do not end by themselves, or have a person write in an editor."""
PLACES = re.compile(r"\b(?:SESSION|ID|NAME|FILE|TEXT|CHOICE|WHY|PATH|COMMAND|TASK)\b|…|\.\.\.")
"""A word that only says what belongs there; sentences about commands in general have them, and next steps never."""
ACCEPTED = (0, 1, 6, 7)
"""Also what the session comes to; not a usage that is wrong (2), a session that is unknown (3), or a refusal (4)."""

Scene = Callable[[Hansard, Path, Path], Iterator[Result]]
RUN = ("run", "-t", "Shout the third line", "--test", "true", "--no-baseline")
FAILING = {"error": "crash"}
TOML = '[validation]\ncommands = ["true"]\n'


def scripted(folder: Path, **replies: list[object]) -> tuple[str, str]:
    path = folder / "scenario.json"
    path.write_text(json.dumps({"replies": replies}), encoding="utf-8")
    return "--scenario", str(path)


def commits_settings(here: Path, toml: str = TOML) -> None:
    (here / "hansard.toml").write_text(toml)
    git(here, "add", "--all")
    git(here, "commit", "--quiet", "-m", "Settings")


def success(hansard: Hansard, here: Path, folder: Path) -> Iterator[Result]:
    yield hansard(*RUN, *scripted(folder, dev=[{"text": "Done.", "files": FILES}]))
    for words in (("show", "latest"), ("inbox",), ("list",), ("explain", "latest"), ("changes", "latest")):
        yield hansard(*words)
    yield hansard("continue", "latest")
    yield hansard("retry", "latest")
    yield hansard("extend", "latest", "--iterations", "1", "--reason", "more")


def exhausted(hansard: Hansard, here: Path, folder: Path) -> Iterator[Result]:
    replies = scripted(folder, dev=[{"text": "Done.", "files": FILES}], reviewer=[review("Not yet")] * 4)
    yield hansard(*RUN, "--max-iterations", "1", *replies)
    for words in (("show", "latest"), ("inbox",), ("explain", "latest"), ("continue", "latest")):
        yield hansard(*words)


def failed(hansard: Hansard, here: Path, folder: Path) -> Iterator[Result]:
    yield hansard(*RUN, *scripted(folder, planner=[FAILING] * 9))
    for words in (("show", "latest"), ("inbox",), ("explain", "latest"), ("continue", "latest")):
        yield hansard(*words)


def waits_for_a_decision(hansard: Hansard, here: Path, folder: Path) -> Iterator[Result]:
    commits_settings(here)
    words = ("review", "a text", "--max-rounds", "1")
    yield hansard(*words, *scripted(folder, reviewer=[critique("NEEDS_FIX", ("major", "Too quiet"))]))
    yield hansard("inbox")
    yield hansard("show", "latest")
    yield hansard("continue", "latest")
    yield hansard("decide", "latest", "apply_fix")


def checkpoint(hansard: Hansard, here: Path, folder: Path) -> Iterator[Result]:
    planned = plan(subtask("Backend", "backend", 3, 4, checkpoint=True))
    replies = scripted(folder, planner=[planned], judge=[judged("Good.", Backend=True)])
    yield hansard("orchestrate", "Build the API, then its docs", "-e", "Backend:backend", *replies)
    for words in (("inbox",), ("show", "latest"), ("explain", "latest")):
        yield hansard(*words)


def asks_for_its_scope(hansard: Hansard, here: Path, folder: Path) -> Iterator[Result]:
    commits_settings(here, '[scope]\nallow = ["a.txt"]\noutside = "ask"\n')
    yield hansard(*RUN, *scripted(folder, dev=[{"text": "Done.", "files": FILES}]))
    for words in (("inbox",), ("show", "latest"), ("explain", "latest")):
        yield hansard(*words)


def only_recorded(hansard: Hansard, here: Path, folder: Path) -> Iterator[Result]:
    yield hansard(*RUN, "--detach", *scripted(folder))
    for words in (("show", "latest"), ("explain", "latest"), ("inbox",)):
        yield hansard(*words)


def in_the_way(hansard: Hansard, here: Path, folder: Path) -> Iterator[Result]:
    commits_settings(here)
    yield hansard(*RUN, *scripted(folder, dev=[{"text": "Done.", "files": FILES}]))
    (here / "a.txt").write_text("one\ntwo\nmine\n")
    for word in ("merge", "apply", "land"):
        yield hansard(word, "latest")
    git(here, "commit", "--quiet", "-am", "Mine")
    for word in ("merge", "apply", "land", "show"):
        yield hansard(word, "latest")
    yield hansard("inbox")


def mistakes(hansard: Hansard, here: Path, folder: Path) -> Iterator[Result]:
    commits_settings(here)
    for words in (
        ("run", "Add a flag"),
        ("--json", "list"),
        ("cancel", "latest"),
        ("show", "nothing"),
        ("decide", "latest", "skip"),
        ("review", "nofile.md"),
        ("list",),
        ("doctor",),
        ("init",),
    ):
        yield hansard(*words)


SCENES: tuple[Scene, ...] = (
    success,
    exhausted,
    failed,
    waits_for_a_decision,
    checkpoint,
    asks_for_its_scope,
    only_recorded,
    in_the_way,
    mistakes,
)


def printed(result: Result) -> list[str]:
    """The commands in this output, each once."""
    found = (match for text in (result.out, result.err) for match in PRINTED.finditer(text))
    commands = (next(filter(None, match.groups())).strip().rstrip(".") for match in found)
    return [each for each in dict.fromkeys(commands) if not PLACES.search(each)]


def as_words(command: str) -> tuple[str, ...]:
    _, verb, *rest = shlex.split(command)
    return (verb, "--help") if verb in STAYS else (verb, *rest)


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.__name__)
def test_what_is_printed_runs_as_it_is_printed(
    scene: Scene,
    hansard: Hansard,
    here: Path,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wrong: list[tuple[str, int, str]] = []
    seen: set[str] = set()
    copy = tmp_path_factory.mktemp("copy") / "as-it-was"

    def as_it_was() -> None:
        monkeypatch.chdir("/")
        shutil.rmtree(tmp_path)
        shutil.copytree(copy, tmp_path, symlinks=True)
        monkeypatch.chdir(here)

    for result in scene(hansard, here, tmp_path):
        commands = [command for command in printed(result) if command not in seen]
        if not commands:
            continue
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(tmp_path, copy, symlinks=True)
        for command in commands:
            as_it_was()
            answer = hansard(*as_words(command))
            if answer.code not in ACCEPTED:
                wrong.append((command, answer.code, answer.err))
        seen.update(commands)
        as_it_was()
    assert seen
    assert wrong == []
