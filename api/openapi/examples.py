"""An example request for every endpoint that takes one; a test sends each as written."""

from typing import Any

EXAMPLES: dict[str, dict[str, Any]] = {
    "start_session": {
        "kind": "delivery",
        "task": "Add a /health endpoint and a test for it",
        "filePaths": ["src/app.py", "tests/test_health.py"],
        "validationCommands": ["python -m unittest"],
        "maxIterations": 3,
        "maxMinutes": 15,
        "labels": ["demo"],
    },
    "cancel_session": {"reason": "no longer needed"},
    "redact_text": {"digest": "0" * 64, "reason": "A token was printed."},
    "trust_project": {"workspace": "/home/ann/shop"},
    "answer_permission": {"requestId": "delivery-0192.t2.p9", "decision": "allow"},
    "retry_turn": {"reason": "the provider is back"},
    "extend_budget": {"addIterations": 2, "addMinutes": 15, "reason": "the last issue is small"},
    "decide": {"decision": "skip", "rationale": "known, and planned for later"},
    "decide_scope": {"requestId": "delivery-7f3k2m9qx4.s1", "decision": "allow"},
    "land_session": {"onto": "main"},
    "fork_session": {"atVersion": 11, "substitute": {"budget": {"addIterations": 2}}, "mode": "live"},
    "continue_session": {},
    "reset_session": {"reason": "another way was found"},
    "receive_message": {
        "prompt": "src/api.py에 엔드포인트를 추가하고 테스트도 작성해줘",
        "employees": [{"name": "Backend", "role": "backend"}],
        "origin": "demo",
    },
    "claim_turn": {"roles": ["dev", "reviewer"], "waitSeconds": 20},
    "heartbeat_turn": {"attempt": 1},
    "record_result": {
        "text": "The endpoint is there, and tested.",
        "files": {"src/app.py": "…"},
        "usage": {"inputTokens": 1200, "cachedTokens": 800, "outputTokens": 300, "costMicros": 4500},
        "agentSession": "thread-17",
        "attempt": 1,
    },
    "continue_latest": {"origin": "demo"},
    "reset_latest": {"origin": "demo"},
    "policy_triage": {"text": "API 엔드포인트 만들어줘. 그리고 테스트도 작성해줘"},
    "policy_intent": {"text": "이어서 해줘"},
    "policy_phases": {
        "subtasks": [
            {"agent": "Backend", "role": "backend", "task": "Add the endpoint", "start_phase": 3, "checkpoint": True},
            {"agent": "Docs", "role": "docs", "task": "Describe it", "start_phase": 3, "end_phase": 3},
        ]
    },
    "policy_match": {"agent": "backend", "employees": ["Frontend", "Backend", "Docs"]},
    "policy_parallel": {
        "agents": [
            {"agent": "Backend", "parallel": True, "affectedFiles": ["src/api.py"]},
            {"agent": "Docs", "parallel": True, "affectedFiles": ["docs/api.md"]},
        ]
    },
    "policy_convergence": {
        "rounds": [
            {"round": 1, "role": "critique", "content": "The endpoint leaks its errors. This is incorrect."},
            {"round": 2, "role": "rebuttal", "content": "I agree, the errors are now problems."},
            {"round": 3, "role": "critique", "content": "I accept the errors as problems, this is correct now."},
        ],
        "profile": "seed",
    },
    "policy_agreement": {"text": "A valid point, and I agree; however, the limit is a flaw."},
    "policy_similarity": {"a": "the limit is too low", "b": "the limit is fine", "profile": "seed"},
    "policy_budget": {
        "maxIterations": 6,
        "maxMinutes": 45,
        "startedAt": "2026-01-01T09:00:00.000Z",
        "iteration": 3,
        "now": "2026-01-01T09:20:00.000Z",
    },
    "policy_validation": {"validationCommands": ["ruff check .", "mypy", "python -m pytest"]},
    "policy_parse": {
        "kind": "verdicts",
        "text": '{"verdicts": [{"agent": "Backend", "pass": true, "feedback": ""}], "allDone": false}',
    },
    "policy_lab": {
        "profiles": ["seed", "shipped-v3", {"agreement": 0.6, "stability": 0.7}],
        "query": {"kind": "review", "from": "2026-01-01"},
        "limit": 100,
    },
    "policy_prompt": {"name": "critique", "strategy": "red-team", "language": "en"},
}
