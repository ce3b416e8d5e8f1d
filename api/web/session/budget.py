"""The budget of a session: what was used, what is left, and how it went down (S4 §9.4)."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from api.web import svg
from api.web.model import clock, money
from api.web.session.context import PanelContext, SessionClock
from domain.delivery.state import Delivery
from domain.orchestration.state import Orchestration
from domain.values.base import iso
from projections.record.trail import Left


def left_over(session: Delivery) -> int:
    """Iterations after the current one; the record's `remainingIterations` includes the current one."""
    return max(0, session.budget.limits.max_iterations - session.iteration)


NEAR: Final = 4
"""The axis reaches to the deadline once a quarter of the time is used; before that, little beyond now."""


class BudgetShown(NamedTuple):
    """`rows`: facts by name; `end` is where the axis of the drawing ends."""

    rows: Sequence[tuple[str, str]] = ()
    lines: Sequence[svg.Line] = ()
    end: str = ""
    clock: SessionClock | None = None


def budget(context: PanelContext) -> BudgetShown:
    session, points = context.session, context.past(context.trail.left)
    match session:
        case Delivery():
            return _delivery(context, session, points)
        case Orchestration():
            return _orchestration(context, session, points)
        case _:
            return BudgetShown()


def _delivery(context: PanelContext, session: Delivery, points: Sequence[Left]) -> BudgetShown:
    snapshot, limits = session.snapshot(session.updated_at), session.budget.limits
    whole = max(1, limits.max_minutes * limits.minute)
    axis = whole if snapshot.elapsed_ms * NEAR >= whole else max(1_000, snapshot.elapsed_ms * 5 // 4)
    now = min(1.0, snapshot.elapsed_ms / axis)
    lines = [
        svg.Line("iterations", "iterations", _stepped(points, axis, now, limits.max_iterations)),
        svg.Line("minutes", "minutes", [(0.0, 1.0), (now, 1 - snapshot.elapsed_ms / whole)]),
    ]
    if limits.max_tokens and snapshot.tokens is not None:
        most = limits.max_tokens
        used = [(point.ms / axis, 1 - (point.tokens or 0) / most) for point in points]
        lines.append(svg.Line("tokens", "tokens", svg.stepped([*used, (now, 1 - snapshot.tokens / most)])))
    if limits.max_cost_micros and snapshot.cost_micros is not None:
        most = limits.max_cost_micros
        paid = [(point.ms / axis, 1 - (point.cost or 0) / most) for point in points]
        lines.append(svg.Line("cost", "cost", svg.stepped([*paid, (now, 1 - snapshot.cost_micros / most)])))
    rows = [
        ("status", context.badge),
        ("iteration", str(session.iteration)),
        ("max_iterations", str(limits.max_iterations)),
        ("remaining", str(left_over(session))),
        ("elapsed", clock(snapshot.elapsed_ms)),
        ("allowed", clock(whole)),
        ("deadline", iso(snapshot.deadline_at)),
        ("reason", snapshot.reason or session.code or ""),
        ("tokens", _of(snapshot.tokens, limits.max_tokens)),
        ("cost", " / ".join(filter(None, (money(snapshot.cost_micros), money(limits.max_cost_micros))))),
        ("unknown", str(session.spent.unknown or "")),
    ]
    return BudgetShown([row for row in rows if row[1]], lines, clock(axis), context.clock)


def _orchestration(context: PanelContext, session: Orchestration, points: Sequence[Left]) -> BudgetShown:
    whole = max(1, context.trail.clock(context.version))
    most = max([point.total for point in points], default=1)
    lines = [svg.Line("rounds", "rounds", _stepped(points, whole, 1.0, most))] if session.mode == "orchestrated" else []
    rows = [
        ("status", context.badge),
        ("round", str(session.round)),
        ("last_round", str(session.last_round)),
        ("remaining", str(max(0, session.last_round - session.round))),
        ("elapsed", context.elapsed),
        ("reason", session.partial_reason or ""),
        ("tokens", _of(session.spent.tokens, None)),
        ("cost", money(session.spent.cost_micros)),
        ("unknown", str(session.spent.unknown or "")),
    ]
    return BudgetShown([row for row in rows if row[1]], lines, clock(whole), context.clock)


def _stepped(points: Sequence[Left], whole: int, now: float, most: int) -> list[tuple[float, float]]:
    """Iterations or rounds over time; what is left stays until the next begins."""
    shares = [(min(1.0, point.ms / whole), point.left / max(1, most)) for point in points]
    return svg.stepped([*shares, (now, shares[-1][1])]) if shares else [(0.0, 1.0)]


def _of(used: int | None, most: int | None) -> str:
    if used is None:
        return ""
    return f"{used:,}" + ("" if most is None else f" / {most:,}")
