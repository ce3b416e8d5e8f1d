"""`hansard land`: twenty overlapping branches, each validated on top of the previous ones."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.api.cli.conftest import Hansard
from tests.api.cli.test_results import git

CHECK = """\
import pathlib, sys
numbers = [int(line) for path in pathlib.Path("parts").glob("*") for line in path.read_text().split()]
wrong = [n for n in numbers if numbers.count(n) > 1]
print("FAILED parts::" + str(wrong[0]) if wrong else "ok")
sys.exit(bool(wrong))
"""


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A repository as the working directory: numbers in files, none of which may occur twice."""
    folder = tmp_path / "here"
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "config", "user.name", "Somebody")
    git(folder, "config", "user.email", "somebody@example.org")
    (folder / "parts").mkdir()
    for name in range(4):
        (folder / "parts" / f"{name}.txt").write_text("".join(f"{name}{line:02}\n" for line in range(30)))
    (folder / "check.py").write_text(CHECK)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "Begin")
    git(folder, "tag", "main")  # a tag named like the branch
    return folder


def delivered(hansard: Hansard, tmp_path: Path, files: dict[str, str], name: str) -> str:
    scenario = tmp_path / "scenario.json"
    replies = {"dev": [{"text": f"Changed what {name} wanted.", "files": files}]}
    scenario.write_text(json.dumps({"replies": replies}), encoding="utf-8")
    words = ("--test", f"{sys.executable} check.py", "--no-baseline", "--scenario", str(scenario))
    result = hansard("run", "-t", f"Change {name}", *words)
    assert result.code == 0, result.err
    return result.err.partition("Session ")[2].split()[0].rstrip(".")


def with_line(folder: Path, part: int, line: int, text: str) -> dict[str, str]:
    """The file of the first commit with one added line."""
    lines = git(folder, "show", f"HEAD:parts/{part}.txt").split("\n")
    return {f"parts/{part}.txt": "\n".join([*lines[: line + 1], text, *lines[line + 1 :]]) + "\n"}


def passes(folder: Path, commit: str, place: Path) -> bool:
    """Whether the check passes on a commit."""
    git(folder, "worktree", "add", "--quiet", "--detach", str(place), commit)
    return subprocess.run([sys.executable, "check.py"], cwd=place, check=False, capture_output=True).returncode == 0


@pytest.mark.parametrize("fit", [4, *(pytest.param(fit, marks=pytest.mark.nightly) for fit in (5, 16))])
@pytest.mark.nightly
def test_overlapping_deliveries(hansard: Hansard, here: Path, tmp_path: Path, fit: int) -> None:
    """Most land; 2 conflict with others, and 2 pass alone but fail on top of what landed before."""
    first = git(here, "rev-parse", "refs/heads/main")
    wanted: dict[str, str] = {}
    for number in range(fit):
        text = str(9000 + number)
        files = with_line(here, number % 4, 4 + 6 * (number // 4), text)
        wanted[delivered(hansard, tmp_path, files, f"number {number}")] = text
    clash = [
        delivered(hansard, tmp_path, with_line(here, part, 4, str(9500 + part)), f"clash {part}") for part in (0, 1)
    ]
    twice = [
        delivered(hansard, tmp_path, {f"parts/new{number}.txt": f"{9000 + number}\n"}, f"twice {number}")
        for number in (2, 3)
    ]
    assert git(here, "rev-parse", "refs/heads/main") == first

    result = hansard("land", *wanted, *clash, *twice, "--onto", "main", "--json")
    assert result.code == 4, result.err
    body = result.json
    assert [outcome["session"] for outcome in body["landed"]] == list(wanted)
    back = {outcome["session"]: outcome for outcome in body["sentBack"]}
    assert [back[name]["reason"] for name in (*clash, *twice)] == ["conflict", "conflict", "validation", "validation"]
    assert [back[name]["paths"] for name in clash] == [["parts/0.txt"], ["parts/1.txt"]]
    assert back[twice[0]]["reasons"] == ["FAILED parts::9002"] and back[twice[0]]["author"]
    assert f"{clash[0]}  sent back" in result.err

    assert git(here, "status", "--porcelain") == ""
    everything = "".join(path.read_text() for path in (here / "parts").glob("*"))
    assert [text for text in wanted.values() if f"{text}\n" not in everything] == []
    commits = git(here, "rev-list", "--first-parent", "--reverse", f"{first}..refs/heads/main").split()
    assert len(commits) == len(wanted) and commits == [outcome["commit"] for outcome in body["landed"]]
    assert [commit for commit in commits if not passes(here, commit, tmp_path / f"at-{commit[:12]}")] == []
    for name in (*clash, *twice):
        topics = [json.loads(line)["type"] for line in hansard("events", name, "--json").out.splitlines()]
        assert topics[-4:] == ["session.landing_requested", "turn.requested", "turn.answered", "session.sent_back"]
    assert hansard("replay", clash[0], "--assert").code == 0
    assert f"hansard run --fix {clash[0]}" in result.err
    again = json.dumps({"replies": {"dev": [{"text": "Did it again.", "files": {"parts/new.txt": "9500\n"}}]}})
    (tmp_path / "again.json").write_text(again)
    words = ("--no-baseline", "--scenario", str(tmp_path / "again.json"))
    assert hansard("run", "--fix", clash[0], *words).code == 0, "the validation is that of the work that was sent back"
    session = hansard("show", "latest", "--json").json["session"]
    assert [step["command"] for step in session["validationCommands"]] == [f"{sys.executable} check.py"]
    task = session["task"]
    assert "Both sides changed the same lines: parts/0.txt" in task and "+9500" in task and "Change clash 0" in task
    assert hansard("land", "latest", "--onto", "main").code == 0
    assert hansard("replay", next(iter(wanted)), "--assert").code == 0


def test_a_failure_that_names_no_test_shows_its_output(hansard: Hansard, here: Path, tmp_path: Path) -> None:
    files = {"parts/new.txt": "9000\n"}
    first = delivered(hansard, tmp_path, files, "one")
    second = delivered(hansard, tmp_path, {"parts/other.txt": "9000\n"}, "another")
    (here / "check.py").write_text(CHECK.replace("FAILED parts::", "Twice: "))
    git(here, "commit", "--quiet", "--all", "-m", "Say it in other words")
    result = hansard("land", first, second)
    assert result.code == 4 and "the validation fails on the merge\n    Twice: 9000" in result.out, result.out


def test_land_refuses_unusable_targets(hansard: Hansard, here: Path, tmp_path: Path) -> None:
    name = delivered(hansard, tmp_path, with_line(here, 0, 4, "9000"), "one")
    result = hansard("land", name, "--onto", "nowhere")
    assert (result.code, "There is no branch nowhere" in result.out) == (4, True), result.out
    (here / "parts" / "0.txt").write_text("1\n")
    result = hansard("land", name)
    assert (result.code, "not landed: Uncommitted changes are in the way" in result.out) == (4, True), result.out
    landing = hansard("show", name, "--json").json["session"]["result"]["landing"]
    assert (landing["status"], landing["reason"], landing["paths"]) == ("not_tried", "uncommitted", ["parts/0.txt"])
    assert "session.sent_back" not in hansard("events", name).out
    assert (here / "parts" / "0.txt").read_text() == "1\n"
    git(here, "checkout", "--quiet", "--", "parts/0.txt")
    git(here, "switch", "--quiet", "--create", "other")
    result = hansard("land", name, "--onto", "main")
    assert (result.code, "landed on main" in result.out) == (0, True), result.out
    assert git(here, "log", "-1", "--format=%s", "refs/heads/main") == f"Merge hansard/{name} into main"
    assert hansard("land", name, "--onto", "main").code == 0
    assert len(git(here, "log", "--first-parent", "--format=%h", "refs/heads/main").split()) == 2
    assert hansard("show", name, "--json").json["session"]["result"]["landed"]["branch"] == "main"
    assert hansard("run", "-t", "Nothing", "--test", "false", "--no-baseline", "--max-iterations", "1").code == 7
    result = hansard("land", "latest", "--onto", "main")
    assert (result.code, "not landed" in result.out) == (4, True), result.out
    assert hansard("land").code == 2
