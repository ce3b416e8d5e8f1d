"""Reviews and debates through the endpoints, with scripted agents: S2's verification list (phase 6), and the errors."""

import json
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from tests.api.orchestrating import orchestration
from tests.api.server import Json, events, inside, only, serving, session, start, until
from tests.api.talks import WAITS, debate, decide, decided, reached, review, waits
from tests.kit.replies import challenge, critique, disputed, issue


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with inside(tmp_path_factory.mktemp("discussions")) as result:
        yield result


def roles(view: Json) -> list[tuple[str, str]]:
    return [(entry["role"], entry["agent"]) for entry in view["rounds"]]


# ------------------------------------------------------------------------------------ S2, phase 6, verification: line 3


def test_a_review_in_several_rounds_converges_is_summed_up_and_decided(client: httpx.Client) -> None:
    """Review strategy: critique and rebuttal, early end on convergence, synthesis, a person's decision."""
    replies = {
        "reviewer": [
            critique(words="I agree the approach is correct, a fair point.", issues=[issue("No test.")]),
            critique(words="I agree the approach is correct, a fair point indeed.", summary="One left."),
        ],
        "coder": ["I accept that; it is a valid point and I concede it."],
        "synthesizer": [critique(words="Write the test.", summary="One issue.", resolvedCount=0, remainingCount=1)],
    }
    view = waits(client, review(replies, maxRounds=9))
    assert roles(view) == [("critique", "reviewer"), ("rebuttal", "coder"), ("critique", "reviewer")]
    assert (view["status"], view["stopReason"], view["strategy"]) == (WAITS, "converged", "review")
    assert view["convergence"] == {
        "agreementRatio": 1.0,
        "avgStability": pytest.approx(6 / 7),
        "overallScore": pytest.approx(0.6 + 0.4 * 6 / 7),
        "recommendation": "converged",
        "profile": "seed",
    }
    assert [metrics["recommendation"] for metrics in view["convergenceHistory"]] == [
        "continue",
        "continue",
        "converged",
    ]
    assert view["synthesis"]["text"].startswith("Write the test.")
    assert (view["synthesis"]["fallback"], view["synthesis"]["counts"]["remainingCount"]) == (False, 1)
    assert view["feedback"] == {"verdict": "NEEDS_FIX", "summary": "One left.", "issues": []}
    assert (view["decision"], view["choices"]) == (None, ["apply_fix", "skip"])
    decided(client, view["id"], "apply_fix")
    view = session(client, view["id"])
    assert view["status"] == "decided"
    assert view["decision"] | {"at": ""} == {
        "choice": "apply_fix",
        "actor": "unauthenticated",
        "rationale": "It is worth it.",
        "at": "",
        "expired": False,
    }


def test_a_red_team_attacks_and_its_severities_stay_visible(client: httpx.Client) -> None:
    """Red-team strategy: analysis by severity; K-35: roles critique and rebuttal."""
    found_issues = [issue("SQL injection.", "critical", "Bind it."), issue("Slow.", "major"), issue("Typo.", "minor")]
    replies = {
        "reviewer": [critique(issues=found_issues, securityRisks=[{"description": "SQLi", "severity": "CRITICAL"}])]
    }
    session = waits(client, review(replies, strategy="red-team", maxRounds=2))
    assert roles(session) == [("critique", "reviewer"), ("rebuttal", "coder")]
    assert session["feedback"]["issues"] == found_issues
    assert session["feedback"]["securityRisks"] == [{"description": "SQLi", "severity": "CRITICAL"}]
    assert session["dissent"] == ["SQL injection.", "Slow.", "Typo."]
    assert session["stopReason"] == "limit"


def test_a_debate_has_two_rounds_at_least_and_says_that_the_limit_was_reached(client: httpx.Client) -> None:
    """Debate strategy; K-28."""
    replies = {"critic": [challenge(words="There is a flaw.", concerns=["No rollback."])], "planner": ["I disagree."]}
    view = waits(client, debate(replies, maxRounds=1))
    assert roles(view) == [("challenge", "critic"), ("defense", "planner")]
    assert (view["maxRounds"], view["stopReason"], view["choices"]) == (2, "limit", ["revise", "accept"])
    assert view["feedback"] == {"verdict": "CHALLENGE", "concerns": ["No rollback."], "suggestions": []}
    assert view["dissent"] == ["No rollback."]
    decided(client, view["id"], "revise")
    assert session(client, view["id"])["decision"]["choice"] == "revise"


def test_perspectives_are_a_risk_lens_an_innovation_lens_and_a_cross_review(client: httpx.Client) -> None:
    """Perspectives strategy; K-28: the cross-review always comes."""
    session = waits(client, debate(strategy="perspectives", maxRounds=1))
    assert roles(session) == [
        ("risk-analysis", "critic"),
        ("innovation-analysis", "planner"),
        ("cross-review", "critic"),
    ]
    assert (session["maxRounds"], session["stopReason"]) == (3, "limit")
    assert session["feedback"]["verdict"] == "APPROVE"


def test_a_synthesis_that_fails_is_replaced_by_the_rounds(client: httpx.Client) -> None:
    """Synthesis fallback: the rounds joined, and it says so."""
    replies = {"critic": ["There is a flaw."], "planner": ["I see none."], "synthesizer": [{"error": "timeout"}]}
    session = waits(client, debate(replies))
    assert session["synthesis"] == {
        "text": "[challenge]: There is a flaw.\n\n[defense]: I see none.",
        "fallback": True,
        "counts": None,
    }
    assert session["lastError"] == "synthesizer: timeout: synthesizer did not answer in time (scripted)."


def test_a_discussion_that_gets_nowhere_stalls(client: httpx.Client) -> None:
    replies = {"critic": ["Alpha beta gamma delta.", "Kappa lambda omicron sigma."], "planner": ["Epsilon zeta theta."]}
    session = waits(client, debate(replies, maxRounds=9))
    assert (session["stopReason"], len(session["rounds"])) == ("stalled", 3)


# ------------------------------------------------------------------------------------------------------ errors (K-32)

BROKEN = {"error": "crash"}


@pytest.mark.parametrize(
    ("body", "rounds", "who"),
    [
        (review({"reviewer": [BROKEN]}), 0, "reviewer"),
        (review({"coder": [BROKEN]}), 1, "coder"),
        (review({"reviewer": [critique("PASS"), BROKEN]}, strategy="red-team"), 2, "reviewer"),
        (debate({"critic": [BROKEN]}), 0, "critic"),
        (debate({"planner": [BROKEN]}, strategy="perspectives"), 1, "planner"),
    ],
)
def test_an_agent_that_fails_leads_to_a_decision_that_shows_the_error(
    client: httpx.Client, body: Json, rounds: int, who: str
) -> None:
    session = waits(client, body)
    error = f"{who}: crash: {who} exited with an error (scripted)."
    assert (session["stopReason"], len(session["rounds"]), session["lastError"]) == ("error", rounds, error)
    assert session["feedback"]["error"] == error
    assert session["synthesis"] is None
    decided(client, session["id"], session["choices"][0])


def test_an_unreadable_verdict_is_recorded_as_such(client: httpx.Client) -> None:
    session = waits(client, review({"reviewer": ["Looks good to me!"]}, maxRounds=1))
    problem = "The reply holds no review verdict."
    assert (session["rounds"][0]["feedback"], session["rounds"][0]["problem"]) == (None, problem)
    assert (session["feedback"]["verdict"], session["feedback"]["problem"]) == ("NEEDS_FIX", problem)


def test_a_discussion_that_is_cancelled_says_so(client: httpx.Client) -> None:
    session_id = start(client, review({"reviewer": [{"text": "late", "delayMs": 60_000}]}))
    assert client.post(f"/api/sessions/{session_id}/cancel", json={"reason": "enough"}).status_code == 200
    session = reached(client, session_id, "cancelled")
    assert (session["stopReason"], session["outstandingTurns"]) == ("cancelled", [])
    assert (session["decision"]["choice"], session["decision"]["actor"]) == ("skip", "policy")
    answer = decide(client, session_id, "skip")
    assert (answer.status_code, answer.json()["allowed"]) == (409, [])


# --------------------------------------------------------------------------------------------------------- long words


def test_verdict_at_the_end_of_a_long_reply_counts_and_reaches_later_rounds(client: httpx.Client) -> None:
    long = "같은 말을 되풀이하는 긴 설명입니다. " * 600
    replies = {"reviewer": [long + critique(issues=[issue("The cache is never emptied.")])], "coder": ["I see."]}
    session = waits(client, review(replies, maxRounds=2))
    text = session["rounds"][0]
    assert text["length"] > 27_000 and len(text["content"].encode()) <= 16_384
    assert text["feedback"]["issues"] == [issue("The cache is never emptied.")]
    asked = [data for data in only(events(client, session["id"]), "turn.requested") if data["role"] == "coder"]
    rounds = asked[0]["context"]["rounds"]
    assert rounds["length"] > 16_384 and rounds["derived"]["what"] == "rounds", "the beginning and the verdict"
    assert rounds["head"].startswith("[Round 1 - critique]\n같은 말을") and len(rounds["head"].encode()) <= 16_384
    answered = only(events(client, session["id"]), "turn.answered")[1]
    assert answered["prompt"]["length"] > 16_384


def test_a_long_subject_reaches_the_agents_whole(client: httpx.Client) -> None:
    subject = "x" * 100_000
    session = waits(client, review(subject=subject, maxRounds=1))
    answered = only(events(client, session["id"]), "turn.answered")[0]
    assert answered["prompt"]["length"] > 100_000
    assert len(session["subject"]) == 16_384


# ------------------------------------------------------------------------------------------------------------ prompts


@pytest.mark.parametrize(
    ("body", "headings"),
    [
        (
            review(maxRounds=2),
            [("Points of Agreement", "verdict"), ("Conceded Points", "verdict"), ("Consensus", "verdict")],
        ),
        (
            review(strategy="red-team", maxRounds=2),
            [("Security Risks", "verdict"), ("Accepted Challenges", "verdict"), ("Remaining Concerns", "verdict")],
        ),
        (debate(), [("Structural Concerns", "concerns"), ("Revised Plan", "concerns"), ("Key Divergences", "verdict")]),
        (
            debate(strategy="perspectives"),
            [
                ("Confidence Assessment", "risk lens"),
                ("Confidence Assessment", "innovation lens"),
                ("Cross-Review Summary", "concerns"),
                ("Consensus Points", "verdict"),
            ],
        ),
    ],
)
def test_every_agent_gets_the_prompt_of_the_strategy(
    client: httpx.Client, body: Json, headings: list[tuple[str, str]]
) -> None:
    """Behaviour §2.6."""
    session = waits(client, body)
    prompts = [data["prompt"]["head"] for data in only(events(client, session["id"]), "turn.answered")]
    assert len(prompts) == len(headings)
    for prompt, (heading, word) in zip(prompts, headings, strict=True):
        assert f"## {heading}" in prompt
        assert word in prompt
    assert "(none)" in prompts[0], "nothing was said before the first round"


# --------------------------------------------------------------------------------------- settings (S2 phase 6, K-28)

TEAM = """
[settings]
agentStrategy = "red-team"
planStrategy = "perspectives"
maxReviewIterations = 5
maxDebateIterations = 4

[[agents]]
name = "Ada"
roles = ["planner", "dev"]
adapter = "scripted"

[[agents]]
name = "Bob"
roles = ["reviewer"]
adapter = "scripted"
"""


@pytest.fixture(scope="module")
def team_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    folder = tmp_path_factory.mktemp("team")
    (folder / "team.toml").write_text(TEAM)
    with inside(folder, team=folder / "team.toml") as result:
        yield result


def without_scenario(body: Json) -> Json:
    return {name: value for name, value in body.items() if name != "scenario"}


def test_strategies_and_limits_come_from_the_team_file(team_client: httpx.Client) -> None:
    reviewed = waits(team_client, without_scenario(review()))
    debated = waits(team_client, without_scenario(debate()))
    assert (reviewed["strategy"], reviewed["maxRounds"]) == ("red-team", 5)
    assert (debated["strategy"], debated["maxRounds"]) == ("perspectives", 4)


def test_a_request_goes_before_the_team_file(team_client: httpx.Client) -> None:
    session = waits(team_client, without_scenario(review(strategy="review", maxRounds=2)))
    assert (session["strategy"], session["maxRounds"]) == ("review", 2)


def test_first_agent_of_the_team_is_the_default(team_client: httpx.Client) -> None:
    """S2's settings: no reviewer or critic model means the main model."""
    session = waits(team_client, without_scenario(review(maxRounds=2)))
    assert roles(session) == [("critique", "Bob"), ("rebuttal", "Ada")]
    session = waits(team_client, without_scenario(debate(strategy="debate", maxRounds=2)))
    assert roles(session) == [("challenge", "Ada"), ("defense", "Ada")]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        (review(strategy="debate"), "/strategy"),
        (debate(strategy="red-team"), "/strategy"),
        (review(profile="nobody"), "/profile"),
        (review(profile={"agreement": 2}), "/profile/agreement"),
        (review(maxRounds=0), "/maxRounds"),
        (review(maxRounds=21), "/maxRounds"),
        (review(subject=" "), "/subject"),
        (debate(plan=""), "/plan"),
        (review(decisionSeconds=0), "/decisionSeconds"),
        (review(decisionSeconds=9, decisionDefault="accept"), "/decisionDefault"),
        (debate(decisionSeconds=9, decisionDefault="skip"), "/decisionDefault"),
        (debate(decisionDefault="accept"), "/decisionDefault"),
        (review(plan="x"), "/plan"),
    ],
)
def test_what_does_not_hold_is_refused_with_its_place(client: httpx.Client, body: Json, pointer: str) -> None:
    answer = client.post("/api/sessions", json=body)
    assert answer.status_code == 422
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]


def test_a_setting_says_how_many_rounds_may_be_asked_for(tmp_path: Path) -> None:
    with inside(tmp_path, max_rounds=40) as client:
        assert client.post("/api/sessions", json=review(maxRounds=40)).status_code == 202
        nested = orchestration(planReview={"maxRounds": 41})
        for body, pointer in ((debate(maxRounds=41), "/maxRounds"), (nested, "/planReview/maxRounds")):
            answer = client.post("/api/sessions", json=body)
            assert answer.status_code == 422
            [error] = answer.json()["errors"]
            assert (error["pointer"], error["detail"]) == (pointer, "should be between 1 and 40")


# ------------------------------------------------------------------------------------------------------- the decision


def test_a_decision_names_its_version_or_its_match(client: httpx.Client) -> None:
    """A stale version is 409 and a stale If-Match is 412; both change nothing."""
    view = waits(client, review(maxRounds=1))
    session_id, version = view["id"], view["version"]
    stale = decide(client, session_id, "skip", version=version - 1)
    assert (stale.status_code, stale.json()["allowed"]) == (409, ["decision", "cancel"])
    assert f"is at version {version}, and the decision answers version {version - 1}." in stale.json()["detail"]
    unmatched = decide(client, session_id, "skip", if_match=f'"{version - 1}"')
    assert (unmatched.status_code, unmatched.json()["currentVersion"]) == (412, version)
    assert session(client, session_id)["version"] == version
    assert decide(client, session_id, "skip", version=version, if_match=f'"{version}"').status_code == 200


def test_wrong_choice_lists_the_allowed_ones(client: httpx.Client) -> None:
    session_id = waits(client, debate())["id"]
    wrong = decide(client, session_id, "apply_fix")
    assert (wrong.status_code, wrong.json()["allowed"]) == (409, ["decision", "cancel"])
    assert "waiting_for_decision is decided by one of revise, accept." in wrong.json()["detail"]
    assert decide(client, session_id, "maybe").status_code == 422
    assert client.post(f"/api/sessions/{session_id}/decision", json={}).status_code == 422


def test_a_decision_is_made_once(client: httpx.Client) -> None:
    session_id = waits(client, review(maxRounds=1))["id"]
    decided(client, session_id, "apply_fix")
    for again in ("apply_fix", "skip"):
        answer = decide(client, session_id, again)
        assert answer.status_code == 409
        assert "It has been decided: apply_fix." in answer.json()["detail"]


def test_a_decision_under_a_key_is_answered_again_in_the_same_words(client: httpx.Client) -> None:
    session_id = waits(client, review(maxRounds=1))["id"]
    first = decide(client, session_id, "skip", idempotency_key=f"decide-{session_id}")
    again = decide(client, session_id, "skip", idempotency_key=f"decide-{session_id}")
    other = decide(client, session_id, "apply_fix", idempotency_key=f"decide-{session_id}")
    assert (first.status_code, again.content, again.headers["Idempotency-Replayed"]) == (200, first.content, "true")
    assert other.status_code == 422


def test_only_waiting_sessions_can_be_decided(client: httpx.Client) -> None:
    session_id = start(client, review({"reviewer": [{"text": "late", "delayMs": 60_000}]}))
    answer = decide(client, session_id, "skip")
    assert (answer.status_code, answer.json()["allowed"]) == (409, ["cancel"])
    assert "in the state reviewing" in answer.json()["detail"]
    assert decide(client, "review-nobody", "skip").status_code == 404
    client.post(f"/api/sessions/{session_id}/cancel", json={})


def test_open_endpoints_are_documented(client: httpx.Client) -> None:
    session_id = waits(client, review(maxRounds=1))["id"]
    assert client.get(f"/api/sessions/{session_id}").json()["availableCommands"] == ["decision", "cancel"]
    decided(client, session_id, "skip")
    assert client.get(f"/api/sessions/{session_id}").json()["availableCommands"] == []


# -------------------------------------------------------------------------------------------------------------- expiry


def _instant(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


@pytest.mark.parametrize(
    ("body", "choice"),
    [(review(decisionSeconds=1, maxRounds=1), "skip"), (debate(decisionSeconds=1, decisionDefault="revise"), "revise")],
)
def test_open_decision_expires_without_a_person(client: httpx.Client, body: Json, choice: str) -> None:
    session = waits(client, body)
    assert _instant(session["expiresAt"]) - _instant(session["updatedAt"]) == pytest.approx(1)
    over = reached(client, session["id"], "decided")
    assert (over["decision"]["choice"], over["decision"]["expired"]) == (choice, True)
    assert over["decision"]["actor"] == "policy"
    [expired] = [event for event in events(client, session["id"]) if event["type"].endswith(".expired")]
    assert (expired["actor"], expired["data"]["choice"]) == ("clock", choice)
    assert not [event for event in events(client, session["id"]) if event["type"].endswith(".decided")]
    answer = decide(client, session["id"], choice)
    assert (answer.status_code, "It has expired" in answer.json()["detail"]) == (409, True)


def test_decision_expires_while_no_server_runs(tmp_path: Path) -> None:
    with inside(tmp_path) as first:
        session = waits(first, review(decisionSeconds=1, maxRounds=1))
    until(lambda: time.time() > _instant(session["expiresAt"]), what="the expiry")
    with inside(tmp_path) as second:
        over = reached(second, session["id"], "decided")
    assert (over["decision"]["choice"], over["decision"]["expired"]) == ("skip", True)


# -------------------------------------------------------------------------------------------------- waiting survives


def test_a_decision_that_waits_survives_restarts(tmp_path: Path) -> None:
    """Restart the service in this process 20 times, then decide."""
    with inside(tmp_path) as client:
        before = waits(client, debate({"critic": ["There is a flaw."]}))
    for _ in range(20):
        with inside(tmp_path) as client:
            assert session(client, before["id"]) == before
    with inside(tmp_path) as client:
        decided(client, before["id"], "revise")
        assert session(client, before["id"])["decision"]["choice"] == "revise"


def _survives(folder: Path, times: int) -> None:
    with serving(folder) as server:
        before = waits(server.client, debate({"critic": ["There is a flaw."]}))
        for _ in range(times):
            server.kill()
            server.start()
            assert session(server.client, before["id"]) == before
        decided(server.client, before["id"], "accept")
        server.kill()
        server.start()
        view = session(server.client, before["id"])
        assert (view["status"], view["decision"]["choice"]) == ("decided", "accept")


def test_a_decision_that_waits_survives_kill_9(tmp_path: Path) -> None:
    _survives(tmp_path, 1)


@pytest.mark.nightly
def test_a_decision_that_waits_survives_kill_9_twenty_times(tmp_path: Path) -> None:
    _survives(tmp_path, 20)


# --------------------------------------------------------------------------- discussions with hand-checked expectations

FLAW = "There is a serious flaw in the locking of the shared cache."
HALF = "I accept the point about locking, but the cache itself is correct."
DONE = "I agree that the locking is correct now and accept the solution."
KO_FLAW = "공유 캐시의 잠금 방식에 결함이 있습니다."
KO_HALF = "잠금 문제는 인정하지만 캐시 자체는 타당합니다."
KO_DONE = "잠금 처리가 타당하다는 점에 동의하며 해결책을 수용합니다."
KO_NOT = "잠금 처리에 동의하지 않습니다."

DISCUSSIONS: dict[str, tuple[Json, list[str], list[str], str, int, float]] = {
    "English, agreed at once": ({}, [DONE, DONE], [DONE], "converged", 3, 1.0),
    "Korean, agreed at once": ({}, [KO_DONE, KO_DONE], [KO_DONE], "converged", 3, 1.0),
    "English, a flaw repeated": ({"maxRounds": 4}, [FLAW, FLAW], [HALF, HALF], "limit", 4, 1 / 3),
    "Korean, a flaw repeated": ({"maxRounds": 4}, [KO_FLAW, KO_FLAW], [KO_HALF, KO_HALF], "limit", 4, 1 / 3),
    "Korean, refused and repeated": ({"maxRounds": 3}, [KO_NOT], ["반대합니다."], "limit", 3, 0.0),
    "English, a negation": ({"maxRounds": 3}, ["I do not agree."], ["I disagree."], "limit", 3, 0.0),
    "English, no flaws": ({"maxRounds": 3}, ["I see no flaws there."], ["No flaws."], "converged", 3, 1.0),
    "English, from flaw to agreement": ({"maxRounds": 3}, [FLAW, DONE], [DONE], "limit", 3, 2 / 3),
    "silence": ({"maxRounds": 3}, [""], [""], "limit", 3, 0.5),
    "verdicts without a word": ({"maxRounds": 5}, [critique("PASS")], [critique("PASS")], "limit", 5, 0.5),
    "other words each time": ({"maxRounds": 9}, ["Alpha beta.", "Gamma delta."], ["Epsilon zeta."], "stalled", 3, 0.5),
    "shipped-v3, any third round": (
        {"profile": "shipped-v3"},
        ["One two three.", "Four."],
        ["Five."],
        "stalled",
        3,
        0.5,
    ),
    "thresholds of one's own": (
        {"profile": {"agreement": 0.3, "stability": 0.5}, "maxRounds": 9},
        [FLAW, FLAW],
        [HALF],
        "converged",
        4,
        1 / 3,
    ),
}


@pytest.mark.parametrize("name", DISCUSSIONS)
def test_a_discussion_ends_as_it_should(client: httpx.Client, name: str) -> None:
    fields, critiques, rebuttals, reason, rounds, ratio = DISCUSSIONS[name]
    session = waits(client, review({"reviewer": critiques, "coder": rebuttals}, **fields))
    assert (session["stopReason"], len(session["rounds"])) == (reason, rounds)
    assert session["convergence"]["agreementRatio"] == pytest.approx(ratio)
    assert len(session["convergenceHistory"]) == rounds
    asked = fields.get("profile", "seed")
    assert session["profile"] == (f"{asked}@1" if isinstance(asked, str) else "custom@1")


def test_events_are_complete(client: httpx.Client) -> None:
    replies: dict[str, list[Any]] = {"reviewer": [critique(pointsOfDisagreement=[disputed("It is slow.")])]}
    session_id = waits(client, review(replies, maxRounds=2))["id"]
    decided(client, session_id, "skip")
    history = events(client, session_id)
    assert [event["type"] for event in history] == [
        *("review.session_started", "turn.requested"),
        *("turn.answered", "review.round_added", "review.assessed", "turn.requested"),
        *("turn.answered", "review.round_added", "review.assessed", "review.limit_reached", "turn.requested"),
        *("turn.answered", "review.synthesized", "review.decision_requested"),
        *("review.decided", "session.agent_sessions_cleared"),
    ]
    profile = history[0]["data"]["topic"]["profile"]
    assert (profile["name"], profile["version"], profile["agreement"], profile["stability"]) == ("seed", 1, 0.7, 0.8)
    assert json.dumps(history[-2]["data"]["choice"]) == '"skip"'
