"""A review or a debate: every round in full, the convergence after each, and the outcome (S2, behaviour §2.8)."""

import re
from collections.abc import Sequence
from typing import Any

from api.web import svg
from api.web.session.standing import ICONS, LONG, SENTENCE, WHOLE, Standing, tame
from api.web.shown import cut
from domain.convergence import Metrics
from domain.discussion.state import Discussion, RoundContribution
from domain.discussion.strategies import STRATEGIES
from domain.values.time import iso

OPENLY, FOLDED = 3, 4_000
"""How many of the newest rounds are shown in full, and how many characters of older ones."""
POINTS = 50
_VERDICT = re.compile(r"(?:\A|\n)(?:```(?:json)?[ \t]*\n)?(?P<json>\{(?:(?!\n\{)[\s\S])*\})\s*(?:```\s*)?\Z")
"""The last object that begins a line, up to the end."""


def discussion(standing: Standing) -> dict[str, Any]:
    session = standing.session
    assert isinstance(session, Discussion)
    said = standing.where(standing.trail.rounds)
    newest = len(session.rounds) - OPENLY
    return {
        "strategy": session.strategy,
        "profile": session.profile,
        "rounds": [
            _round(session, found, said[place], WHOLE if place >= newest else FOLDED)
            for place, found in enumerate(session.rounds)
        ],
        "metrics": session.metrics[-1] if session.metrics else None,
        "table": [_assessed(session, place, said[place]) for place in range(len(session.metrics))],
        "icons": ICONS,
        "chart": chart(session.rounds, session.metrics),
        "stop_reason": session.stop_reason,
        "synthesis": tame(session.synthesis.head) if session.synthesis else None,
        "synthesis_at": (standing.where(standing.trail.syntheses) or [0])[-1],
        "synthesis_cut": bool(session.synthesis and len(session.synthesis.head) > WHOLE),
        "fallback": session.fallback,
        "counts": _counts(session.counts),
        "feedback": _feedback(session.feedback),
        "dissent": [cut(point, LONG) for point in session.dissent[:POINTS]],
        "decision": _decision(session),
        "decided_at": (standing.where(standing.trail.answered) or [0])[-1],
        "error": cut(session.last_error or "", LONG) if session.stop_reason == "error" else "",
    }


def _round(session: Discussion, said: RoundContribution, version: int, limit: int) -> dict[str, Any]:
    feedback = said.feedback or {}
    words, verdict = _parted(said.content.head) if feedback else (said.content.head, "")
    return {
        "number": said.round,
        "role": said.role,
        "agent": cut(said.agent, 60),
        "judges": STRATEGIES[session.strategy].part(said.round).judges,
        "text": tame(words, limit),
        "written": cut(verdict, LONG),
        "cut": len(words) > limit or len(verdict) > LONG or said.content.digest is not None,
        "version": version,
        "verdict": cut(str(feedback.get("verdict") or ""), 40),
        "problem": cut(said.problem or "", SENTENCE),
        "newest": said is session.rounds[-1],
    }


def _parted(words: str) -> tuple[str, str]:
    """What was said, and the verdict at its end as JSON, where agents put it."""
    found = _VERDICT.search(words)
    if found is None or '"verdict"' not in found["json"]:
        return words, ""
    return words[: found.start()], found["json"]


def _assessed(session: Discussion, place: int, version: int) -> dict[str, Any]:
    said = session.rounds[place]
    return {"number": said.round, "role": said.role, "version": version, "metrics": session.metrics[place]}


def chart(rounds: Sequence[RoundContribution], found: Sequence[Metrics]) -> dict[str, Any]:
    """Lines from left to right, one point a round; a single round is in the middle."""
    places = [(at / (len(found) - 1) if len(found) > 1 else 0.5) for at in range(len(found))]
    return {
        "lines": [
            svg.Line("score", "score", [(x, m.overall_score) for x, m in zip(places, found, strict=True)]),
            svg.Line("agreement", "agreement", [(x, m.agreement_ratio) for x, m in zip(places, found, strict=True)]),
            svg.Line("stability", "stability", [(x, m.avg_stability) for x, m in zip(places, found, strict=True)]),
        ],
        "ticks": [f"R{said.round}" for said in rounds[: len(found)]],
    }


def _counts(found: dict[str, Any] | None) -> list[tuple[str, int]]:
    """How many points the synthesis counts as settled and open, or agreed and not agreed; nothing if it counts none."""
    names = ("resolved", "remaining", "consensus", "divergence")
    known = [(name, int(found[f"{name}Count"])) for name in names if found and f"{name}Count" in found]
    return known if any(count for _, count in known) else []


def _feedback(found: dict[str, Any] | None) -> dict[str, Any]:
    """Verdict, summary and issues of the judgement that counts."""
    found = found or {}
    issues = [issue for issue in found.get("issues") or () if isinstance(issue, dict)]
    return {
        "verdict": cut(str(found.get("verdict") or ""), 40),
        "summary": cut(str(found.get("summary") or ""), LONG),
        "issues": [
            {name: cut(str(issue.get(name) or ""), SENTENCE) for name in ("severity", "description", "suggestion")}
            for issue in issues[:POINTS]
        ],
        "concerns": [cut(str(point), SENTENCE) for point in (found.get("concerns") or ())[:POINTS]],
        "suggestions": [cut(str(point), SENTENCE) for point in (found.get("suggestions") or ())[:POINTS]],
    }


def _decision(session: Discussion) -> dict[str, Any] | None:
    found = session.decision
    if found is None:
        return None
    return {
        "choice": found.choice,
        "actor": cut(found.actor, 60),
        "rationale": cut(found.rationale, LONG),
        "at": iso(found.at),
        "expired": found.expired,
        "called_off": session.state == "cancelled",
    }
