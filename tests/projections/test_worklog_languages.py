"""The worklog in the reader's language: rows keep marks, which become words when it is rendered."""

import re
from pathlib import Path
from typing import Any

import pytest

from domain.values.words import Language, catalogue
from projections.record import worklog
from projections.record.markdown import mark, plain, worded, wording
from projections.record.records import Records
from projections.record.status import ROOM, outcome
from tests.projections.stage import Stage, critique
from tests.projections.walks import wander

_LABEL = re.compile(r"^(?:- |### )([A-Z][A-Za-z ]+?)(?=:| \d|$)", re.MULTILINE)
_ROWS = "worklog.row."


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """The worklogs of sessions of every kind, by language."""
    stage = wander(Path(tmp_path_factory.mktemp("stage")), 5, 250)
    records = Records(stage.store)
    logs = [(records.of(session.id, session.version).worklog, session) for session in stage.sessions()]
    return {
        "ko": [worklog.render(log, session, language="ko") for log, session in logs],
        "en": [worklog.render(log, session, language="en") for log, session in logs],
        "recorded": [worklog.render(log, session) for log, session in logs],
    }


def test_no_label_of_ours_is_english_on_a_korean_page(rendered: dict[str, list[str]]) -> None:
    english = {both["en"].partition("{")[0].strip(" :(") for key, both in catalogue(ROOM).items() if _ROWS in key}
    labels = {label for text in rendered["en"] for label in _LABEL.findall(text)}
    assert len(labels & english) > 15, "the English worklogs use the labels"
    assert {label for text in rendered["ko"] for label in _LABEL.findall(text)} & english == set()


def test_phases_are_named_in_the_reader_s_language_and_recorded_as_the_seeds_have_them(
    rendered: dict[str, list[str]],
) -> None:
    """What is quoted is the record."""
    named = {
        language: "\n".join(line for text in texts for line in text.splitlines() if not line.startswith(">"))
        for language, texts in rendered.items()
    }
    assert "Phase 3: development" in named["en"] and "Phase 3: 개발" in named["recorded"]
    assert not re.search("기획|디버깅|통합검증|[:,] 개발", named["en"])
    assert "development" not in "\n".join(re.findall(r"^(?:###|\| ).*$", named["ko"], re.MULTILINE))


def test_choices_have_their_names_for_an_english_reader_and_their_codes_in_the_record(tmp_path: Path) -> None:
    stage = Stage(tmp_path).discusses("review-1", max_rounds=1).answers("review-1", critique("PASS"))
    stage.answers("review-1", "All fine.")
    records = Records(stage.store)
    session = stage.session("review-1")
    log = records.of(session.id, session.version).worklog
    english, recorded = (worklog.render(log, session, language=language) for language in ("en", None))
    assert "- Waits for a person: Apply fix or Skip & continue\n" in english
    assert "- Waits for a person: apply_fix or skip\n" in recorded


def test_no_mark_is_left(rendered: dict[str, list[str]]) -> None:
    for texts in rendered.values():
        assert not any(re.search("[\x02\x03\x1f]", text) for text in texts)


def test_no_one_else_can_write_a_mark() -> None:
    forged = mark("status")
    assert worded(plain(f"a {forged} b"), wording("ko")) == "a status b"
    assert worded("\x02 not closed", wording("ko")) == "\x02 not closed"


def test_marks_are_worded_inside_out() -> None:
    text = mark("child_decision", mark("by.cancelled"), mark("by.person"), 3)
    assert worded(text, wording("ko")) == "결정: 취소됨 (사람이 결정, 3라운드)"
    assert worded(text, wording(None)) == "Decision: cancelled (by a person, 3 rounds)"


def test_a_korean_success_says_what_was_validated_and_that_the_review_approved() -> None:
    session = {
        "kind": "delivery",
        "status": "success",
        "iteration": 3,
        "finalSummary": "Success on iteration 3. Validated by pytest -q. Review approved. Branch hansard/delivery-1.",
        "validationCommands": [{"stage": "test", "command": "pytest -q"}],
        "result": {"branch": "hansard/delivery-1", "validated": {"cleanRoom": True}},
    }
    assert (
        outcome(session, "ko") == "3번째 반복에서 성공 · 검증 통과: pytest -q · 리뷰 승인 · 브랜치 hansard/delivery-1"
    )
    assert outcome(session, "en") == session["finalSummary"]
    assert outcome(session | {"result": None}, "ko").startswith("바뀐 것이 없습니다. 3번째 반복에서 성공")


@pytest.mark.parametrize("language", ["en", "ko"])
@pytest.mark.parametrize("reason", ["rounds", "validation_failed", None])
def test_notes_on_the_validation_follow_the_summary_as_sentences(language: Language, reason: str | None) -> None:
    flake = {"known": False, "command": "pytest -q", "failed": 1, "runs": 2}
    session: dict[str, Any] = {
        "kind": "orchestration",
        "status": "partial",
        "reason": reason,
        "finalSummary": "The rounds are used up.",
        "agents": [{"agent": "Ada", "role": "docs", "completed": False, "currentPhase": 3}],
        "result": {"validated": {"passed": False, "commands": ["pytest -q"], "cleanRoom": False}},
        "report": {"weakened": [{}], "flaky": [flake, flake | {"command": "ruff check"}]},
    }
    summary = outcome(session, language)
    assert ".." not in summary and ". ·" not in summary and "ruff check" in summary, summary
