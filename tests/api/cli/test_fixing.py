"""A standalone review that ends with `apply_fix` offers the delivery that applies the fix."""

import json
from pathlib import Path

import pytest

from tests.api.cli.conftest import Hansard, critique
from tests.api.cli.kept import git
from tests.api.cli.test_results import here

__all__ = ["here"]


def test_the_findings_of_a_review_become_a_delivery(hansard: Hansard, here: Path, tmp_path: Path) -> None:
    scenario = tmp_path / "scenario.json"
    result = critique("NEEDS_FIX", ("major", "The third line is too quiet"))
    scenario.write_text(json.dumps({"replies": {"reviewer": [result], "synthesizer": ["Shout it."]}}), encoding="utf-8")
    output = hansard("review", "three", "--max-rounds", "1", "--scenario", str(scenario))
    assert output.code == 6, output.err
    review = hansard("list", "--json").json["items"][0]["id"]
    undecided = hansard("run", "--fix", review, "--test", "true", "--no-baseline")
    assert (undecided.code, "decided with apply_fix" in undecided.err) == (2, True), undecided.err
    output = hansard("decide", review, "apply_fix")
    assert (output.code, f"hansard run --fix {review}" in output.err) == (0, True), output.err

    replies = {"dev": [{"text": "Wrote the third line large.", "files": {"a.txt": "one\ntwo\nTHREE\n"}}]}
    scenario.write_text(json.dumps({"replies": replies}), encoding="utf-8")
    output = hansard("run", "--fix", review, "--test", "true", "--no-baseline", "--scenario", str(scenario))
    assert output.code == 0, output.err
    delivery = hansard("show", "latest", "--json").json["session"]
    assert "The third line is too quiet" in delivery["task"] and "What was reviewed:\n\nthree" in delivery["task"]
    first = json.loads(hansard("events", "latest", "--json").out.splitlines()[0])
    assert first["data"]["fixes"] == review
    assert git(here, "show", f"{delivery['result']['branch']}:a.txt").endswith("THREE")
    assert hansard("replay", "latest", "--assert").code == 0
    wrong = hansard("run", "--fix", delivery["id"], "--test", "true")
    assert (wrong.code, "should be a review, or" in wrong.err) == (2, True), wrong.err


REVIEWED = {"a.txt": "one\ntwo\nthree and a half\n", "new.txt": "new\n", "staged.txt": "staged\n"}
FIXED = {"a.txt": "one\ntwo\nthree and three quarters\n", "new.txt": "new, with a test\n"}


def fixed_review(hansard: Hansard, here: Path, tmp_path: Path) -> None:
    """Uncommitted changes were reviewed, and a delivery has fixed what the review found."""
    for name, text in REVIEWED.items():
        (here / name).write_text(text)
    git(here, "add", "staged.txt")
    scenario = tmp_path / "scenario.json"
    found = critique("NEEDS_FIX", ("major", "Three and a half is not enough"))
    replies = {"reviewer": [found], "synthesizer": ["More."], "dev": [{"text": "More.", "files": FIXED}]}
    scenario.write_text(json.dumps({"replies": replies}), encoding="utf-8")
    output = hansard("review", "--diff", "--max-rounds", "1", "--scenario", str(scenario))
    assert output.code == 6, output.err
    review = hansard("list", "--json").json["items"][0]["id"]
    assert hansard("decide", review, "apply_fix").code == 0
    replies.pop("reviewer")
    scenario.write_text(json.dumps({"replies": replies}), encoding="utf-8")
    output = hansard("run", "--fix", review, "--test", "grep -q three a.txt", "--scenario", str(scenario))
    assert output.code == 0, output.err
    assert "begin with the changes that were reviewed" in output.err
    assert "Uncommitted changes are not included" not in output.err


def contents(here: Path) -> dict[str, str]:
    return {name: (here / name).read_text() for name in REVIEWED}


def test_the_fix_of_uncommitted_changes_starts_with_them_and_is_applied_over_them(
    hansard: Hansard, here: Path, tmp_path: Path
) -> None:
    fixed_review(hansard, here, tmp_path)
    result = hansard("show", "latest", "--json").json["session"]["result"]
    assert [file["path"] for file in result["files"]] == ["a.txt", "new.txt"]
    assert result["base"]["reviewedOn"] == git(here, "rev-parse", "HEAD")
    assert git(here, "show", f"{result['branch']}:staged.txt") == "staged"
    head = git(here, "rev-parse", "HEAD")
    output = hansard("apply", "latest")
    assert output.code == 0, output.err
    assert contents(here) == REVIEWED | FIXED
    assert git(here, "rev-parse", "HEAD") == head


def test_the_fix_of_uncommitted_changes_is_merged_over_them(hansard: Hansard, here: Path, tmp_path: Path) -> None:
    fixed_review(hansard, here, tmp_path)
    output = hansard("merge", "latest")
    assert output.code == 0, output.err
    assert contents(here) == REVIEWED | FIXED
    assert git(here, "status", "--porcelain") == ""


def test_the_fix_is_squashed_over_them(hansard: Hansard, here: Path, tmp_path: Path) -> None:
    fixed_review(hansard, here, tmp_path)
    output = hansard("merge", "latest", "--squash")
    assert output.code == 0, output.err
    assert contents(here) == REVIEWED | FIXED
    assert git(here, "status", "--porcelain") == ""


@pytest.mark.parametrize("command", ["apply", "merge"])
def test_what_was_changed_after_the_review_is_not_overwritten(
    hansard: Hansard, here: Path, tmp_path: Path, command: str
) -> None:
    fixed_review(hansard, here, tmp_path)
    (here / "a.txt").write_text("one\ntwo\nthree, as I like it\n")
    before, status = contents(here), git(here, "status", "--porcelain")
    output = hansard(command, "latest")
    assert (output.code, "a.txt" in output.err) == (4, True), output.err
    assert (contents(here), git(here, "status", "--porcelain")) == (before, status)


@pytest.mark.parametrize("command", ["apply", "merge"])
def test_after_a_stash_the_result_brings_the_reviewed_changes_too(
    hansard: Hansard, here: Path, tmp_path: Path, command: str
) -> None:
    fixed_review(hansard, here, tmp_path)
    git(here, "stash", "--include-untracked")
    output = hansard(command, "latest")
    assert output.code == 0, output.err
    assert contents(here) == REVIEWED | FIXED


def test_a_hook_that_refuses_leaves_the_reviewed_changes_as_they_were(
    hansard: Hansard, here: Path, tmp_path: Path
) -> None:
    fixed_review(hansard, here, tmp_path)
    hook = here / ".git/hooks/commit-msg"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    before, status = contents(here), git(here, "status", "--porcelain")
    assert hansard("merge", "latest", "--squash").code == 4
    assert (contents(here), git(here, "status", "--porcelain")) == (before, status)
