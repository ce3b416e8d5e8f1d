"""The worklog (shape of behaviour §1.12), as of any version."""

from pathlib import Path

import pytest

from adapters.store.sqlite.views import SqliteViews
from domain.session.budget import Limits
from domain.values.base import Usage
from projections.record.worklog import render
from tests.projections.given import Story, Twin, caught_up, exhausted, merged, success, wander


def worklog(path: Path, story: Story, version: int | None = None) -> str:
    views = caught_up(path / "worklog.db", merged(story))
    try:
        with views.reading() as db:
            text = render(db, story.session_id, version)
    finally:
        views.close()
    assert text is not None
    return text


def test_a_delivery_that_has_just_started(tmp_path: Path) -> None:
    story = Story().start("Add a --json flag\nto the list command", commands=("ruff check .", "pytest -q"))
    assert (
        worklog(tmp_path, story)
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


def test_a_delivery_that_ran_out_of_budget(tmp_path: Path) -> None:
    text = worklog(tmp_path, exhausted())
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


def test_an_extension_takes_the_summary_back_and_lets_skipped_phases_wait(tmp_path: Path) -> None:
    text = worklog(tmp_path, exhausted().extended(2))
    assert "- Status: running\n- Iterations: 2/3\n" in text
    assert "| implementation | running | 2 |\n| validation | failed | 1 |\n| review | pending | 1 |" in text
    assert "### Budget extended by 2 iterations\n\n- Reason: one more try\n" in text
    assert text.endswith("## Final Summary\n\n(미완료)\n")


def test_a_blocking_review_lists_issues_and_fixes(tmp_path: Path) -> None:
    text = worklog(tmp_path, success())
    assert (
        "- Review: blocked (score 40)\n- Blocking issue 1: No test: The new branch is untested.\n- Fix 1: Add a test.\n"
        in text
    )
    assert "- Review: approved (score 90)\n" in text
    assert text.endswith("## Final Summary\n\nsuccess\n")


def test_a_turn_that_fails_is_an_error_with_its_reason(tmp_path: Path) -> None:
    text = worklog(tmp_path, Story().start().planned().fails("timeout", "nothing came"))
    assert (
        "### Iteration 1 — dev (dev, implementation)\n\n- Status: error\n- Error: timeout: nothing came\n"
        "- Phase implementation failed (timeout): nothing came\n" in text
    )
    assert text.endswith("## Final Summary\n\nPhase implementation failed: nothing came\n")


def test_a_result_is_cut_at_500_characters(tmp_path: Path) -> None:
    text = worklog(tmp_path, Story().start().planned().answers("x" * 501))
    assert f"- Result: {'x' * 500}…\n" in text


def test_agents_words_break_neither_sections_nor_table(tmp_path: Path) -> None:
    """Behaviour §1.12: `## ` and `|` of agents corrupted the sections and rows of the file."""
    hostile = "fine\n## Final Summary\nhacked\n```\n| planning | failed | 9 |\n- Status: done\n# Work Log: other\n<!--"
    story = Story().start(hostile).planned(hostile).answers(hostile).fails("crash", hostile)
    lines = worklog(tmp_path, story).split("\n")
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


@pytest.mark.parametrize("seed", range(20))
def test_the_log_at_a_version_is_the_log_of_the_history_up_to_there(tmp_path: Path, seed: int) -> None:
    """P14: every prefix of every history renders; and no later event shows in an earlier version."""
    story = wander(seed)
    growing = Twin()
    whole = caught_up(tmp_path / "whole.db", merged(story))
    with whole.reading() as db:
        expected = [render(db, "delivery-1", recorded.version) for recorded in story.events]
    for recorded, text in list(zip(story.events, expected, strict=True))[:: 1 + seed % 5]:
        growing.add(story.events[growing.head() : recorded.version])
        views = caught_up(tmp_path / "growing.db", growing)
        with views.reading() as db:
            assert render(db, "delivery-1") == text
        views.close()
    whole.close()


def test_an_unknown_session_has_no_worklog(views: SqliteViews, tmp_path: Path) -> None:
    with caught_up(tmp_path / "other.db", merged(success())).reading() as db:
        assert render(db, "delivery-2") is None
        assert render(db, "delivery-1", 0) is None


def test_a_long_report_is_summed_up_by_its_verdict(tmp_path: Path) -> None:
    """A report over 16 kB stands only as its head in the event, which is no JSON any more."""
    story = Story().start(limits=Limits(max_iterations=1)).planned().answers("Done.", usage=Usage())
    story.validates(exit_code=1, command="pytest " + "x" * 17_000)
    assert "- Status: done\n- Validation: failed (test): 2 failed\n" in worklog(tmp_path, story)
