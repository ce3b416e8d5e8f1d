"""The worklog of an orchestration, in the seeds' own shape (behaviour §1.12), and what it says of its children."""

import json
from pathlib import Path

import pytest

from domain.orchestration.commands import ContinueOrchestration, ResetOrchestration
from domain.orchestration.events import Forced
from domain.session.children import Decide
from tests.golden.revised import answered
from tests.projections.given import written
from tests.projections.stage import DEBATE, EMPLOYEES, REVIEW, Stage, critique, plan, subtask, verdicts

RUN = "orchestration-1"
WANTED = {"pass_criteria": "the tests pass", "fail_criteria": "it is slow", "affected_files": ["src/a.py"]}


def _folder(path: Path) -> Path:
    path.mkdir()
    return path


def worklog(stage: Stage, session_id: str = RUN, version: int | None = None) -> str:
    return written(stage.store.history(session_id), version)


def test_a_run_that_waits_for_its_plan(tmp_path: Path) -> None:
    stage = Stage(tmp_path).orchestrates(prompt="Add a login\nto the app " + "x" * 100)
    assert (
        worklog(stage)
        == f"""\
# Work Log: Add a login to the app {"x" * 57}
- Created: 2026-11-21T12:00:00.000Z
- Status: planning
- Rounds: 0/3

## Plan

(대기 중)

## Verification Criteria

(대기 중)

## Agent Status Matrix

| Agent | Role | Phase | Gate |
|---|---|---|---|

## Execution Log

## Final Summary

(미완료)
"""
    )


def test_a_plan_is_a_list_not_json(tmp_path: Path) -> None:
    content = f"One API, then its docs.\n```json\n{json.dumps(plan(subtask(start_phase=3, end_phase=4)))}\n```"
    stage = Stage(tmp_path).orchestrates().answers(RUN, content)
    assert (
        worklog(stage)
        .partition("## Plan\n\n")[2]
        .startswith(
            """\
> One API, then its docs.

- Backend (backend), 개발 → 디버깅: Backend works

## Verification Criteria
"""
        )
    )


def test_a_run_at_its_checkpoint(tmp_path: Path) -> None:
    """S1 §4, scenario 1: one agent finishes, the one that asked for a checkpoint pauses."""
    stage = Stage(tmp_path).orchestrates()
    first = subtask(start_phase=3, end_phase=3, checkpoint=True, verification=WANTED)
    stage.answers(RUN, plan(first, subtask(EMPLOYEES[1].name, "docs", start_phase=5)))
    stage.answers(RUN, "Login works.").answers(RUN, "Written\nup.")
    verdict = {"agent": EMPLOYEES[1].name, "pass": True, "feedback": ""}
    content = {**verdicts(Backend=True), "allDone": False}
    stage.answers(RUN, {**content, "verdicts": [*content["verdicts"], verdict]})
    text = worklog(stage)
    assert "\n- Status: checkpoint\n- Rounds: 1/3\n" in text
    assert text[text.index("## Verification") :] == (
        """\
## Verification Criteria

- Backend (backend): pass: the tests pass; fail: it is slow; files: src/a.py

## Agent Status Matrix

| Agent | Role | Phase | Gate |
|---|---|---|---|
| Backend | backend | Phase 3: 개발 | ⏸ checkpoint |
| Fr\\|ont ## end | docs | Phase 5: 통합검증 | ✅ 완료 |

## Execution Log

### Round 1 — Backend (backend, 개발)

- Status: done
- Result: Login works.
- Verdict: PASS — about Backend

### Round 1 — Fr\\|ont ## end (docs, 통합검증)

- Status: done
- Result:

  > Written
  > up.

- Verdict: PASS

## Final Summary

요청된 scope 완료
"""
    )


def test_a_result_is_cut_at_500_characters(tmp_path: Path) -> None:
    stage = Stage(tmp_path).orchestrates().answers(RUN, plan()).answers(RUN, "y" * 501)
    assert f"- Result: {'y' * 500}…\n" in worklog(stage)


@pytest.mark.parametrize("triage", ["direct", "orchestrate"])
def test_the_worklog_of_a_direct_answer_is_the_answer_alone(tmp_path: Path, triage: Forced) -> None:
    """From the assistant, or from the planner (K-16: the seed left it at planning for ever)."""
    stage = Stage(tmp_path).orchestrates(triage=triage)
    stage.answers(RUN, "42" if triage == "direct" else {"direct_answer": "42"})
    first, *lines = worklog(stage).split("\n")
    assert first.startswith("# Work Log: ")
    assert lines[1:] == ["- Status: done", "", "## Final Summary", "", "42", ""]


def test_a_direct_answer_that_failed_says_why(tmp_path: Path) -> None:
    stage = Stage(tmp_path).orchestrates(triage="direct").fails(RUN)
    text = worklog(stage)
    assert "## Plan" not in text and "- Error: crash: nothing came\n" in text


def test_a_run_out_of_rounds_is_partial_and_continues_in_the_same_worklog(tmp_path: Path) -> None:
    stage = Stage(tmp_path).orchestrates(max_rounds=1).answers(RUN, plan())
    stage.answers(RUN, "Half.").answers(RUN, verdicts(Backend=False))
    before = worklog(stage)
    assert "\n- Status: partial\n- Rounds: 1/1\n" in before
    assert "| Backend | backend | Phase 3: 개발 | ⏳ 진행 중 |" in before
    assert "- Result: Half.\n- Verdict: FAIL — about Backend\n" in before
    assert "> \\## 미완료 (1)\n" in before
    version = stage.session(RUN).version

    stage.do(RUN, ContinueOrchestration()).answers(RUN, "All.")
    after = worklog(stage)
    assert "\n- Status: round_2\n- Rounds: 2/2\n" in after
    assert "### Continued after round 1\n\n- Rounds: up to 2\n\n### Round 2 — Backend (backend, 개발)\n" in after
    assert after.endswith("## Final Summary\n\n(미완료)\n")
    assert worklog(stage, version=version) == before


def test_a_reset_keeps_the_rounds_and_says_why(tmp_path: Path) -> None:
    """K-20: the seed set the rounds back to nought and lost the history."""

    stage = Stage(tmp_path).orchestrates().answers(RUN, plan())
    text = worklog(stage.do(RUN, ResetOrchestration(reason="another idea")))
    assert "\n- Status: reset\n- Rounds: 1/3\n" in text
    assert "### Round 1 — Backend (backend, 개발)\n\n- Status: cancelled\n- Reason: reset\n" in text
    assert "### Reset in round 1\n\n- Reason: another idea\n" in text
    assert text.endswith("## Final Summary\n\n유저 요청으로 페이즈 리셋됨.\n")


def test_a_debate_of_the_plan_is_linked_from_its_parent_and_back(tmp_path: Path) -> None:

    stage = Stage(tmp_path).orchestrates(plan_review=DEBATE).answers(RUN, plan())
    child = "debate-1c1"
    stage.answers(child, "No objections.").answers(child, "Thanks.").answers(child, "All agreed.")
    assert "\n- Status: planning\n" in worklog(stage)
    stage.do(child, Decide(choice="accept", rationale="fine by me", actor="Kim"))
    parent = worklog(stage)
    assert (
        f"### Debate of the plan\n\n- Session: [{child}](/api/sessions/{child}/worklog)\n- Strategy: debate\n"
        "- Decision: accept (by a person, 2 rounds)\n- Synthesis: All agreed.\n" in parent
    )
    text = worklog(stage, child)
    assert f"- Parent: [{RUN}](/api/sessions/{RUN}/worklog) (plan)\n" in text
    assert "\n- Status: decided\n- Rounds: 2/2\n- Strategy: debate\n" in text
    assert "## Synthesis\n\n> All agreed.\n\n## Decision\n\n- Choice: accept\n- By: Kim\n" in text
    assert text.endswith("- Rationale: fine by me\n")


def test_passed_work_that_needs_a_fix_is_marked_in_its_round(tmp_path: Path) -> None:

    stage = Stage(tmp_path).orchestrates(work_review=REVIEW).answers(RUN, plan()).answers(RUN, "Done.")
    stage.answers(RUN, verdicts(Backend=True))
    child = "review-1c1"
    for words in (critique("NEEDS_FIX", "No test"), "I see.", critique("NEEDS_FIX", "No test"), "Mend it."):
        if stage.session(child).outstanding:
            stage.answers(child, words)
    while stage.session(child).state != "waiting_for_decision":
        stage.answers(child, "Mend it.")
    stage.do(child, Decide(choice="apply_fix"))
    text = worklog(stage)
    entry = text[text.index("### Round 1 — Backend") : text.index("### Review of the work of Backend")]
    assert "- Verdict: PASS — about Backend\n- Overturned by a person:\n" in entry
    assert f"- Session: [{child}](/api/sessions/{child}/worklog)\n" in text
    assert "| Backend | backend | Phase 3: 개발 | ⏳ 진행 중 |" in text


def test_answers_to_comments_are_words_and_no_json(tmp_path: Path) -> None:
    """They are with the comments; JSON that answers none stays where it is."""
    stage = Stage(tmp_path)
    answered(stage)
    for session in stage.sessions():
        text = worklog(stage, session.id)
        assert '"comments"' not in text and "```" not in text
    run = worklog(stage, "orchestration-answers")
    assert "- Answered (orchestration-answers.t6): Because.\n" in run
    assert run.count("- Result: Built.\n") == 2 and "- Result: Done.\n" in run
    other = Stage(_folder(tmp_path / "other")).orchestrates().answers(RUN, plan())
    assert '{"comments": [1]}' in worklog(other.answers(RUN, 'See {"comments": [1]}.'))
