"""Deliveries from the request to the end, over HTTP, with a scripted team and real commands (S4 §9.6, §10, §11)."""

import json
import re
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.api.server import Json, Server, delivery, ended, events, inside, only, reached, serving, start, types

PHASES = ("planning", "architecture", "design", "implementation", "validation", "review", "packaging")
ASKED = ["phase_started", "turn.requested", "turn.answered", "artifact_created", "phase_completed"]
DESIGNED = ["session_started", *ASKED, *ASKED, *ASKED]
IMPLEMENTED = ["attempt_started", *ASKED]
RUN = ["phase_started", "turn.requested", "turn.answered", "artifact_created"]
VALIDATED = [*RUN, "tests_passed", "phase_completed"]
BROKEN = [*RUN, "validation_failed"]
APPROVED = [*ASKED, "review_approved"]
BLOCKED = [*ASKED, "review_blocking_detected"]
CLEARED = "session.agent_sessions_cleared"
DELIVERED = ["phase_started", "phase_completed", CLEARED, "session_finished"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server whose budget minute lasts half a second."""
    with serving(tmp_path_factory.mktemp("deliveries"), budget_minute=0.5) as result:
        yield result


def review(*blocking: str, score: int = 80) -> str:
    issues = [{"id": title.lower(), "title": title, "detail": f"{title} is missing."} for title in blocking]
    return json.dumps({"blockingIssues": issues, "score": score, "fixPlan": [f"Add {title}." for title in blocking]})


def steps(history: list[Json]) -> list[str]:
    """The event types, without the creation of the workspace, which happens when first needed."""
    return [name for name in types(history) if name != "session.workspace_prepared"]


def prompt_parts(history: list[Json], role: str, place: str) -> list[str]:
    """One part of the role's prompts, turn by turn."""
    requests = [request for request in only(history, "turn.requested") if request["role"] == role]
    return [request["context"][place]["head"] for request in requests]


def seconds(later: str, earlier: str) -> float:
    return (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds()


# -- the six presets -----------------------------------------------------------------------------------------------


def test_a_review_without_blocking_issues_delivers(server: Server) -> None:
    """S4 §10.2.1, preset "review approved": the score of 10 sends nothing back (§5.2)."""
    session_id = start(server.client, delivery({"reviewer": [review(score=10)]}))
    session = ended(server.client, session_id)
    assert (session["status"], session["iteration"]) == ("success", 1)
    assert re.fullmatch(
        r"Nothing was changed\. Success on iteration 1\. Validated by .+\. Review approved \(score 10\)\.",
        session["finalSummary"],
    )
    assert session["phaseStatuses"] == dict.fromkeys(PHASES, "completed")
    assert list(session["artifactRefs"]) == list(PHASES[:-1])
    told_events = events(server.client, session_id)
    assert steps(told_events) == [*DESIGNED, *IMPLEMENTED, *VALIDATED, *APPROVED, *DELIVERED]
    [approved] = only(told_events, "delivery.review_approved")
    assert (approved["score"], approved["iteration"], approved["role"]) == (10, 1, "reviewer")
    assert [event["version"] for event in told_events] == list(range(1, session["version"] + 1))


def test_one_blocking_review_sends_back_with_its_fix_plan(server: Server) -> None:
    """S4 §10.2.2, preset "one regression": the fix plan is in the next iteration's feedback (§5.2.3)."""
    session_id = start(server.client, delivery({"reviewer": [review("Logging", score=95), review()]}))
    session = ended(server.client, session_id)
    assert (session["status"], session["iteration"], session["budget"]["remainingIterations"]) == ("success", 2, 5)
    told_events = events(server.client, session_id)
    again = [*IMPLEMENTED, *VALIDATED, *BLOCKED, *IMPLEMENTED, *VALIDATED, *APPROVED]
    assert steps(told_events) == [*DESIGNED, *again, *DELIVERED]
    issues = "Blocking issues:\n1. Logging: Logging is missing.\nFix plan:\n1. Add Logging."
    feedback = f"Review blocked at iteration 1.\n{issues}"
    assert prompt_parts(told_events, "dev", "feedback") == ["", feedback]
    reviews = [a for a in only(told_events, "delivery.artifact_created") if a["phase"] == "review"]
    assert session["artifactRefs"]["review"] == reviews[1]["artifactId"] != reviews[0]["artifactId"]
    kept = [server.client.get(f"/api/sessions/{session_id}/artifacts/{a['artifactId']}").json() for a in reviews]
    assert [len(json.loads(artifact["content"])["blockingIssues"]) for artifact in kept] == [1, 0]
    before = next(event["version"] for event in told_events if event["type"] == "delivery.review_blocking_detected")
    listed = server.client.get(f"/api/sessions/{session_id}/artifacts", params={"version": before}).json()["items"]
    assert [a["artifactId"] for a in listed if a["phase"] == "review"] == [reviews[0]["artifactId"]]


def test_a_review_that_always_blocks_uses_up_the_iterations(server: Server) -> None:
    """S4 §10.2.3, preset "persistent blocking": `failed_budget_exhausted(iterations)`, K-44."""
    session_id = start(server.client, delivery({"reviewer": [review("Logging")]}, maxIterations=2))
    session = ended(server.client, session_id)
    assert (session["status"], session["finalSummary"]) == ("failed", "failed_budget_exhausted")
    assert (session["budget"]["reason"], session["budget"]["remainingIterations"]) == ("iterations", 0)
    assert session["phaseStatuses"] == dict.fromkeys(PHASES[:-1], "completed") | {"packaging": "skipped"}
    told_events = events(server.client, session_id)
    once = [*IMPLEMENTED, *VALIDATED, *BLOCKED]
    assert steps(told_events) == [
        *[*DESIGNED, *once, *once],
        *["budget_exhausted", "phase_skipped", "session_finished"],
    ]
    [exhausted] = only(told_events, "delivery.budget_exhausted")
    assert (exhausted["message"], exhausted["reason"]) == ("Budget exhausted by iterations.", "iterations")
    assert (exhausted["iteration"], exhausted["remainingIterations"], exhausted["phase"]) == (3, 0, "review")
    [finished] = only(told_events, "delivery.session_finished")
    assert (finished["message"], finished["status"]) == ("failed_budget_exhausted", "failed")


@pytest.mark.alone
def test_a_deadline_stops_the_turn_that_runs(server: Server) -> None:
    """S4 §10.2.4, preset "time exhausted": the developer would need a minute, the budget has half a second."""
    slow = {"dev": [{"text": "late", "delayMs": 60_000}]}
    session_id = start(server.client, delivery(slow, maxMinutes=1))
    session = ended(server.client, session_id)
    assert (session["status"], session["finalSummary"]) == ("failed", "failed_budget_exhausted")
    assert (session["budget"]["reason"], session["budget"]["maxMinutes"]) == ("minutes", 1)
    assert session["phaseStatuses"]["implementation"] == "failed"
    assert session["phaseStatuses"]["packaging"] == "skipped"
    told_events = events(server.client, session_id)
    assert steps(told_events)[-7:] == [
        *["turn.cancelled", "phase_failed", "budget_exhausted"],
        *["phase_skipped", "phase_skipped", "phase_skipped", "session_finished"],
    ]
    assert seconds(session["budget"]["deadlineAt"], session["budget"]["startedAt"]) == pytest.approx(0.5)
    assert 0 < seconds(told_events[-1]["timestamp"], session["budget"]["deadlineAt"]) <= 1.0
    assert (session["budget"]["elapsedMs"] - 500) in range(1, 1_000)
    assert session["outstandingTurns"] == []


def test_a_validation_that_fails_once_recovers(server: Server) -> None:
    """Preset "validation fails, then recovers": the test is real, the first code is wrong. No review before it passes
    (K-40)."""
    files = [{"text": "Done.", "files": {"src/login.py": f"ATTEMPTS = {count}\n"}} for count in (5, 3)]
    check = [sys.executable, "-c", "exec(open('src/login.py').read()); assert ATTEMPTS == 3, 'three attempts, please'"]
    session_id = start(server.client, delivery({"dev": files}, validationCommands=["true", check, "true"]))
    session = ended(server.client, session_id)
    assert (session["status"], session["iteration"]) == ("success", 2)
    told_events = events(server.client, session_id)
    assert steps(told_events) == [*DESIGNED, *IMPLEMENTED, *BROKEN, *IMPLEMENTED, *VALIDATED, *APPROVED, *DELIVERED]
    [failed] = only(told_events, "delivery.validation_failed")
    assert failed["classification"] == "test"
    assert "three attempts, please" in failed["summary"]
    assert "three attempts, please" in prompt_parts(told_events, "dev", "feedback")[1]
    reports = [a["artifactId"] for a in only(told_events, "delivery.artifact_created") if a["phase"] == "validation"]
    contents = [server.client.get(f"/api/sessions/{session_id}/artifacts/{report}").json() for report in reports]
    runs = [[run["exitCode"] for run in json.loads(content["content"])["runs"]] for content in contents]
    assert runs == [[0, 1], [0, 0, 0]], "in order, up to the first failure"


@pytest.mark.parametrize(
    ("fields", "iterations"),
    [({"maxAttempts": 3}, 3), ({"maxAttempts": 3, "maxIterations": 4}, 4), ({}, 6)],
    ids=["legacy", "both", "neither"],
)
def test_max_attempts_still_counts_as_iterations(server: Server, fields: Json, iterations: int) -> None:
    """Preset "legacy input" (S4 §4.2): `maxIterations ?? maxAttempts ?? 6`, mirrored, and 45 minutes (K-39)."""
    session = ended(server.client, start(server.client, delivery(**fields)))
    assert (session["budget"]["maxIterations"], session["budget"]["maxMinutes"]) == (iterations, 45)
    assert (session["maxAttempts"], session["attempt"], session["iteration"]) == (iterations, 1, 1)


# -- beyond the presets --------------------------------------------------------------------------------------------


def test_an_exhausted_delivery_goes_on_when_it_is_given_more(server: Server) -> None:
    """K-46: the extension is a separate command; only the interrupted phase restarts."""
    session_id = start(server.client, delivery({"dev": [{"text": "late", "delayMs": 60_000}, "quick"]}, maxMinutes=1))
    first = ended(server.client, session_id)
    assert first["budget"]["reason"] == "minutes"
    more = server.client.post(f"/api/sessions/{session_id}/budget", json={"addMinutes": 100, "reason": "worth it"})
    assert more.status_code == 200, more.text
    session = ended(server.client, session_id)
    assert (session["status"], session["iteration"], session["budget"]["maxMinutes"]) == ("success", 1, 101)
    assert session["budget"]["reason"] is None
    told_events = events(server.client, session_id)
    assert steps(told_events)[first["version"] :] == [
        *["budget_extended", *ASKED, *VALIDATED, *APPROVED, *DELIVERED],
    ]
    [extended] = only(told_events, "delivery.budget_extended")
    assert extended["why"] == "worth it"
    asked_again = only(told_events, "turn.answered")[-3]
    assert asked_again["role"] == "dev"
    assert asked_again["prompt"]["head"].startswith("unauthenticated has given this work more budget, and says:")
    assert '<material name="person">\nworth it\n</material>' in asked_again["prompt"]["head"]


@pytest.mark.parametrize(
    ("said", "code", "words"),
    [
        ({"error": "crash"}, "crash", "reviewer exited with an error (scripted)."),
        ({"error": "timeout"}, "timeout", "reviewer did not answer in time (scripted)."),
        ({"error": "refused"}, "refused", "reviewer rejected the request (scripted)."),
        ("All is well!", "unreadable", ""),
        ('{"blockingIssues": [{"id": "1", "title": "No detail"}]}', "unreadable", ""),
    ],
    ids=["crash", "timeout", "refused", "no JSON", "an issue without detail"],
)
def test_a_failing_reviewer_fails_its_phase_and_never_approves(
    server: Server, said: Any, code: str, words: str
) -> None:
    """S4 §10.2.5, K-36: downstream phases are skipped."""
    session_id = start(server.client, delivery({"reviewer": [said]}))
    session = ended(server.client, session_id)
    assert (session["status"], session["phaseStatuses"]["review"]) == ("failed", "failed")
    assert session["phaseStatuses"]["packaging"] == "skipped"
    assert session["finalSummary"].startswith("Phase review failed: ")
    [failed] = only(events(server.client, session_id), "delivery.phase_failed")
    assert (failed["errorType"], failed["phase"]) == (code, "review")
    assert words in failed["errorMessage"] != ""


@pytest.mark.parametrize("role", ["planner", "architect", "designer", "dev"])
def test_every_failing_agent_fails_the_delivery(server: Server, role: str) -> None:
    session = ended(server.client, start(server.client, delivery({role: [{"error": "crash"}]})))
    phase = dict(zip(("planner", "architect", "designer", "dev"), PHASES, strict=False))[role]
    after = PHASES[PHASES.index(phase) + 1 :]
    assert session["status"] == "failed"
    assert session["phaseStatuses"][phase] == "failed"
    assert [session["phaseStatuses"][later] for later in after] == ["skipped"] * len(after)


def test_a_command_that_cannot_be_started_is_no_verdict_on_the_work(server: Server) -> None:
    """It ends the delivery in its iteration, which can be retried once the program is there (contract-2 §9)."""
    session_id = start(server.client, delivery(validationCommands=["no-such-program-anywhere"]))
    session = ended(server.client, session_id)
    assert (session["reason"], session["iteration"]) == ("validation_not_startable", 1)
    assert only(events(server.client, session_id), "delivery.validation_failed") == []


def test_files_of_the_answer_are_written_into_the_workspace(server: Server, tmp_path: Path) -> None:
    """A folder without git is edited in place; the patch shows the changes."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "login.py").write_text("old = 1\n")
    dev = {"text": "Done.", "files": {"src/login.py": "new = 2\n", "src/deep/er/page.html": "<h1>안녕</h1>\n"}}
    commands = ["grep -q 'new = 2' src/login.py", "test -s src/deep/er/page.html"]
    body = delivery({"dev": [dev]}, workspace=str(tmp_path), validationCommands=commands)
    session_id = start(server.client, body)
    session = ended(server.client, session_id)
    assert (session["status"], session["workspace"]) == ("success", str(tmp_path))
    assert (tmp_path / "src" / "login.py").read_text() == "new = 2\n"
    assert (tmp_path / "src" / "deep" / "er" / "page.html").read_text() == "<h1>안녕</h1>\n"
    artifact = server.client.get(
        f"/api/sessions/{session_id}/artifacts/{session['artifactRefs']['implementation']}"
    ).json()
    assert "-old = 1\n+new = 2\n" in artifact["patch"]
    [answer] = [a for a in only(events(server.client, session_id), "turn.answered") if a["role"] == "dev"]
    assert answer["files"] == ["src/deep/er/page.html", "src/login.py"]


def test_changes_in_the_developers_words_are_written_too(server: Server, tmp_path: Path) -> None:
    """S4: patch, `fallbackContent` or `content`; empty is a content, too."""
    (tmp_path / "e.txt").write_text("one\ntwo\n")
    (tmp_path / "g.txt").write_text("gone\n")
    patch = "--- a/e.txt\n+++ b/e.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+zwei\n"
    changes = [
        {"path": "a.txt", "content": "A\n"},
        {"path": "b.txt", "fallbackContent": "B\n"},
        {"path": "c.txt", "content": ""},
        {"path": "d.txt", "patch": patch, "fallbackContent": "D\n"},
        {"path": "e.txt", "patch": patch},
        {"path": "e.txt", "patch": "@@ -1,2 +1,3 @@\n one\n zwei\n+drei\n"},
        {"path": "f.txt", "content": "x\n"},
        {"path": "f.txt", "patch": "@@ -1 +1 @@\n-x\n+y\n"},
        {"path": "g.txt", "patch": "--- a/g.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n"},
    ]
    dev = f"Here it is.\n```json\n{json.dumps({'changes': changes})}\n```"
    session = ended(server.client, start(server.client, delivery({"dev": [dev]}, workspace=str(tmp_path))))
    assert session["status"] == "success"
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "a.txt": "A\n",
        "b.txt": "B\n",
        "c.txt": "",
        "d.txt": "D\n",
        "e.txt": "one\nzwei\ndrei\n",
        "f.txt": "y\n",
    }


def test_a_patch_that_does_not_apply_fails_the_phase_and_changes_nothing(server: Server, tmp_path: Path) -> None:
    changes = [{"path": "a.txt", "content": "A\n"}, {"path": "b.txt", "patch": "@@ -1 +1 @@\n-x\n+y\n"}]
    dev = json.dumps({"changes": changes})
    session = ended(server.client, start(server.client, delivery({"dev": [dev]}, workspace=str(tmp_path))))
    assert (session["status"], session["phaseStatuses"]["implementation"]) == ("failed", "failed")
    assert "The patch of 'b.txt' does not apply" in session["lastError"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"path": "b.txt", "patch": "@@ -1 +1 @@\n-x\n+y\n"}, "The patch of 'b.txt' does not apply"),
        ({"path": "b.txt", "patch": "nothing"}, "The patch of 'b.txt' does not apply"),
        ({"path": "../../x", "content": "x"}, "'../../x' leaves the workspace."),
        ({"path": ".git/config", "content": "x"}, "'.git/config' belongs to git."),
        ({"path": "a.txt/x", "content": "x"}, "'a.txt' cannot be a file and a folder."),
    ],
    ids=["patch", "no hunk", "outside", "git", "folder"],
)
def test_changes_that_do_not_fit_are_asked_for_again(
    server: Server, tmp_path: Path, change: Json, problem: str
) -> None:
    """Contract-2 §10: with the problem named, and at once."""
    answers = [[{"path": "a.txt", "content": "A\n"}, change], [{"path": "b.txt", "content": "B\n"}]]
    dev = [json.dumps({"changes": changes}) for changes in answers]
    session_id = start(server.client, delivery({"dev": dev}, workspace=str(tmp_path)))
    assert ended(server.client, session_id)["status"] == "success"
    history = events(server.client, session_id)
    [failed] = only(history, "turn.attempt_failed")
    assert (failed["failure"]["code"], failed["next"]) == ("unreadable", "repair")
    assert problem in failed["failure"]["detail"]
    [answered] = [answer for answer in only(history, "turn.answered") if answer["role"] == "dev"]
    assert failed["failure"]["detail"] in answered["prompt"]["head"]
    assert [path.name for path in tmp_path.iterdir()] == ["b.txt"]


@pytest.mark.parametrize("path", ["../outside.txt", "/etc/outside.txt", ".git/hooks/pre-commit", "a/../../outside.txt"])
def test_a_file_outside_of_the_workspace_is_written_nowhere(server: Server, tmp_path: Path, path: str) -> None:
    """Promise S14: the phase fails, and even the allowed file is not written."""
    (tmp_path / "work").mkdir()
    dev = {"text": "Done.", "files": {"fine.txt": "x", path: "x"}}
    session = ended(server.client, start(server.client, delivery({"dev": [dev]}, workspace=str(tmp_path / "work"))))
    assert (session["status"], session["phaseStatuses"]["implementation"]) == ("failed", "failed")
    assert [entry.name for entry in tmp_path.rglob("*")] == ["work"]


def test_a_validation_sees_no_secret_of_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Promise S13: commands run in a clean environment with a separate home."""
    monkeypatch.setenv("DEPLOY_TOKEN", "not-for-agents")
    (work := tmp_path / "work").mkdir()
    script = "import json, os; json.dump(dict(os.environ), open('environment.json', 'w'))"
    with inside(tmp_path) as client:
        body = delivery(validationCommands=[[sys.executable, "-c", script]], workspace=str(work))
        assert ended(client, start(client, body))["status"] == "success"
    seen = json.loads((work / "environment.json").read_text())
    assert "DEPLOY_TOKEN" not in seen
    assert not [
        name for name in seen if name.startswith("HANSARD_") and name not in ("HANSARD_PROCESS", "HANSARD_BASE")
    ]
    assert seen["HOME"].startswith(str(tmp_path / "node"))


def test_a_cancelled_delivery_stays_cancelled(server: Server) -> None:
    session_id = start(server.client, delivery({"dev": [{"text": "late", "delayMs": 60_000}]}))
    reached(server.client, session_id, "turn.requested", count=4)
    answer = server.client.post(f"/api/sessions/{session_id}/cancel", json={"reason": "no longer needed"})
    assert answer.status_code == 200
    session = ended(server.client, session_id)
    assert (session["status"], session["finalSummary"]) == ("cancelled", "cancelled: no longer needed")
    assert session["outstandingTurns"] == []
    told_events = steps(events(server.client, session_id))
    assert told_events[-1] == "session_finished"
    assert told_events.count("turn.cancelled") == 1
    again = server.client.post(f"/api/sessions/{session_id}/cancel", json={})
    assert again.status_code == 409
    more = server.client.post(f"/api/sessions/{session_id}/budget", json={"addMinutes": 1, "reason": "?"})
    assert (more.status_code, more.json()["allowed"]) == (409, [])
