"""Sessions to try: S4's six (§9.6) and those that show checkpoints, strategies and a stall. All agents are scripted.

Each is the body of a start request for `POST /api/sessions`. Its scenario contains the answers.
"""

import json
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

Json = dict[str, Any]
Kind = Literal["delivery", "orchestration", "review", "debate"]

PACE = 150
"""Milliseconds before each answer, so that people can watch."""
OVER_A_MINUTE = 75_000
"""Milliseconds; longer than a one-minute budget."""


class DemoSession(NamedTuple):
    """`rests` is the status in which the session ends or waits for a person."""

    kind: Kind
    body: Json
    rests: str


def _review(*blocking: str, score: int) -> Json:
    findings = {
        "blockingIssues": [{"id": f"b{n}", "title": each, "detail": each} for n, each in enumerate(blocking, 1)],
        "nonBlockingIssues": [],
        "score": score,
        "fixPlan": [f"Fix: {each}" for each in blocking],
    }
    return {"text": json.dumps(findings), "usage": {"inputTokens": 900, "outputTokens": 150, "costMicros": 3_000}}


def _plan(*subtasks: Json) -> str:
    return json.dumps({"subtasks": subtasks})


def _verdicts(*agents: str) -> str:
    return json.dumps({"verdicts": [{"agent": agent, "pass": True, "feedback": "Verified."} for agent in agents]})


def _contribution(words: str, verdict: str, **lists: Any) -> str:
    return f"{words}\n" + json.dumps({"verdict": verdict, **lists})


def _delivery(title: str, task: str, replies: Json, **more: Any) -> Json:
    start_fields = {
        "kind": "delivery",
        "title": title,
        "task": task,
        "filePaths": ["src/login.py"],
        "validationCommands": ["test -f src/login.py"],
        "baseline": False,
        "maxIterations": 6,
        "maxMinutes": 45,
        "labels": ["preset"],
    }
    return start_fields | {"scenario": {"delayMs": PACE, "replies": _DELIVERED | replies}} | more


_WRITTEN = {"text": "Wrote the login page.", "files": {"src/login.py": "def login(name):\n    return bool(name)\n"}}
_DELIVERED: Json = {
    "planner": ["A page with one form, checked on the server."],
    "architect": ["One module, src/login.py; no new dependency."],
    "designer": ["login(name) returns whether the name may sign in."],
    "dev": [_WRITTEN],
    "reviewer": [_review(score=92)],
}
_BACKEND = {"name": "Backend", "role": "backend"}
_DOCS = {"name": "Docs", "role": "docs"}


def _orchestration(title: str) -> Json:
    """Backend pauses when its phase is done; by then, Docs is finished."""
    tasks = (
        {"agent": "Backend", "role": "backend", "task": "Build src/api.py", "start_phase": 3, "end_phase": 3}
        | {"checkpoint": True},
        {"agent": "Docs", "role": "docs", "task": "Describe the API", "start_phase": 3, "end_phase": 3},
    )
    replies = {
        "planner": [_plan(*tasks)],
        "Backend": [{"text": "GET /prices answers.", "files": {"src/api.py": "PRICES = []\n"}}],
        "Docs": ["docs/api.md describes GET /prices."],
        "judge": [_verdicts("Backend", "Docs")],
    }
    return {
        "kind": "orchestration",
        "title": title,
        "prompt": "src/ API를 만들고 문서도 써줘. Build the API in src/ and describe it.",
        "employees": [_BACKEND, _DOCS],
        "maxRounds": 3,
        "triage": "orchestrate",
        "labels": ["preset"],
        "scenario": {"delayMs": PACE, "replies": replies},
    }


def _red_team() -> Json:
    issues = [
        {"severity": "critical", "description": "The name reaches the query unescaped.", "suggestion": "Bind it."},
        {"severity": "major", "description": "No limit on attempts.", "suggestion": "Count them."},
    ]
    replies = {
        "reviewer": [
            _contribution("There is a vulnerability.", "FAIL", summary="Open to injection.", issues=issues),
            _contribution(
                "I agree with the fix; the limit is still missing.",
                "NEEDS_FIX",
                summary="One issue left.",
                issues=issues[1:],
            ),
        ],
        "coder": ["I accept that; the query is bound now. I disagree about the limit: the proxy has one."],
        "synthesizer": ["## Resolved\n\n- injection\n\n## Remaining\n\n- a limit on attempts"],
    }
    return {
        "kind": "review",
        "title": "Preset: red team",
        "subject": "Step: login\n\nAction: look the name up in the database\n\nResult: it is found",
        "strategy": "red-team",
        "maxRounds": 3,
        "profile": "seed",
        "labels": ["preset"],
        "scenario": {"delayMs": PACE, "replies": replies},
    }


def _debate(title: str, strategy: str, rounds: int, replies: Json) -> Json:
    return {
        "kind": "debate",
        "title": title,
        "plan": "1. Copy the table.\n2. Switch the readers over.\n3. Drop the old table.",
        "strategy": strategy,
        "maxRounds": rounds,
        "profile": "seed",
        "labels": ["preset"],
        "scenario": {"delayMs": PACE, "replies": replies},
    }


def _perspectives() -> Json:
    replies = {
        "critic": [
            "Risk: readers see half of the table while it is copied.",
            _contribution(
                "Copy in one transaction, and both sides fit.", "APPROVE", concerns=[], suggestions=["Count rows."]
            ),
        ],
        "planner": ["Opportunity: unlike the old table, the new one can be partitioned."],
        "synthesizer": ["Copy in one transaction, count the rows, then switch."],
    }
    return _debate("Preset: perspectives", "perspectives", 3, replies)


def _stalled() -> Json:
    """The agents say something different each time: no agreement, no stability."""
    replies = {
        "critic": [
            _contribution(
                "Copying blocks every writer for hours.", "CHALLENGE", concerns=["Writers wait."], suggestions=[]
            ),
            _contribution(
                "Dropping tables loses audit trails.", "CHALLENGE", concerns=["No way back."], suggestions=[]
            ),
        ],
        "planner": ["Replication keeps both sides current."],
        "synthesizer": ["The sides are not converging: blocked writers, and no way back."],
    }
    return _debate("Preset: stalled debate", "debate", 9, replies)


_BLOCKED = _review("No limit on attempts", score=40)
_RECOVERY = _delivery(
    "Preset: validation fails, then recovers",
    "Add a login page; the first attempt forgets the file.",
    {"dev": ["Described the page.", _WRITTEN]},
)
_LEGACY = _delivery(
    "Preset: legacy maxAttempts", "Add a login page, requested with the old field name.", {"reviewer": [_BLOCKED]}
)
_LEGACY = {name: value for name, value in _LEGACY.items() if name != "maxIterations"} | {"maxAttempts": 2}

PRESETS: Final = MappingProxyType(
    {
        "approved": DemoSession("delivery", _delivery("Preset: approved", "Add a login page.", {}), "success"),
        "regression": DemoSession(
            "delivery",
            _delivery(
                "Preset: one regression",
                "Add a login page; the reviewer sends it back once.",
                {"reviewer": [_BLOCKED, _review(score=95)]},
            ),
            "success",
        ),
        "blocked": DemoSession(
            "delivery",
            _delivery(
                "Preset: blocked until the budget runs out",
                "Add a login page; the reviewer is never satisfied.",
                {"reviewer": [_BLOCKED]},
                maxIterations=3,
            ),
            "failed",
        ),
        "time": DemoSession(
            "delivery",
            _delivery(
                "Preset: time exhausted",
                "Add a login page; the developer takes longer than the one-minute budget.",
                {"dev": [{"text": "Nearly there.", "delayMs": OVER_A_MINUTE}]},
                maxMinutes=1,
            ),
            "failed",
        ),
        "recovery": DemoSession("delivery", _RECOVERY, "success"),
        "legacy": DemoSession("delivery", _LEGACY, "failed"),
        "continue": DemoSession("orchestration", _orchestration("Preset: checkpoint, continue, done"), "checkpoint"),
        "reset": DemoSession("orchestration", _orchestration("Preset: checkpoint, reset"), "checkpoint"),
        "red-team": DemoSession("review", _red_team(), "waiting_for_decision"),
        "perspectives": DemoSession("debate", _perspectives(), "waiting_for_decision"),
        "stalled": DemoSession("debate", _stalled(), "waiting_for_decision"),
    }
)
"""By the name under which the form offers them (`start_preset.…` of the catalogue)."""
