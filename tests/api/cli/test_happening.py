"""Every event in a few words."""

from typing import Any

import pytest

from api.cli.happening import describe


@pytest.mark.parametrize(
    ("topic", "data", "words"),
    [
        ("delivery.phase_started", {"message": "Phase review started."}, "Phase review started."),
        ("turn.requested", {"work": "ask", "agent": "dev"}, "dev is asked"),
        ("turn.requested", {"work": "validate", "agent": "test"}, "the validation commands run"),
        ("turn.requested", {"work": "package", "agent": "supervisor"}, "the work is handed over"),
        ("turn.answered", {"agent": "dev", "seconds": 12.34}, "dev answered after 12.3 s"),
        ("turn.answered", {"agent": "dev", "seconds": 0.0}, "dev answered"),
        ("turn.failed", {"agent": "dev", "failure": {"code": "timeout", "detail": "No."}}, "dev failed: timeout. No."),
        ("turn.cancelled", {"agent": "dev", "reason": "deadline"}, "dev is no longer asked: deadline"),
        ("turn.requested", {"work": "wait", "deadline": "2026-01-02"}, "the decision may be made until 2026-01-02"),
        ("session.agent_sessions_cleared", {"reason": "done"}, "The agents' conversations end: done."),
        ("session.child_requested", {"message": "A review of agent:0 begins."}, "A review of agent:0 begins."),
        (
            "orchestration.round_start",
            {
                "message": "Round 2 started.",
                "round": 2,
                "agentPhases": [
                    {"agent": "A", "phase": 3, "completed": False},
                    {"agent": "B", "phase": 5, "completed": True},
                    {"agent": "C", "phase": 1, "completed": False},
                ],
            },
            "Round 2: A in phase 3, C in phase 1.",
        ),
        (
            "orchestration.verdict_given",
            {"agent": "A", "phase": 3, "pass": False, "feedback": "테스트가 없다"},
            "FAIL A in phase 3: 테스트가 없다",
        ),
        ("orchestration.verdict_given", {"agent": "A", "phase": 3, "pass": True, "feedback": ""}, "PASS A in phase 3"),
        (
            "orchestration.plan_refused",
            {"message": "The plan does not hold.", "reasons": ["nobody is called X", "no task"]},
            "The plan does not hold. nobody is called X; no task",
        ),
        ("orchestration.completed", {"message": "Done.", "summary": {"head": "끝"}}, "Done. 끝"),
        ("orchestration.partial_reached", {"message": "The rounds are used up."}, "The rounds are used up."),
        (
            "review.round_added",
            {"round": 1, "role": "critique", "agent": "Ada", "feedback": {"verdict": "PASS"}},
            "Round 1, critique by Ada: PASS",
        ),
        (
            "debate.round_added",
            {"round": 2, "role": "defense", "agent": "Bo", "feedback": None, "problem": None},
            "Round 2, defense by Bo: spoken",
        ),
        (
            "debate.round_added",
            {"round": 1, "role": "challenge", "agent": "Bo", "feedback": None, "problem": "There is no JSON."},
            "Round 1, challenge by Bo: There is no JSON.",
        ),
        (
            "review.assessed",
            {"metrics": {"agreementRatio": 0.5, "avgStability": 1, "overallScore": 0.7, "recommendation": "converged"}},
            "Agreement 0.50, stability 1.00, score 0.70.",
        ),
        ("review.assessed", {}, "Agreement 0.00, stability 0.00, score 0.00."),
        ("debate.decision_requested", {"choices": ["revise", "accept"]}, "A person decides: revise or accept."),
        ("review.decided", {"message": "Decided: skip."}, "Decided: skip."),
        ("some.later_event", {}, "some.later_event"),
    ],
)
def test_every_event_has_words(topic: str, data: dict[str, Any], words: str) -> None:
    assert describe({"type": topic, "data": data}) == words
