"""The worklog of a review or a debate: what was said, as prose and lists, never as the JSON of the reply."""

import json
from pathlib import Path
from typing import Any

import pytest

from domain.session.forks import ForkSession
from domain.values.words import Language
from projections.record import worklog as log
from projections.record.records import record_of
from tests.projections.given import SECOND, success, written
from tests.projections.stage import Stage, critique


def worklog(stage: Stage, session_id: str, language: Language | None = None) -> str:
    history = stage.store.history(session_id)
    if language is None:
        return written(history)
    return log.render(record_of(history).worklog, stage.session(session_id), language=language)


def entry(stage: Stage, session_id: str, language: Language | None = None) -> str:
    """The first entry of the log, without its heading."""
    text = worklog(stage, session_id, language)
    return text.partition("\n### ")[2].partition("\n\n")[2].partition("\n\n##")[0]


FOUND: dict[str, Any] = {
    "verdict": "NEEDS_FIX",
    "summary": "Rounds twice.",
    "issues": [
        {"severity": "critical", "description": "Off by a cent", "suggestion": "Once", "file": "a.py", "line": 31},
        {"severity": "minor", "description": "No test in tests/test_a.py:7"},
    ],
    "pointsOfAgreement": ["The API is right"],
    "pointsOfDisagreement": [{"claim": "It is fast", "explanation": "4 s", "alternative": "Cache it"}],
    "unexaminedAssumptions": ["One currency"],
    "missingConsiderations": ["Refunds"],
    "securityRisks": [{"description": "Injection", "severity": "major"}],
    "edgeCases": ["An empty list"],
    "scalabilityConcerns": ["Quadratic"],
    "maintenanceBurden": ["Two copies"],
}
SAID = f"It rounds **twice**.\n\n```json\n{json.dumps(FOUND, indent=2)}\n```\n"


def test_a_decision_in_a_fork_expires_that_much_later(tmp_path: Path) -> None:
    stage = Stage(tmp_path).discusses("review-1", max_rounds=1, expires_ms=60 * SECOND)
    stage.answers("review-1", critique("NEEDS_FIX", "Slow")).answers("review-1", "Make it fast.")
    stage.at += 600 * SECOND
    at_version = stage.session("review-1").version
    stage.do("review-2", ForkSession(source="review-1", at_version=at_version), starts=True)
    for session_id, expiry in (("review-1", "12:01:02"), ("review-2", "12:11:03")):
        section = worklog(stage, session_id).partition("## Decision\n\n")[2].splitlines()
        assert section[:3] == [
            "- Waits for a person: apply_fix or skip",
            f"- Expires: 2026-11-21T{expiry}.000Z",
            "- Verdict: needs a fix",
        ]


def test_a_review_shows_verdict_issues_and_convergence_of_every_round(tmp_path: Path) -> None:
    stage = Stage(tmp_path).discusses("review-1", "Step: a\nresult").answers("review-1", critique("NEEDS_FIX", "Slow"))
    assert (
        worklog(stage, "review-1")
        == """\
# Work Log: Step: a result
- Created: 2026-11-21T12:00:00.000Z
- Status: reviewing
- Rounds: 1/3
- Strategy: review

## Subject

> Step: a
> result

## Execution Log

### Round 1 — reviewer (critique)

- Status: done
- Verdict: needs a fix
- Summary: One thing.
- Issue (major): Slow
- Convergence: 0.30 (agreement 0.50, stability 0.00, continue)

## Synthesis

(대기 중)

## Decision

(미완료)
"""
    )


def test_the_error_of_a_crashed_critic_is_shown_with_the_decision(tmp_path: Path) -> None:
    """K-32: fail closed."""
    stage = Stage(tmp_path).discusses("debate-1", "Plan A").fails("debate-1", "boom")
    text = worklog(stage, "debate-1")
    assert "\n- Status: waiting_for_decision\n" in text
    assert "### Failed after round 0\n\n- Error: critic: crash: boom\n" in text
    assert "## Decision\n\n- Waits for a person: revise or accept\n- Verdict: challenge\n" in text


def test_each_point_of_a_reply_has_its_label_and_its_place(tmp_path: Path) -> None:
    stage = Stage(tmp_path).discusses("review-1").answers("review-1", SAID)
    assert (
        entry(stage, "review-1")
        == """\
- Status: done
- Verdict: needs a fix
- Summary: Rounds twice.
- Result: It rounds **twice**.
- Issue (critical) `a.py:31`: Off by a cent → Once
- Issue (minor): No test in tests/test_a.py:7
- Disagreement: It is fast: 4 s → Cache it
- Assumption: One currency
- Missing: Refunds
- Security risk (major): Injection
- Edge case: An empty list
- Scalability: Quadratic
- Maintenance: Two copies
- Agreement: The API is right
- Convergence: 0.30 (agreement 0.50, stability 0.00, continue)"""
    )


def test_the_points_of_a_reply_are_labelled_in_korean(tmp_path: Path) -> None:
    stage = Stage(tmp_path).discusses("review-1").answers("review-1", SAID)
    assert (
        entry(stage, "review-1", "ko")
        == """\
- 상태: 완료
- 판정: 수정 필요
- 요약: Rounds twice.
- 결과: It rounds **twice**.
- 지적 사항 (치명적) `a.py:31`: Off by a cent → Once
- 지적 사항 (경미): No test in tests/test_a.py:7
- 의견 차이: It is fast: 4 s → Cache it
- 검증 안 된 가정: One currency
- 빠진 점: Refunds
- 보안 위험 (중대): Injection
- 예외 상황: An empty list
- 확장성: Quadratic
- 유지보수: Two copies
- 동의하는 점: The API is right
- 수렴: 0.30 (합의도 0.50, 안정성 0.00, 계속)"""
    )


@pytest.mark.parametrize("language", [None, "en", "ko"])
@pytest.mark.parametrize("kind", ["review", "debate"])
def test_no_json_of_a_reply_is_quoted(tmp_path: Path, kind: str, language: Language | None) -> None:
    """Not in a round, in the synthesis or in what a person decides on; whatever is written around it."""
    session_id = f"{kind}-1"
    verdict = {"review": "NEEDS_FIX", "debate": "CHALLENGE"}[kind]
    counts = {"review": ("resolvedCount", "remainingCount"), "debate": ("consensusCount", "divergenceCount")}[kind]
    said = f"First.\n```json\n{json.dumps(FOUND | {'verdict': verdict})}\n```\nLast."
    summed = {"verdict": verdict, "summary": "Open.", **dict.fromkeys(counts, 3)}
    stage = Stage(tmp_path).discusses(session_id, max_rounds=1)
    stage.answers(session_id, said).answers(session_id, f"## In short\n\nStill open.\n\n{json.dumps(summed)}")
    text = worklog(stage, session_id, language)
    assert "First." in text and "Last." in text and "Still open." in text
    assert '"verdict"' not in text and "{" not in text and "```" not in text
    assert verdict not in text and "3\n" in text


def test_json_that_is_cut_off_in_its_event_is_left_out(tmp_path: Path) -> None:
    long = f"All of it.\n\n```json\n{json.dumps(FOUND | {'summary': 'long ' * 4_000})}\n```"
    stage = Stage(tmp_path).discusses("review-1").answers("review-1", long)
    lines = entry(stage, "review-1").splitlines()
    assert "- Result: All of it." in lines
    assert not [line for line in lines if "{" in line or "```" in line]


def test_prose_without_a_verdict_and_json_without_prose(tmp_path: Path) -> None:
    stage = Stage(tmp_path).discusses("review-1").answers("review-1", 'I think {"it": "works"}.')
    assert '- Result: I think {"it": "works"}.\n' in worklog(stage, "review-1")
    stage.discusses("review-2").answers("review-2", critique("PASS"))
    assert "- Result:" not in worklog(stage, "review-2")


def test_a_reviewer_of_a_delivery_is_not_quoted_as_json() -> None:
    text = written(success().events)
    assert "blockingIssues" not in text
    assert "(reviewer, review)\n\n- Status: done\n- Review: blocked (score 40)\n- Blocking issue 1: No test" in text
