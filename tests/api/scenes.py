"""Sessions of every kind in the states in which their pages show the most."""

import json
from typing import Any

import httpx2 as httpx

from tests.api.seen import review
from tests.api.server import delivery, events, session, start, until
from tests.api.server import reached as happened


def begun(client: httpx.Client, body: dict[str, Any]) -> str:
    """Start any session; its id."""
    return start(client, body)


def reached(client: httpx.Client, session_id: str, *statuses: str) -> str:
    """The session's id, once it has one of these statuses and no turn is running."""

    def there() -> bool:
        view = session(client, session_id)
        return view["status"] in statuses and not [t for t in view["outstandingTurns"] if t["work"] != "wait"]

    until(there, what=f"{session_id}: {' or '.join(statuses)}")
    return session_id


def two_iterations(client: httpx.Client, words: str = "No rate limit") -> str:
    """A delivery that is sent back once and then succeeds; the dev writes a file."""
    replies = {
        "dev": [{"text": words, "files": {"src/login.py": f"x = 1\n# {words}\n"}}, "Mended."],
        "reviewer": [review(words), review()],
    }
    return reached(client, begun(client, delivery(replies, task=f"Add a login page {words}")), "success")


def exhausted(client: httpx.Client) -> str:
    return reached(client, begun(client, delivery(maxIterations=1, validationCommands=["false"])), "failed")


def failed(client: httpx.Client) -> str:
    """A delivery whose reviewer's answer is unreadable twice; this does not use the budget."""
    return reached(client, begun(client, delivery({"reviewer": ["I like it."]})), "failed")


def asking(client: httpx.Client) -> str:
    """A delivery whose planner asks for permission."""
    ask = {"permission": {"tool": "execute", "title": "rm -rf build"}, "ifDenied": "Without it.", "text": "With it."}
    session_id = begun(client, delivery({"planner": [ask]}))
    happened(client, session_id, "turn.permission_requested")
    return session_id


def under_review(client: httpx.Client) -> str:
    """A delivery that waits for the decision on the review of its work."""
    session_id = begun(client, delivery(review={"maxRounds": 1}))
    [child] = until(lambda: session(client, session_id)["children"], what="a child")
    reached(client, child, "waiting_for_decision")
    return session_id


def held_fork(client: httpx.Client, source: str) -> str:
    """A fork of a delivery with another plan, held before its next agent gets the new prompt."""
    asked = next(event["version"] for event in events(client, source) if event["type"] == "turn.requested")
    body = {"atVersion": asked, "mode": "stop", "substitute": {"answer": {"text": "Another plan."}}}
    answer = client.post(f"/api/sessions/{source}/fork", json=body)
    assert answer.status_code in (200, 201, 202), answer.text
    session_id = str(answer.json()["sessionId"])
    until(lambda: session(client, session_id)["held"], what=f"{session_id} to be held")
    return session_id


def _verdicts(*verdicts: tuple[str, bool, str]) -> str:
    judged = [{"agent": agent, "pass": passed, "feedback": feedback} for agent, passed, feedback in verdicts]
    return "So far so good.\n" + json.dumps({"verdicts": judged, "allDone": False})


def at_checkpoint(client: httpx.Client, words: str = "no index") -> str:
    """Backend fails its first phase, claims two at once, and pauses at the end of its range."""
    task = {"agent": "Backend", "role": "backend", "task": words, "start_phase": 1, "end_phase": 3, "checkpoint": True}
    replies = {
        "planner": [json.dumps({"subtasks": [task]})],
        "Backend": [words, json.dumps({"phases_completed": [1, 2]}), "done"],
        "judge": [_verdicts(("Backend", False, words)), _verdicts(("Backend", True, "good"))],
    }
    body = {
        "kind": "orchestration",
        "prompt": f"src/ API 만들어줘 {words}",
        "maxRounds": 5,
        "triage": "orchestrate",
        "employees": [{"name": "Backend", "role": "backend"}],
        "scenario": {"replies": replies},
    }
    return reached(client, begun(client, body), "checkpoint")


def interrupted(client: httpx.Client, kind: str) -> str:
    """A review or a debate in which the first agent fails for good, and a person who has to decide."""
    about = {"subject": "A diff"} if kind == "review" else {"plan": "A plan"}
    scenario = {"replies": {"reviewer": [{"error": "auth"}], "critic": [{"error": "auth"}]}}
    return reached(client, begun(client, {"kind": kind, **about, "scenario": scenario}), "waiting_for_decision")


def waiting_review(client: httpx.Client, words: str = "half-up rounding") -> str:
    """Two critiques and a rebuttal, a synthesis, and a person who has to decide."""
    judged = {
        "verdict": "NEEDS_FIX",
        "summary": words,
        "issues": [{"severity": "major", "description": words, "suggestion": words}],
        "pointsOfDisagreement": [{"claim": words}],
    }
    replies = {
        "reviewer": [f"I agree, however: {words}\n{json.dumps(judged)}"],
        "coder": [f"I disagree with {words}"],
        "synthesizer": [f"## Remaining\n\n- {words}"],
    }
    body = {"kind": "review", "subject": words, "maxRounds": 3, "scenario": {"replies": replies}}
    return reached(client, begun(client, body), "waiting_for_decision")


def waiting_debate(client: httpx.Client, words: str = "risk") -> str:
    """The synthesis fails and is replaced by the rounds."""
    judged = {"verdict": "CHALLENGE", "concerns": [words], "suggestions": [words]}
    replies = {"critic": [f"I disagree: {words} {json.dumps(judged)}"], "synthesizer": [{"error": "crash"}]}
    body = {"kind": "debate", "plan": words, "scenario": {"replies": replies}}
    return reached(client, begun(client, body), "waiting_for_decision")


SCENES = {
    "delivery": two_iterations,
    "orchestration": at_checkpoint,
    "review": waiting_review,
    "debate": waiting_debate,
}
