"""The answer of each role as a form instead of JSON: filled with what was recorded, and read back."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import orjson

from domain.replies.kinds import KINDS, read
from domain.values.base import HansardError

MOST: Final = 10
"""So many findings or verdicts have fields of their own."""
SPARE: Final = 2
"""Empty rows for more findings."""


class RecordedVerdict(NamedTuple):
    """The verdict of a reviewer: whether it blocks, with the titles of what does."""

    blocks: bool
    score: int | None
    names: Sequence[str]


class AnswerForm(NamedTuple):
    """The form for an answer: which one, its rows by the names of their fields, and what was recorded."""

    text: str
    form: str = "text"
    rows: Sequence[Mapping[str, str | bool]] = ()
    summary: str = ""
    blocks: bool = False
    verdict: RecordedVerdict | None = None


def prefilled(reads: str, text: str, *, judged: Sequence[str] = ()) -> AnswerForm:
    """The form for an answer of this kind; `text` is the recorded one."""
    data = _read(reads, text)
    match reads:
        case "review_artifact":
            issues = data.get("blockingIssues", [])
            rows = [{"title": each["title"], "detail": each["detail"]} for each in issues]
            names = [each["title"] for each in issues]
            verdict = RecordedVerdict(bool(issues), data.get("score"), names) if data else None
            return AnswerForm(text, "findings", _padded(rows, {"title": "", "detail": ""}), verdict=verdict)
        case "verdicts":
            verdicts = [
                {
                    "agent": each["agent"],
                    "subtask": each.get("subtask") or "",
                    "pass": each["pass"],
                    "feedback": each["feedback"],
                }
                for each in data.get("verdicts", [])
            ]
            verdicts = verdicts or [{"agent": name, "subtask": "", "pass": False, "feedback": ""} for name in judged]
            return AnswerForm(text, "verdicts", verdicts) if 0 < len(verdicts) <= MOST else AnswerForm(text)
        case "review":
            issues = data.get("issues", [])
            rows = [{"severity": each["severity"], "description": each["description"]} for each in issues]
            empty = {"severity": "major", "description": ""}
            return AnswerForm(text, "review", _padded(rows, empty), data.get("summary", ""))
        case "debate":
            concerns = "\n".join(data.get("concerns", []))
            return AnswerForm(text, "debate", (), concerns, data.get("verdict") == "CHALLENGE")
        case _:
            return AnswerForm(text)


def _read(reads: str, text: str) -> dict[str, Any]:
    try:
        data = read(reads, text) if reads in KINDS else {}
    except HansardError:
        return {}
    return data if isinstance(data, dict) else {}


def _padded(rows: Sequence[Mapping[str, str]], empty: Mapping[str, str]) -> Sequence[Mapping[str, str]]:
    return [*rows[:MOST], *(empty for _ in range(SPARE))]


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


def _verdicts(values: Mapping[str, str]) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for place in range(MOST):
        if agent := values.get(f"row.{place}.agent", ""):
            subtask = values.get(f"row.{place}.subtask", "")
            row: dict[str, object] = {"agent": agent, "pass": values.get(f"row.{place}.pass") == "pass"}
            row |= {"subtask": subtask} if subtask else {}
            rows.append(row | {"feedback": values.get(f"row.{place}.feedback", "")})
    return rows


def _json(answer: object) -> str:
    return orjson.dumps(answer).decode()
