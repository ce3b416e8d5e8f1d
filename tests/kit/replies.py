"""What agents answer, in the forms that the rules read: plans, verdicts, reviews, critiques and challenges."""

import json
from collections.abc import Sequence
from typing import Any

Json = dict[str, Any]


def subtask(agent: str, start_phase: int = 3, end_phase: int = 3, **fields: Any) -> dict[str, Any]:
    """One entry of a plan: by default one phase, in the role of that name."""
    settings = {"agent": agent, "role": agent.lower(), "task": f"{agent}'s task", "start_phase": start_phase}
    return settings | {"end_phase": end_phase} | fields


def plan(*subtasks: dict[str, Any]) -> str:
    return json.dumps({"subtasks": subtasks}, ensure_ascii=False)


def verdicts(*, all_done: object = False, words: str = "", **passed: object) -> str:
    """A judge's answer: agents by their names, and whether they pass."""
    items = [{"agent": agent, "pass": ok, "feedback": f"{agent}: {ok}"} for agent, ok in passed.items()]
    return f"{words}\n" + json.dumps({"verdicts": items, "allDone": all_done}, ensure_ascii=False)


def blocking_issue(name: str, detail: str = "It is missing.") -> dict[str, str]:
    return {"id": name.lower().replace(" ", "-"), "title": name, "detail": detail}


def review(*blocking: str, score: int | None = 80, fix_plan: Sequence[str] = (), remarks: Sequence[str] = ()) -> str:
    """A reviewer's answer with these blocking issues and remarks, by their titles."""
    result: dict[str, Any] = {
        "blockingIssues": [blocking_issue(title) for title in blocking],
        "nonBlockingIssues": [blocking_issue(title) for title in remarks],
        "fixPlan": list(fix_plan),
    }
    return json.dumps(result if score is None else result | {"score": score})


def issue(description: str, severity: str = "major", suggestion: str = "") -> Json:
    return {"severity": severity, "description": description, "suggestion": suggestion}


def disputed(claim: str) -> Json:
    return {"claim": claim, "explanation": "", "alternative": ""}


def critique(verdict: str = "NEEDS_FIX", *, words: str = "", summary: str = "", **lists: Any) -> str:
    """What a reviewer or a coder says: words, then the JSON, which comes last."""
    return f"{words}\n" + json.dumps({"verdict": verdict, "summary": summary, "issues": [], **lists})


def challenge(verdict: str = "CHALLENGE", *, words: str = "", **lists: Any) -> str:
    """What a critic or a planner says of a plan."""
    return f"{words}\n" + json.dumps({"verdict": verdict, "concerns": [], "suggestions": [], **lists})
