"""A standalone review that ends with `apply_fix` offers the delivery that applies the fix."""

import json
from pathlib import Path

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
