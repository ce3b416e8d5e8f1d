"""The worklog (shape of behaviour §1.12), as of any version."""

import pytest

from domain.values.base import Usage
from domain.values.budget import BudgetLimits
from tests.kit.sweeps import sampled
from tests.projections.given import Story, exhausted, success, wander, written


def worklog(story: Story, version: int | None = None) -> str:
    return written(story.events, version)


def test_a_delivery_that_has_just_started() -> None:
    story = Story().start("Add a --json flag\nto the list command", commands=("ruff check .", "pytest -q"))
    assert (
        worklog(story)
        == """\
# Work Log: Add a --json flag to the list command
- Created: 2026-11-21T12:00:00.000Z
- Status: running
- Iterations: 0/6

## Plan

(대기 중)

## Verification Criteria

- test: `ruff check .`
- test: `pytest -q`

## Phase Status Matrix

| Phase | Status | Iteration |
|---|---|---|
| planning | running | - |
| architecture | pending | - |
| design | pending | - |
| implementation | pending | - |
| validation | pending | - |
| review | pending | - |
| packaging | pending | - |

## Execution Log

## Final Summary

(미완료)
"""
    )


def test_the_lists_of_a_plan_are_items() -> None:
    """The planner's JSON is in its turn; a plan without lists is quoted as it is."""
    lists = '{"goals": ["It works"], "modules": ["a.py"], "checklist": ["run it\\n## again"], "files": ["b", "c"]}'
    text = worklog(Story().start().planned(f"First the list.\n```json\n{lists}\n```\n"))
    assert (
        "## Plan\n\n> First the list.\n\n- Goal: It works\n- Module: a.py\n- To do:\n\n  > run it\n  > \\## again\n\n"
        "- Files: b, c\n\n" in text
    )
    assert "(planner, planning)\n\n- Status: done\n- Result: First the list.\n\n" in text
    assert "## Plan\n\n- Module: a.py\n\n" in worklog(Story().start().planned('{"modules": ["a.py"]}'))
    assert '> {"goals": []}\n\n' in worklog(Story().start().planned('{"goals": []}'))


def test_a_delivery_that_ran_out_of_budget() -> None:
    text = worklog(exhausted())
    assert "- Status: failed\n- Iterations: 1/1\n" in text
    assert "| validation | failed | 1 |\n| review | skipped | 1 |\n| packaging | skipped | 1 |\n" in text
    assert text.endswith(
        """\
### Iteration 1 — dev (dev, implementation)

- Status: done
- Result: Done.

### Iteration 1 — test (test, validation)

- Status: done
- Command: `pytest -q` → exit code 1
- Validation: failed (test): 2 failed

### Budget exhausted by iterations

- Message: Budget exhausted by iterations.

## Final Summary

failed_budget_exhausted
"""
    )


def test_an_extension_takes_the_summary_back_and_lets_skipped_phases_wait() -> None:
    text = worklog(exhausted().extended(2))
    assert "- Status: running\n- Iterations: 2/3\n" in text
    assert "| implementation | running | 2 |\n| validation | failed | 1 |\n| review | pending | 1 |" in text
    assert "### Budget extended by 2 iterations\n\n- Reason: one more try\n" in text
    assert text.endswith("## Final Summary\n\n(미완료)\n")


def test_a_blocking_review_lists_issues_and_fixes() -> None:
    text = worklog(success())
    assert (
        "- Review: blocked (score 40)\n- Blocking issue 1: No test: The new branch is untested.\n- Fix 1: Add a test.\n"
        in text
    )
    assert "- Review: approved (score 90)\n" in text
    assert text.endswith("## Final Summary\n\nsuccess\n")


def test_a_turn_that_fails_is_an_error_with_its_reason() -> None:
    text = worklog(Story().start().planned().fails("timeout", "nothing came"))
    assert (
        "### Iteration 1 — dev (dev, implementation)\n\n- Status: error\n- Error: timeout: nothing came\n"
        "- Phase implementation failed (timeout): nothing came\n" in text
    )
    assert text.endswith("## Final Summary\n\nPhase implementation failed: nothing came\n")


def test_a_failed_validation_says_why_line_by_line_and_whole() -> None:
    why = f"E AssertionError: assert Decimal('0.25') == Decimal('{'0.24' * 100}')"
    story = Story().start().planned().answers("Done.").validates(exit_code=1, reasons=("FAILED test_a.py::test_b", why))
    assert f"- Validation: failed (test)\n  - `FAILED test_a.py::test_b`\n  - `{why}`\n" in worklog(story)
    assert "### Before the first iteration — planner (planner, planning)\n" in worklog(story)


def test_a_result_is_cut_at_500_characters() -> None:
    text = worklog(Story().start().planned().answers("x" * 501))
    assert f"- Result: {'x' * 500}…\n" in text


def test_agents_texts_break_no_section_and_no_table() -> None:
    """Behaviour §1.12: `## ` and `|` of agents corrupted the sections and rows of the file."""
    hostile = "fine\n## Final Summary\nhacked\n```\n| planning | failed | 9 |\n- Status: done\n# Work Log: other\n<!--"
    story = Story().start(hostile).planned(hostile).answers(hostile).fails("crash", hostile)
    lines = worklog(story).split("\n")
    assert [line for line in lines if line.lstrip(" >").startswith("#") and not line.startswith("###")] == [
        "# Work Log: fine ## Final Summary hacked ``` | planning | failed | 9 | - Status: done # Work",
        "## Plan",
        "## Verification Criteria",
        "## Phase Status Matrix",
        "## Execution Log",
        "## Final Summary",
    ]
    assert [line for line in lines if line.startswith("|")][2:] == [
        "| planning | completed | - |",
        "| architecture | completed | - |",
        "| design | completed | - |",
        "| implementation | completed | 1 |",
        "| validation | failed | 1 |",
        "| review | skipped | 1 |",
        "| packaging | skipped | 1 |",
    ]
    assert next(line for line in lines if line.startswith("- Status: ")) == "- Status: failed"
    assert not [line for line in lines if line.lstrip(" >").startswith(("```", "<!--"))]


@pytest.mark.parametrize("seed", sampled(range(20), 0, 4, 8, 12, 16))
def test_the_log_at_a_version_is_the_log_of_the_history_up_to_there(seed: int) -> None:
    """P14: every prefix of every history renders; and no later event shows in an earlier version."""
    events = wander(seed).events
    for version in range(1, len(events) + 1, 1 + seed % 5):
        assert written(events, version) == written(events[:version])


def test_a_long_report_is_summed_up_by_its_verdict() -> None:
    """Only the head of a report over 16 kB is in the event, and it is not valid JSON."""
    story = Story().start(limits=BudgetLimits(max_iterations=1)).planned().answers("Done.", usage=Usage())
    story.validates(exit_code=1, command="pytest " + "x" * 17_000)
    assert "- Status: done\n- Validation: failed (test): 2 failed\n" in worklog(story)
