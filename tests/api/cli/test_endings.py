"""The end of a run says in four lines what was asked, changed, checked, and not checked."""

import json
from pathlib import Path
from typing import Any, Final

import pytest

from api.cli.session import in_four_lines
from tests.api.cli.conftest import Hansard
from tests.api.cli.test_results import here

__all__ = ["here"]
UNCHANGED: Final = ("nothing", "there was no change to check", "nothing")
"""What the last three lines say where no file was changed."""


def ends_with(out: str) -> dict[str, str]:
    """The last four lines, by their names."""
    names = ("asked", "changed", "checked", "not checked")
    lines = out.rstrip().splitlines()[-4:]
    return {name: line.removeprefix(name).strip() for name, line in zip(names, lines, strict=True)}


def run(hansard: Hansard, tmp_path: Path, *words: str, files: dict[str, str]) -> str:
    scenario = tmp_path / "scenario.json"
    scenario.write_text(json.dumps({"replies": {"dev": [{"text": "Done.", "files": files}]}}), encoding="utf-8")
    output = hansard("run", "-t", "Write the third line large\n\nAnd no other.", "--scenario", str(scenario), *words)
    assert output.code == 0, output.err
    return output.out


def test_the_end_says_what_was_asked_changed_checked_and_not_checked(
    hansard: Hansard, here: Path, tmp_path: Path
) -> None:
    files = {"a.txt": "one\ntwo\nTHREE\n"}
    end = ends_with(run(hansard, tmp_path, "--test", "grep -q one a.txt", files=files))
    assert end["asked"] == "Write the third line large And no other."
    assert end["changed"].startswith("a.txt (+1 -1")
    assert end["checked"] == "`grep -q one a.txt` passed in a fresh checkout; a review saw 100 % of the changes"
    assert "scripted agents took part" in end["not checked"]


def test_what_was_left_out_is_among_what_was_not_checked(hansard: Hansard, here: Path, tmp_path: Path) -> None:
    files = {"a.txt": "one\ntwo\nTHREE\n"}
    words = ("--test", "grep -q one a.txt", "--phases", "implementation,validation,packaging")
    end = ends_with(run(hansard, tmp_path, *words, files=files))
    assert end["not checked"].endswith("Not reviewed.")
    assert "review" not in end["checked"]


def test_where_nothing_was_changed_nothing_was_checked(hansard: Hansard, here: Path, tmp_path: Path) -> None:
    end = ends_with(run(hansard, tmp_path, "--test", "grep -q one a.txt", files={}))
    assert (end["changed"], end["checked"], end["not checked"]) == UNCHANGED


def test_a_failure_without_changes_says_that_first(hansard: Hansard, here: Path, tmp_path: Path) -> None:
    scenario = tmp_path / "scenario.json"
    scenario.write_text(json.dumps({"replies": {"dev": [{"error": "crash"}] * 9}}), "utf-8")
    result = hansard("run", "-t", "x", "--test", "true", "--scenario", str(scenario))
    assert result.code == 1, result.err
    [summary] = [line for line in result.out.splitlines() if line.startswith("summary")]
    assert summary.split(maxsplit=1)[1].startswith("Nothing was changed. "), summary
    end = ends_with(result.out)
    assert (end["changed"], end["checked"], end["not checked"]) == UNCHANGED


@pytest.mark.parametrize(
    ("phases", "reviewed", "said"),
    [
        ({"review": "pending"}, None, "Not validated. Not reviewed."),
        ({"review": "skipped"}, None, "Not validated. Not reviewed."),
        ({"review": "failed"}, {"shown": 2, "of": 2}, "Not validated."),
    ],
)
def test_work_that_was_stopped_before_its_review_says_so(
    phases: dict[str, str], reviewed: dict[str, int] | None, said: str
) -> None:
    file = {"path": "a.txt", "status": "modified", "added": 1, "removed": 1, "named": True}
    result = {"files": [file], "namesFiles": False, "validated": None, "reviewed": reviewed}
    session: Any = {"kind": "delivery", "status": "cancelled", "task": "x", "phaseStatuses": phases, "result": result}
    assert dict(in_four_lines(session))["not checked"] == said


def test_what_a_killed_merge_left_is_named_by_doctor_and_removed_by_the_next_run(
    hansard: Hansard, here: Path, tmp_path: Path
) -> None:
    (place := here / ".git" / "hansard-undo-x").mkdir()
    assert f"a killed command has left {here} half changed" in hansard("doctor").out
    scenario = tmp_path / "scenario.json"
    scenario.write_text("{}", encoding="utf-8")
    result = hansard("run", "-t", "x", "--test", "true", "--quick", "--scenario", str(scenario))
    assert f"A killed command had left {here} half changed. That was undone, or finished." in result.err
    assert not place.exists() and "half changed" not in hansard("doctor").out


def test_doctor_says_why_it_cannot_see_what_was_left(hansard: Hansard, here: Path) -> None:
    (here / ".git" / "hansard-undo-x").mkdir()
    (here / ".git" / "config").write_text("[broken", encoding="utf-8")
    [line] = [each for each in hansard("doctor").out.splitlines() if each.split()[1:2] == ["checkout"]]
    assert line.startswith("warn") and "config" in line


def test_a_quiet_run_shows_its_phases_only(hansard: Hansard, here: Path, tmp_path: Path) -> None:
    scenario = tmp_path / "scenario.json"
    scenario.write_text("{}", encoding="utf-8")
    words = ("run", "-t", "x", "--test", "true", "--quick", "--quiet", "--scenario", str(scenario))
    lines = hansard(*words).err.splitlines()
    topics = [line.split()[3] for line in lines if line[:4].strip().isdigit()]
    assert set(topics) == {"delivery.phase_started"}
    assert len(topics) == 4
