"""The sentence under the title of a session says the reason itself."""

import json
from typing import Any

import pytest
from starlette.testclient import TestClient

from domain.discussion.events import main_point
from tests.api.orchestrating import orchestration
from tests.api.scenes import begun, reached, waiting_debate, waiting_review
from tests.api.seen import Seen, page
from tests.api.server import delivery, session, start, until
from tests.api.server import reached as happened
from tests.api.talks import decide, review, waits
from tests.api.test_home_page import row, settled
from tests.api.test_session_page import panel, words_of
from tests.kit.replies import plan, subtask, verdicts

SILENT = {"verdict": "NEEDS_FIX", "summary": "", "issues": [{"severity": "critical", "description": "Rounds down."}]}


@pytest.mark.parametrize(
    ("feedback", "point"),
    [
        (None, ""),
        ({"verdict": "PASS", "summary": "Fine."}, "Fine."),
        ({"verdict": "CHALLENGE", "concerns": ["No way back.", "Slow."]}, "No way back.; Slow."),
        (SILENT, "Rounds down."),
        (
            {
                "issues": [
                    {"severity": "minor", "description": "A typo."},
                    {"severity": "critical", "description": "Loses money."},
                    {"severity": "critical", "description": "Loses time."},
                ]
            },
            "Loses money.",
        ),
    ],
)
def test_a_judgement_without_a_summary_says_its_gravest_point(feedback: dict[str, Any] | None, point: str) -> None:
    assert main_point(feedback) == point


def test_a_silent_review_names_its_issue_everywhere(client: TestClient) -> None:
    name = str(waits(client, review({"reviewer": [json.dumps(SILENT)]}, maxRounds=1))["id"])
    assert "Rounds down." in row(settled(client, "/", f'data-waits="{name}"'), name)
    assert "Rounds down." in page(client, "/decisions")
    assert words_of(panel(client, name, "head")).startswith("The review needs your decision. Rounds down. ")


def test_a_debate_names_its_concern(client: TestClient) -> None:
    name = waiting_debate(client, "No way back")
    assert words_of(panel(client, name, "head")).startswith("The debate needs your decision. No way back ")


def test_a_planner_that_answers_by_itself_left_no_plan_to_wait_for(client: TestClient) -> None:
    name = start(client, orchestration())
    reached(client, name, "done")
    assert words_of(panel(client, name, "head")).startswith("Answered directly, without a plan. ")
    whole = page(client, f"/sessions/{name}")
    assert "No plan yet." not in whole and "All 0 agents" not in whole


def test_a_decided_discussion_says_what_was_decided_and_why(client: TestClient) -> None:
    name = waiting_review(client)
    decide(client, name, "apply_fix")
    reached(client, name, "decided")
    head = words_of(panel(client, name, "head"))
    assert head.startswith("Decided: Apply fix. “It is worth it.” ") and head.count("It is worth it.") == 1


@pytest.mark.parametrize(
    ("role", "sentence", "korean"),
    [
        ("planner", "planner is writing the plan.", "planner: 계획을 세우는 중입니다."),
        ("architect", "architect is working out the architecture.", "architect: 아키텍처를 정하는 중입니다."),
        ("designer", "designer is working out the design.", "designer: 설계를 구체화하는 중입니다."),
    ],
)
def test_before_the_first_iteration_it_says_who_does_what(
    client: TestClient, role: str, sentence: str, korean: str
) -> None:
    name = start(client, delivery({role: [{"text": "late", "delayMs": 60_000}]}))
    until(lambda: any(turn["role"] == role for turn in session(client, name)["outstandingTurns"]), what=role)
    assert words_of(panel(client, name, "head")).startswith(sentence)
    assert korean in page(client, f"/sessions/{name}?lang=ko")
    version = session(client, name)["version"]
    assert words_of(panel(client, name, "head", at=version)).startswith(sentence), "in replay, too"


def test_markdown_is_words_in_the_head(client: TestClient) -> None:
    body = orchestration({"assistant": ["## Hello\n\n- **there**"]}, triage="direct")
    assert words_of(panel(client, reached(client, begun(client, body), "done"), "head")).startswith("Hello there ")


def test_the_inbox_says_that_rounds_are_used_up_without_the_recorded_table(client: TestClient) -> None:
    failing = {"planner": [plan(subtask("Docs"))], "judge": [verdicts(Docs=False)]}
    name = start(client, orchestration(failing, maxRounds=1))
    text = Seen(settled(client, "/decisions", f'data-waits="{name}"')).text
    assert "The rounds are used up" in text and "##" not in text and "완료" not in text


def test_a_turn_that_nobody_answered_has_no_link_to_its_prompt(client: TestClient) -> None:
    name = start(client, delivery({"planner": [{"text": "late", "delayMs": 60_000}]}))
    happened(client, name, "turn.requested")
    client.post(f"/api/sessions/{name}/cancel", json={})
    reached(client, name, "cancelled")
    assert "field=prompt" not in page(client, f"/sessions/{name}/turns/{name}.t1")
    assert client.get(f"/sessions/{name}/raw?at=2&field=prompt&lang=ko").status_code == 404


def test_a_run_without_a_plan_has_one_strong_button(client: TestClient) -> None:
    name = reached(client, begun(client, orchestration({"planner": ["No plan.", "Still none."]})), "partial")
    act = page(client, f"/sessions/{name}").partition('id="act"')[2].partition("</section>")[0]
    strong = [one["class"] for one in Seen(act).all("button") if "strong" in str(one.get("class"))]
    assert len(strong) == 1 and '<button class="button strong">Retry</button>' in act
