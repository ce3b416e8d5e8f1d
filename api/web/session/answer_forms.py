"""The answer of each role as a form instead of JSON: filled with what was recorded, and read back."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson

from domain.replies.kinds import KINDS, read
from domain.values.base import HansardError

MOST: Final = 10
"""So many findings or verdicts have fields of their own."""
SPARE: Final = 2
"""Empty rows for more findings."""


def prefilled(reads: str, text: str, *, agent: str, judged: Sequence[str] = ()) -> dict[str, Any]:
    """The form for an answer of this kind; `text` is the recorded one."""
    data = _read(reads, text)
    form: dict[str, Any] = {"form": "text", "text": text, "agent": agent, "rows": [], "summary": "", "said": None}
    match reads:
        case "review_artifact":
            issues = data.get("blockingIssues", [])
            rows = [{"title": each["title"], "detail": each["detail"]} for each in issues]
            names = [each["title"] for each in issues]
            verdict = {"blocks": bool(issues), "score": data.get("score"), "names": names} if data else None
            return form | {"form": "findings", "rows": _padded(rows, {"title": "", "detail": ""}), "said": verdict}
        case "verdicts":
            rows = [
                {
                    "agent": each["agent"],
                    "subtask": each.get("subtask") or "",
                    "pass": each["pass"],
                    "feedback": each["feedback"],
                }
                for each in data.get("verdicts", [])
            ]
            rows = rows or [{"agent": name, "subtask": "", "pass": False, "feedback": ""} for name in judged]
            return form | {"form": "verdicts", "rows": rows[:MOST]} if rows and len(rows) <= MOST else form
        case "review":
            issues = data.get("issues", [])
            rows = [{"severity": each["severity"], "description": each["description"]} for each in issues]
            empty = {"severity": "major", "description": ""}
            return form | {"form": "review", "rows": _padded(rows, empty), "summary": data.get("summary", "")}
        case "debate":
            concerns = "\n".join(data.get("concerns", []))
            return form | {"form": "debate", "summary": concerns, "blocks": data.get("verdict") == "CHALLENGE"}
        case _:
            return form


def _read(reads: str, text: str) -> dict[str, Any]:
    try:
        data = read(reads, text) if reads in KINDS else {}
    except HansardError:
        return {}
    return data if isinstance(data, dict) else {}


def _padded(rows: list[dict[str, Any]], empty: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [*rows[:MOST], *(dict(empty) for _ in range(SPARE))]


def composed(what: str, values: Mapping[str, str]) -> str:
    """The answer that these fields make, in the format that the role's reader expects."""
    match what:
        case "approve":
            return _json({"blockingIssues": []})
        case "findings":
            return _json({"blockingIssues": _findings(values)})
        case "verdicts":
            return _json({"verdicts": _verdicts(values), "allDone": False})
        case "review":
            issues = [
                {"severity": values.get(f"row.{place}.severity") or "major", "description": words}
                for place in range(MOST + SPARE)
                if (words := values.get(f"row.{place}.description", "").strip())
            ]
            verdict = "NEEDS_FIX" if values.get("verdict") != "PASS" else "PASS"
            return _json({"verdict": verdict, "summary": values.get("summary", ""), "issues": issues})
        case "debate":
            verdict = "CHALLENGE" if values.get("verdict") != "APPROVE" else "APPROVE"
            concerns = [line.strip() for line in values.get("summary", "").splitlines() if line.strip()]
            return _json({"verdict": verdict, "concerns": concerns, "suggestions": []})
        case _:
            return values.get("text", "")


def _findings(values: Mapping[str, str]) -> list[dict[str, str]]:
    issues: list[dict[str, str]] = []
    for place in range(MOST + SPARE):
        title = values.get(f"row.{place}.title", "").strip()
        detail = values.get(f"row.{place}.detail", "").strip()
        if title or detail:
            issues.append({"id": str(len(issues) + 1), "title": title or detail, "detail": detail or title})
    return issues


def _verdicts(values: Mapping[str, str]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for place in range(MOST):
        if agent := values.get(f"row.{place}.agent", ""):
            subtask = values.get(f"row.{place}.subtask", "")
            row = {"agent": agent, "pass": values.get(f"row.{place}.pass") == "pass"}
            row |= {"subtask": subtask} if subtask else {}
            rows.append(row | {"feedback": values.get(f"row.{place}.feedback", "")})
    return rows


def _json(answer: Mapping[str, Any]) -> str:
    return orjson.dumps(answer).decode()
