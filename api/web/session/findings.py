"""What reviewers, judges and people have found: one row each with its life, what blocks first, and what a further round
would be good for."""

from functools import partial
from typing import Any, Final

from api.web.plain_text import cut
from api.web.session.context import LONG, SENTENCE, PanelContext, whole
from projections.record.findings import findings_view
from projections.views.findings import BecauseView, FindingsView, FindingView

FRONT: Final = 9
"""Open findings in front; the others are folded, none is cut."""
MARKS: Final = {"open": "●", "unchanged": "●", "reopened": "●", "claimed": "◐", "fixed": "✓"}
_LOOKS: Final = 12
"""The newest looks that are drawn."""


def findings(context: PanelContext) -> dict[str, Any]:
    made = findings_of(context)
    rows = [_row(context, item) for item in made.items]
    front = [row for row in rows if row["open"] and row["weight"] != "soft"][:FRONT]
    rest = [row for row in rows if row["open"] and row not in front]
    return {
        "rows": rows,
        "front": front,
        "rest": rest,
        "closed": [row for row in rows if not row["open"]],
        "counts": _counts(made),
        "looks": [
            {
                "version": look.version,
                "round": look.round,
                "blocking": look.blocking,
                "remarks": look.remarks,
                "by": cut(look.by, 60),
            }
            for look in made.rounds[-_LOOKS:]
        ],
        "unit": "it" if context.session.kind == "delivery" else "R",
        "approved": bool(made.rounds) and made.rounds[-1].blocking == 0,
        "score": _score(context),
        "recommendation": made.recommendation if made.rounds else "",
        "because": [_reason(each) for each in made.because],
        "quiet": made.quiet,
        "policy": made.policy,
    }


def findings_of(context: PanelContext) -> FindingsView:
    history = context.store.history(context.session.id, upto=context.version)
    return findings_view(context.session, history, partial(whole, context, most=10_000_000))


def _score(context: PanelContext) -> int | None:
    outcomes = context.past(context.trail.outcomes)
    return outcomes[-1].score if outcomes else None


def _counts(made: FindingsView) -> list[tuple[str, int]]:
    shown = [item for item in made.items if item.state is not None]
    numbers = {
        "open": sum(item.open and item.state != "claimed" for item in shown),
        "claimed": sum(item.state == "claimed" for item in shown),
        "fixed": sum(item.state == "fixed" for item in shown),
        "remark": sum(item.kind == "remark" for item in shown),
    }
    return [(name, number) for name, number in numbers.items() if number]


def _row(context: PanelContext, item: FindingView) -> dict[str, Any]:
    line = "" if item.line is None or item.gone else f":{item.line}"
    return {
        "name": item.finding,
        "mark": "◆" if item.kind == "comment" else MARKS.get(item.state or "", "–"),
        "kind": item.kind,
        "severity": item.severity,
        "title": cut(context.worded(item.title), SENTENCE),
        "detail": cut(context.worded(item.detail), LONG),
        "by": cut(item.by, 60),
        "path": item.path or "",
        "place": f"{item.path}{line}" if item.path else "",
        "gone": item.gone,
        "state": item.status or item.state or "withdrawn",
        "open": item.open,
        "origin": item.origin,
        "weight": item.weight,
        "perhaps": item.perhaps,
        "because": [_reason(each) for each in item.because],
        "life": [
            {
                "version": each.version,
                "act": each.act,
                "by": cut(each.by.removeprefix("person:"), 60),
                "round": each.round,
                "turn": each.turn,
                "maybe": each.match == "maybe",
            }
            for each in item.life
        ],
    }


def _reason(each: BecauseView) -> dict[str, Any]:
    return {"fact": each.fact, "version": each.version, "finding": each.finding or ""}
