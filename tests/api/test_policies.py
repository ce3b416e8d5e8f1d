"""The pure rules over HTTP: `POST /api/policies/…` (contract §5). Examples of S0–S4 have their numbers."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from api.app import create_app
from api.node.settings import Settings
from api.routes.policies.endpoints import INLINE_BYTES, POLICIES

AT = "2026-01-01T00:00:00.000Z"
BUDGET = {"maxIterations": 6, "maxMinutes": 45, "startedAt": 0, "iteration": 1, "now": 0}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder: Path = tmp_path_factory.mktemp("policies")
    app = create_app(Settings(database=f"sqlite:///{folder / 'log.db'}", budget_minute=0.5), work=False)
    with TestClient(app, base_url="http://127.0.0.1") as result:
        yield result


def ask(client: TestClient, policy: str, body: object) -> Any:
    """The successful answer."""
    response = client.post(f"/api/policies/{policy}", json=body)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "application/json"
    return response.json()


def refused(client: TestClient, policy: str, body: object) -> dict[str, str]:
    """The errors of a 422 answer by pointer."""
    response = client.post(f"/api/policies/{policy}", json=body)
    assert response.status_code == 422, response.text
    assert response.headers["content-type"] == "application/problem+json"
    return {error["pointer"]: error["detail"] for error in response.json()["errors"]}


# -- triage and intent ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "signals"),
    [
        ("API 엔드포인트 만들어줘", ["keyword", "keywords"]),
        ("src/app.js 수정하고 그리고 테스트", ["keyword", "keywords", "path", "multi"]),
        ("함수", ["keyword"]),
        ("가" * 80, ["length"]),
        ("안녕", []),
        ("", []),
        (None, []),
    ],
)
def test_triage_names_the_signals_and_two_make_a_run(client: TestClient, text: str | None, signals: list[str]) -> None:
    assert ask(client, "triage", {"text": text}) == {"orchestrate": len(signals) >= 2, "signals": signals}


def test_triage_can_be_asked_with_another_word_list(client: TestClient) -> None:
    body = {"text": "Refactor the auth module and add unit tests"}
    assert ask(client, "triage", body)["orchestrate"] is False
    assert ask(client, "triage", {**body, "policy": "en@1"})["orchestrate"] is True
    assert list(refused(client, "triage", {**body, "policy": "fr@1"})) == ["/policy"]


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("/continue", "continue"),
        ("이어서 해줘", "continue"),
        ("리셋해", "reset"),
        ("Phase Reset", "reset"),
        ("리셋 버튼 추가해줘", None),
        ("again", None),
        ("다시", None),
    ],
)
def test_intent_must_match_the_whole_text(client: TestClient, text: str, meaning: str | None) -> None:
    assert ask(client, "intent", {"text": text}) == {"intent": meaning}


# -- phases, match, parallel ---------------------------------------------------------------------------------------


def test_a_plan_becomes_agents_with_exactly_the_keys_of_the_contract(client: TestClient) -> None:
    subtask = {
        "agent": "Backend",
        "role": "BACKEND",
        "task": "Add it",
        "start_phase": "3",
        "end_phase": None,
        "checkpoint": True,
        "parallel": "true",
        "verification": {"pass_criteria": "it works", "affected_files": ["src/a.py"]},
        "mood": "good",
    }
    assert ask(client, "phases", {"subtasks": [subtask]}) == {
        "agents": [
            {
                "agent": "Backend",
                "role": "backend",
                "task": "Add it",
                "parallel": False,
                "checkpoint": True,
                "checkpointed": False,
                "phaseProfile": [3, 4, 5],
                "currentPhaseIdx": 0,
                "currentPhase": 3,
                "completed": False,
                "verification": {"pass_criteria": "it works", "affected_files": ["src/a.py"]},
                "history": [],
            }
        ],
        "warnings": [],
    }


def test_a_range_without_a_phase_of_the_role_falls_back_with_a_warning(client: TestClient) -> None:
    """S1 §3.1, K-11: docs has no phase 2."""
    answer = ask(client, "phases", {"subtasks": [{"agent": "D", "role": "docs", "start_phase": 2, "end_phase": 2}]})
    assert answer["agents"][0]["phaseProfile"] == [3]
    assert answer["agents"][0]["verification"] is None
    assert len(answer["warnings"]) == 1


@pytest.mark.parametrize(
    ("subtasks", "pointer"),
    [
        ([{"agent": "A"}, {"role": "docs"}], "/subtasks/1/agent"),
        ([{"agent": 3}], "/subtasks/0/agent"),
        ([{"agent": " "}], "/subtasks/0/agent"),
        ([{"agent": "A" * 201}], "/subtasks/0/agent"),
        ([{"agent": "A", "role": "r" * 201}], "/subtasks/0/role"),
        ([{"agent": "A", "task": 1}], "/subtasks/0/task"),
        ([{"agent": "A", "verification": {"affected_files": "a"}}], "/subtasks/0/verification/affected_files"),
        (["A"], "/subtasks/0"),
        ([{"agent": "A"}] * 1_001, "/subtasks"),
        ({"agent": "A"}, "/subtasks"),
    ],
)
def test_invalid_subtask_is_named_by_its_pointer(client: TestClient, subtasks: Any, pointer: str) -> None:
    assert list(refused(client, "phases", {"subtasks": subtasks})) == [pointer]


@pytest.mark.parametrize(
    ("agent", "employee"), [("Backend", "Backend"), ("backend", "Backend"), ("o", None), ("", None), ("Back", None)]
)
def test_a_name_means_an_employee_exactly_or_but_for_case(client: TestClient, agent: str, employee: str | None) -> None:
    """K-18."""
    assert ask(client, "match", {"agent": agent, "employees": ["Frontend", "Backend"]}) == {"employee": employee}


def test_agents_work_in_parallel_only_on_unclaimed_files(client: TestClient) -> None:
    """K-19."""
    agents = [
        {"agent": "A", "parallel": True, "affectedFiles": ["src/a.py"]},
        {"agent": "B", "parallel": True, "affectedFiles": ["./src//a.py"]},
        {"agent": "C", "parallel": True},
        {"agent": "D", "parallel": "true", "affectedFiles": ["d.py"]},
        {"agent": "E", "parallel": True, "affectedFiles": ["e.py"]},
        {"agent": "F", "parallel": True, "affectedFiles": None},
    ]
    assert ask(client, "parallel", {"agents": agents}) == {"parallel": [True, False, False, False, True, False]}


@pytest.mark.parametrize(
    ("claim", "pointer"),
    [
        ({"parallel": True}, "/agents/0/agent"),
        ({"agent": "A", "affected_files": []}, "/agents/0/affected_files"),
        ({"agent": "A", "affectedFiles": [1]}, "/agents/0/affectedFiles/0"),
    ],
)
def test_invalid_claim_is_named_by_its_pointer(client: TestClient, claim: Any, pointer: str) -> None:
    assert list(refused(client, "parallel", {"agents": [claim]})) == [pointer]


# -- convergence ---------------------------------------------------------------------------------------------------

AGREED = [
    {"round": 1, "role": "critique", "content": "I agree with the endpoint"},
    {"round": 2, "role": "rebuttal", "content": "This stays as planned"},
    {"round": 3, "role": "critique", "content": "I agree with the endpoint"},
]


def test_rounds_are_assessed_with_exactly_the_keys_of_the_contract(client: TestClient) -> None:
    """Two of three rounds agree alone, one has neither word: (1 + 0.5 + 1) / 3; one pair that says the same."""
    answer = ask(client, "convergence", {"rounds": AGREED})
    assert answer == {
        "agreementRatio": pytest.approx(2.5 / 3),
        "avgStability": 1.0,
        "overallScore": pytest.approx(0.9),
        "recommendation": "converged",
        "profile": "seed",
    }


def test_discussion_without_rounds_continues(client: TestClient) -> None:
    assert ask(client, "convergence", {"rounds": [], "profile": None}) == {
        "agreementRatio": 0.0,
        "avgStability": 0.0,
        "overallScore": 0.0,
        "recommendation": "continue",
        "profile": "seed",
    }


@pytest.mark.parametrize(
    ("profile", "recommendation", "name"),
    [
        ("seed", "continue", "seed"),
        ("mysti", "continue", "mysti"),
        ("shipped-v3", "stalled", "shipped-v3"),
        ({"agreement": 0.4, "stability": 0.3}, "converged", "custom"),
    ],
)
def test_the_profile_decides(client: TestClient, profile: Any, recommendation: str, name: str) -> None:
    """No word in favour or against (0.5); the two critiques share 2 of 6 words."""
    rounds = [
        {"round": 1, "role": "critique", "content": "first second third fourth"},
        {"round": 2, "role": "rebuttal", "content": "another word here"},
        {"round": 3, "role": "critique", "content": "third fourth fifth sixth"},
    ]
    answer = ask(client, "convergence", {"rounds": rounds, "profile": profile})
    assert (answer["recommendation"], answer["profile"]) == (recommendation, name)


@pytest.mark.parametrize("policy", ["convergence", "agreement", "similarity"])
@pytest.mark.parametrize(
    ("profile", "pointer"),
    [
        ("v4", "/profile"),
        (3, "/profile"),
        ([], "/profile"),
        ({"agreement": "0.4"}, "/profile/agreement"),
        ({"stability": 2}, "/profile/stability"),
        ({"mood": 1}, "/profile/mood"),
    ],
)
def test_unknown_profile_is_refused(client: TestClient, policy: str, profile: Any, pointer: str) -> None:
    bodies: dict[str, dict[str, object]] = {"convergence": {"rounds": []}, "agreement": {"text": ""}}
    body = bodies.get(policy, {"a": "", "b": ""})
    assert list(refused(client, policy, {**body, "profile": profile})) == [pointer]


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"round": "1"}, "/rounds/0/round"),
        ({"round": True}, "/rounds/0/round"),
        ({"round": 1.0}, "/rounds/0/round"),
        ({"round": -1}, "/rounds/0/round"),
        ({"role": None}, "/rounds/0/role"),
        ({"content": 3}, "/rounds/0/content"),
        ({"agent": "A"}, "/rounds/0/agent"),
    ],
)
def test_invalid_round_is_refused(client: TestClient, change: dict[str, Any], pointer: str) -> None:
    body = {"rounds": [{"round": 1, "role": "critique", "content": "x"} | change]}
    assert list(refused(client, "convergence", body)) == [pointer]


def test_agreement_and_similarity_are_shares(client: TestClient) -> None:
    assert ask(client, "agreement", {"text": "I agree, however not all"}) == {"ratio": 0.5}
    assert ask(client, "agreement", {"text": "안녕"}) == {"ratio": 0.5}
    assert ask(client, "similarity", {"a": "one two three", "b": "three four"}) == {"jaccard": 0.25}
    assert ask(client, "similarity", {"a": "", "b": ""}) == {"jaccard": 0.0}


# -- budget --------------------------------------------------------------------------------------------------------


def test_the_first_iteration_may_begin(client: TestClient) -> None:
    """A minute has 60 seconds here, although this server's own has half a second."""
    assert ask(client, "budget", {**BUDGET, "startedAt": AT, "now": "2026-01-01T00:20:00.000Z"}) == {
        "ok": True,
        "reason": None,
        "snapshot": {
            "maxIterations": 6,
            "maxMinutes": 45,
            "startedAt": AT,
            "deadlineAt": "2026-01-01T00:45:00.000Z",
            "elapsedMs": 1_200_000,
            "remainingIterations": 6,
        },
    }


@pytest.mark.parametrize(
    ("iteration", "now", "reason", "remaining"),
    [
        (6, 2_700_000, None, 1),
        (6, 2_700_001, "minutes", 1),
        (7, 0, "iterations", 0),
        (7, 2_700_001, "iterations", 0),
        (1, -5, None, 6),
    ],
)
def test_the_gate_asks_for_iterations_before_minutes(
    client: TestClient, iteration: int, now: int, reason: str | None, remaining: int
) -> None:
    """S4 §7.1: exactly at the deadline is allowed."""
    answer = ask(client, "budget", {**BUDGET, "iteration": iteration, "now": now})
    assert (answer["ok"], answer["reason"]) == (reason is None, reason)
    assert answer["snapshot"].get("reason") == reason
    assert answer["snapshot"]["remainingIterations"] == remaining
    assert answer["snapshot"]["elapsedMs"] == max(0, now)
    assert answer["snapshot"]["deadlineAt"] == 2_700_000


@pytest.mark.parametrize(
    ("started", "deadline"),
    [
        (0, 2_700_000),
        ("2026-01-01T00:00:00Z", "2026-01-01T00:45:00Z"),
        ("2026-01-01T00:00:00.000Z", "2026-01-01T00:45:00.000Z"),
        ("2026-01-01T09:00:00+09:00", "2026-01-01T09:45:00+09:00"),
        ("2026-01-01T00:00:00.250000+00:00", "2026-01-01T00:45:00.250+00:00"),
        ("2026-01-01T00:00:00", "2026-01-01T00:45:00Z"),
    ],
)
def test_instants_are_answered_in_the_form_in_which_they_came(client: TestClient, started: Any, deadline: Any) -> None:
    assert ask(client, "budget", {**BUDGET, "startedAt": started})["snapshot"]["deadlineAt"] == deadline


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"maxIterations": 0}, "/maxIterations"),
        ({"maxIterations": 21}, "/maxIterations"),
        ({"maxIterations": "6"}, "/maxIterations"),
        ({"maxMinutes": 181}, "/maxMinutes"),
        ({"maxMinutes": True}, "/maxMinutes"),
        ({"iteration": -1}, "/iteration"),
        ({"startedAt": "yesterday"}, "/startedAt"),
        ({"startedAt": None}, "/startedAt"),
        ({"startedAt": 1.5}, "/startedAt"),
        ({"startedAt": True}, "/startedAt"),
        ({"now": 2**53}, "/now"),
        ({"now": "9999-12-31T23:59:59Z"}, "/now"),
        ({"now": "0001-01-01T00:00:00+14:00"}, "/now"),
        ({"budgetMinute": 1}, "/budgetMinute"),
    ],
)
def test_invalid_budget_is_refused(client: TestClient, change: dict[str, Any], pointer: str) -> None:
    assert list(refused(client, "budget", BUDGET | change)) == [pointer]


# -- validation, parse, prompt -------------------------------------------------------------------------------------


def test_a_test_command_comes_after_lint_and_types(client: TestClient) -> None:
    """S4: the default commands; explicit ones win."""
    assert ask(client, "validation", {"testCommand": "pnpm vitest"})["commands"] == [
        {"stage": "lint", "command": "pnpm lint"},
        {"stage": "type", "command": "pnpm typecheck"},
        {"stage": "test", "command": "pnpm vitest"},
    ]
    both = {"testCommand": "npm test", "validationCommands": ["tsc --noEmit", ["make", "all"]]}
    assert ask(client, "validation", both)["commands"] == [
        {"stage": "type", "command": "tsc --noEmit"},
        {"stage": "custom", "command": "make all"},
    ]


@pytest.mark.parametrize(
    ("body", "pointers"),
    [
        ({}, ["/testCommand"]),
        ({"testCommand": None, "validationCommands": []}, ["/testCommand"]),
        ({"testCommand": "  "}, ["/testCommand"]),
        ({"testCommand": 3}, ["/testCommand"]),
        ({"testCommand": {"a": 1}}, ["/testCommand"]),
        ({"validationCommands": "npm test"}, ["/validationCommands"]),
        ({"validationCommands": ["a", " ", "b && c", None]}, [f"/validationCommands/{index}" for index in (1, 2, 3)]),
    ],
)
def test_commands_that_do_not_hold_are_refused(client: TestClient, body: Any, pointers: list[str]) -> None:
    assert list(refused(client, "validation", body)) == pointers


def test_a_reply_is_read_or_said_to_be_unreadable(client: TestClient) -> None:
    text = 'Fine.\n{"verdicts": [{"agent": "Backend", "pass": true, "feedback": ""}], "allDone": true}'
    value = {"verdicts": [{"agent": "Backend", "pass": True, "feedback": ""}], "allDone": True}
    assert ask(client, "parse", {"kind": "verdicts", "text": text}) == {"value": value}
    unreadable = ask(client, "parse", {"kind": "verdicts", "text": "Everything passed!"})
    assert unreadable["value"] is None
    assert unreadable["problem"]
    assert set(unreadable) == {"value", "problem"}


@pytest.mark.parametrize(
    ("kind", "text", "problem"),
    [
        ("subtasks", '{"subtasks": []}', "does not fit at /subtasks: should have at least 1 entry."),
        ("verdicts", '{"verdicts": [{"agent": "A", "pass": "yes"}]}', "at /verdicts/0/pass: should be true or false."),
        ("verdicts", '{"verdicts": [{"agent": "A"}]}', "at /verdicts/0/pass: is missing."),
        ("review_artifact", '{"blockingIssues": 3}', "at /blockingIssues: should be a list."),
        ("review_artifact", '{"blockingIssues": ["x"]}', "at /blockingIssues/0: should be an object."),
        ("direct_answer", '{"direct_answer": 3}', "at /direct_answer: should be a text."),
        (
            "verdicts",
            '{"verdicts": [' + ", ".join(['{"agent": "A", "pass": true}'] * 201) + "]}",
            "at /verdicts: should have at most 200 entries.",
        ),
    ],
)
def test_parse_problems_use_plain_words(client: TestClient, kind: str, text: str, problem: str) -> None:
    assert ask(client, "parse", {"kind": kind, "text": text})["problem"].endswith(problem)


def test_a_checklist_is_a_list(client: TestClient) -> None:
    answer = ask(client, "parse", {"kind": "checklist", "text": "- [ ] a: Build it\n- [x] b: Test it [depends: a]"})
    assert answer["value"] == [
        {"id": "a", "description": "Build it", "status": "pending"},
        {"id": "b", "description": "Test it", "status": "pending", "dependsOn": ["a"]},
    ]


def test_an_unknown_kind_of_reply_is_refused_with_the_known_ones(client: TestClient) -> None:
    assert "review_artifact" in refused(client, "parse", {"kind": "poem", "text": ""})["/kind"]


def test_prompt_comes_with_its_version(client: TestClient) -> None:
    answer = ask(client, "prompt", {"name": "critique", "strategy": "red-team"})
    assert set(answer) == {"text", "version"}
    assert "Security Risks" in answer["text"]
    assert answer["version"] >= 1
    assert ask(client, "prompt", {"name": "plan"}) != ask(client, "prompt", {"name": "plan", "language": "ko"})


@pytest.mark.parametrize(
    ("body", "pointer", "known"),
    [
        ({"name": "poem"}, "/name", "critique"),
        ({"name": "critique", "strategy": "debate"}, "/strategy", "red-team"),
        ({"name": "critique", "language": "fr"}, "/language", "ko"),
    ],
)
def test_unknown_prompt_lists_the_known_ones(client: TestClient, body: Any, pointer: str, known: str) -> None:
    assert known in refused(client, "prompt", body)[pointer]


# -- conventions ---------------------------------------------------------------------------------------------------

NAMES = [policy.name for policy in POLICIES]


def test_there_are_the_twelve_policies_of_the_contract() -> None:
    first = ["triage", "intent", "phases", "match", "parallel", "convergence"]
    assert [*first, "agreement", "similarity", "budget", "validation", "parse", "prompt"] == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_policy_answers_its_example_in_its_own_shape_and_always_the_same(client: TestClient, name: str) -> None:
    policy = next(policy for policy in POLICIES if policy.name == name)
    headers = {"Idempotency-Key": f"once-{name}"}
    first, second = (client.post(policy.path, json=policy.example, headers=headers) for _ in range(2))
    assert first.status_code == 200, first.text
    assert first.content == second.content
    policy.answered.model_validate_json(first.content)


@pytest.mark.parametrize("name", NAMES)
def test_every_policy_refuses_unknown_fields_and_non_objects(client: TestClient, name: str) -> None:
    body = next(policy.example for policy in POLICIES if policy.name == name)
    assert refused(client, name, {**body, "mood": 1}) == {"/mood": "unknown field"}
    assert refused(client, name, [body]) == {"": "should be an object"}
    assert client.get(f"/api/policies/{name}").status_code == 405


@pytest.mark.parametrize(
    ("content", "media", "status"),
    [
        (b'{"text": "a", "text": "b"}', "application/json", 400),
        (b'{"text": "\xff"}', "application/json", 400),
        (b'{"text": "a"}', "text/plain", 415),
        (b'{"text": "' + b"a" * 1_048_576 + b'"}', "application/json", 413),
    ],
)
def test_a_body_is_read_as_strictly_as_any_other(client: TestClient, content: bytes, media: str, status: int) -> None:
    response = client.post("/api/policies/intent", content=content, headers={"Content-Type": media})
    assert response.status_code == status
    assert response.json()["type"] == f"/docs#problem-{status}"


def test_invalid_key_is_refused(client: TestClient) -> None:
    response = client.post("/api/policies/intent", json={"text": ""}, headers={"Idempotency-Key": "a b"})
    assert response.status_code == 400


def test_a_policy_stores_nothing(client: TestClient) -> None:
    ask(client, "intent", {"text": "/continue"})
    assert client.get("/api/events").json() == {"items": [], "nextCursor": None}


def test_a_long_text_is_judged_like_a_short_one(client: TestClient) -> None:
    """The policy runs in a thread."""
    text = "I agree. " * INLINE_BYTES
    assert ask(client, "agreement", {"text": text}) == {"ratio": 1.0}
    assert list(refused(client, "agreement", {"text": text, "profile": "v4"})) == ["/profile"]
