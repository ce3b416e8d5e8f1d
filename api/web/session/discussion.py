"""A review or a debate: every round in full, the convergence after each, and the outcome (S2, behaviour §2.8)."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from api.web import svg
from api.web.model import owner
from api.web.plain_text import cut
from api.web.session.context import ICONS, LONG, SENTENCE, WHOLE, PanelContext, tame
from api.web.session.verdict_text import parted
from domain.convergence.assessment import Metrics
from domain.convergence.profiles import Profile
from domain.discussion.state import Discussion, RoundContribution
from domain.discussion.strategies import STRATEGIES
from domain.values.base import iso

OPENLY, FOLDED = 3, 4_000
"""The newest rounds that are shown in full, and characters of older ones."""
POINTS = 50

Answer = Mapping[str, Any]
"""The part of an agent's answer that could be read, as it wrote it."""


class RoundShown(NamedTuple):
    """A contribution; `json` is its verdict as it was written."""

    number: int
    role: str
    agent: str
    stand_in: bool
    judges: bool
    text: Markup
    json: str
    cut: bool
    version: int
    verdict: str
    problem: str
    newest: bool


class RoundScore(NamedTuple):
    number: int
    role: str
    version: int
    metrics: Metrics


class ScoreChart(NamedTuple):
    lines: Sequence[svg.Line]
    ticks: Sequence[str]


class FeedbackShown(NamedTuple):
    """The judgement that counts; its issues by the names that the agent gives them."""

    verdict: str
    summary: str
    issues: Sequence[Mapping[str, str]]
    concerns: Sequence[str]
    suggestions: Sequence[str]


class DecisionShown(NamedTuple):
    choice: str
    actor: str
    rationale: str
    remarks: Sequence[tuple[str, str]]
    at: str
    expired: bool
    called_off: bool


class DiscussionShown(NamedTuple):
    strategy: str
    profile: Profile
    rounds: Sequence[RoundShown]
    metrics: Metrics | None
    table: Sequence[RoundScore]
    icons: Mapping[str, str]
    chart: ScoreChart
    stop_reason: str | None
    synthesis: Markup | None
    synthesis_at: int
    synthesis_cut: bool
    fallback: bool
    counts: Sequence[tuple[str, int]]
    feedback: FeedbackShown
    dissent: Sequence[str]
    decision: DecisionShown | None
    decided_at: int
    error: str


def discussion(context: PanelContext) -> DiscussionShown:
    session = context.session
    assert isinstance(session, Discussion)
    versions = context.where(context.trail.rounds)
    newest = len(session.rounds) - OPENLY
    return DiscussionShown(
        strategy=session.strategy,
        profile=session.profile,
        rounds=[
            _round(context, session, entry, versions[place], WHOLE if place >= newest else FOLDED)
            for place, entry in enumerate(session.rounds)
        ],
        metrics=session.metrics[-1] if session.metrics else None,
        table=[_assessed(session, place, versions[place]) for place in range(len(session.metrics))],
        icons=ICONS,
        chart=chart(session.rounds, session.metrics),
        stop_reason=session.stop_reason,
        synthesis=tame(session.synthesis.head) if session.synthesis else None,
        synthesis_at=(context.where(context.trail.syntheses) or [0])[-1],
        synthesis_cut=bool(session.synthesis and len(session.synthesis.head) > WHOLE),
        fallback=session.fallback,
        counts=_counts(session.counts),
        feedback=_feedback(session.feedback),
        dissent=[cut(point, LONG) for point in session.dissent[:POINTS]],
        decision=_decision(context, session),
        decided_at=(context.where(context.trail.answered) or [0])[-1],
        error=cut(context.worded(session.last_error), LONG) if session.stop_reason == "error" else "",
    )


def _round(
    context: PanelContext, session: Discussion, entry: RoundContribution, version: int, limit: int
) -> RoundShown:
    feedback = entry.feedback or {}
    words, verdict = parted(entry.content.head) if feedback else (entry.content.head, "")
    return RoundShown(
        number=entry.round,
        role=entry.role,
        agent=cut(entry.agent, 60),
        stand_in=entry.stand_in,
        judges=STRATEGIES[session.strategy].part(entry.round).judges,
        text=tame(words, limit),
        json=cut(verdict, LONG),
        cut=len(words) > limit or len(verdict) > LONG or entry.content.digest is not None,
        version=version,
        verdict=cut(str(feedback.get("verdict") or ""), 40),
        problem=cut(context.worded(entry.problem), SENTENCE),
        newest=entry is session.rounds[-1],
    )


def _assessed(session: Discussion, place: int, version: int) -> RoundScore:
    entry = session.rounds[place]
    return RoundScore(entry.round, entry.role, version, session.metrics[place])


def chart(rounds: Sequence[RoundContribution], metrics: Sequence[Metrics]) -> ScoreChart:
    """Lines from left to right, one point a round; a single round is in the middle."""
    places = [(at / (len(metrics) - 1) if len(metrics) > 1 else 0.5) for at in range(len(metrics))]
    return ScoreChart(
        lines=[
            svg.Line("score", "score", [(x, m.overall_score) for x, m in zip(places, metrics, strict=True)]),
            svg.Line("agreement", "agreement", [(x, m.agreement_ratio) for x, m in zip(places, metrics, strict=True)]),
            svg.Line("stability", "stability", [(x, m.avg_stability) for x, m in zip(places, metrics, strict=True)]),
        ],
        ticks=[f"R{entry.round}" for entry in rounds[: len(metrics)]],
    )


def _counts(synthesis: Answer | None) -> list[tuple[str, int]]:
    """The points that the synthesis counts as settled and open, or agreed and not agreed; nothing if it counts none."""
    names = ("resolved", "remaining", "consensus", "divergence")
    numbers = [(name, int(synthesis[f"{name}Count"])) for name in names if synthesis and f"{name}Count" in synthesis]
    return numbers if any(count for _, count in numbers) else []


def _feedback(answer: Answer | None) -> FeedbackShown:
    """Verdict, summary and issues of the judgement that counts."""
    answer = answer or {}
    issues = [issue for issue in answer.get("issues") or () if isinstance(issue, dict)]
    return FeedbackShown(
        verdict=cut(str(answer.get("verdict") or ""), 40),
        summary=cut(str(answer.get("summary") or ""), LONG),
        issues=[
            {name: cut(str(issue.get(name) or ""), SENTENCE) for name in ("severity", "description", "suggestion")}
            for issue in issues[:POINTS]
        ],
        concerns=[cut(str(point), SENTENCE) for point in (answer.get("concerns") or ())[:POINTS]],
        suggestions=[cut(str(point), SENTENCE) for point in (answer.get("suggestions") or ())[:POINTS]],
    )


def _decision(context: PanelContext, session: Discussion) -> DecisionShown | None:
    decision = session.decision
    if decision is None:
        return None
    return DecisionShown(
        choice=decision.choice,
        actor=cut(owner(decision.actor) or decision.actor, 60),
        rationale=cut(context.worded(decision.rationale), LONG),
        remarks=[(each.place, cut(each.text, LONG)) for each in decision.comments],
        at=iso(decision.at),
        expired=decision.expired,
        called_off=session.state == "cancelled",
    )
