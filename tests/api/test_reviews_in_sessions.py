"""Debated plans, reviewed work and reviewed deliveries over HTTP (S2; K-24, K-25, K-33)."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from tests.api.server import Json, delivery, events, inside, only, session, start
from tests.api.talks import child, decide, decided, reached
from tests.kit.replies import challenge, critique, issue, plan, review, subtask, verdicts

ON: Json = {"enabled": True, "maxRounds": 1}
OFF: Json = {"enabled": False}
BROKEN = critique(summary="It is broken.", issues=[issue("No test.", suggestion="Write one.")])
APPROVED = f"{BROKEN}\n{review()}"
"""The delivery's own reviewer approves; asked as the reviewer of a review, the same words find fault."""
PLAN = plan(subtask("Backend"))


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with inside(tmp_path_factory.mktemp("within")) as result:
        yield result


def run(replies: dict[str, list[Any]] | None = None, **fields: Any) -> Json:
    """The body that starts an orchestration of two employees, of whom Backend has one phase to do."""
    result = {"planner": [PLAN], "judge": [verdicts(Backend=True)]} | (replies or {})
    employees = [{"name": name, "role": name.lower()} for name in ("Backend", "Frontend")]
    body: Json = {"kind": "orchestration", "prompt": "src/ API 만들어줘", "employees": employees}
    return body | {"scenario": {"replies": result}} | fields


def prompts(client: httpx.Client, session_id: str) -> list[str]:
    return [data["prompt"] for data in only(events(client, session_id), "turn.requested")]


def types(client: httpx.Client, session_id: str) -> list[str]:
    return [event["type"] for event in events(client, session_id)]


# ------------------------------------------------------------------------------------------------------------ the plan


def test_an_accepted_plan_is_carried_out_as_it_is(client: httpx.Client) -> None:
    """S2, verification: "Accept as is". Decided at the parent; both are linked to each other."""
    session_id = start(client, run(planReview={"enabled": True}))
    debate = child(client, session_id)
    view = session(client, session_id)
    assert (debate["kind"], debate["parent"], view["children"]) == ("debate", session_id, [debate["id"]])
    assert (view["status"], view["round"], view["planVersion"]) == ("active", 0, 1)
    assert debate["plan"].endswith(PLAN)
    receipt = decided(client, session_id, "accept")
    assert (receipt["sessionId"], receipt["kind"]) == (debate["id"], "debate")
    view = reached(client, session_id, "done")
    assert (view["round"], view["planVersion"]) == (1, 1)
    assert session(client, debate["id"])["decision"]["choice"] == "accept"


def test_a_plan_that_is_sent_back_comes_again_as_version_two(client: httpx.Client) -> None:
    """K-24: the planner gets the synthesis; the budget of the debate bounds what follows."""
    replies: dict[str, list[Any]] = {
        "planner": [PLAN, plan(subtask("Frontend"))],
        "critic": [challenge(words="There is a flaw.", concerns=["No rollback."])],
        "synthesizer": ["Add a rollback."],
        "judge": [verdicts(Frontend=True)],
    }
    session_id = start(client, run(replies, planReview={"enabled": True}))
    debate = child(client, session_id)
    decided(client, debate["id"], "revise")
    session = reached(client, session_id, "done")
    assert (session["planVersion"], session["children"]) == (2, [debate["id"]])
    assert [agent["agent"] for agent in session["agents"]] == ["Frontend"]
    assert prompts(client, session_id)[:2] == ["plan@1", "revise_plan@1"]
    [asked] = [data for data in only(events(client, session_id), "turn.requested") if data["prompt"] == "revise_plan@1"]
    assert asked["context"]["synthesis"]["head"] == "Add a rollback."


def test_a_larger_budget_of_debate_goes_into_the_next_version(client: httpx.Client) -> None:
    """K-24. The first debate stalls after three of five rounds; the second gets the remaining two."""
    replies: dict[str, list[Any]] = {
        "planner": [PLAN],
        "critic": ["Alpha beta gamma.", "Delta epsilon zeta.", challenge("APPROVE")],
    }
    session_id = start(client, run(replies, planReview={"enabled": True, "maxRounds": 5}))
    first = child(client, session_id)
    assert (first["stopReason"], len(first["rounds"]), first["maxRounds"]) == ("stalled", 3, 5)
    decided(client, session_id, "revise")
    second = child(client, session_id, 2)
    assert (second["maxRounds"], second["stopReason"], session(client, session_id)["planVersion"]) == (2, "limit", 2)
    decided(client, session_id, "accept")
    assert reached(client, session_id, "done")["planVersion"] == 2


def test_a_critic_that_crashes_does_not_let_the_plan_be_carried_out(client: httpx.Client) -> None:
    """K-32, DB-04."""
    session_id = start(client, run({"critic": [{"error": "crash"}]}, planReview={"enabled": True}))
    debate = child(client, session_id)
    assert (debate["stopReason"], session(client, session_id)["round"]) == ("error", 0)
    decided(client, session_id, "accept")
    assert reached(client, session_id, "done")["round"] == 1


# ------------------------------------------------------------------------------------------------------------ the work


def test_a_fix_is_made_and_reviewed_again(client: httpx.Client) -> None:
    """K-25: the step is marked failed with the feedback; a fix turn with synthesis and issues; then a second review."""
    replies: dict[str, list[Any]] = {
        "reviewer": [BROKEN],
        "synthesizer": ["Write the test."],
        "Backend": ["I did it.", {"text": "I wrote the test.", "files": {"test_api.py": "assert True\n"}}],
    }
    session_id = start(client, run(replies, workReview=ON))
    reviewed = child(client, session_id)
    assert (reviewed["kind"], reviewed["parent"]) == ("review", session_id)
    assert reviewed["subject"].startswith("Step:\nBackend (backend), phase 3")
    assert reviewed["subject"].endswith("Result:\nI did it.")
    decided(client, session_id, "apply_fix")
    again = child(client, session_id, 2)
    result, _, changes = again["subject"].partition("\n\nChanges:\n")
    assert result.endswith("Result:\nI wrote the test.")
    assert "+++ b/test_api.py\n@@ -0,0 +1 @@\n+assert True\n" in changes
    decided(client, session_id, "skip")
    session = reached(client, session_id, "done")
    [backend] = session["agents"]
    feedback = "[Review NEEDS_FIX] It is broken.\n- **[major]** No test. → Write one."
    assert [(judged["round"], judged["pass"]) for judged in backend["history"]] == [(1, True), (1, False), (2, True)]
    assert backend["history"][1]["feedback"] == f"{feedback}\n\n[Synthesis]: Write the test."
    [fix] = [data for data in only(events(client, session_id), "turn.requested") if data["prompt"] == "fix@1"]
    assert fix["context"]["issues"]["head"] == feedback
    assert fix["context"]["synthesis"]["head"] == "Write the test."
    answered = [data for data in only(events(client, session_id), "turn.answered") if data["agent"] == "Backend"]
    assert "## Issues" in answered[1]["prompt"]["head"] and "No test." in answered[1]["prompt"]["head"]
    assert answered[1]["files"] == ["test_api.py"]


def test_a_skipped_review_goes_on_without_a_fix(client: httpx.Client) -> None:
    """S2, verification: "Skip"."""
    session_id = start(client, run({"reviewer": [BROKEN]}, workReview=ON))
    child(client, session_id)
    decided(client, session_id, "skip")
    session = reached(client, session_id, "done")
    assert (session["round"], prompts(client, session_id)) == (1, ["plan@1", "work@1", "verdict@1"])


def test_reviews_of_several_agents_are_decided_one_by_one(client: httpx.Client) -> None:
    replies = {
        "planner": [plan(subtask("Backend"), subtask("Frontend"))],
        "judge": [verdicts(Backend=True, Frontend=True)],
    }
    session_id = start(client, run(replies, workReview=ON))
    first, second = child(client, session_id, 1), child(client, session_id, 2)
    several = decide(client, session_id, "skip")
    assert several.status_code == 409
    assert f"Address one of {first['id']}, {second['id']}" in several.json()["detail"]
    decided(client, first["id"], "skip")
    decided(client, session_id, "skip")
    assert reached(client, session_id, "done")["round"] == 1


def test_a_run_out_of_rounds_goes_on_with_the_fix(client: httpx.Client) -> None:
    session_id = start(client, run({"reviewer": [BROKEN]}, workReview=ON, maxRounds=1))
    child(client, session_id)
    decided(client, session_id, "apply_fix")
    session = reached(client, session_id, "partial")
    assert (session["reason"], session["agents"][0]["completed"]) == ("rounds", False)
    assert client.post(f"/api/sessions/{session_id}/continue", json={}).status_code == 200
    child(client, session_id, 2)
    assert prompts(client, session_id)[-2:] == ["fix@1", "verdict@1"]
    decided(client, session_id, "skip")
    reached(client, session_id, "done")


# ------------------------------------------------------------------------------------------------------------ parents


@pytest.mark.parametrize("endpoint", ["reset", "cancel"])
@pytest.mark.parametrize(
    ("fields", "passing"), [({"planReview": {"enabled": True}}, "accept"), ({"workReview": ON}, "skip")]
)
def test_a_run_that_ends_closes_its_discussions(
    client: httpx.Client, fields: Json, passing: str, endpoint: str
) -> None:
    """K-33: ending the run records skip or accept as the decision, and no further step follows."""
    session_id = start(client, run(**fields))
    discussion = child(client, session_id)
    assert client.post(f"/api/sessions/{session_id}/{endpoint}", json={"reason": "enough"}).status_code == 200
    result, closed = session(client, session_id), session(client, discussion["id"])
    assert (result["status"], result["outstandingTurns"]) == ("reset", [])
    assert (closed["status"], closed["decision"]["choice"], closed["decision"]["actor"]) == (
        "cancelled",
        passing,
        "policy",
    )
    [history] = only(events(client, session_id), "session.child_closed")
    assert (history["choice"], history["by"]) == (passing, "cancelled")
    answer = decide(client, session_id, passing)
    assert answer.status_code == 409
    assert session(client, session_id)["version"] == result["version"]


def test_parent_shows_the_decision_of_its_child(client: httpx.Client) -> None:
    session_id = start(client, run(planReview={"enabled": True}))
    child(client, session_id)
    decided(client, session_id, "accept")
    answer = decide(client, session_id, "revise")
    assert answer.status_code == 409
    assert "does not wait for a decision. The last one was: accept." in answer.json()["detail"]


def test_a_decision_at_the_parent_is_answered_again_under_its_key(client: httpx.Client) -> None:
    """Also once the parent waits for nothing, and with an outdated version."""
    session_id = start(client, run(planReview={"enabled": True}))
    child(client, session_id)
    match = f'"{session(client, session_id)["version"]}"'
    first = decide(client, session_id, "accept", idempotency_key=f"key-{session_id}", if_match=match)
    reached(client, session_id, "done")
    again = decide(client, session_id, "accept", idempotency_key=f"key-{session_id}", if_match=match)
    assert (first.status_code, again.status_code, again.content) == (200, 200, first.content)
    assert again.headers["Idempotency-Replayed"] == "true"
    late = decide(client, session_id, "accept", idempotency_key=f"late-{session_id}")
    later = decide(client, session_id, "accept", idempotency_key=f"late-{session_id}")
    assert (late.status_code, later.status_code, later.json()["detail"]) == (409, 409, late.json()["detail"])


def test_a_parent_whose_discussion_goes_on_says_so(client: httpx.Client) -> None:
    slow = {"critic": [{"text": "late", "delayMs": 60_000}]}
    session_id = start(client, run(slow, planReview={"enabled": True}))
    debate = child(client, session_id, status="debating")
    answer = decide(client, session_id, "accept")
    assert (answer.status_code, answer.json()["allowed"]) == (409, ["reset", "cancel", "extend", "revise"])
    assert f"does not wait for a decision yet. {debate['id']} is still in progress." in answer.json()["detail"]
    assert client.post(f"/api/sessions/{session_id}/cancel", json={}).status_code == 200


def test_a_decision_at_the_parent_is_bound_to_the_parents_version(client: httpx.Client) -> None:
    session_id = start(client, run(planReview={"enabled": True}))
    child(client, session_id)
    version = session(client, session_id)["version"]
    answer = decide(client, session_id, "accept", if_match=f'"{version - 1}"')
    assert (answer.status_code, answer.json()["currentVersion"]) == (412, version)
    assert decide(client, session_id, "accept", if_match=f'"{version}"').status_code == 200
    reached(client, session_id, "done")


def test_a_debate_cancelled_alone_lets_its_run_go_on(client: httpx.Client) -> None:
    session_id = start(client, run(planReview={"enabled": True}))
    debate = child(client, session_id)
    assert client.post(f"/api/sessions/{debate['id']}/cancel", json={}).status_code == 200
    assert reached(client, session_id, "done")["round"] == 1
    [history] = only(events(client, session_id), "session.child_closed")
    assert (history["choice"], history["by"]) == ("accept", "cancelled")


def test_a_decision_within_a_run_may_expire(client: httpx.Client) -> None:
    wish = ON | {"decisionSeconds": 1, "decisionDefault": "skip"}
    session_id = start(client, run({"reviewer": [BROKEN]}, workReview=wish))
    session = reached(client, session_id, "done")
    [history] = only(events(client, session_id), "session.child_closed")
    assert (history["choice"], history["by"], session["round"]) == ("skip", "policy", 1)


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"planReview": {"strategy": "review"}}, "/planReview/strategy"),
        ({"workReview": {"profile": "nobody"}}, "/workReview/profile"),
        ({"workReview": {"decisionSeconds": 9, "decisionDefault": "accept"}}, "/workReview/decisionDefault"),
        ({"planReview": {"enabled": "yes"}}, "/planReview/enabled"),
        ({"planReview": {"rounds": 2}}, "/planReview/rounds"),
    ],
)
def test_what_does_not_hold_is_refused_with_its_place(client: httpx.Client, fields: Json, pointer: str) -> None:
    answer = client.post("/api/sessions", json=run(**fields))
    assert answer.status_code == 422
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]


# --------------------------------------------------------------------------------------------------------- deliveries


def test_delivery_is_reviewed_fixed_and_delivered(client: httpx.Client) -> None:
    replies: dict[str, list[Any]] = {
        "reviewer": [APPROVED],
        "dev": [{"text": "I wrote it.", "files": {"src/login.py": "print()\n"}}, "I mended it."],
        "synthesizer": ["Write the test."],
    }
    session_id = start(client, delivery(replies, review=ON))
    reviewed = child(client, session_id)
    view = session(client, session_id)
    assert (view["status"], view["currentPhase"], view["children"]) == ("running", "review", [reviewed["id"]])
    assert "Result:\nI wrote it." in reviewed["subject"]
    assert "+print()" in reviewed["subject"], "the reviewer sees what has changed"
    decided(client, session_id, "apply_fix")
    child(client, session_id, 2)
    decided(client, session_id, "skip")
    view = reached(client, session_id, "success")
    assert (view["iteration"], len(view["children"])) == (2, 2)
    [fix] = only(events(client, session_id), "delivery.fix_requested")
    assert fix["feedback"]["head"].endswith("[Synthesis]: Write the test.")


def test_a_delivery_whose_iterations_are_used_up_is_not_fixed_beyond_them(client: httpx.Client) -> None:
    session_id = start(client, delivery({"reviewer": [APPROVED]}, review=ON, maxIterations=1))
    child(client, session_id)
    decided(client, session_id, "apply_fix")
    session = reached(client, session_id, "failed")
    assert (session["finalSummary"], session["budget"]["reason"]) == ("failed_budget_exhausted", "iterations")


def test_a_cancelled_delivery_closes_its_review(client: httpx.Client) -> None:
    session_id = start(client, delivery({"reviewer": [APPROVED]}, review=ON))
    reviewed = child(client, session_id)
    assert client.post(f"/api/sessions/{session_id}/cancel", json={}).status_code == 200
    assert session(client, session_id)["status"] == "cancelled"
    closed = session(client, reviewed["id"])
    assert (closed["status"], closed["decision"]["choice"]) == ("cancelled", "skip")


# -------------------------------------------------------------------------------------- the feature off (S2, line 3)


@pytest.mark.parametrize(
    ("body", "off"),
    [
        (run(), {"planReview": OFF, "workReview": OFF}),
        (run(prompt="What is this?"), {"planReview": ON, "workReview": ON}),
        (run({"judge": [verdicts(Backend=False)]}, maxRounds=1), {"workReview": ON}),
        (delivery(), {"review": OFF}),
    ],
    ids=["orchestration", "a direct answer", "work that failed", "delivery"],
)
def test_where_nothing_is_to_be_discussed_the_events_are_the_same(client: httpx.Client, body: Json, off: Json) -> None:
    """S2, verification: with the feature off, all events are as before."""
    stories = []
    for item in (body, body | off):
        session_id = start(client, item)
        reached(client, session_id, "done", "partial", "success")
        stories.append(types(client, session_id))
    assert stories[0] == stories[1]
    assert not [topic for topic in stories[0] if "child" in topic or "held" in topic or "review_started" in topic]


# ------------------------------------------------------------------------------------------- what reviewers look at

LOOKING = """
import json, pathlib, sys
prompt = sys.stdin.read()
verdict = '"verdict"' in prompt
name = pathlib.Path("greeting.txt")
if sys.argv[1] == "dev":
    name.write_text("hello from the developer\\n")
    print("I wrote it.")
elif sys.argv[1] == "reviewer" and "blockingIssues" in prompt:
    print(json.dumps({"blockingIssues": [], "nonBlockingIssues": [], "score": 90, "fixPlan": []}))
else:
    print("I read: " + (name.read_text() if name.exists() else "nothing"))
"""


def team(folder: Path) -> Path:
    script = folder / "agent.py"
    script.write_text(LOOKING)
    lines = []
    for name, roles in (("dev", ["planner", "architect", "designer", "dev"]), ("reviewer", ["reviewer"])):
        command = json.dumps([sys.executable, str(script), name])
        lines.append(
            f'[[agents]]\nname = "{name}"\nroles = {json.dumps(roles)}\nadapter = "command"\n'
            f"[agents.settings]\nargv = {command}\n"
        )
    (folder / "team.toml").write_text("\n".join(lines))
    return folder / "team.toml"


def test_the_review_of_a_delivery_sees_the_files_as_the_work_has_left_them(tmp_path: Path) -> None:
    """Behaviour §2.4: a reviewer who can read the workspace reads the one with the work."""
    project = tmp_path / "project"
    project.mkdir()
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    (project / "README.md").write_text("A project.\n")
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run(["git", "-C", str(project), "add", "."], check=True)
    subprocess.run(["git", "-C", str(project), *identity, "commit", "-q", "-m", "start"], check=True)
    body = {name: value for name, value in delivery(review=ON).items() if name != "scenario"}
    with inside(tmp_path, team=team(tmp_path)) as client:
        session_id = start(client, body | {"workspace": str(project)})
        reviewed = child(client, session_id)
        assert reviewed["rounds"][0]["content"] == "I read: hello from the developer"
        decided(client, session_id, "skip")
        assert reached(client, session_id, "success")["iteration"] == 1
    assert not (project / "greeting.txt").exists(), "the person's checkout stays as it is"
