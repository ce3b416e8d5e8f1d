"""Events in words: from type and data alone, in English and in Korean, with the reason where there is one."""

import re
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from domain.kinds import TOPICS
from domain.orchestration.events import RoundDone
from domain.values.sentences import Sentence, wire
from domain.values.words import LANGUAGES, Language, catalogue
from projections.record.describe import describe, person, recorded
from tests.projections.stage import HOSTILE
from tests.projections.walks import wander

OUTPUT = "Test failed: pytest (exit code 1).\n\n    def test_divide():\n>       divide(1, 0)\nE       ZeroDivisionError"
ROUND = [
    {"agent": "A", "phase": 3, "completed": False},
    {"agent": "B", "phase": 5, "completed": True},
    {"agent": "C", "phase": 1, "completed": False},
]
ENDED = Sentence("command_ended", command="x", end=Sentence("end_by_exit", number=1))
UNREAD = Sentence("reply_without", what=Sentence("list_of_verdicts"))
METRICS = {"agreementRatio": 0.5, "avgStability": 1, "overallScore": 0.7, "recommendation": "converged"}
ISSUES = [{"id": "1", "title": "No tests", "detail": "…"}, {"id": "2", "title": "Slow", "detail": "…"}]


@pytest.mark.parametrize(
    ("topic", "data", "english", "korean"),
    [
        ("delivery.phase_started", {"phase": "review"}, "Started review", "리뷰 시작"),
        ("turn.requested", {"work": "ask", "agent": "planner"}, "Asked planner", "planner에게 요청"),
        (
            "turn.requested",
            {"work": "ask", "agent": "Data", "phase": "4"},
            "Asked Data: phase 4 (debugging)",
            "Data에게 요청: 4단계(디버깅)",
        ),
        ("turn.requested", {"work": "validate"}, "Running the validation commands", "검증 명령 실행"),
        ("turn.requested", {"work": "wait"}, "Waiting for a decision", "결정 대기"),
        (
            "delivery.session_finished",
            {"state": "exhausted", "status": "failed", "finalSummary": "failed_no_progress"},
            "Ended: the last iterations made no progress",
            "종료: 마지막 반복에서 진전이 없었음",
        ),
        (
            "session.landing_not_tried",
            {"onto": "main", "detail": "Uncommitted changes are in the way.\nCommit them."},
            "Not landed on main: Uncommitted changes are in the way. Commit them.",
            "main에 병합하지 않음: Uncommitted changes are in the way. Commit them.",
        ),
        ("turn.answered", {"agent": "dev", "seconds": 12.34}, "dev answered in 12.3 s", "dev 답변 (12.3초)"),
        (
            "turn.answered",
            {"agent": "dev", "seconds": 1, "files": ["a.py", "b.py"]},
            "dev answered in 1.0 s, changed a.py, b.py",
            "dev 답변 (1.0초), 변경: a.py, b.py",
        ),
        (
            "turn.answered",
            {"agent": "test", "role": "test", "seconds": 3.4, "prompt": {"length": 0}},
            "Validation commands finished in 3.4 s",
            "검증 명령 실행 완료 (3.4초)",
        ),
        (
            "turn.failed",
            {"agent": "dev", "seconds": 9, "failure": {"code": "timeout", "detail": "No answer."}},
            "dev failed after 9.0 s: timed out: No answer.",
            "dev 실패 (9.0초): 시간 초과: No answer.",
        ),
        (
            "turn.cancelled",
            {"turnId": "t", "agent": "dev", "reason": "deadline"},
            "dev: turn cancelled (deadline passed)",
            "dev: 턴 취소 (기한 초과)",
        ),
        ("session.agent_sessions_cleared", {"reason": "done"}, "Agent sessions closed", "에이전트 세션 종료"),
        (
            "session.child_requested",
            {"childKind": "review", "about": "agent:0", "topic": {"title": "Backend: Build it"}},
            "Reviewing Backend's result",
            "리뷰 시작: Backend의 결과",
        ),
        (
            "session.child_closed",
            {
                "about": "agent:1",
                "by": "person",
                "choice": "apply_fix",
                "feedback": {"issues": [{"description": "No test"}]},
            },
            "Discussion of Docs's result closed: Apply fix: No test",
            "Docs의 결과 논의 종료: 수정 적용: No test",
        ),
        (
            "delivery.validation_failed",
            {"classification": "test", "summary": OUTPUT},
            "Validation failed (tests): E ZeroDivisionError",
            "검증 실패 (테스트): E ZeroDivisionError",
        ),
        (
            "delivery.validation_failed",
            {"classification": "test", "summary": OUTPUT, "reasons": ["test_divide failed"]},
            "Validation failed (tests): test_divide failed",
            "검증 실패 (테스트): test_divide failed",
        ),
        (
            "delivery.validation_failed",
            {
                "classification": "test",
                "summary": f"Validation failed (test): {ENDED}",
                "sentence": {"text": ENDED, **wire(ENDED)},
            },
            "Validation failed (tests): `x` ended with exit code 1.",
            "검증 실패 (테스트): `x` 종료 코드 1",
        ),
        (
            "orchestration.verdict_unreadable",
            {"round": 1, "attempt": 1, "problem": str(UNREAD), "sentence": {"text": str(UNREAD), **wire(UNREAD)}},
            "The verdict for round 1 could not be read (attempt 1): The reply holds no list of verdicts.",
            "라운드 1 판정을 읽을 수 없음 (시도 1): 답변에 판정 목록이 없습니다.",
        ),
        (
            "orchestration.verdict_unreadable",
            {"round": 1, "attempt": 1, "problem": "An old reason."},
            "The verdict for round 1 could not be read (attempt 1): An old reason.",
            "라운드 1 판정을 읽을 수 없음 (시도 1): An old reason.",
        ),
        (
            "delivery.review_blocking_detected",
            {"iteration": 1, "blockingIssues": ISSUES},
            "Review blocked in iteration 1: No tests (+1 more)",
            "반복 1 리뷰에서 차단: No tests (외 1건)",
        ),
        (
            "delivery.budget_exhausted",
            {"reason": "iterations", "iteration": 8},
            "Budget exhausted: 7 of 7 iterations used",
            "예산 소진: 반복 7회를 모두 사용",
        ),
        (
            "delivery.budget_exhausted",
            {"reason": "minutes", "iteration": 1, "elapsedMs": 3_723_000},
            "Budget exhausted: out of time after 1:02:03, in iteration 1",
            "예산 소진: 1:02:03 경과, 반복 1에서 시간 초과",
        ),
        (
            "delivery.budget_extended",
            {"addIterations": 1, "addMinutes": 10, "addCostMicros": 2_500_000, "why": "Nearly there"},
            "Budget extended by 1 iteration, 10 minutes, a cost of 2.50: Nearly there",
            "예산 추가: 반복 1회, 10분, 비용 2.50: Nearly there",
        ),
        ("delivery.session_finished", {"state": "exhausted"}, "Ended: budget exhausted", "종료: 예산 소진"),
        (
            "orchestration.round_start",
            {"round": 2, "agentPhases": ROUND},
            "Round 2: A – phase 3 (development), C – phase 1 (planning)",
            "라운드 2: A – 3단계(개발), C – 1단계(기획)",
        ),
        (
            "orchestration.verdict_given",
            {"agent": "A", "phase": 3, "pass": False, "feedback": "테스트가 없다"},
            "FAIL: A, phase 3 (development): 테스트가 없다",
            "실패: A, 3단계(개발): 테스트가 없다",
        ),
        (
            "orchestration.verdict_refused",
            {"agent": "Frontend", "reason": "has completed its phases"},
            "Ignored verdict for Frontend: already finished",
            "Frontend에 대한 판정 무시: 이미 완료",
        ),
        (
            "orchestration.plan_refused",
            {"attempt": 1, "reasons": ["nobody is called X", "no task"]},
            "Plan rejected (attempt 1): nobody is called X; no task",
            "계획 거부 (시도 1): nobody is called X; no task",
        ),
        ("orchestration.completed", {"summary": {"head": "끝"}}, "Request completed", "요청 완료"),
        (
            "orchestration.partial_reached",
            {"reason": "rounds"},
            "Stopped: no rounds left",
            "중지: 라운드를 모두 썼습니다",
        ),
        (
            "review.round_added",
            {"round": 1, "role": "critique", "agent": "Ada", "feedback": {"verdict": "PASS"}},
            "Round 1, critique by Ada: passes",
            "라운드 1, Ada의 비평: 통과",
        ),
        (
            "review.assessed",
            {"round": 2, "metrics": METRICS},
            "Convergence after round 2: score 0.70, agreement 0.50, stability 1.00",
            "라운드 2 수렴도: 점수 0.70, 합의도 0.50, 안정성 1.00",
        ),
        (
            "debate.decision_requested",
            {"choices": ["revise", "accept"]},
            "Waiting for a decision: Revise plan or Accept as is",
            "결정 대기: 계획 수정 또는 그대로 수락",
        ),
        (
            "channel.message_rejected",
            {"reason": "nothing_to_continue"},
            "Nothing to continue",
            "이어서 진행할 작업이 없음",
        ),
        ("session.landed", {"onto": "main", "before": "a", "commit": "b"}, "Landed on main as b", "main에 병합됨: b"),
        (
            "session.landed",
            {"onto": "main", "before": "a", "commit": "a"},
            "Nothing to land: main already has these changes",
            "병합할 것이 없음: main에 이미 들어 있는 변경",
        ),
        ("some.later_event", {}, "Later event", "Later event"),
    ],
)
def test_an_event_says_what_happened_and_why(topic: str, data: dict[str, Any], english: str, korean: str) -> None:
    assert describe(topic, data, "en", agents=["Backend", "Docs"]) == english
    assert describe(topic, data, "ko", agents=["Backend", "Docs"]) == korean


@pytest.mark.parametrize(
    ("topic", "data", "english", "korean"),
    [
        (
            "turn.answered",
            {"attempt": 0, "agent": "Ada", "role": "reviewer", "prompt": {"length": 0}},
            "ann answered for Ada",
            "ann: Ada 대신 답변",
        ),
        (
            "orchestration.work_reported",
            {"agent": "Ada", "round": 2, "result": "done"},
            "ann reported for Ada in round 2",
            "ann: Ada 대신 라운드 2 작업 보고",
        ),
        (
            "debate.round_added",
            {"agent": "Ada", "round": 1, "role": "challenge"},
            "Round 1, challenge by ann for Ada",
            "라운드 1, Ada 대신 ann 님의 이의 제기",
        ),
        (
            "delivery.budget_extended",
            {"addMinutes": 5, "why": "use the new API"},
            "ann extended the budget by 5 minutes: use the new API",
            "ann: 예산 추가 5분: use the new API",
        ),
        (
            "turn.retried",
            {"turnId": "t", "agent": "Ada", "reason": "the key is back"},
            "ann asked Ada again: the key is back",
            "ann: Ada 다시 시도: the key is back",
        ),
        (
            "review.decided",
            {"choice": "skip", "rationale": "known"},
            "ann decided: Skip & continue: known",
            "ann 결정: 건너뛰고 계속: known",
        ),
    ],
)
def test_what_a_person_did_is_called_the_persons(topic: str, data: dict[str, Any], english: str, korean: str) -> None:
    assert describe(topic, data, "en", actor="person:ann") == english
    assert describe(topic, data, "ko", actor="person:ann") == korean
    for other in ("", "clock", "agent:Ada", "worker:vm.1", "external:farm"):
        assert describe(topic, data, "en", actor=other) == describe(topic, data, "en") != english


def test_every_event_has_a_sentence() -> None:
    """A new event needs a sentence in `projections/record/messages.toml`."""
    topics = {re.sub("^(review|debate)[.]", "discussion.", topic) for topic in TOPICS}
    described = {key.removeprefix("event.") for key in catalogue("projections.record") if key.startswith("event.")}
    silent = {topic for topic in topics if not any(f"{key}.".startswith(f"{topic}.") for key in described)}
    assert silent == set()


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_stored_message_is_never_read(tmp_path: Path, language: Language) -> None:
    stage = wander(tmp_path, seed=3)
    for entry in stage.events():
        data = entry.event.model_dump(mode="json", by_alias=True)
        assert describe(entry.event.TOPIC, data | {"message": "SECRET"}, language) == describe(
            entry.event.TOPIC, {name: value for name, value in data.items() if name != "message"}, language
        )
    stage.store.close()


def test_every_event_of_every_kind_has_a_whole_sentence(tmp_path: Path) -> None:
    for seed in range(4):
        folder = tmp_path / str(seed)
        folder.mkdir()
        stage = wander(folder, seed)
        for entry, language in product(stage.events(), LANGUAGES):
            sentence = describe(entry.event.TOPIC, entry.event.model_dump(mode="json", by_alias=True), language)
            assert len(sentence) > 3 and "{" not in sentence.replace(HOSTILE, ""), entry.event.TOPIC
            assert "\n" not in sentence
        stage.store.close()


@pytest.mark.parametrize("topic", sorted(TOPICS))
def test_an_event_without_data_has_words_too(topic: str) -> None:
    assert describe(topic, {}) and describe(topic, {}, "ko")


def test_the_api_keeps_recorded_messages_and_words_the_others_in_english() -> None:
    assert recorded(RoundDone(message="Round 1 finished.", action="next", agent_phases=())) == "Round 1 finished."
    assert recorded(RoundDone(round=1, action="next", agent_phases=())) == "Round 1 finished"


def test_workers_are_this_machine() -> None:
    assert (person("worker:vm.2782.c29621d0"), person("worker:vm.1", "ko")) == ("Hansard", "Hansard")
    assert (person("person:ada"), person("agent:Backend"), person("unauthenticated")) == (
        "ada",
        "Backend",
        "unauthenticated",
    )
