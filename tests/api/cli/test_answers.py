"""Answers typed at the terminal."""

import json

import pytest

from api.cli.discussion import changes_in, plan_in
from api.cli.interview import TypedAnswer, parse_answer

REVIEW, DEBATE = ["apply_fix", "skip"], ["revise", "accept"]


@pytest.mark.parametrize(
    ("line", "choices", "answer"),
    [
        ("a\n", REVIEW, TypedAnswer("apply_fix", "")),
        ("apply\n", REVIEW, TypedAnswer("apply_fix", "")),
        ("Apply-Fix  그래서 그렇다 \n", REVIEW, TypedAnswer("apply_fix", "그래서 그렇다")),
        ("s not now\n", REVIEW, TypedAnswer("skip", "not now")),
        ("a\n", DEBATE, TypedAnswer("accept", "")),
        ("R\n", DEBATE, TypedAnswer("revise", "")),
        ("x\n", REVIEW, None),
        ("skipped\n", REVIEW, None),
        ("\n", REVIEW, None),
        ("s\n", ["skip", "stop"], None),
    ],
)
def test_the_beginning_of_a_choice_is_enough_and_the_rest_is_the_reason(
    line: str, choices: list[str], answer: TypedAnswer | None
) -> None:
    assert parse_answer(line, choices) == answer


def test_a_plan_that_is_debated_is_a_list_of_subtasks() -> None:
    subtasks = [
        {"agent": "Backend", "role": "backend", "task": "Build the API", "start_phase": 3, "end_phase": 5},
        {"agent": "Docs", "role": "docs", "task": "Write\nit", "start_phase": 3, "end_phase": 3, "parallel": True},
    ]
    plan = f"As asked.\n```json\n{json.dumps({'subtasks': subtasks})}\n```"
    assert plan_in(f"Request:\nBuild it\n\nPlan:\n{plan}").splitlines() == [
        "Build it",
        "Backend  backend  phases 3-5            Build the API",
        "Docs     docs     phase 3, in parallel  Write it",
    ]


@pytest.mark.parametrize("plan", ["First the API.", "{", "{}", '{"subtasks": [1]}', '{"subtasks": 1}', "[1]"])
def test_another_text_is_no_such_plan(plan: str) -> None:
    assert plan_in(f"Request:\nx\n\nPlan:\n{plan}") == plan_in(plan) == ""


def test_the_changes_under_review_are_counted_by_file() -> None:
    changed = "--- a/calc.py\n+++ b/calc.py\n@@ -1,2 +1,3 @@\n a\n-b\n+c\n+d\n"
    created = "--- /dev/null\n+++ b/new.py\n@@ -0,0 +1 @@\n+x\n"
    assert changes_in(f"Result:\nDone.\n\nChanges:\n{changed}{created}") == "calc.py  +2 -1\nnew.py   +1 -0"
    logo = "diff --git a/logo.bin b/logo.bin\nindex 1..2 100644\nBinary files a/logo.bin and b/logo.bin differ\n"
    assert changes_in(f"Result:\nDone.\n\nChanges:\n{logo}") == "logo.bin  binary"
    assert changes_in("Result:\nNo changes.") == ""
